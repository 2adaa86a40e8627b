# SPDX-License-Identifier: Apache-2.0
"""`coffeecup nodes`: servers of files over sessions of which the slow one is known."""

import json

import logs_made
import numpy as np
import pandas as pd
import pytest
from commands import run
from logs_made_b_eff_io import b_eff_io_on_servers
from sessions_made import case, night, session, write

from coffeecup.postprocess.benchmarks import nodes
from coffeecup.postprocess.benchmarks.scoring import score_log

SERVERS = [f"scratch-OST{number:04x}" for number in range(12)]
SLOW, BEGIN, NIGHTS = SERVERS[4], 10, 20


def effects_of(rng, share=0.6, slow=(), suspected=(), nodes_slow=()):
    """What the check stores of a run: every node and server at 1 +- 1 %, the slow servers at `share`."""

    def values(names, those):
        made = {}
        for name in names:
            ratio = (share if name in those else 1.0) * (1 + 0.01 * rng.standard_normal())
            made[name] = [round(ratio, 4), round(ratio - 0.02, 4), round(ratio + 0.02, 4), 9 * (name in those), 9]
        return made

    servers = {"suspects": list(suspected), "values": values(SERVERS, slow)}
    examined = values([f"x{number}" for number in range(6)], nodes_slow)
    return {"verdict": "none", "suspects": [], "confirmed": [], "values": examined, "servers": servers}


def nights(folder, share=0.6, ends=NIGHTS):
    """A server is slow, and suspected by each session, from the tenth night until it ends."""
    rng = np.random.default_rng(1)
    sessions = []
    for number in range(NIGHTS):
        slow = [SLOW] if BEGIN <= number < ends else []
        found = effects_of(rng, share, slow, slow)
        sessions.append(session([case({"b_eff_io": (100.0, "MByte/s")}, node_effects=found)], night(number)))
    return write(folder, sessions)


def printed(*arguments, code=0):
    done = run("nodes", *arguments)
    assert done.exit_code == code, done.output
    return done.stdout


def test_the_slow_server_is_listed_with_its_date_and_no_other(tmp_path):
    """A suspected server is no error: nothing confirms it."""
    sessions = nights(tmp_path)
    slowest, *others = json.loads(printed(sessions, "--json"))["servers"]
    assert set(slowest) == {
        *("system", "test", "server", "ratio", "low", "high", "slow", "sessions", "suspected", "since")
    }
    assert slowest["server"] == SLOW and slowest["since"].startswith(f"{night(BEGIN):%Y-%m-%d}")
    assert slowest["ratio"] == pytest.approx(0.6, abs=0.01) and slowest["slow"]
    assert 0.55 < slowest["low"] < slowest["ratio"] < slowest["high"] < 0.65
    assert (slowest["suspected"], slowest["sessions"]) == (NIGHTS - BEGIN, NIGHTS)
    assert {row["server"] for row in others} == set(SERVERS) - {SLOW}
    assert not any(row["slow"] or row["suspected"] or row["since"] for row in others)
    text = printed(sessions).splitlines()
    assert text[:3] == [
        "6 nodes examined.",
        "None was suspected, and none took part in a failed job.",
        "12 servers of files examined.",
    ]
    assert len(text) == 4 and text[3].startswith(f"{SLOW}: 0.60 of its peers [")
    assert (
        ", slow over these sessions; suspected since 2026-01-11 02:00 UTC; suspected in 10 of 20 sessions; " in text[3]
    )
    assert len(printed(sessions, "--all").splitlines()) == 1 + 6 + 1 + 12


@pytest.mark.parametrize(("share", "slow"), [(0.93, True), (0.96, False)])
def test_a_server_is_slow_over_sessions_below_95_percent_with_certainty(tmp_path, share, slow):
    """With a noise of 1 %, the interval of ten sessions is about 0.02 wide."""
    found = json.loads(printed(nights(tmp_path, share), "--json"))["servers"]
    slowest = next(row for row in found if row["server"] == SLOW)
    assert slowest["slow"] == slow and (slowest["high"] < 0.95) == slow
    assert not any(row["slow"] for row in found if row["server"] != SLOW)


