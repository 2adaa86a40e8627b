# SPDX-License-Identifier: Apache-2.0
"""`coffeecup nodes`: nodes, and servers of files, over sessions of which the slow one is known."""

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

NAMES = {
    "nodes": [f"x{number:04}.cluster" for number in range(12)],
    "servers": [f"scratch-OST{number:04x}" for number in range(12)],
}
NODE, SERVER = (names[4] for names in NAMES.values())
BEGIN, NIGHTS = 10, 20
KINDS = pytest.mark.parametrize("kind", NAMES)


def values(rng, names, slow=(), share=0.6, units=16):
    """What the check stores of a run: every name at 1 +- 1 %, the slow ones at `share`."""
    found = {}
    for name in names:
        ratio = (share if name in slow else 1.0) * (1 + 0.01 * rng.standard_normal())
        found[name] = [round(ratio, 4), round(ratio - 0.02, 4), round(ratio + 0.02, 4), units * (name in slow), units]
    return found


def effects_of(rng, slow=(), confirmed=()):
    """Of nodes."""
    verdict = "confirmed" if confirmed else "suspects" if slow else "none"
    found = values(rng, NAMES["nodes"], slow)
    return {"verdict": verdict, "suspects": list(slow), "confirmed": list(confirmed), "values": found}


def effects_of_servers(rng, share=0.6, slow=()):
    """Of servers, and of six nodes that are as fast as each other."""
    servers = {"suspects": list(slow), "values": values(rng, NAMES["servers"], slow, share, 9)}
    examined = values(rng, [f"x{number}" for number in range(6)], units=9)
    return {"verdict": "none", "suspects": [], "confirmed": [], "values": examined, "servers": servers}


def of_nights(folder, effects, **more):
    """A session each night, whose test has these effects."""
    made = [case({"b_eff": (1000.0, "MByte/s")}, node_effects=effect, **more) for effect in effects]
    return write(folder, [session([test], night(number)) for number, test in enumerate(made)])


def nights(folder, kind="nodes", confirmed=(), share=0.6, begin=BEGIN, ends=NIGHTS):
    """One is slow, and suspected by each session, from the tenth night until it ends."""
    rng, effects = np.random.default_rng(1), []
    for number in range(NIGHTS):
        slow = [NAMES[kind][4]] if begin <= number < ends else []
        certain = confirmed if number == NIGHTS - 1 else ()
        effects.append(effects_of(rng, slow, certain) if kind == "nodes" else effects_of_servers(rng, share, slow))
    return of_nights(folder, effects)


def printed(*arguments, code=0):
    done = run("nodes", *arguments)
    assert done.exit_code == code, done.output
    return done.stdout


def table(*arguments, kind="nodes", code=0):
    return json.loads(printed(*arguments, "--json", code=code))[kind]


# --- what is listed ---------------------------------------------------------------------------------------------------


@KINDS
def test_the_slow_one_is_named_with_its_date_and_no_other(tmp_path, kind):
    """A suspected server or node is no error: only a confirmed one is."""
    slowest, *others = table(nights(tmp_path, kind), kind=kind)
    name, of = NAMES[kind][4], kind.removesuffix("s")
    assert slowest[of] == name and slowest["since"].startswith(f"{night(BEGIN):%Y-%m-%d}")
    assert slowest["ratio"] == pytest.approx(0.6, abs=0.01) and slowest["slow"]
    assert 0.55 < slowest["low"] < slowest["ratio"] < slowest["high"] < 0.65
    assert (slowest["suspected"], slowest["sessions"]) == (NIGHTS - BEGIN, NIGHTS)
    assert slowest.get("confirmed", 0) == 0 and ("confirmed" in slowest) is (kind == "nodes")
    assert {row[of] for row in others} == set(NAMES[kind]) - {name}
    assert not any(row["slow"] or row["suspected"] or row["since"] for row in others)
    text = printed(tmp_path).splitlines()
    assert text[-1].startswith(f"{name}: 0.60 of its peers [") and "suspected since 2026-01-11 02:00 UTC;" in text[-1]
    if kind == "nodes":
        assert text[:-1] == ["12 nodes examined."]
    else:
        of_nodes = ["6 nodes examined.", "None was suspected, and none took part in a failed job."]
        assert text[:-1] == [*of_nodes, "12 servers of files examined."]
        assert ", slow over these sessions; " in text[-1] and "suspected in 10 of 20 sessions; " in text[-1]
    assert len(printed(tmp_path, "--all").splitlines()) == {"nodes": 1 + 12, "servers": 1 + 6 + 1 + 12}[kind]


