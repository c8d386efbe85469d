"""Forces that act in steps besides torques, each in a file: how it is asked for, its numbers, and what it does."""
