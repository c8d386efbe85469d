"""The version of the package, apart from everything else."""

__version__ = "0.1.0"
