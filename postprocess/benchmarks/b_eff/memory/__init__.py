# SPDX-License-Identifier: Apache-2.0
"""Messages in memory of accelerators (--memory): a log is several, one for each kind of memory."""

from coffeecup.postprocess.benchmarks.b_eff.doors import Part
from coffeecup.postprocess.benchmarks.b_eff.memory.variants import metrics_in_memory

PART = Part(
    options=("memory", "memory-anyway"),
    rules={"l_max_of_other_memory": "L_max of a smaller memory"},
    variants=metrics_in_memory,
)
