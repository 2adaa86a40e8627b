# SPDX-License-Identifier: Apache-2.0
"""The frame around the parts: what a newcomer types, what the package declares, and the progress that a waiting person
sees."""

import fnmatch
import importlib.metadata
import json
import os
import re
import subprocess
import sys
import textwrap
import time
import tomllib
from pathlib import Path

import logs_made
import pytest
import yaml
from builds import ROOT
from logs_made_b_eff import averaged_log
from packaging.specifiers import SpecifierSet

from coffeecup.postprocess.cli.watch import Watched, watch

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
NAME = "[A-Za-z0-9_.-]+"
MARKER = r"; python_version [<>]=? '3\.[0-9]+'( and .*)?"
RANGE = re.compile(rf"{NAME}((>=|==)[0-9][0-9A-Za-z.]*)?(,<[0-9][0-9A-Za-z.]*)?({MARKER})?")
PINNED = re.compile(rf"{NAME}==[0-9][0-9A-Za-z.+]*(; python_version [<>]=? '3\.[0-9]+')?( +# .*)?")


def all_requirements():
    project = PROJECT["project"]
    extras = [requirement for extra in project["optional-dependencies"].values() for requirement in extra]
    return [*PROJECT["build-system"]["requires"], *project["dependencies"], *extras]


def constraints():
    lines = (ROOT / "site_configs" / "local" / "constraints.txt").read_text().splitlines()
    return [line for line in lines if line and not line.startswith("#")]


def name_of(requirement):
    return re.match(NAME, requirement)[0].lower().replace("_", "-")


def test_every_dependency_has_a_range_and_an_exact_version_without_an_address():
    pinned = {name_of(line) for line in constraints()}
    for requirement in all_requirements():
        assert RANGE.fullmatch(requirement), requirement
        assert "==" in requirement or name_of(requirement) in pinned, requirement
    for line in constraints():
        assert PINNED.fullmatch(line), line


def test_no_dependency_is_pinned_twice():
    pins = [(name_of(line), line.partition(";")[2].partition("#")[0]) for line in constraints()]
    assert len(pins) == len(set(pins))


def test_exact_versions_support_the_oldest_python():
    """Debian 12 has Python 3.11.2, which some releases for 3.11 do not support."""
    pinned = {name_of(line) for line in constraints()}
    needs = {
        found.name: found.metadata["Requires-Python"]
        for found in importlib.metadata.distributions()
        if re.sub("[-_.]+", "-", found.name.lower()) in pinned and found.metadata["Requires-Python"]
    }
    assert len(needs) > 50
    assert {name for name, versions in needs.items() if not SpecifierSet(versions).contains("3.11.0")} == set()


@pytest.mark.parametrize("package", PROJECT["tool"]["setuptools"]["package-data"])
def test_every_data_file_is_packaged(package):
    patterns = PROJECT["tool"]["setuptools"]["package-data"][package]
    folder = package.removeprefix("coffeecup.").replace(".", "/")
    tracked = subprocess.check_output(["git", "ls-files", folder], cwd=ROOT, text=True).split()
    data = [str(Path(path).relative_to(folder)) for path in tracked if not path.endswith((".py", ".md"))]
    assert data
    assert [path for path in data if not any(fnmatch.fnmatch(path, pattern) for pattern in patterns)] == []


def test_package_has_the_authors_of_the_citation():
    assert PROJECT["project"]["authors"] == yaml.safe_load((ROOT / "CITATION.cff").read_text())["authors"]


