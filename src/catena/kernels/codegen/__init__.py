"""From a program to LLVM IR and instructions of our own."""
