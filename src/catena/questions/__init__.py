"""What a user asks of a robot, by topic: each module is a part of Robot. The answers come from kernels."""
