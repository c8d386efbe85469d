"""What a mechanism is: parts, joint types, checks, and the arrays they become."""
