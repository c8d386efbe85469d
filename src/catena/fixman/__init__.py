"""Fixman's partition for users: a method for robots, point masses and polymers, any holonomic system, the potential."""
