# SPDX-License-Identifier: Apache-2.0
"""What b_eff_io offers beyond the functions of every benchmark."""

from coffeecup.postprocess.benchmarks.b_eff_io.slow_nodes import examination
from coffeecup.postprocess.benchmarks.b_eff_io.system import together
from coffeecup.postprocess.benchmarks.benchmark import Functions

FUNCTIONS = Functions(together=together, nodes=examination, size_column="chunk_bytes")
