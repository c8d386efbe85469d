"""The traced scalar: an expression graph, its folding rules, its operation counts and its derivatives."""
