# SPDX-License-Identifier: Apache-2.0
"""Nodes over sessions in which they come and go, are of several generations, are replaced or renamed: whose life is
known."""

from datetime import date

import pandas as pd
import pytest
from commands import run
from nodes_life_made import NIGHTS, life, night, of
from sessions_made import case, session, write

from coffeecup.postprocess.history.node_kinds import kinds
from coffeecup.postprocess.history.nodes import one_name, over_sessions
from coffeecup.postprocess.history.site_files import Replacement
from coffeecup.postprocess.reports.changes import kind_lines


def test_a_node_that_no_session_examines_any_more_is_no_error_and_not_drained(tmp_path):
    """Confirmed in the fifth night, and removed: after as many sessions without it as --last."""
    for absent, code in ((9, 1), (10, 0)):
        nights = [
            life({"x3": 0.5} if number < 5 else {}, {"x3"} if number >= 5 else ()) for number in range(5 + absent)
        ]
        tests = [
            session([case({"b_eff": (1.0, "x")}, node_effects=effects)], night(n)) for n, effects in enumerate(nights)
        ]
        sessions = write(tmp_path / str(absent), tests)
        done = run("nodes", sessions)
        assert done.exit_code == code and f"not examined in the last {absent} sessions, since 2026-01-05" in done.stdout
        assert ("CONFIRMED" in done.stdout) == (code == 1)
        drained = run("nodes", sessions, "--format", "slurm")
        assert drained.exit_code == code and ("scontrol" in drained.stdout) == (code == 1)


def test_full_and_short_names_are_one_node_unless_a_session_has_two():
    rows = [(0, "s", "x1.here"), (0, "s", "x2"), (1, "s", "x1"), (1, "s", "x2.here"), (1, "t", "x1.there")]
    rows += [(0, "s", "y.a"), (0, "s", "y.b"), (1, "s", "y.a")]
    table = pd.DataFrame(rows, columns=["session", "system", "node"])
    table = table.assign(session_time=table["session"])
    names = one_name(table)
    assert list(names[names["system"] == "t"]["node"]) == ["x1.there"]
    assert sorted(names[names["system"] == "s"]["node"]) == ["x1", "x1", "x2.here", "x2.here", "y.a", "y.a", "y.b"]


@pytest.mark.parametrize(("clear", "since"), [([12], 5), ([12, 14], 5), ([12, 13], 14), ([18, 19], None), ([19], 5)])
def test_one_session_that_does_not_suspect_a_node_does_not_restart_its_time(clear, since):
    """Slow from the fifth night on, but for those that are clear."""
    found = over_sessions(of(lambda number: {"x3": 0.6} if number >= 5 and number not in clear else {}))
    row = found.set_index("node").loc["x3"]
    assert pd.isna(row["since"]) if since is None else row["since"] == night(since)


def test_a_replaced_node_begins_anew_when_the_site_says_so():
    table = of(lambda number: {"x3": 0.5})
    entry = Replacement(system="cluster", who="me", why="new board", node="x3", since=date(2026, 1, 15))
    assert (night(13).date(), night(14).date()) == (date(2026, 1, 14), date(2026, 1, 15))
    left = table[~entry.ended(table)]
    assert (left["node"] == "x3").sum() == NIGHTS - 14 and (left["node"] == "x4").sum() == NIGHTS
    assert not entry.ended(table.assign(system="other")).any()


# --- kinds ------------------------------------------------------------------------------------------------------------


def older(count, slow=(), share=0.85):
    """Twenty-four nodes, the first of which are older from the first night on; `slow` have 0.8 of their kind."""
    speeds = {f"x{number}": share for number in range(count)}
    return lambda number: speeds | {name: 0.8 * speeds.get(name, 1.0) for name in slow if number >= 10}


@pytest.mark.parametrize("count", [3, 8, 12, 16])
def test_older_nodes_are_a_kind_and_no_suspects_and_slow_ones_of_both_kinds_are(count):
    found = over_sessions(of(older(count, ["x1", "x20"]), NIGHTS), several_kinds=True).set_index("node")
    assert set(found[found["kind"] == 1].index) == {f"x{number}" for number in range(count)}
    assert set(found[found["slow"]].index) == {"x1", "x20"}
    assert set(found[found["since"].notna()].index) <= {"x1", "x20"}
    assert found.loc[["x1", "x20"], "ratio"].between(0.77, 0.83).all()
    [newer, old] = kind_lines(found.reset_index())
    assert old.startswith(f"Kind of {count} nodes with ") and newer.startswith(f"Kind of {24 - count} nodes with ")


def test_two_slow_nodes_are_no_kind_and_three_that_became_slow_are_none():
    two = of(older(2))
    assert set(kinds(two)) == {0} and over_sessions(two, several_kinds=True).set_index("node").loc["x1", "slow"]
    later = of(lambda number: {f"x{n}": 0.85 for n in range(3)} if number >= 6 else {})
    assert set(kinds(later)) == {0}
    assert set(over_sessions(later, several_kinds=True).query("slow")["node"]) == {"x0", "x1", "x2"}


def test_kinds_are_known_after_three_sessions_and_differ_by_more_than_5_percent():
    assert set(kinds(of(older(6), 2))) == {0} and set(kinds(of(older(6), 3))) == {0, 1}
    exact = {"noise": 0.0}
    assert set(kinds(of(older(6, share=0.951), **exact))) == {0} and set(kinds(of(older(6, share=0.949), **exact))) == {
        0,
        1,
    }


def test_nodes_that_change_between_levels_are_no_kind():
    turns = of(lambda number: {f"x{n}": 0.8 for n in range(6) if (number + n) % 5 != 0}, noise=0.002)
    assert set(kinds(turns)) == {0}
