"""What a robot weighs and loses, as numbers that can be changed: records of parameters, possible sets, random ones."""
