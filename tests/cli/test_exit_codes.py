# SPDX-License-Identifier: Apache-2.0
"""The exit codes that --help states are those that the commands return, each of them."""

import os
import re
import subprocess

import evidence_made
import logs_made
import pytest
from builds import PATIENCE, ROOT
from commands import all_commands, run
from conftest import COFFEECUP
from logs_made_b_eff import averaged_log
from sessions_made import case, database, nights, session, steady

# Proven by another test, which needs minutes, as the bundle of a whole tree does, or PyDarshan.
ELSEWHERE = {
    ("site bundle", 0): "test_bundle.py",
    ("acknowledge", 0): "test_events.py",
    ("acknowledge", 2): "test_events.py",
    ("nodes", 3): "test_rolling_on_slurm.py",
    ("workload from-darshan", 0): "test_priomark_from_darshan.py",
    ("workload from-darshan", 1): "test_priomark_from_darshan.py",
    ("workload replay", 0): "test_priomark_from_darshan.py",
    ("workload replay", 1): "test_priomark_from_darshan.py",
    ("workload compare", 0): "test_priomark_from_darshan.py",
    ("workload compare", 1): "test_priomark_from_darshan.py",
}
REFERENCES = "_meta: {}\nb_eff:\n  $index: [$partition, num_processes]\n"


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    top = tmp_path_factory.mktemp("codes")
    logs_made.write(top / "good.jsonl", averaged_log())
    logs_made.write(top / "bad.jsonl", b"{}\n")
    database(top / "steady.db", nights(steady(20)))
    database(top / "constant.db", nights([1000.0] * 20, time_run=60.0, scheduler="local"))
    database(top / "slower.db", nights([*steady(20), *steady(8, 700)]))
    values = {f"x{node}": [0.5**node, 0, 1, 1, 1] for node in (0, 1)}
    effect = {"suspects": ["x1"], "confirmed": ["x1"], "values": values}
    database(top / "slow_node.db", [session([case({"b_eff": (1000.0, "MByte/s")}, node_effects=effect)])])
    entry = {"b_eff": (1000.0, 1000.0, -0.1, None, "MByte/s", "pass")}
    database(top / "compared.db", [session([case(entry)])])
    copied = f"command: [cp, {top / 'good.jsonl'}, log.jsonl]\npairs: 6\n"
    (top / "same.yaml").write_text(f"{copied}arms: {{usual: {{}}, other: {{options: [--no-clobber]}}}}\n")
    (top / "b_eff.yaml").write_text(REFERENCES + "  local:default:\n    2: {b_eff: [1000, -0.1, null, MByte/s]}\n")
    (top / "settings.py").write_text(
        "site_configuration = {'systems': [{'name': 's', 'hostnames': ['.*'], 'partitions': [{'name': 'p', "
        "'scheduler': 'local', 'launcher': 'local', 'environs': ['e']}]}], 'environments': [{'name': 'e'}]}\n"
    )
    for name, floor in (("low", 1), ("high", 10**9)):
        (top / name).mkdir()
        evidence_made.evidence(top / name, evidence_made.contract(top / name, floor))
    evidence_made.contract(top, 1)
    return top


