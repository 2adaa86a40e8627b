"""Roihu of CSC: Slurm, Open MPI and Lustre. Not run there."""