def test_help_lists_every_target():
    listed = subprocess.run(["make", "help"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    targets = re.search(r"^\.PHONY: (.*)$", (ROOT / "Makefile").read_text(), re.MULTILINE)[1].split()
    assert re.findall(r"^make (\w+) +\S", listed, re.MULTILINE) == targets
    assert len({len(begin) for begin in re.findall(r"^make \w+ +", listed, re.MULTILINE)}) == 1, "one column"


def test_sources_are_not_checked_without_git(tmp_path):
    """In an unpacked archive, where it would list nothing."""
    (tmp_path / "Makefile").write_text((ROOT / "Makefile").read_text())
    done = subprocess.run(["make", "check"], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 2 and "checks of the sources need a clone, in which git lists them" in done.stderr


@pytest.mark.parametrize("named", [None, "/own/place"])
def test_make_run_keeps_everything_in_one_folder(named):
    """ReFrame has its results database there. All logs are scored, also those of failed tests, which are in stage/.
    Another one that starts in the same second has a folder of its own."""
    clean = {
        name: value for name, value in os.environ.items() if name not in ("COFFEECUP_OUTPUT", "RFM_SQLITE_DB_FILE")
    }
    clean |= {"COFFEECUP_OUTPUT": named} if named else {}
    command = ["make", "--dry-run", "--old-file=setup", "run"]
    printed, other = (
        subprocess.run(command, cwd=ROOT, env=clean, capture_output=True, text=True, check=True).stdout
        for _ in range(2)
    )
    folder = named or "output"
    assert f"${{RFM_SQLITE_DB_FILE:-{folder}/results.db}}" in printed and f" -o {folder}/report.html" in printed
    session = re.search(rf"--prefix=({folder}/\d{{8}}T\d{{6}}\.\d{{9}}) ", printed)[1]
    for words in (f"watch {session}/stage ", f"score {session} ", f"report {session} "):
        assert words in printed
    assert session not in other


def test_readme_names_the_commands_that_are_there():
    readme = (ROOT / "README.md").read_text()
    targets = set(re.findall(r"^(\w+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    assert {"run", "test"} <= set(re.findall(r"\bmake (\w+)", readme)) <= targets


def test_continuous_integration_runs_make_test_and_nothing_else():
    script = (ROOT / ".ci" / "run").read_text().splitlines()
    commands = [line for line in script if line and not line.startswith("#")]
    assert commands == ["set -eu", 'cd "$(dirname "$0")/.."', "exec make test"]


def test_tree_holds_no_path_of_a_machine():
    own = str(ROOT)
    found = subprocess.run(["git", "grep", "-lwF", own], cwd=ROOT, capture_output=True, text=True, check=False)
    assert found.stdout.split() == []


# Progress

GROWING = """
    import json, pathlib, sys, time
    records = [json.loads(line) for line in open({made!r})]
    log = pathlib.Path({folder!r}, "deep", "b_eff.jsonl")
    log.parent.mkdir(parents=True)
    print("the command speaks", flush=True)
    lines = [(json.dumps(record) + "\\n").encode() for record in records]
    half, nearly = len(lines) // 2, len(lines) - 2
    first = log.with_suffix(".part")
    first.write_bytes(b"".join(lines[:half]))
    first.rename(log)  # appears as a whole
    time.sleep(1.5)
    with log.open("ab", buffering=0) as file:
        file.write(b"".join(lines[half:nearly]))
        time.sleep(1.5)
        file.write(b"".join(lines[nearly:]))
    sys.exit(7)
"""


@pytest.fixture
def growing(tmp_path):
    """A folder, and a command that writes a log there in three bursts and ends with 7; how many measurements are in the
    first burst, in the first two and in the log."""
    made = logs_made.write(tmp_path / "made", averaged_log(ranks=2, nodes=1))
    folder = tmp_path / "logs"
    script = textwrap.dedent(GROWING.format(made=str(made), folder=str(folder)))
    kinds = [json.loads(line)["record"] for line in made.open()]
    counts = [kinds[:end].count("measurement") for end in (len(kinds) // 2, len(kinds) - 2, len(kinds))]
    return folder, [sys.executable, "-c", script], counts


def test_watching_tells_the_progress_and_returns_the_exit_code(growing, capfd):
    """A line every 15 seconds: the first is about the first burst."""
    folder, command, (half, nearly, all_of_them) = growing
    assert watch(folder, command) == 7
    shown = capfd.readouterr().out
    assert "the command speaks" in shown
    assert f"b_eff on 2 processes: {all_of_them} of {all_of_them} measurements, complete" in shown
    told = [int(count) for count in re.findall(r"(\d+) of \d+ measurements, \d+ %", shown)]
    assert told[0] == half and set(told) <= {half, nearly}


def test_watching_on_a_terminal_shows_a_bar(growing):
    folder, command, _ = growing
    program = f"from coffeecup.postprocess.cli.watch import watch; watch({str(folder)!r}, {command!r})"
    terminal = {"FORCE_COLOR": "1", "PATH": "/usr/bin", "TERM": "xterm"}
    shown = subprocess.check_output([sys.executable, "-c", program], env=terminal, text=True)
    assert "the command speaks" in shown and "━" in shown and "%" in shown


def test_watching_ignores_logs_from_before_and_what_is_no_log(tmp_path, capfd):
    logs_made.write(tmp_path / "old.jsonl", averaged_log(ranks=2, nodes=1))
    assert watch(tmp_path, ["sh", "-c", f"sleep 1.2; echo '[1]' > {tmp_path}/new.jsonl; exit 3"]) == 3
    assert capfd.readouterr().out == ""


def test_watching_goes_on_if_a_directory_vanishes_while_it_is_searched(tmp_path, monkeypatch):
    """ReFrame removes the stage directory of a test that is done."""
    search = os.scandir

    def too_late(path):
        if Path(path).name == "done":
            Path(path).rmdir()
        return search(path)

    (tmp_path / "done").mkdir()
    watched = Watched(tmp_path)
    (tmp_path / "other").mkdir()
    logs_made.write(tmp_path / "other" / "b_eff.jsonl", averaged_log())
    monkeypatch.setattr(os, "scandir", too_late)
    assert [log.path.parent.name for log, _ in watched.grown()] == ["other"]
    assert not (tmp_path / "done").exists()


def test_watching_passes_the_end_on_and_waits_for_the_command(tmp_path):
    script = f"trap 'echo ended > {tmp_path}/end; exit 5' TERM; touch {tmp_path}/begun; while :; do sleep 0.1; done"
    words = [sys.executable, "-m", "coffeecup.postprocess.cli", "watch", str(tmp_path), "--", "sh", "-c", script]
    watching = subprocess.Popen(words, stderr=subprocess.DEVNULL)
    while not (tmp_path / "begun").exists():
        assert watching.poll() is None
        time.sleep(0.1)
    watching.terminate()
    assert watching.wait(60) == 5 and (tmp_path / "end").exists()


def test_watching_says_where_no_log_appeared(tmp_path, capfd):
    """The directory need not exist yet: ReFrame creates it."""
    assert watch(tmp_path / "none", ["true"]) == 0
    assert capfd.readouterr().err == f"coffeecup: no log appeared below {tmp_path}/none\n"
    assert watch(tmp_path, ["touch", f"{tmp_path}/new.jsonl"]) == 0
    assert capfd.readouterr().err == ""


def test_watching_a_command_that_does_not_exist_says_so(tmp_path, capfd):
    assert watch(tmp_path, ["no-such-command"]) == 127
    assert "no-such-command cannot be run" in capfd.readouterr().err
