# SPDX-License-Identifier: Apache-2.0
"""What b_eff_io_load offers beyond the functions of every benchmark."""

from coffeecup.postprocess.benchmarks.b_eff_io_load.reduction import moved_bytes
from coffeecup.postprocess.benchmarks.benchmark import Functions

FUNCTIONS = Functions(moved_bytes=moved_bytes)
