# SPDX-License-Identifier: Apache-2.0
"""A node that is slow now and then is named over sessions, and no healthy one: shares of slow matchings that are known.
tests/evidence/bench_repeated.py counts over many sites and a year."""

import json

import numpy as np
import pandas as pd
import pytest
from commands import run
from sessions_made import case, night, session, write

from coffeecup.postprocess.history.nodes import COLUMNS
from coffeecup.postprocess.history.repeated import WINDOW, beyond_chance, now_and_then

NAMES = [f"x{number:02}" for number in range(32)]


def table(shares, sessions=WINDOW):
    """The node_table of nights of which `shares(number)` states the share of slow matchings of some nodes; of others a
    random one of up to 0.1."""
    rng, rows = np.random.default_rng(1), []
    for number in range(sessions):
        usual = dict(zip(NAMES, 0.1 * rng.random(len(NAMES))))
        for name, share in {**usual, **shares(number)}.items():
            rows.append((str(number), night(number), "s", "b_eff", name, 1.0, 1.0, False, False, "", share))
    return pd.DataFrame(rows, columns=COLUMNS)


def named(rows, kinds=None):
    found = now_and_then(rows, pd.Series(0, NAMES) if kinds is None else kinds)
    return set(found.index[found["intermittent"]])


def test_a_node_that_is_slow_in_a_third_of_its_matchings_is_named_with_its_share():
    rows = table(lambda number: {"x03": 0.3})
    assert named(rows) == {"x03"}
    found = now_and_then(rows, pd.Series(0, NAMES)).loc["x03"]
    assert found["share"] == pytest.approx(0.3) and 0.03 < found["others"] < 0.07
    assert named(table(lambda number: {})) == set()


@pytest.mark.parametrize(("times", "found"), [(11, False), (12, True)])
def test_how_many_of_twenty_sessions_are_beyond_chance(times, found):
    """By hand, 32 nodes, of which 4 are the slowest of a night: 365 * 32 / 8 * P(at least times - 1 of 19), which is
    2.6e-5 for ten and 3.0e-6 for eleven: 0.037 and 0.0044 in a year."""
    assert beyond_chance(times, WINDOW, 4 / 32, 32, 365) == found
    rows = table(lambda number: {"x03": 0.9 if number % 20 < times else 0.0})
    assert named(rows) == ({"x03"} if found else set())


@pytest.mark.parametrize(("share", "found"), [(0.15, False), (0.20, True)])
def test_a_small_difference_between_nodes_is_no_fault(share, found):
    """Always among the slowest, but less than an eighth beyond the median node, which has 0.05."""
    assert named(table(lambda number: {"x03": share})) == ({"x03"} if found else set())


@pytest.mark.parametrize(("count", "found"), [(3, True), (4, False)])
def test_several_nodes_at_once_have_something_in_common(count, found):
    several = dict.fromkeys(NAMES[:count], 0.4)
    assert named(table(lambda number: several)) == (set(several) if found else set())


def test_only_the_newest_sessions_count_and_one_that_recovers_is_no_longer_named():
    recovered = table(lambda number: {"x03": 0.5} if number < WINDOW else {}, 2 * WINDOW)
    assert named(recovered) == set()


def test_nodes_are_compared_with_their_kind():
    """Older nodes are slow in most matchings, another one each night more than the others; a newer one now and then."""
    older = NAMES[:12]
    rows = table(
        lambda number: {name: 0.9 - 0.01 * ((number + n) % 12) for n, name in enumerate(older)} | {"x20": 0.35}
    )
    kinds = pd.Series([int(name in older) for name in NAMES], NAMES)
    assert named(rows, kinds) == {"x20"} and named(rows) == set()


@pytest.mark.parametrize(("others", "found"), [(3, True), (4, False)])
def test_nodes_with_the_same_share_share_their_place(others, found):
    """Each night as many others, different ones, are slow in as many matchings: four nodes are the slowest, five are
    not."""
    alike = [name for name in NAMES if name != "x03"]
    rows = table(lambda n: {"x03": 0.5} | {alike[(others * n + place) % 31]: 0.5 for place in range(others)})
    assert named(rows) == ({"x03"} if found else set())


def effects(rng, bad):
    """What a session stores of sixteen matchings, of which noise makes one of fifty slow."""
    slow = {name: int(rng.binomial(16, 0.02 + 0.28 * (name == bad))) for name in NAMES}
    values = {name: [1.0, 0.98, 1.02, count, 16] for name, count in slow.items()}
    return {"verdict": "none", "suspects": [], "confirmed": [], "values": values}


@pytest.mark.parametrize("bad", ["x07", None])
def test_coffeecup_nodes_and_the_site_page_name_it(tmp_path, bad):
    """It is no error, as no run has confirmed it."""
    rng = np.random.default_rng(4)
    stored = [effects(rng, bad) for _ in range(WINDOW)]
    tests = [case({"b_eff": (1000.0, "MByte/s")}, node_effects=effect) for effect in stored]
    sessions = write(tmp_path / "sessions", [session([test], night(n)) for n, test in enumerate(tests)])
    done = run("nodes", sessions)
    lines = [line for line in done.stdout.splitlines() if "intermittent" in line]
    assert done.exit_code == 0 and len(lines) == bool(bad), done.output
    rows = json.loads(run("nodes", sessions, "--json").stdout)["nodes"]
    assert [row["node"] for row in rows if row["intermittent"]] == [bad] * bool(bad)
    if bad:
        slow = sum(effect["values"][bad][3] for effect in stored) / (16 * WINDOW)
        assert (
            lines[0].startswith("x07: 1.00 of its peers") and f"; slow in {slow:.0%} of its matchings, the " in lines[0]
        )
        assert run("site", "report", sessions, "-o", tmp_path / "site.html").exit_code == 0
        assert lines[0] in (tmp_path / "site.html").read_text()