def test_a_server_that_recovered_is_not_suspected_now(tmp_path):
    sessions = nights(tmp_path, ends=12)
    row = next(row for row in json.loads(printed(sessions, "--json"))["servers"] if row["server"] == SLOW)
    assert (row["since"], row["suspected"]) == (None, 2)
    assert "; not suspected now; suspected in 2 of 20 sessions" in printed(sessions)


def test_scontrol_gets_no_servers(tmp_path):
    assert printed(nights(tmp_path), "--format", "slurm") == ""


def test_sessions_without_servers_say_nothing_about_them(tmp_path):
    rng = np.random.default_rng(1)
    found = effects_of(rng)
    del found["servers"]
    sessions = write(tmp_path, [session([case({"b_eff_io": (1.0, "x")}, node_effects=found)], night(0))])
    assert "server" not in printed(sessions)
    assert json.loads(printed(sessions, "--json"))["servers"] == []


def test_wrong_effects_of_servers_are_refused(tmp_path):
    bad = {"values": {}, "servers": {"values": {"OST0001": [1.0]}}}
    sessions = write(tmp_path, [session([case({"b_eff_io": (1.0, "x")}, node_effects=bad)])])
    assert "node_effects" in run("nodes", sessions).output
    assert run("nodes", sessions).exit_code == 2


def test_figures_and_tables_of_servers_are_written(tmp_path):
    printed(nights(tmp_path / "sessions"), "--figures", tmp_path / "figures")
    effects, history, every = (
        pd.read_csv(tmp_path / "figures" / f"coffeecup-servers{name}.csv")
        for name in ("-01-effects", "-01-history", "")
    )
    assert effects["node"].iloc[0] == SLOW and every["server"].iloc[0] == SLOW and len(every) == len(SERVERS)
    own = history[history["node"] == SLOW]
    assert list(own["suspected"]) == [False] * BEGIN + [True] * (NIGHTS - BEGIN)
    assert (tmp_path / "figures" / "coffeecup-servers-01-effects.png").exists()
    assert not (tmp_path / "figures" / "coffeecup-nodes-01-effects.png").exists()


def test_the_site_page_lists_slow_servers_with_figures(tmp_path):
    page = tmp_path / "site.html"
    words = ("site", "report", nights(tmp_path / "sessions"), "-o", page, "--figures", tmp_path / "figures")
    assert run(*words).exit_code == 0
    text = page.read_text()
    assert "6 nodes examined, none of them slow." in text and "12 servers of files examined:" in text
    assert f"{SLOW}: 0.60 of its peers" in text and "Slow servers by session" in text
    assert list(pd.read_csv(tmp_path / "figures" / "site-servers.csv")["server"]) == [SLOW]


def test_what_a_run_stores_of_its_servers_is_what_coffeecup_nodes_lists(tmp_path):
    """Three nights, the last two with a slow server."""
    sessions = []
    for number, share in enumerate((1.0, 0.5, 0.5)):
        log = b_eff_io_on_servers(lambda _, server, share=share: share if server == 2 else 1.0)
        score = score_log(logs_made.write(tmp_path / f"{number}.jsonl", log))
        found = nodes.stored(score.nodes)
        assert found["servers"]["suspects"] == ["server2"] * (share < 1) and len(found["servers"]["values"]) == 5
        sessions.append(session([case({"b_eff_io": (100.0, "MByte/s")}, node_effects=found)], night(number)))
    text = printed(write(tmp_path / "sessions", sessions)).splitlines()
    assert text[2] == "5 servers of files examined."
    assert text[3].startswith("server2: 0.50 of its peers; suspected since 2026-01-02 02:00 UTC; suspected in 2 of 3 ")
