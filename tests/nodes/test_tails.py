# SPDX-License-Identifier: Apache-2.0
"""Nodes that sometimes keep a round trip waiting are named by the tails of a log, and no others: made-up tails on both
sides of each limit, with several kinds of noise, and a real link that loses a hundredth of its packets, which costs no
bandwidth. Counters are not used."""

import json

import logs_made
import numpy as np
import pandas as pd
import pytest
from commands import run
from links import logs_with_loss, missing
from logs_made_nodes import TAIL, matched_log

from coffeecup.postprocess.benchmarks.b_eff.nodes.examination import examination
from coffeecup.postprocess.benchmarks.b_eff.nodes.matchings import RESTS, within
from coffeecup.postprocess.benchmarks.b_eff.nodes.rules import TAIL_LOOP
from coffeecup.postprocess.benchmarks.b_eff.nodes.tails import found, standing_out
from coffeecup.postprocess.benchmarks.nodes import stored
from coffeecup.postprocess.benchmarks.scoring import read_log, score_log
from coffeecup.postprocess.statistics.nodes import COLUMNS


def logged(folder, times, nodes=16, count=1):
    """A log in which the tails of so many nodes are so many times as long as the others'."""
    late = [TAIL * times] * count + [TAIL] * (nodes - count)
    return logs_made.write(folder / "log.jsonl", matched_log([1] * nodes, late=late))


@pytest.mark.parametrize(
    ("times", "nodes", "count", "named"), [(3.9, 16, 1, 0), (4.1, 16, 1, 1), (9, 16, 5, 5), (9, 16, 6, 0), (9, 5, 1, 1)]
)
def test_four_times_the_tail_of_others_is_named_unless_a_third_has_it(tmp_path, times, nodes, count, named):
    log = read_log(logged(tmp_path, times, nodes, count))
    assert list(found(log).named) == [host.name for host in log.run.hosts[:named]]


def test_score_report_and_json_state_the_tail(tmp_path):
    """16 matchings of 1000 round trips; one of 1000 took 100 times 20 us."""
    path = logged(tmp_path, 100)
    score = score_log(path)
    name = score.log.run.hosts[0].name
    text = (
        f"{name}: the 99.9th percentile of 16000 round trips is 2 ms, 100 times that of others, in 16 of 16 matchings"
    )
    [stated] = [qualification.text for qualification in score.qualifications if qualification.key == "long_tails"]
    assert stated == f"Nodes that sometimes keep others waiting: {text}" and score.nodes.verdict == "none"
    assert json.loads(run("score", path, "--json").stdout)[0]["nodes"]["tails"] == [text]
    assert stored(score.nodes)["tails"] == {"compared": 16, "named": {name: text.removeprefix(f"{name}: ")}}
    assert run("report", path, "-o", tmp_path / "page.html").exit_code == 0
    assert f"A node sometimes keeps others waiting: {text}." in (tmp_path / "page.html").read_text()


# --- noise ------------------------------------------------------------------------------------------------------------

NOISES = {
    "normal": lambda rng, size: np.exp(0.3 * rng.standard_normal(size)),
    "two states": lambda rng, size: np.where(rng.random(size) < 0.3, 20.0, 1.0),
    "power law": lambda rng, size: rng.random(size) ** -1.0,
}


def tails_of(rng, noise, nodes, late):
    """Of 16 matchings, the first node of which waits so many times as long; noise disturbs each pair."""
    rows = []
    for index in range(16):
        pairs = [(a, b) for a, b in enumerate(within([0] * nodes, 1, index)) if b != RESTS and a < b]
        factors = NOISES[noise](rng, len(pairs))
        rows += [(index, "", a, b, factor * (late if a == 0 else 1)) for (a, b), factor in zip(pairs, factors)]
    return pd.DataFrame(rows, columns=COLUMNS)


@pytest.mark.parametrize("noise", NOISES)
@pytest.mark.parametrize("nodes", [4, 64])
def test_noise_names_nobody_and_hides_no_lost_packets(noise, nodes):
    """A timeout takes 0.2 s instead of some 0.1 ms; noise of these kinds names a node in at most one of 100 runs."""
    rng = np.random.default_rng(1)
    assert sum(len(standing_out(tails_of(rng, noise, nodes, 1), nodes)) for _ in range(50)) <= 1 + 1
    named = [list(standing_out(tails_of(rng, noise, nodes, 1000), nodes).index) for _ in range(20)]
    assert all(one in ([], [0]) for one in named) and named.count([0]) >= 18


# --- a real link ------------------------------------------------------------------------------------------------------


@pytest.mark.rate
@pytest.mark.skipif(missing() != "", reason=missing())
def test_the_host_that_loses_packets_keeps_others_waiting_and_no_other_does(openmpi, tmp_path):
    """TCP sends the last packet again after 0.2 s. On a busy machine a run may name nobody (rates.py)."""
    for log, losing in logs_with_loss(openmpi, tmp_path, 0.01, TAIL_LOOP):
        examined = examination(read_log(log))
        named = set(examined.tails.named)
        assert named <= losing
        if named and named.isdisjoint(examined.named["node"]):  # it is as fast as others
            return
    pytest.fail("no run named the host")
