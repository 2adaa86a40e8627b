# SPDX-License-Identifier: Apache-2.0
"""`coffeecup nodes`: nodes over sessions of which the slow one is known."""

import json

import numpy as np
import pandas as pd
import pytest
from commands import run
from sessions_made import case, night, session, write

NAMES = [f"x{number:04}.cluster" for number in range(12)]
SLOW, BEGIN, NIGHTS = NAMES[4], 10, 20


def effects_of(rng, slow=(), confirmed=(), names=NAMES):
    """What the check stores of a run: every node at 1 +- 1 %, the slow ones at 0.6."""
    values = {}
    for name in names:
        ratio = (0.6 if name in slow else 1.0) * (1 + 0.01 * rng.standard_normal())
        values[name] = [round(ratio, 4), round(ratio - 0.02, 4), round(ratio + 0.02, 4), 16 * (name in slow), 16]
    verdict = "confirmed" if confirmed else "suspects" if slow else "none"
    return {"verdict": verdict, "suspects": list(slow), "confirmed": list(confirmed), "values": values}


def nights(folder, confirmed=(), **last):
    """A node is slow from the tenth night on; every night it takes part in all jobs."""
    rng = np.random.default_rng(1)
    sessions = []
    for number in range(NIGHTS):
        slow = [SLOW] if number >= BEGIN else []
        effect = effects_of(rng, slow, confirmed if number == NIGHTS - 1 else ())
        sessions.append(session([case({"b_eff": (1000.0, "MByte/s")}, node_effects=effect, **last)], night(number)))
    return write(folder, sessions)


def printed(*arguments, code=0):
    done = run("nodes", *arguments)
    assert done.exit_code == code, done.output
    return done.stdout


def table(*arguments, code=0):
    return json.loads(printed(*arguments, "--json", code=code))["nodes"]


def test_the_slow_node_is_named_with_its_date_and_no_other(tmp_path):
    slowest, *others = table(nights(tmp_path))
    assert slowest["node"] == SLOW and slowest["since"].startswith(f"{night(BEGIN):%Y-%m-%d}")
    assert slowest["ratio"] == pytest.approx(0.6, abs=0.01) and slowest["slow"]
    assert (slowest["suspected"], slowest["confirmed"], slowest["sessions"]) == (NIGHTS - BEGIN, 0, NIGHTS)
    assert {row["node"] for row in others} == set(NAMES) - {SLOW}
    assert not any(row["slow"] or row["suspected"] or row["since"] for row in others)
    text = printed(tmp_path).splitlines()
    assert len(text) == 2 and text[0] == "12 nodes examined."
    assert text[1].startswith(f"{SLOW}: 0.60 of its peers [") and "suspected since 2026-01-11" in text[1]


def test_a_node_that_recovered_is_not_suspected_now(tmp_path):
    rng = np.random.default_rng(1)
    sessions = [
        session(
            [case({"b_eff": (1.0, "x")}, node_effects=effects_of(rng, [SLOW] if number < 5 else []))], night(number)
        )
        for number in range(20)
    ]
    row = next(row for row in table(write(tmp_path, sessions)) if row["node"] == SLOW)
    assert (row["since"], row["suspected"], row["slow"]) == (None, 5, False)
    assert "not suspected now; suspected in 5 and confirmed in 0 of 20 sessions" in printed(tmp_path)


def test_only_a_confirmed_node_is_an_error_and_a_command_of_scontrol(tmp_path):
    suspected = printed(nights(tmp_path / "suspected"), "--format", "slurm")
    assert suspected.startswith("# scontrol update nodename=x0004 state=drain reason='coffeecup: 0.60 of its peers")
    confirmed = printed(nights(tmp_path / "confirmed", [SLOW]), "--format", "slurm", code=1).splitlines()
    assert len(confirmed) == 1 and confirmed[0].startswith("scontrol update nodename=x0004 state=drain reason=")
    assert "CONFIRMED" in printed(tmp_path / "confirmed", code=1)