@KINDS
def test_one_that_recovered_is_not_suspected_now(tmp_path, kind):
    sessions = nights(tmp_path, kind, begin=0, ends=5)
    row = next(row for row in table(sessions, kind=kind) if row[kind.removesuffix("s")] == NAMES[kind][4])
    assert (row["since"], row["suspected"], row["slow"]) == (None, 5, False)
    counted = "5 and confirmed in 0" if kind == "nodes" else "5"
    assert f"not suspected now; suspected in {counted} of 20 sessions" in printed(sessions)


@pytest.mark.parametrize(("share", "slow"), [(0.93, True), (0.96, False)])
def test_a_server_is_slow_over_sessions_below_95_percent_with_certainty(tmp_path, share, slow):
    """With a noise of 1 %, the interval of ten sessions is about 0.02 wide."""
    found = {row["server"]: row for row in table(nights(tmp_path, "servers", share=share), kind="servers")}
    assert found[SERVER]["slow"] == slow == (found.pop(SERVER)["high"] < 0.95)
    assert not any(row["slow"] for row in found.values())


def test_only_a_confirmed_node_is_an_error_and_a_command_of_scontrol(tmp_path):
    suspected = printed(nights(tmp_path / "suspected"), "--format", "slurm")
    assert suspected.startswith("# scontrol update nodename=x0004 state=drain reason='coffeecup: 0.60 of its peers")
    confirmed = printed(nights(tmp_path / "confirmed", confirmed=[NODE]), "--format", "slurm", code=1).splitlines()
    assert len(confirmed) == 1 and confirmed[0].startswith("scontrol update nodename=x0004 state=drain reason=")
    assert "CONFIRMED" in printed(tmp_path / "confirmed", code=1)
    assert printed(nights(tmp_path / "servers", "servers"), "--format", "slurm") == ""


def test_failed_jobs_of_a_node_are_counted(tmp_path):
    examined = case({"b_eff": (1.0, "x")}, node_effects=effects_of(np.random.default_rng(1)))
    failed = case({}, benchmark="ftio", result="fail", job_nodelist=["x0002", "x0003"])
    stored = write(tmp_path, [session([examined], night(0)), session([failed], night(1))])
    found = {row["node"]: row["failed"] for row in table(stored)}
    assert {name for name, count in found.items() if count} == set(NAMES["nodes"][2:4])
    assert "1 failed job;" in printed(tmp_path)


def test_tests_on_each_node_are_compared(tmp_path):
    """--distribute: a test of its own on each node; of a latency less is better."""
    rng = np.random.default_rng(2)

    def of_night(metric, slow):
        for name in ("n1", "n2", "n3", "n4"):
            value = (slow if name == "n3" else 1) * (1 + 0.01 * rng.standard_normal())
            yield case({metric: (value, "us")}, display_name=f"b_eff %.nid={name}")

    for metric, slow in (("b_eff", 0.7), ("ping_pong_latency", 1 / 0.7)):
        sessions = [session([*of_night(metric, slow)], night(number)) for number in range(8)]
        slowest, *others = table(write(tmp_path / metric, sessions))
        assert slowest["node"] == "n3" and slowest["slow"] and slowest["ratio"] == pytest.approx(0.7, rel=0.03)
        assert len(others) == 3 and not any(row["slow"] for row in others)
        assert not any(row["suspected"] or row["confirmed"] for row in (slowest, *others)), "no run examined it"


