# SPDX-License-Identifier: Apache-2.0
"""Without MPI, before each repetition: round trips of a cache line between processes, and copies in memory."""

from coffeecup.postprocess.benchmarks.b_eff.doors import Part
from coffeecup.postprocess.benchmarks.b_eff.probes.records import MemoryCopy, Probe

PART = Part(records=(Probe, MemoryCopy))
