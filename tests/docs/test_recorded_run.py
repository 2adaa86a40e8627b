# SPDX-License-Identifier: Apache-2.0
"""What README and tutorial show of a first run and of nights is what coffeecup prints for what these measured."""

import csv
import hashlib
import lzma
import re
from pathlib import Path

import pytest
from builds import ROOT
from commands import run
from sessions_made import case, database, each_night, session

FIRST_RUN = ROOT / "tests" / "kernel_logs" / "first_run"

NIGHTS = Path(__file__).with_name("tutorial_nights.csv")


@pytest.fixture
def logs(tmp_path, monkeypatch):
    """The logs in the folders in which `make run` leaves them, named BENCHMARK-PROCESSES."""
    monkeypatch.setenv("COLUMNS", "80")
    for packed in FIRST_RUN.glob("*.jsonl.xz"):
        name = packed.name.partition(".")[0]
        folder = tmp_path / "output" / name
        folder.mkdir(parents=True)
        (folder / f"{name.partition('-')[0]}.jsonl").write_bytes(lzma.decompress(packed.read_bytes()))
    return tmp_path / "output"


def shown(page, first_line):
    """The block that begins with this line, in parts between which lines are left out."""
    [block] = re.findall(rf"^```text\n({re.escape(first_line)}.*?)^```", page.read_text(), re.MULTILINE | re.DOTALL)
    return re.split(r"^ *\.\.\.\n", block, flags=re.MULTILINE)


def follow(text, parts):
    """Whether the parts occur in the text in this order, without spaces at the ends of lines."""
    text, place = re.sub(" +$", "", text, flags=re.MULTILINE), 0
    for part in parts:
        found = text.find(part, place)
        if found < 0:
            return False
        place = found + len(part)
    return True


def test_parts_in_another_order_are_found():
    assert follow("a\nb\nc\n", ["a\n", "c\n"]) and not follow("a\nb\nc\n", ["c\n", "a\n"])


def test_readme_shows_the_last_screen_of_a_first_run(logs, tmp_path):
    hashes = [hashlib.sha256(log.read_bytes()).hexdigest() for log in logs.rglob("*.jsonl")]
    cases = [case({"b_eff": (1.0, "MByte/s")}, processes=place, log_sha256=one) for place, one in enumerate(hashes, 1)]
    database(tmp_path / "results.db", [session(cases)])
    done = run("score", logs, "--history", tmp_path / "results.db")
    parts = shown(ROOT / "README.md", "8 results")
    assert parts[-1] == "wrote output/report.html\n"
    assert done.exit_code == 0 and done.stdout.startswith("8 results") and follow(done.stdout, parts[:-1])


def test_tutorial_shows_a_log_of_it_in_full(logs):
    done = run("score", logs / "b_eff-2" / "b_eff.jsonl")
    assert done.exit_code == 0 and follow(done.stdout, shown(ROOT / "docs" / "tutorial.md", "b_eff = "))


def test_tutorial_shows_what_its_nights_lead_to(tmp_path, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    runs = [[] for _ in range(11)]
    with NIGHTS.open() as file:
        for row in csv.DictReader(file):
            night, qualifications = int(row.pop("night")), row.pop("qualifications")
            metrics = {name.split()[0]: (float(value), name.split()[1]) for name, value in row.items()}
            runs[night].append(case(metrics, qualifications=qualifications))
    nights = database(tmp_path / "results.db", each_night(len(runs), lambda number: runs[number]))
    proposed = run("references", "propose", nights, "--benchmark", "b_eff", "--file", tmp_path / "my.yaml", "--write")
    tutorial = ROOT / "docs" / "tutorial.md"
    assert proposed.exit_code == 0 and follow(proposed.stdout, shown(tutorial, "local:default, 2, b_eff: "))
    judged = run("check-history", nights)
    assert judged.exit_code == 0 and follow(judged.stdout, shown(tutorial, "11 sessions, "))