def test_failed_jobs_of_a_node_are_counted(tmp_path):
    rng = np.random.default_rng(1)
    sessions = [session([case({"b_eff": (1.0, "x")}, node_effects=effects_of(rng))], night(0))]
    failed = case({}, benchmark="ftio", result="fail", job_nodelist=["x0002", "x0003"])
    sessions.append(session([failed], night(1)))
    found = {row["node"]: row["failed"] for row in table(write(tmp_path, sessions))}
    assert {name for name, count in found.items() if count} == {NAMES[2], NAMES[3]}
    assert "1 failed job;" in printed(tmp_path)


def test_tests_on_each_node_are_compared(tmp_path):
    """--distribute: a test of its own on each node; of a latency less is better."""
    rng = np.random.default_rng(2)
    for metric, slow in (("b_eff", 0.7), ("ping_pong_latency", 1 / 0.7)):
        sessions = [
            session(
                [
                    case(
                        {metric: ((slow if name == "n3" else 1) * (1 + 0.01 * rng.standard_normal()), "us")},
                        display_name=f"b_eff %.nid={name}",
                    )
                    for name in ("n1", "n2", "n3", "n4")
                ],
                night(number),
            )
            for number in range(8)
        ]
        slowest, *others = table(write(tmp_path / metric, sessions))
        assert slowest["node"] == "n3" and slowest["slow"] and slowest["ratio"] == pytest.approx(0.7, rel=0.03)
        assert len(others) == 3 and not any(row["slow"] for row in others)
        assert not any(row["suspected"] or row["confirmed"] for row in (slowest, *others)), "no run examined it"


def test_sessions_that_examined_no_node_say_so(tmp_path):
    assert "No selected session examined nodes" in printed(write(tmp_path, [session([case({"b_eff": (1.0, "x")})])]))
    assert table(tmp_path) == []


def test_wrong_effects_and_options_are_refused(tmp_path):
    bad = session([case({"b_eff": (1.0, "x")}, node_effects={"values": {"x1": [1.0]}})])
    assert "node_effects" in run("nodes", write(tmp_path / "bad", [bad])).output
    assert run("nodes", tmp_path / "bad").exit_code == 2
    good = nights(tmp_path / "good")
    assert run("nodes", good, "--json", "--format", "slurm").exit_code == 2
    assert run("nodes", good, "--system", "elsewhere").exit_code == 2
    assert len(printed(good, "--all").splitlines()) == 13


def test_figures_and_tables_of_nodes_are_written(tmp_path):
    sessions = nights(tmp_path / "sessions", [SLOW])
    printed(sessions, "--figures", tmp_path / "figures", code=1)
    effects, history, every = (
        pd.read_csv(tmp_path / "figures" / f"coffeecup-nodes{name}.csv") for name in ("-01-effects", "-01-history", "")
    )
    assert effects["node"].iloc[0] == SLOW and len(effects) == len(every) == len(NAMES)
    own = history[history["node"] == SLOW]
    assert list(own["suspected"]) == [False] * BEGIN + [True] * (NIGHTS - BEGIN)
    assert all((tmp_path / "figures" / f"coffeecup-nodes-01-{name}.png").exists() for name in ("effects", "history"))


def test_the_site_page_lists_slow_nodes_with_figures(tmp_path):
    page = tmp_path / "site.html"
    sessions = nights(tmp_path / "sessions", [SLOW])
    assert run("site", "report", sessions, "-o", page, "--figures", tmp_path / "figures").exit_code == 0
    text = page.read_text()
    assert f"{SLOW}: 0.60 of its peers" in text and "Slow nodes by session" in text and "12 nodes examined:" in text
    assert list(pd.read_csv(tmp_path / "figures" / "site-nodes.csv")["node"]) == [SLOW]


def test_the_site_page_of_healthy_nodes_names_none(tmp_path):
    rng, page = np.random.default_rng(1), tmp_path / "site.html"
    sessions = [
        session([case({"b_eff": (1.0, "x")}, node_effects=effects_of(rng))], night(number)) for number in range(3)
    ]
    assert run("site", "report", write(tmp_path / "sessions", sessions), "-o", page).exit_code == 0
    text = page.read_text()
    assert "12 nodes examined, none of them slow." in text and "Slow nodes by session" not in text
