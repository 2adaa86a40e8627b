# SPDX-License-Identifier: Apache-2.0
"""Crux of ALCF: PBS and Cray MPICH. Not run there."""
