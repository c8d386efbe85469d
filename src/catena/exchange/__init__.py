"""States of a robot in the conventions of other engines, both ways."""
