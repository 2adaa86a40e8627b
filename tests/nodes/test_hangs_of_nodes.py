# SPDX-License-Identifier: Apache-2.0
"""Hangs over sessions: the same nodes named twice are a finding, in `coffeecup nodes`, the site page and exports."""

import json
from xml.etree import ElementTree

import pytest
from commands import run
from sessions_made import case, night, session, write

VERDICT = "rank 3 on n2 waits for a message from rank 1 on n1 (pattern ring-2)"


def hung(*nodes, verdict=VERDICT):
    reason = f"sanity error: b_eff.jsonl: the run hangs: no progress for 30 s; {verdict}"
    effects = {"hang": {"verdict": verdict, "nodes": list(nodes)}}
    return case({}, result="fail", fail_phase="sanity", fail_reason=reason, node_effects=effects)


@pytest.fixture
def folder(tmp_path):
    """The same link twice, with a session without a hang and another hang between; and one without a known cause."""
    tests = [hung("n1", "n2"), case({"b_eff": (1.0, "MByte/s")}), hung("n1"), hung(), hung(), hung("n1", "n2")]
    return write(tmp_path / "sessions", [session([test], night(number)) for number, test in enumerate(tests)])


def test_the_same_link_twice_is_a_finding(folder):
    done = run("nodes", folder)
    lines = [line for line in done.stdout.splitlines() if " hang" in line]
    assert lines == [
        f"2 hangs of n1 and n2, 2026-01-01 to 2026-01-06; examine a node or the link between them: {VERDICT}",
        f"2 hangs, 2026-01-04 to 2026-01-05: {VERDICT}",
        f"1 hang of n1, 2026-01-03: {VERDICT}",
    ]
    assert done.exit_code == 1
    found = json.loads(run("nodes", folder, "--json").stdout)["hangs"]
    assert [(row["nodes"], row["hangs"], row["again"]) for row in found] == [
        (["n1", "n2"], 2, True),
        ([], 2, False),  # of unknown cause: nothing is the same
        (["n1"], 1, False),
    ]


def test_different_hangs_are_no_finding(folder):
    done = run("nodes", folder, "--until", "2026-01-05")
    assert done.exit_code == 0 and "1 hang of n1 and n2, 2026-01-01: " in done.stdout and "; examine" not in done.stdout


def test_the_site_page_and_exports_show_hangs(folder, tmp_path):
    page, junit, metrics = (tmp_path / name for name in ("site.html", "junit.xml", "metrics.txt"))
    assert run("site", "report", folder, "-o", page).exit_code in (0, 1)
    assert "2 hangs of n1 and n2, 2026-01-01 to 2026-01-06" in page.read_text()
    assert run("export", folder, "--junit", junit, "--openmetrics", metrics).exit_code == 0
    assert 'coffeecup_hangs{system="local",nodes="n1 n2"} 2.0' in metrics.read_text().splitlines()
    failures = [failure.get("message") for failure in ElementTree.parse(junit).iter("failure")]
    assert sum(VERDICT in message for message in failures) == 5