RUNS = [
    ("score", 0, ["good.jsonl"]),
    ("score", 1, ["bad.jsonl"]),
    ("score", 2, ["good.jsonl", "--r-max", "0"]),
    ("report", 0, ["good.jsonl", "-o", "new/report.html"]),
    ("report", 1, ["bad.jsonl", "-o", "new/report.html"]),
    ("report", 2, ["good.jsonl", "-o", "good.jsonl/report.html"]),
    ("watch", 2, []),
    ("watch", 127, [".", "--", "no-such-command"]),
    ("watch", "any other", [".", "--", "sh", "-c", "exit 7"]),
    ("history", 0, ["slower.db"]),
    ("history", 2, ["none.db"]),
    ("nodes", 0, ["steady.db"]),
    ("nodes", 1, ["slow_node.db"]),
    ("nodes", 2, ["steady.db", "--last", "0"]),
    ("nodes", 2, ["steady.db", "--plan", "debug"]),  # without Slurm
    ("plan", 0, ["constant.db", "--minutes", "1"]),
    ("plan", 1, ["constant.db", "--minutes", "0.9"]),
    ("plan", 2, ["constant.db", "--minutes", "1", "--nights", "3"]),
    ("check-history", 0, ["steady.db"]),
    ("check-history", 1, ["slower.db"]),
    ("check-history", 2, ["steady.db", "--max-age", "nan"]),
    ("export", 0, ["slower.db", "--junit", "new/junit.xml"]),
    ("export", 2, ["slower.db"]),
    ("accept evaluate", 0, ["low/contract.yaml", "low/session.json", "-o", "new/a.html"]),
    ("accept evaluate", 1, ["high/contract.yaml", "high/session.json", "-o", "new/a.html"]),
    ("accept evaluate", 2, ["low/session.json", "low/session.json", "-o", "new/a.html"]),
    ("accept evaluate", 2, ["--verify", "low/session.json"]),
    ("accept begin", 0, ["contract.yaml"]),
    ("accept begin", 2, ["low/contract.yaml"]),
    ("accept software", 0, ["good.jsonl"]),
    ("accept software", 2, ["bad.jsonl"]),
    ("accept risk", 0, ["low/contract.yaml", "--scatter", "5", "--draws", "100"]),
    ("accept risk", 2, ["low/contract.yaml"]),
    ("accept plan", 0, ["low/contract.yaml", "--scatter", "1", "--draws", "100"]),
    ("accept plan", 1, ["low/contract.yaml", "--scatter", "5", "--draws", "100", "--most-runs", "1"]),
    ("accept plan", 2, ["low/contract.yaml"]),
    ("predict", 0, ["--network", "crossbar", "--nodes", "4", "--nic", "1GB/s", "--latency", "1us"]),
    ("predict", 2, ["--network", "ether", "--nodes", "4", "--nic", "1GB/s", "--latency", "1us"]),
    ("workload from-darshan", 2, ["new", "-o", "low"]),
    ("workload compare", 2, ["new"]),
    ("workload replay", 2, ["new", "-o", "low"]),
    ("schema", 0, ["b_eff"]),
    ("schema", 2, ["c_eff"]),
    ("references propose", 0, ["steady.db", "--benchmark", "b_eff", "--file", "new.yaml"]),
    ("references propose", 2, ["steady.db", "--benchmark", "b_eff", "--file", "new.yaml", "--min-sessions", "30"]),
    ("references check", 0, ["compared.db", "--file", "b_eff.yaml"]),
    ("references check", 1, ["steady.db"]),
    ("references check", 2, ["compared.db", "--file", "settings.py"]),
    ("site new", 0, ["here", "--directory", "new/site"]),
    ("site new", 2, ["here", "--directory", "low"]),
    ("site overlay", 0, ["settings.py", "--system", "s"]),
    ("site overlay", 2, ["settings.py", "--system", "none"]),
    ("site check", 0, ["local", "--elsewhere"]),
    ("site check", 1, ["no-such-site"]),
    ("site check", 2, []),
    ("site bundle", 1, ["tests"]),
    ("site bundle", 2, []),
    ("site report", 0, ["slower.db", "-o", "new/site.html"]),
    ("site report", 2, ["slower.db", "-o", "/proc/none/site.html"]),
    ("compare", 0, ["same.yaml", "-o", "new/same"]),
    ("compare", 1, ["--arm", "usual=", "--arm", "other=--help", "-o", "new/failed", "--", "false"]),
    ("compare", 2, ["none.yaml"]),
    ("compare", 1, ["slower.db", "--sessions", "2026-01-01", "2026-01-02", "--metric", "b_eff"]),
    ("compare", 2, ["slower.db", "--sessions", "2020-01-01", "2026-01-02"]),
]


def stated(command):
    """The exit codes in the command's help."""
    text = re.sub(r"\s*\n\s*", " ", run(*command.split(), "--help").stdout)
    return {
        int(code) if code.isdigit() else code
        for code in re.findall(r"(?:^|; )(\d+|any other): ", text.partition("Exit codes: ")[2])
    }


@pytest.mark.parametrize(("command", "code", "arguments"), RUNS, ids=lambda value: str(value).replace(" ", "-")[:40])
def test_command_exits_as_its_help_says(folder, monkeypatch, command, code, arguments):
    monkeypatch.chdir(ROOT if command in ("site check", "site bundle") else folder)
    done = run(*command.split(), *arguments)
    assert done.exit_code == (7 if code == "any other" else code), done.output
    assert code in stated(command) and "Traceback" not in done.output
    assert code != 2 or ("Usage" in done.stderr and len(done.stderr) > 80)


def test_every_stated_code_is_tried():
    tried = {(command, code) for command, code, _ in RUNS} | set(ELSEWHERE)
    assert {(name, code) for name in all_commands() for code in stated(name)} == tried


@pytest.mark.parametrize("buffers", [{}, {"PYTHONUNBUFFERED": "1"}], ids=["with buffers", "without"])
def test_output_that_cannot_be_written_is_an_error(folder, buffers):
    """A full disk behind the standard output."""
    with open("/dev/full", "w") as full:  # noqa: PTH123
        done = scored_into(full, folder, buffers)
    assert done.returncode == 2
    assert done.stderr == b"coffeecup: cannot write the output: No space left on device\n"


def test_output_that_nobody_reads_ends_the_command_in_silence(folder):
    """As `| head` does."""
    reader, writer = os.pipe()
    os.close(reader)
    done = scored_into(writer, folder)
    os.close(writer)
    assert (done.returncode, done.stderr) == (1, b"")


def scored_into(output, folder, buffers=()):
    words = [COFFEECUP, "score", folder / "good.jsonl"]
    env, streams = os.environ | dict(buffers), {"stdout": output, "stderr": subprocess.PIPE}
    return subprocess.run(words, env=env, **streams, check=False, timeout=PATIENCE)
