"""From an expression graph to machine code, and from machine code to functions of arrays."""
