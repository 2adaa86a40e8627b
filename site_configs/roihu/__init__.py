# SPDX-License-Identifier: Apache-2.0
"""Roihu of CSC: Slurm, Open MPI and Lustre. Not run there."""
