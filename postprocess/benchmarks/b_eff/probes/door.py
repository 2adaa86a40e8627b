# SPDX-License-Identifier: Apache-2.0
"""What the core of b_eff asks for of round trips and copies."""

from coffeecup.postprocess.benchmarks.b_eff.doors import Door
from coffeecup.postprocess.benchmarks.b_eff.probes.qualifications import checks, of_cores
from coffeecup.postprocess.benchmarks.b_eff.probes.rules import expected, problems_of_probes

INVARIANTS = {
    "probe_hosts": "a probe has as many hosts as the run",
    "probe_pairs": "a host with one rank has no round trip",
    "probe_times": "the longest round trip is not shorter than the shortest",
    "copy_hosts": "copies in memory have as many hosts as the run",
}
DOOR = Door(invariants=INVARIANTS, before=expected, problems=problems_of_probes, qualifications=of_cores, checks=checks)
