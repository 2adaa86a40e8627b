# SPDX-License-Identifier: Apache-2.0
"""Slow nodes: the loops in which nodes exchange messages in pairs (--matchings, --all-pairs), and what they tell."""

from coffeecup.postprocess.benchmarks.b_eff.doors import Part
from coffeecup.postprocess.benchmarks.b_eff.nodes.records import (
    AllPairs,
    Confirmation,
    Matching,
    MatchingsLeftOut,
    Pair,
    PatternProcesses,
    Suspects,
    Tails,
)

PART = Part(
    records=(Matching, MatchingsLeftOut, Suspects, Confirmation, Tails, PatternProcesses, AllPairs, Pair),
    options=("matchings", "node-groups", "all-pairs"),
)
