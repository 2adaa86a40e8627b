"""Crux of ALCF: PBS and Cray MPICH. Not run there."""