def test_sessions_that_examined_nothing_say_so(tmp_path):
    """Neither nodes, nor servers beside nodes."""
    stored = write(tmp_path / "none", [session([case({"b_eff": (1.0, "x")})])])
    assert "No selected session examined nodes" in printed(stored) and table(stored) == []
    stored = of_nights(tmp_path / "nodes", [effects_of(np.random.default_rng(1))])
    assert "server" not in printed(stored) and table(stored, kind="servers") == []


@pytest.mark.parametrize("bad", [{"values": {"x1": [1.0]}}, {"values": {}, "servers": {"values": {"OST1": [1.0]}}}])
def test_wrong_effects_are_refused(tmp_path, bad):
    done = run("nodes", of_nights(tmp_path, [bad]))
    assert "node_effects" in done.output and done.exit_code == 2


def test_wrong_options_are_refused(tmp_path):
    good = nights(tmp_path)
    assert run("nodes", good, "--json", "--format", "slurm").exit_code == 2
    assert run("nodes", good, "--system", "elsewhere").exit_code == 2


# --- figures and pages ------------------------------------------------------------------------------------------------


@KINDS
def test_figures_and_tables_are_written(tmp_path, kind):
    certain, figures = [NODE] * (kind == "nodes"), tmp_path / "figures"
    printed(nights(tmp_path / "sessions", kind, certain), "--figures", figures, code=len(certain))
    parts = ("-01-effects", "-01-history", "")
    effects, history, every = (pd.read_csv(figures / f"coffeecup-{kind}{part}.csv") for part in parts)
    slow, of = NAMES[kind][4], kind.removesuffix("s")
    assert effects["node"].iloc[0] == slow == every[of].iloc[0] and len(effects) == len(every) == len(NAMES[kind])
    assert list(history[history["node"] == slow]["suspected"]) == [False] * BEGIN + [True] * (NIGHTS - BEGIN)
    assert all((figures / f"coffeecup-{kind}-01-{name}.png").exists() for name in ("effects", "history"))
    assert (figures / "coffeecup-nodes-01-effects.png").exists() is (kind == "nodes")


@KINDS
def test_the_site_page_lists_slow_ones_with_figures(tmp_path, kind):
    page, certain = tmp_path / "site.html", [NODE] * (kind == "nodes")
    sessions = nights(tmp_path / "sessions", kind, certain)
    assert run("site", "report", sessions, "-o", page, "--figures", tmp_path / "figures").exit_code == 0
    text = page.read_text()
    assert f"{NAMES[kind][4]}: 0.60 of its peers" in text and f"Slow {kind} by session" in text
    examined = ("12 nodes examined:",)
    if kind == "servers":
        examined = ("6 nodes examined, none of them slow.", "12 servers of files examined:")
    assert all(words in text for words in examined)
    named = pd.read_csv(tmp_path / "figures" / f"site-{kind}.csv")[kind.removesuffix("s")]
    assert list(named) == [NAMES[kind][4]]


def test_the_site_page_of_healthy_nodes_names_none(tmp_path):
    rng, page = np.random.default_rng(1), tmp_path / "site.html"
    sessions = of_nights(tmp_path / "sessions", [effects_of(rng) for _ in range(3)])
    assert run("site", "report", sessions, "-o", page).exit_code == 0
    text = page.read_text()
    assert "12 nodes examined, none of them slow." in text and "Slow nodes by session" not in text


def test_what_a_run_stores_of_its_servers_is_what_coffeecup_nodes_lists(tmp_path):
    """Three nights, the last two with a slow server."""
    stored = []
    for number, share in enumerate((1.0, 0.5, 0.5)):
        log = b_eff_io_on_servers(lambda _, server, share=share: share if server == 2 else 1.0)
        stored.append(nodes.stored(score_log(logs_made.write(tmp_path / f"{number}.jsonl", log)).nodes))
        servers = stored[-1]["servers"]
        assert servers["suspects"] == ["server2"] * (share < 1) and len(servers["values"]) == 5
    text = printed(of_nights(tmp_path / "sessions", stored)).splitlines()
    assert text[2] == "5 servers of files examined."
    assert text[3].startswith("server2: 0.50 of its peers; suspected since 2026-01-02 02:00 UTC; suspected in 2 of 3 ")
