"""The public boundary: what callers give, checked once."""
