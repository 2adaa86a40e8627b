# SPDX-License-Identifier: Apache-2.0
"""Links that lose packets are named by what the nodes counted, in a run and over sessions, and no others: counts whose
chances are computed by hand, made-up logs and sessions, and a real link that loses three of a hundred packets.
tests/evidence/bench_repeated.py counts over many runs and a year."""

import json
from math import log

import logs_made
import numpy as np
import pytest
from commands import run
from counters_made import source, with_counters
from links import logs_with_loss, missing
from logs_made_nodes import matched_log
from sessions_made import case, night, session, write

from coffeecup.postprocess.benchmarks import nodes
from coffeecup.postprocess.benchmarks.links import LOSSES, Loss, found, standing_out
from coffeecup.postprocess.benchmarks.scoring import read_log, score_log
from coffeecup.postprocess.history.repeated import beyond_chance
from coffeecup.postprocess.statistics.excess import log_chances

# --- counts -----------------------------------------------------------------------------------------------------------


def test_chance_of_a_rate_that_stands_out_of_three_others():
    """Of four rates one may be high. The others are 4, 2 and 1: distances of log 2, times their ranks 2 and 3, beside
    the eight of a half that are assumed."""
    highest, chances = log_chances([400, 40, 20, 10], [1000] * 4, 0)
    assert highest == pytest.approx(0.04)
    assert chances.tolist() == pytest.approx([-(8 + 2) * log(1 + log(10) / (8 * 0.5 + (2 + 3) * log(2))), 0, 0, 0])


def test_chance_of_two_rates_that_stand_out_of_six():
    """Equal usual rates: no distances. Either of the two high ones may be the one that chance made."""
    _, chances = log_chances([80, 40, 10, 10, 10, 10], [1000] * 6, 0)
    assert chances[:2].tolist() == pytest.approx([log(2) - 11 * log(1 + log(times) / 4) for times in (8, 4)])


def test_few_events_are_alike():
    """0 to 5 events with a resolution of 10 differ by less than a half, and so do traffic and time."""
    events, sent = [160, 5, 0, 0], [2000, 1000, 1000, 500]
    highest, chances = log_chances(events, sent, 10)
    assert highest == pytest.approx(0.005 + 0.01)
    spread = 4 + 2 * log(0.015 / 0.01)
    assert chances[0] == pytest.approx(-10 * log(1 + log((0.08 + 0.01) / 0.015) / spread))


def test_no_tail_up_to_a_power_law_is_taken_for_a_fault():
    """Of 64 healthy rates with a power law of exponent 2 or 4, or a thinner tail, one of 100 runs may name one."""
    rng = np.random.default_rng(1)
    for draw in (*(lambda e=e: rng.random(64) ** (-1 / e) for e in (2, 4)), lambda: np.exp(rng.standard_normal(64))):
        false = sum((log_chances(1e6 * draw(), [1e9] * 64, 0)[1] < log(0.01)).any() for _ in range(300))
        assert false <= 300 * 0.01 + 3 * (300 * 0.01) ** 0.5


TCP = LOSSES[0]


@pytest.mark.parametrize(
    ("again", "sent", "others", "named"),
    [
        (100, 20_000, 0, True),
        (99, 20_000, 0, False),  # may be one burst
        (101, 1_000_000, 0, True),
        (101, 1_010_001, 0, False),  # less than one of 10,000 does no harm
        (2_000, 20_000, 200, False),  # ten times the others, of which there are three
        (3_000, 20_000, 200, True),
    ],
)
def test_how_much_more_than_the_others_is_named(again, sent, others, named):
    table = [("bad", again, sent), *((name, others, sent) for name in "abc")]
    assert list(standing_out(TCP, table)) == ["bad"] * named


@pytest.mark.parametrize(("times", "named"), [(3.9, False), (4.1, True)])
def test_links_may_differ_by_four_times(times, named):
    """Of 64 nodes, whose distances show that chance makes no such difference."""
    table = [("bad", int(times * 10_010), 10**6), *((f"x{number}", 10_000, 10**6) for number in range(63))]
    assert list(standing_out(TCP, table)) == ["bad"] * named


def test_every_kind_of_loss_has_counters_of_one_family():
    for loss in LOSSES:
        assert isinstance(loss, Loss) and len({name.partition("_")[0] for name in (*loss.errors, *loss.per)}) == 1


# --- a log ------------------------------------------------------------------------------------------------------------

