"""One file for each formulation of the literature. An algorithm knows sweeps, fields and spatial algebra, nothing else."""
