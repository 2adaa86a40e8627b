# SPDX-License-Identifier: Apache-2.0
"""What ftio offers beyond the functions of every benchmark."""

from coffeecup.postprocess.benchmarks.benchmark import Functions
from coffeecup.postprocess.benchmarks.ftio.reduction import moved_bytes
from coffeecup.postprocess.benchmarks.ftio.slow_nodes import examination

FUNCTIONS = Functions(nodes=examination, moved_bytes=moved_bytes)
