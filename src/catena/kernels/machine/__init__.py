"""From IR to machine code in memory: LLVM, the disk cache, the processor, the check of new code."""
