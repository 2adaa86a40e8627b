# SPDX-License-Identifier: Apache-2.0
"""What the core of b_eff asks for of the matchings of nodes: loops that follow its own."""

from coffeecup.postprocess.benchmarks.b_eff.doors import Door
from coffeecup.postprocess.benchmarks.b_eff.nodes.examination import examination, examination_of_unscored, figures
from coffeecup.postprocess.benchmarks.b_eff.nodes.records import MatchingsLeftOut
from coffeecup.postprocess.benchmarks.b_eff.nodes.rules import (
    bytes_of_pairwise,
    expected_pairwise,
    problems_of_matchings,
    problems_of_pairwise,
    seconds_of_pairwise,
)

INVARIANTS = {
    "matching_groups": "groups are stated exactly if the option names a file, and for the run's hosts",
    "suspects": "suspects and good nodes are different nodes of the run, the slowest suspect first",
    "tails": "the times of each node ascend, and round trips are 250, 500, 750 or 1000",
    "process_times": "each process, or node, that takes part has a time, and no other",
}
DOOR = Door(
    invariants=INVARIANTS,
    problems_of_plan=problems_of_matchings,
    after=expected_pairwise,
    problems=problems_of_pairwise,
    bytes_exchanged=bytes_of_pairwise,
    seconds=seconds_of_pairwise,
    clocked=(MatchingsLeftOut,),
    figures=figures,
    functions={"nodes": examination, "nodes_of_unscored": examination_of_unscored},
)
