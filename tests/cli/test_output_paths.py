# SPDX-License-Identifier: Apache-2.0
"""Where commands write: a path that cannot be written is refused before anything is read, and a command that fails
leaves nothing and overwrites nothing."""

import json
from importlib.util import find_spec

import logs_made
import pytest
from commands import run, said
from logs_made_b_eff import b_eff_log
from sessions_made import case, database, session

EVENT = ["--event", "e", "--who", "w", "--why", "w", "--until", "2099-01-01"]
# Commands whose input does not exist either: only one that looks at the path first complains about it.
WRITING = {
    "report": ["report", "none.jsonl", "-o"],
    "figures of a report": ["report", "none.jsonl", "-o", "ok.html", "--figures"],
    "site report": ["site", "report", "none.db", "-o"],
    "figures of a site": ["site", "report", "none.db", "-o", "ok.html", "--figures"],
    "history": ["history", "none.db", "--figures"],
    "nodes": ["nodes", "none.db", "--figures"],
    "JUnit": ["export", "none.db", "--junit"],
    "OpenMetrics": ["export", "none.db", "--openmetrics"],
    "accept": ["accept", "none.yaml", "none.json", "-o"],
    "acknowledge": ["acknowledge", "none.db", *EVENT, "--file"],
    "references": ["references", "propose", "none.db", "--benchmark", "b_eff", "--write", "--file"],
    "figures of a design": ["predict", "none.yaml", "--figures"],
    "workload": ["workload", "from-darshan", "none.darshan", "-o"],
    "platform": ["predict", "none.yaml", "--write-platform"],
}


@pytest.mark.parametrize("command", WRITING)
def test_a_path_that_cannot_be_written_is_refused_first(tmp_path, monkeypatch, command):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "folder").mkdir()
    (tmp_path / "file").write_text("kept")
    cases = {"file/below.html": "Not a directory", "/proc/none/x.html": ""}
    cases |= {"file": "Not a directory"} if "--figures" in WRITING[command] else {"folder": "Is a directory"}
    for path, reason in cases.items():
        done = run(*WRITING[command], path)
        text = said(done)
        assert done.exit_code == 2 and f"cannot write {path}: {reason}" in text
    assert {path.name for path in tmp_path.rglob("*")} == {"folder", "file"}
    assert (tmp_path / "file").read_text() == "kept"


@pytest.mark.parametrize("command", [name for name, words in WRITING.items() if "--figures" not in words])
def test_measurements_are_not_overwritten(tmp_path, command):
    """As by `coffeecup report -o *.jsonl`, where the shell makes the first log the page."""
    results = database(tmp_path / "results.db", [session([case({"b_eff": (1.0, "MByte/s")})])])
    log = logs_made.write(tmp_path / "log.jsonl", b_eff_log())
    reports = tmp_path / "session.json"
    reports.write_text(json.dumps(session([]), indent=2))
    for path in (results, log, reports):
        before = path.read_bytes()
        done = run(*WRITING[command], path)
        assert done.exit_code == 2 and "has measurements: write to another file" in said(done)
        assert path.read_bytes() == before


@pytest.mark.parametrize("command", WRITING)
def test_a_command_that_fails_leaves_nothing_and_overwrites_nothing(tmp_path, monkeypatch, command):
    """Its input does not exist. Only a report on a log without a score is a page: it says so."""
    monkeypatch.chdir(tmp_path)
    code = 1 if command == "workload" and find_spec("darshan") else 2
    for path in ("new.html", "old.html"):
        (tmp_path / "old.html").write_text("kept")
        if command in ("report", "figures of a report"):
            run("report", "none.jsonl", "--session", "none.json", "-o", path)
        elif "--figures" not in WRITING[command]:
            assert run(*WRITING[command], path).exit_code == code
        assert {found.name for found in tmp_path.rglob("*")} == {"old.html"}
        assert (tmp_path / "old.html").read_text() == "kept"


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        ("export none.db --junit same --openmetrics ./same", "--junit and --openmetrics name the same file"),
        ("nodes none.db --plan debug --figures same", "--plan without --figures"),
    ],
)
def test_outputs_that_would_not_be_written_are_refused(tmp_path, monkeypatch, words, complaint):
    monkeypatch.chdir(tmp_path)
    done = run(*words.split())
    assert done.exit_code == 2 and complaint in said(done) and not list(tmp_path.iterdir())


def test_the_standard_output_has_a_name(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    done = run("export", "none.db", "--junit", "-")
    text = said(done)
    assert done.exit_code == 2 and "use /dev/stdout" in text and not list(tmp_path.iterdir())
