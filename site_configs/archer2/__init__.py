"""ARCHER2 of EPCC: Slurm and Cray MPICH. Not run there."""