AGAIN, SENT = source("tcp_segments_sent_again"), source("tcp_segments_sent")
SYMBOLS, DATA = source("infiniband_symbol_error", "mlx5_0/1"), source("infiniband_port_xmit_data", "mlx5_0/1")


def counted(folder, errors, sources=(AGAIN, SENT), sent=100_000):
    """A log of 16 healthy nodes: errors of each, or their readings."""
    values = [[[7, 7 + own] if isinstance(own, int) and own else own or 7, [5, 5 + sent]] for own in errors]
    records = with_counters(matched_log([1] * 16), list(sources), values)
    return logs_made.write(folder / "log.jsonl", logs_made.numbered(records))


def some(count, errors=1000, usual=1):
    return [errors] * count + [usual] * (16 - count)


TEXT = "1000 segments that TCP sent again, 0.01 for each segment sent, of others up to 0.00011"


def test_the_link_is_named_with_its_figures_in_score_report_and_session(tmp_path):
    path = counted(tmp_path, some(1))
    score = score_log(path)
    name = score.log.run.hosts[0].name
    [text] = [qualification.text for qualification in score.qualifications if qualification.key == "lossy_links"]
    assert text == f"Links that may lose packets: {name}: {TEXT}" and score.nodes.verdict == "none"
    assert nodes.stored(score.nodes)["links"] == {"compared": 16, "named": {name: TEXT}}
    [printed] = json.loads(run("score", path, "--json").stdout)
    assert printed["nodes"]["links"] == [f"{name}: {TEXT}"]
    assert run("report", path, "-o", tmp_path / "page.html").exit_code == 0
    assert f"The link of a node may lose packets: {name}: {TEXT}." in (tmp_path / "page.html").read_text()


def test_errors_of_ports_are_named_by_bytes(tmp_path):
    links_ = found(read_log(counted(tmp_path, some(1, 30, 0), (SYMBOLS, DATA))))
    assert list(links_.named.values()) == [
        "30 errors on ports of InfiniBand, 0.0003 for each 4 byte, of others up to 1e-05"
    ]


@pytest.mark.parametrize(
    ("errors", "named", "remarks"),
    [
        ([0] * 16, 0, 0),
        ([2000] * 16, 0, 0),  # everywhere
        ([2000 + 300 * number for number in range(16)], 0, 0),
        (some(3), 3, 0),
        (some(4), 0, 1),  # a rack
    ],
)
def test_loss_everywhere_or_in_a_rack_names_nobody(tmp_path, errors, named, remarks):
    links_ = found(read_log(counted(tmp_path, errors)))
    assert (links_.compared, len(links_.named), len(links_.remarks)) == (16, named, remarks)
    assert all(remark.startswith("4 nodes have more segments that TCP sent again") for remark in links_.remarks)


def test_nodes_whose_counts_are_unknown_are_left_out_and_two_are_not_compared(tmp_path):
    assert found(read_log(counted(tmp_path, [[9, 4], *some(1)[:15]]))).compared == 15
    two = found(read_log(counted(tmp_path, [1000, 1, *[[9, 4]] * 14])))
    assert (two.compared, two.named) == (0, {})
    assert "links" not in nodes.stored(score_log(logs_made.write(tmp_path / "no.jsonl", matched_log([1] * 16))).nodes)


# --- over sessions ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("times", "sessions", "nodes_", "found_"),
    [(2, 10, 64, True), (2, 10, 16, False), (3, 10, 16, True), (1, 1, 64, False)],
)
def test_how_often_a_link_is_named_beyond_chance(times, sessions, nodes_, found_):
    """By hand: each of 365 nights names any node with 0.01, and the same node in another of the nine nights before
    with 9 * 0.01 / nodes: 0.0051 in a year of 64 nodes, 0.021 of 16; twice before with 36 * (0.01 / 16)^2: 5e-5."""
    assert beyond_chance(times, sessions, 0.01 / nodes_, nodes_, 365) == found_


def of_links(*named, compared=64, evidence="links"):
    """A night that names these links."""
    links_ = {"compared": compared, "named": dict.fromkeys(named, TEXT)}
    return case({"b_eff": (1.0, "MByte/s")}, node_effects={"verdict": "none", "values": {}, evidence: links_})


def nights(folder, tests):
    return write(folder, [session([test], night(number)) for number, test in enumerate(tests)])


QUIET = [of_links()] * 28


