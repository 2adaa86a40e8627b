# SPDX-License-Identifier: Apache-2.0
"""ARCHER2 of EPCC: Slurm and Cray MPICH. Not run there."""
