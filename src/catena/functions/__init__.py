"""A function of a mechanism: an algorithm with its arrays, by name, evaluated, counted or compiled."""
