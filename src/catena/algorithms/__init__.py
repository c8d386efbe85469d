"""One file for each formulation of the literature. Algorithms know sweeps, fields and spatial algebra, nothing else."""
