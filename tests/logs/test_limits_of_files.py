# SPDX-License-Identifier: Apache-2.0
"""Files that a user names are limited in size, and CSV is safe to open."""

import io
import json
import subprocess

import evidence_made
import pandas as pd
import pytest
from builds import ROOT
from commands import run, said
from contracts_made import evaluate
from sessions_made import case, session

from coffeecup.postprocess.acceptance import ledger
from coffeecup.postprocess.acceptance.contract import read_contract
from coffeecup.postprocess.logs import trees
from coffeecup.postprocess.sessions import files
from coffeecup.postprocess.show.tables import csv_text

DESIGN = "a: {network: crossbar, nodes: 2, nic: 1GB/s, latency: 1us}\n"
SESSION = session([case({"b_eff": (1000.0, "MByte/s")})])


def written(folder):
    """A file of each kind, with the command that reads it."""
    contract = evidence_made.contract(folder, 1)
    (folder / "session.json").write_text(json.dumps(SESSION))
    (folder / "design.yaml").write_text(DESIGN)
    (folder / "thresholds.yaml").write_text("[]\n")
    history = ("history", folder / "session.json")
    return {
        "session.json": history,
        "contract.yaml": ("accept", "--explain", contract),
        "design.yaml": ("predict", folder / "design.yaml"),
        "thresholds.yaml": (*history, "--thresholds", folder / "thresholds.yaml"),
    }


NAMES = ["session.json", "contract.yaml", "design.yaml", "thresholds.yaml"]


@pytest.mark.parametrize("name", NAMES)
def test_a_file_of_3_gib_is_refused_unread(tmp_path, name):
    command = written(tmp_path)[name]
    with (tmp_path / name).open("wb") as file:
        file.truncate(3 * 2**30)
    done = run(*command)
    limit = "256 MiB" if name == "session.json" else "1 MiB"
    words = said(done)
    assert done.exit_code == 2 and f"cannot be read: larger than {limit}" in words, done.output


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize(("more", "code"), [(0, 0), (1, 2)])
def test_a_file_may_have_the_limit_itself(tmp_path, monkeypatch, name, more, code):
    command = written(tmp_path)[name]
    size = (tmp_path / name).stat().st_size
    monkeypatch.setattr(files, "LARGEST_SESSION", size - more if name == "session.json" else 2**20)
    monkeypatch.setattr(trees, "LARGEST_FILE", size - more)
    assert run(*command).exit_code == code


@pytest.mark.parametrize(("more", "refused"), [(0, False), (1, True)])
def test_a_ledger_may_have_the_limit_itself(tmp_path, monkeypatch, more, refused):
    agreed = evidence_made.contract(tmp_path, 1)
    report = evidence_made.evidence(tmp_path, agreed)
    size = ledger.ledger_path(agreed).stat().st_size
    monkeypatch.setattr(ledger, "LARGEST_LEDGER", size - more)
    assert (evaluate(tmp_path, report)[0].exit_code == 2) is refused
    assert len(read_contract(agreed).clauses) == 1


# --- output -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("cell", "shown"),
    [
        ('=HYPERLINK("http://x";"y")', '\'=HYPERLINK("http://x";"y")'),
        *(("+1", "'+1"), ("-1", "'-1"), ("@SUM(A1)", "'@SUM(A1)"), ("\t=1", "\\t=1"), ("\r=1", "\\r=1")),
        *(("\x1b[2J", "\\x1b[2J"), ("a=1", "a=1"), ("1-2", "1-2"), ("", "")),
    ],
)
def test_no_text_of_a_csv_file_is_a_formula(cell, shown):
    read = pd.read_csv(io.StringIO(csv_text(pd.DataFrame({"text": [cell, "b"], "n": [1, 2]}))), keep_default_na=False)
    assert list(read["text"]) == [shown, "b"]


def test_numbers_of_a_csv_file_stay_numbers():
    table = pd.DataFrame({"=name": [-1.5, 2.0], "mixed": [-3, "-3"], "day": pd.to_datetime(["2026-01-01"] * 2)})
    assert csv_text(table).splitlines() == ["'=name,mixed,day", "-1.5,-3,2026-01-01", "2.0,'-3,2026-01-01"]


def test_the_csv_of_sessions_is_safe(tmp_path):
    """The name of a test of another suite is in it."""
    made = session([case({"bandwidth": (5.0, "MB/s")}, benchmark="=cmd|' /C calc'!A0")])
    (tmp_path / "session.json").write_text(json.dumps(made))
    done = run("history", tmp_path / "session.json", "--csv")
    assert done.exit_code == 0 and "'=cmd" in done.stdout and ",=cmd" not in done.stdout


def test_every_csv_goes_through_one_function():
    words = ["git", "grep", "-lE", r"to_csv\(|csv\.writer|DictWriter", "--"]
    words += ["postprocess", "reframe_checks", "site_configs"]
    done = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.stdout.split() == ["postprocess/show/tables.py"]


# --- words ------------------------------------------------------------------------------------------------------------


def test_a_misspelt_command_of_accept_names_the_valid_words():
    done = run("accept", "begn", "x")
    words = said(done)
    assert done.exit_code == 2
    assert "no contract and no command 'begn': name a contract's file, or one of evaluate, begin" in words
