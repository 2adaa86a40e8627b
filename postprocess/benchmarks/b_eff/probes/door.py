# SPDX-License-Identifier: Apache-2.0
"""What the core of b_eff asks for of round trips and copies."""

from coffeecup.postprocess.benchmarks.b_eff.doors import Door
from coffeecup.postprocess.benchmarks.b_eff.probes.qualifications import checks, of_cores
from coffeecup.postprocess.benchmarks.b_eff.probes.rules import in_words, key_of, planned, problems_of_probes

INVARIANTS = {
    "probe_hosts": "a probe has as many hosts as the run",
    "probe_pairs": "a host with one rank has no round trip",
    "probe_times": "the longest round trip is not shorter than the shortest",
    "copy_hosts": "copies in memory have as many hosts as the run",
    "copied_bytes": "4 MiB are copied, or the buffer if that is smaller",
}
DOOR = Door(
    invariants=INVARIANTS,
    before=planned,
    key_of=key_of,
    in_words=in_words,
    problems=problems_of_probes,
    qualifications=of_cores,
    checks=checks,
)
