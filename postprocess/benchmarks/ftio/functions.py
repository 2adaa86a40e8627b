# SPDX-License-Identifier: Apache-2.0
"""What ftio offers beyond the functions of every benchmark."""

from coffeecup.postprocess.benchmarks.benchmark import Functions
from coffeecup.postprocess.benchmarks.ftio.slow_nodes import examination

FUNCTIONS = Functions(nodes=examination)
