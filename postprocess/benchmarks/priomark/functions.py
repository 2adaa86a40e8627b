# SPDX-License-Identifier: Apache-2.0
"""What priomark offers beyond the functions of every benchmark."""

from coffeecup.postprocess.benchmarks.benchmark import Functions
from coffeecup.postprocess.benchmarks.priomark.darshan.comparison import compare
from coffeecup.postprocess.benchmarks.priomark.darshan.replay import replay
from coffeecup.postprocess.benchmarks.priomark.darshan.workload import from_darshan
from coffeecup.postprocess.benchmarks.priomark.slow_nodes import examination

FUNCTIONS = Functions(
    nodes=examination,
    from_darshan=from_darshan,
    replay_darshan=replay,
    compare_darshan=compare,
)
