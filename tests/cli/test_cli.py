# SPDX-License-Identifier: Apache-2.0
"""The `coffeecup` command: what it prints, its exit codes, and that a user's mistake is never met with a traceback."""

import csv
import io
import json
import os
import re
import subprocess
import sys

import logs_made
import pytest
from builds import PATIENCE
from commands import run, said
from logs_made_b_eff import AVERAGED, averaged_log
from logs_made_ftio import ftio_log
from sessions_made import case, database, nights, session

from coffeecup import __version__
from coffeecup.postprocess.benchmarks import scoring
from coffeecup.postprocess.benchmarks.b_eff import qualifications
from coffeecup.postprocess.benchmarks.registry import benchmarks
from coffeecup.postprocess.benchmarks.scoring import score_log


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Two logs with a score, one of them deeper, and one without."""
    top = tmp_path_factory.mktemp("runs")
    logs_made.write(top / "a.jsonl", averaged_log(methods=AVERAGED, repetitions=3))
    logs_made.write(top / "deeper" / "b.jsonl", averaged_log(ranks=7))
    logs_made.write(top / "broken.jsonl", b"{}\n")
    (top / "notes.txt").write_text("no log")
    return top


def test_score_shows_every_metric_with_its_unit(folder):
    done = run("score", folder / "a.jsonl")
    assert done.exit_code == 0 and done.stderr == ""
    rows = [line.split() for line in done.stdout.splitlines()]
    value = {row[0]: row[1:] for row in rows if len(row) == 3}
    score, units = score_log(folder / "a.jsonl"), benchmarks()["b_eff"].units
    assert {name: unit for name, (_, unit) in value.items() if name in units} == units
    assert float(value["b_eff_per_process"][0]) == pytest.approx(score.metrics["b_eff_per_process"].value, rel=1e-3)
    assert "official; 16 processes on 2 hosts" in done.stdout


def test_score_tells_what_qualifies_a_result(folder):
    done = run("score", folder / "deeper")
    assert "not official; 7 processes" in done.stdout
    assert "1 repetition of each measurement instead of 3" in said(done)


def test_score_with_r_max_gives_the_balance_factor_in_bytes_per_flop(folder):
    [told] = json.loads(run("score", folder / "a.jsonl", "--r-max", "250", "--json").stdout)
    b_eff_bytes_per_second = score_log(folder / "a.jsonl").metrics["b_eff"].value * 1e6
    assert told["metrics"]["balance_factor"]["value"] == pytest.approx(b_eff_bytes_per_second / 250e9)
    assert "balance_factor" not in run("score", folder / "a.jsonl").stdout


@pytest.mark.parametrize("r_max", ["0", "-1", "nan", "inf", "fast"])
def test_an_impossible_r_max_is_refused(folder, r_max):
    done = run("score", folder / "a.jsonl", "--r-max", r_max)
    assert done.exit_code == 2 and done.stdout == "" and "r-max" in done.stderr


def test_score_of_a_directory_finds_all_logs_and_tells_of_those_without_a_score(folder):
    done = run("score", folder, "--json")
    assert done.exit_code == 1
    results = {result["log"]: result for result in json.loads(done.stdout)}
    first, broken, deeper = (str(folder / name) for name in ("a.jsonl", "broken.jsonl", "deeper/b.jsonl"))
    assert sorted(results) == [first, broken, deeper]
    score, told = score_log(folder / "a.jsonl"), results[first]
    assert told["official"] is True and told["sha256"] == score.log.sha256 and told["ranks"] == 16
    values = {name: {"value": metric.value, "unit": metric.unit} for name, metric in score.metrics.items()}
    assert told["metrics"] == values and "not a record" in results[broken]["error"]
    assert [q["key"] for q in results[deeper]["qualifications"]] == ["repetitions", "methods"]
    assert done.stderr.startswith(f"coffeecup: {folder / 'broken.jsonl'}: ") and done.stderr.count("\n") == 1


def defective(original, path):
    """The function, which raises for one log."""

    def function(of, *rest):
        if getattr(of, "path", of) == path:
            raise KeyError("planted")
        return original(of, *rest)

    return function


def test_defect_that_one_log_meets_is_an_error_of_that_log(folder, monkeypatch):
    """A planted defect in reading one log, and one in qualifying it."""
    right = {metric["log"]: metric for metric in json.loads(run("score", folder, "--json").stdout)}
    for module, name in ((scoring, "read_log"), (qualifications, "qualifications")):
        monkeypatch.setattr(module, name, defective(getattr(module, name), folder / "a.jsonl"))
        done = run("score", folder, "--json")
        monkeypatch.undo()
        assert done.exit_code == 1
        assert "a.jsonl: met a defect of coffeecup (KeyError: 'planted'): please report it" in done.stderr
        found = {metric["log"]: metric for metric in json.loads(done.stdout)}
        assert "metrics" not in found.pop(str(folder / "a.jsonl"))
        assert found == {log: score for log, score in right.items() if log != str(folder / "a.jsonl")}


def test_score_as_csv_has_a_row_per_log_and_metric(folder):
    done = run("score", "--csv", folder / "a.jsonl", folder / "deeper")
    rows = list(csv.DictReader(io.StringIO(done.stdout)))
    assert done.exit_code == 0 and len(rows) == 2 * len(benchmarks()["b_eff"].units)
    first, row = score_log(folder / "a.jsonl").metrics["b_eff"], rows[0]
    assert (row["metric"], float(row["value"])) == ("b_eff", first.value)
    assert (row["unit"], row["official"]) == (first.unit, "True")


def test_a_log_that_is_named_twice_is_scored_once(folder):
    assert len(json.loads(run("score", "--json", folder / "a.jsonl", folder / "a.jsonl").stdout)) == 1


def test_report_writes_each_figure_in_three_forms(folder, tmp_path):
    figures = tmp_path / "new" / "figures"
    logs = folder / "a.jsonl", folder / "deeper"
    done = run("report", *logs, "-o", tmp_path / "r.html", "--figures", figures)
    assert done.exit_code == 0
    written = {path.name for path in figures.iterdir()}
    names = {f"{log}-{name}" for log in "ab" for name in ("lengths", "placement", "methods", "reported")}
    assert written == {f"{name}.{kind}" for name in (*names, "b_eff-sizes") for kind in ("png", "svg", "csv")}
    assert (figures / "a-lengths.png").read_bytes().startswith(b"\x89PNG")
    told = [line.rpartition("/")[2] for line in done.stderr.splitlines() if line.startswith("wrote ")]
    assert sorted(told) == sorted([*written, "r.html"]) and done.stdout == ""


def test_figures_of_logs_with_the_same_name_do_not_overwrite_each_other(tmp_path):
    for name in ("x", "y"):
        logs_made.write(tmp_path / name / "log.jsonl", ftio_log())
    run("report", tmp_path / "x", tmp_path / "y", "-o", tmp_path / "r.html", "--figures", tmp_path / "out")
    written = [path.name for path in (tmp_path / "out").glob("log-*.svg")]
    assert {f"log-{number}-" for number in (1, 2)} == {name[:6] for name in written} and len(set(written)) % 2 == 0


def test_figures_of_a_log_are_the_same_each_time(tmp_path):
    log = logs_made.write(tmp_path / "log.jsonl", ftio_log())
    for again in ("one", "two"):
        run("report", log, "-o", tmp_path / "r.html", "--figures", tmp_path / again)
    first = list((tmp_path / "one").glob("*.svg"))
    assert first and all((tmp_path / "two" / path.name).read_bytes() == path.read_bytes() for path in first)


@pytest.mark.parametrize(
    "arguments",
    [
        *("", "--nonsense", "score", "score --json --csv {folder}", "nonsense {folder}", "score {empty}"),
        *("report {folder} --session {folder}/notes.txt", "report {folder} --session {folder}/none"),
        "report {folder}/a.jsonl -o {empty}",
        "report {folder}/a.jsonl -o {empty}/r.html --figures {folder}/notes.txt",
    ],
)
def test_wrong_usage_exits_2_with_a_hint(folder, tmp_path, arguments):
    done = run(*arguments.format(folder=folder, empty=tmp_path).split())
    assert done.exit_code == 2
    assert "Usage" in done.stdout + done.stderr and "Traceback" not in done.output


@pytest.mark.parametrize("command", [["score"], ["score", "--json"], ["score", "--csv"], ["report"]])
@pytest.mark.parametrize("log", ["none.jsonl", "broken.jsonl"])
def test_a_log_without_a_score_exits_1_with_one_line(folder, tmp_path, command, log):
    options = ["-o", tmp_path / "r.html"] if command == ["report"] else []
    done = run(*command, folder / log, *options)
    assert done.exit_code == 1
    assert [line for line in done.stderr.splitlines() if line.startswith("coffeecup: ")] == [
        line for line in done.stderr.splitlines() if not line.startswith("wrote ")
    ]
    assert "Traceback" not in done.output


@pytest.mark.parametrize("command", [["score"], ["report"], ["history"], ["site", "report"], ["watch"]])
def test_an_empty_argument_is_not_the_current_directory(folder, monkeypatch, command):
    monkeypatch.chdir(folder)
    done = run(*command, "")
    assert done.exit_code == 2 and "an argument is empty" in done.output and done.stdout == ""
    assert run("watch", folder, "--", "test", "").exit_code == 1  # the arguments of another command may be empty


@pytest.mark.parametrize("indent", [None, 2])
def test_a_session_report_is_no_log(tmp_path, indent):
    """As ReFrame writes it, in one line or in many, without a newline at its end."""
    path = tmp_path / "session.json"
    path.write_text(json.dumps(session([case({"b_eff": (1.0, "MByte/s")})]), indent=indent))
    done = run("score", path)
    told = f"coffeecup: {path}: a session report of ReFrame, not a log: `coffeecup history` shows"
    assert done.stderr.startswith(told) and done.exit_code == 1 and done.stderr.count("\n") == 1


@pytest.mark.parametrize(
    "command",
    [
        ["score", "{deep}"],
        ["history", "{deep}"],
        ["predict", "{deep}"],
        ["accept", "{deep}", "{stored}"],
        ["history", "{stored}", "--thresholds", "{deep}"],
        ["references", "check", "{stored}", "--file", "{deep}"],
    ],
)
def test_a_file_that_is_nested_too_deeply_is_one_sentence(tmp_path, command):
    deep = tmp_path / "deep.json"
    deep.write_text("[" * 5000 + "]" * 5000)
    stored = database(tmp_path / "results.db", nights([1.0]))
    done = run(*(word.format(deep=deep, stored=stored) for word in command))
    text = said(done)
    assert done.exit_code in (1, 2) and re.search("nested (too|more) deeply|depth limit exceeded", text)
    assert "recursion" not in text.lower() and "Traceback" not in text


def test_a_hostile_file_name_and_reason_cannot_steer_the_terminal(tmp_path):
    records = averaged_log()
    records[-1] |= {"status": "failed", "reason": "\x1b]0;owned\x07[bold]x[/bold]"}
    logs_made.write(tmp_path / "a\x1b[2J.jsonl", records)
    logs_made.write(tmp_path / os.fsdecode(b"b\xff.jsonl"), averaged_log())
    for done in (
        run("score", tmp_path),
        run("score", "--json", tmp_path),
        run("score", "--csv", tmp_path),
        run("report", tmp_path, "-o", tmp_path / "r.html"),
    ):
        assert done.exit_code == 1 and "\x1b" not in done.output and "\x07" not in done.output
    assert "[bold]x[/bold]" in run("score", tmp_path).stderr


def test_version_and_help():
    assert run("--version").stdout == f"coffeecup {__version__}\n"
    for command in ([], ["score"], ["report"]):
        done = run(*command, "--help")
        assert done.exit_code == 0 and "Usage" in done.stdout


def test_the_command_itself_starts_and_draws_in_a_notebook(folder, tmp_path):
    """Whose kernel names a backend of matplotlib in the environment that only the Python of the notebook has."""
    command = [sys.executable, "-m", "coffeecup.postprocess.cli"]
    score = [*command, "score", "--json", folder / "a.jsonl"]
    assert json.loads(subprocess.check_output(score, timeout=PATIENCE))[0]["benchmark"] == "b_eff"
    report, notebook = [*command, "report", folder / "a.jsonl", "-o", tmp_path / "a.html"], {"MPLBACKEND": "inline-2"}
    subprocess.run(report, check=True, env=os.environ | notebook, timeout=PATIENCE)
    assert "<svg" in (tmp_path / "a.html").read_text()
