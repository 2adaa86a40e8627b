# SPDX-License-Identifier: Apache-2.0
"""b_eff under load on links of known bandwidth: four hosts on two switches, all cables and the trunk between the
switches with the same bandwidth, and each sending host with the same share of the trunk (trunks.py). With a victim and
a generating host on each switch, two hosts send over the trunk in each direction that the load takes: an exchange at
L_max takes twice as long. With the victims on one switch and the load on the other it takes as long as without load.

Only L_max is compared: shorter messages pass in the burst of a shaper, or take the time of four processes on the cores
of one machine. Noise goes both ways, because it may strike a phase with load or one without, so medians count
(rates.py)."""

import os
import subprocess
from collections import Counter
from statistics import median

import pytest
from builds import OPEN_MPI, PATIENCE
from links import DATA, FRAME, across, links
from rates import FOR_MEDIAN
from trunks import split

from coffeecup.postprocess.benchmarks.b_eff_load.records import Load, Loaded
from coffeecup.postprocess.benchmarks.b_eff_load.reduction import factors
from coffeecup.postprocess.benchmarks.load_rules import victims_of
from coffeecup.postprocess.benchmarks.scoring import read_log, score_log

pytestmark = [pytest.mark.rate, pytest.mark.prove]
KINDS = ("incast", "alltoall", "broadcast")
HOSTS = 4
RATE = 80e6 / 8  # byte/s each way
BURST = 16 * 1024  # less than 2 % of L_max
PAYLOAD = RATE * DATA / FRAME
L_MAX = 2**20
ACROSS, APART = 3, 13  # seeds: the victims are hosts 0 and 3, or 0 and 1
WITHIN = 0.05
PATTERNS = 6 + 1
OPTIONS = ["--random-patterns", 1, "--repetitions", FOR_MEDIAN // PATTERNS, "--time-budget", 86400]


@pytest.fixture(scope="module")
def logs(openmpi, tmp_path_factory):
    """Of one run with each seed."""
    folder = tmp_path_factory.mktemp("links")
    options = ["--kinds", ",".join(KINDS), "--memory-per-process", 128 * L_MAX, *OPTIONS]
    known = {}
    with links(HOSTS, RATE, BURST) as four:
        split(four, RATE, BURST)
        for seed in (ACROSS, APART):
            log = folder / f"{seed}.jsonl"
            kernel = ["env", f"LD_PRELOAD={openmpi.patience}", openmpi.bin / "b_eff_load", "--log", log, "--seed", seed]
            command = across(four, openmpi.mpirun, folder, 2 * L_MAX, *kernel, *options)
            subprocess.run(command, env=os.environ | OPEN_MPI, capture_output=True, timeout=3 * PATIENCE, check=True)
            known[seed] = read_log(log)
            assert known[seed].plan.l_max_bytes == L_MAX
    return known


def directions(kind):
    """Of a link, that the load takes."""
    return 2 if kind == "alltoall" else 1


def assert_factors(log, kind, typical):
    """The load costs a factor of 2 if it shares the trunk, of 1 if it does not. `typical` is that of the median
    exchange of a process."""
    factor = 2 if log.plan.load.victims == [0, 3] else 1
    found = factors(log, kind)["b_eff_at_l_max_impact"]
    metrics = {name: metric.value for name, metric in score_log(log.path).metrics.items()}
    value, low, high = (metrics[f"b_eff_at_l_max_impact_{kind}{end}"] for end in ("", "_low", "_high"))
    medians = {name: metrics[f"{name}_{kind}"] for name in ("bandwidth_impact", "bandwidth_impact_99")}
    print(
        f"{kind}: at L_max {value:.3f} ({low:.3f} to {high:.3f}), median unit {found.median():.3f}, exchange {medians}"
    )
    assert len(found) == FOR_MEDIAN
    assert found.median() == pytest.approx(factor, rel=WITHIN)
    assert low * (1 - WITHIN) <= factor <= high * (1 + WITHIN)
    assert medians["bandwidth_impact"] == pytest.approx(typical, rel=WITHIN)
    assert medians["bandwidth_impact_99"] == pytest.approx(factor, rel=WITHIN)


def rates_of_load(log, kind, victims):
    """Byte/s of the load in the median phase, and of the victims' messages at that time, in each direction that the
    load takes. An exchange of two victims has as many bytes in both, and each loop one exchange that is not timed."""
    messages = {pattern.name: pattern.messages_per_exchange for pattern in log.plan.patterns}
    moved = Counter()
    for loop in log.all(Loaded):
        exchanges = loop.loop_length + 1
        moved[loop.repetition, loop.pattern, loop.phase] += loop.message_bytes * messages[loop.pattern] * exchanges / 2
    rate = median(
        (load.received_bytes / directions(kind) + victims * moved[load.repetition, load.pattern, load.phase])
        / load.elapsed_seconds
        for load in log.all(Load)
        if load.load == kind
    )
    print(f"{kind}: {rate / PAYLOAD:.3f} of the bandwidth")
    return rate


@pytest.mark.parametrize("kind", KINDS)
def test_load_on_the_trunk_takes_half_of_it(logs, kind):
    """And the whole of what the victims leave. Incast and broadcast take one direction: half of the exchanges lose
    nothing."""
    log = logs[ACROSS]
    assert log.plan.load.victims == victims_of(HOSTS, 50, ACROSS) == [0, 3]
    assert_factors(log, kind, typical=directions(kind))
    assert rates_of_load(log, kind, victims=1) == pytest.approx(PAYLOAD, rel=WITHIN)


@pytest.mark.parametrize("kind", KINDS)
def test_load_on_the_other_switch_costs_nothing(logs, kind):
    """And it is there: the cable of its busiest host carries what it can."""
    log = logs[APART]
    assert log.plan.load.victims == victims_of(HOSTS, 50, APART) == [0, 1]
    assert_factors(log, kind, typical=1)
    assert rates_of_load(log, kind, victims=0) == pytest.approx(PAYLOAD, rel=WITHIN)