@pytest.mark.parametrize(
    ("evidence", "what", "examine"), [("links", "link", "the link"), ("tails", "round trips", "the node and its link")]
)
def test_the_same_link_twice_is_a_finding(tmp_path, evidence, what, examine):
    """Full and short names are one node."""
    quiet, named = [of_links(evidence=evidence)] * 28, [of_links(name, evidence=evidence) for name in ("x3.rack", "x3")]
    sessions = nights(tmp_path / "sessions", [*quiet, *named])
    done = run("nodes", sessions)
    assert done.exit_code == 1, done.output
    line = f"{what} of x3: named in 2 of 10 sessions, 2026-01-29 to 2026-01-30; examine {examine}: {TEXT}"
    assert done.stdout.splitlines()[-1] == line
    [row] = json.loads(run("nodes", sessions, "--json").stdout)["links"]
    assert (row["evidence"], row["node"], row["named"], row["sessions"], row["again"]) == (evidence, "x3", 2, 10, True)
    page = tmp_path / "site.html"
    assert run("site", "report", sessions, "-o", page).exit_code == 0
    assert f'<span class="badge bad">again</span> {line}' in page.read_text()


@pytest.mark.parametrize(
    ("tests", "lines"),
    [
        ([*QUIET, of_links("x3")], 1),
        ([*QUIET, of_links("x3"), of_links("x4")], 2),
        ([*QUIET, of_links("x3"), of_links("x3", evidence="tails")], 1),  # each kind of evidence once
        ([of_links("x3"), of_links("x3"), *QUIET], 0),  # not within the newest sessions
        ([*QUIET, *(of_links(f"x{n}", f"x{(n + 1) % 10}") for n in range(10))], 10),  # each twice: chance is probable
        ([of_links("x3", compared=16), *[of_links(compared=16)] * 7, of_links("x3", compared=16)], 1),
    ],
)
def test_one_name_or_as_many_as_others_have_is_no_finding(tmp_path, tests, lines):
    done = run("nodes", nights(tmp_path, tests))
    named = [line for line in done.stdout.splitlines() if line.startswith("link of ")]
    assert len(named) == lines and "; examine the link" not in done.stdout
    assert done.exit_code == 0, done.output


def test_the_link_of_a_node_that_was_replaced_begins_anew(tmp_path):
    sessions = nights(tmp_path / "sessions", [*QUIET, of_links("x3"), of_links("x3")])
    entry = "kind: replaced\n  system: local\n  node: x3\n  who: me\n  why: new cable\n  since: 2026-01-30\n"
    (tmp_path / "site.yaml").write_text(f"- {entry}")
    done = run("nodes", sessions, "--acknowledged", tmp_path / "site.yaml")
    assert done.exit_code == 0 and "link of x3: named in 1 of 10 sessions, 2026-01-30: " in done.stdout, done.output


@pytest.mark.parametrize(("partition", "count"), [("default", 1), ("other", 0)])
def test_the_filters_keep_links_and_hangs_of_these_tests_only(tmp_path, partition, count):
    hung = {"hang": {"verdict": "rank 1 waits", "nodes": ["x4"]}}
    sessions = [
        session([test, case({"b_eff": (1.0, "MByte/s")}, partition="other", processes=4)], night(number))
        for number, test in enumerate(
            [*QUIET, *[of_links("x3")] * 2, *[case({}, node_effects=hung, result="fail")] * 2]
        )
    ]
    folder, page = write(tmp_path / "sessions", sessions), tmp_path / "site.html"
    done = run("nodes", folder, "--partition", partition)
    assert (done.exit_code, done.stdout.count("link of x3"), done.stdout.count("2 hangs of x4")) == (count,) * 3
    assert run("site", "report", folder, "--partition", partition, "-o", page).exit_code == 0
    text = page.read_text()
    assert (text.count("link of x3"), text.count("2 hangs of x4")) == (count, count)


# --- a real link ------------------------------------------------------------------------------------------------------


@pytest.mark.rate
@pytest.mark.skipif(missing() != "", reason=missing())
def test_the_host_whose_cable_loses_packets_is_named_and_no_other(openmpi, tmp_path):
    """On a busy machine healthy hosts send one of a thousand segments again, and a run may name nobody (rates.py)."""
    for log_, losing in logs_with_loss(openmpi, tmp_path, 0.03, 20):
        named = set(found(read_log(log_)).named)
        assert named <= losing
        if named:
            return
    pytest.fail("no run named the host")
