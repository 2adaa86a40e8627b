# SPDX-License-Identifier: Apache-2.0
"""What priomark offers beyond the functions of every benchmark."""

from postprocess.benchmarks.benchmark import Functions
from postprocess.benchmarks.priomark.reduction import moved_bytes
from postprocess.benchmarks.priomark.slow_nodes import examination

FUNCTIONS = Functions(nodes=examination, moved_bytes=moved_bytes)
