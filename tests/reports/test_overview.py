# SPDX-License-Identifier: Apache-2.0
"""The table of many scores, the end of `make run`: its rows, their order, the reasons and the changes. Below it is each
qualification once, with the rows that it applies to."""

import os
import re
from types import SimpleNamespace
from typing import Any

import logs_made
import pytest
from commands import run, said
from logs_made_b_eff import AVERAGED, averaged_log
from logs_made_b_eff_io import b_eff_io_log
from logs_made_ftio import ftio_log
from logs_made_priomark import priomark_log
from sessions_made import case, database, night, session

from coffeecup.postprocess.benchmarks.scoring import score_log
from coffeecup.postprocess.reports.overview import qualified

# Sizes in descending order, and benchmarks not in the order of their names.
MADE = {
    "ftio_4": lambda: ftio_log(ranks=4),
    "priomark_2": lambda: priomark_log(ranks=2),
    "b_eff_16": lambda: averaged_log(ranks=16, methods=AVERAGED, repetitions=3),
    "b_eff_7": lambda: averaged_log(ranks=7),
    "b_eff_io_2": lambda: b_eff_io_log(ranks=2, partitions=(2,)),
}
ROWS = [
    ["1", "b_eff", "MByte/s", "7 / 2", "no: not 3 repetitions, methods left out"],
    ["2", "b_eff", "MByte/s", "16 / 2", "yes"],
    ["3", "b_eff_io", "MByte/s", "2 / 2", "yes"],
    ["4", "ftio io_fraction", "", "4 / 2", "no: fits in memory"],
    ["5", "priomark total", "MByte/s", "2 / 2", "no: other workload"],
]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    top = tmp_path_factory.mktemp("output")
    for number, (name, made) in enumerate(MADE.items()):
        (top / f"{number}_{name}").mkdir()
        logs_made.write(top / f"{number}_{name}" / "log.jsonl", made())
    return top


@pytest.fixture(autouse=True)
def narrow(monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")


def table(text, columns):
    """The cells of the rows: the columns begin where the header's words do, or end there where they are numbers."""
    lines = text.splitlines()
    assert all(len(line) <= 80 for line in lines), text
    header = next(line for line in lines if line.split()[:1] == ["#"])
    assert header.split() == columns
    rule = lines[lines.index(header) + 1]
    assert set(rule.strip()) == {"─"}
    rows = []
    for line in lines[lines.index(header) + 2 :]:
        if not line.strip():
            return rows
        if line.strip()[0].isdigit():
            rows.append([cell.strip() for cell in line.strip().replace("   ", "\t").split("\t") if cell.strip()])
        else:  # the rest of a reason
            rows[-1][-2 if columns[-1] == "change" else -1] += f" {line.strip()}"
    return rows


def sentences(text):
    """Pairs of rows and a qualification."""
    found = []
    for line in text.splitlines()[text.splitlines().index("size: processes / nodes") :] if text else []:
        rows, colon, sentence = line.partition(": ")
        if colon and not rows.strip().strip("0123456789–, al"):
            found.append([rows.strip(), sentence.strip()])
        elif found and line.startswith("  "):
            found[-1][1] += " " + line.strip()
    return found


def test_all_benchmarks_are_in_one_table_with_ascending_sizes_and_the_reasons(folder):
    done = run("score", folder)
    assert done.exit_code == 0 and done.stderr == ""
    rows = table(done.stdout, ["#", "result", "value", "unit", "size", "official"])
    assert [[number, name, *rest] for number, name, _, *rest in rows] == [list(filter(None, row)) for row in ROWS]
    logs = [folder / f"{place}_{name}" / "log.jsonl" for place, name in enumerate(MADE)]
    shown = {row[1]: float(row[2]) for row in rows[1:]}
    for log in (logs[0], logs[1], logs[2], logs[4]):
        score = score_log(log)
        metric, headline = score.headline
        name = metric if metric == score.benchmark else f"{score.benchmark} {metric}"
        assert shown[name] == pytest.approx(headline.value, rel=1e-3)


def test_each_qualification_is_one_sentence_with_its_rows(folder):
    done = run("score", folder)
    found = sentences(done.stdout)
    assert ["1", "Not official: 1 repetition of each measurement instead of 3."] in found
    assert ["5", "Not official: the workload is figure_3, not the paper's (default)."] in found
    assert len({sentence for _, sentence in found}) == len(found)


def test_logs_of_one_metric_and_size_are_told_apart_by_their_folders(folder, tmp_path):
    deep = tmp_path / "output" / "local"
    for number in range(5):
        (deep / f"b_eff_{number}").mkdir(parents=True)
        log = folder / ("3_b_eff_7" if number == 3 else "2_b_eff_16") / "log.jsonl"
        os.link(log, deep / f"b_eff_{number}" / "l.jsonl")
    text = run("score", tmp_path).stdout
    assert f"5 results below {deep}".replace(" ", "") in text.replace("\n", "").replace(" ", "")
    rows = table(text, ["#", "log", "result", "value", "unit", "size", "official"])
    assert [(row[1], row[5]) for row in rows if len(row) == 7] == [
        ("b_eff_3", "7 / 2"),
        *((f"b_eff_{number}", "16 / 2") for number in (0, 1, 2, 4)),
    ]


def scores(*texts) -> Any:
    """Scores with these qualifications, in this order."""
    return [SimpleNamespace(qualifications=[SimpleNamespace(text=text) for text in of]) for of in texts]


def test_sentences_that_differ_in_numbers_only_become_one():
    used = "Others used {} of 2 cores of {} ({}), at 10.1.0.{}."
    found = qualified(
        scores(
            [used.format("0.5", "vm7", "25%", 1), "All of it."],
            [used.format("1.25", "vm7", "62.5%", 1)],
            ["All of it.", used.format("9e-3", "vm7", "0.45%", 1)],
            [used.format("1", "vm8", "50%", 1)],
            [used.format("1", "vm7", "50%", 2)],
        )
    )
    assert found == [
        ([1, 2, 3], "Others used 9e-3–1.25 of 2 cores of vm7 (0.45–62.5%), at 10.1.0.1."),
        ([1, 3], "All of it."),
        ([4], used.format("1", "vm8", "50%", 1)),
        ([5], used.format("1", "vm7", "50%", 2)),
    ]


def history(path, folder, later=()):
    """Three sessions with the same tests, of which the last wrote the logs; b_eff on 7 processes runs there first."""
    scored = [score_log(folder / f"{place}_{name}" / "log.jsonl") for place, name in enumerate(MADE)]

    def of(score, number, factor):
        values = {name: (factor * metric.value, metric.unit) for name, metric in score.metrics.items()}
        sha256 = score.log.sha256 if number == 2 else f"{number}" * 64
        return case(values, processes=score.log.run.ranks, benchmark=score.benchmark, log_sha256=sha256)

    made = []
    for number, factor in enumerate((2.0, 1.0, 1.2)):
        ran = [one for one in scored if number == 2 or (one.benchmark, one.log.run.ranks) != ("b_eff", 7)]
        made.append(session([of(score, number, factor) for score in ran], night(number)))
    return database(path, [*made, *later])


def test_the_change_is_against_the_median_of_the_sessions_before_the_one_of_the_logs(folder, tmp_path):
    """1.2 times against the median of 2 and 1, which is 1.5: -20 %. A later session does not matter."""
    other = session([case({"b_eff": (1.0, "MByte/s")}, processes=7)], night(3))
    for later in ([], [other]):
        done = run("score", folder, "--history", history(tmp_path / f"{len(later)}.db", folder, later))
        assert done.exit_code == 0, done.output
        rows = table(done.stdout, ["#", "result", "value", "unit", "size", "official", "change"])
        assert [row[-1] for row in rows] == ["first run", *["-20.0% (2)"] * 4]


def test_with_history_a_single_log_is_a_table_too(folder, tmp_path):
    done = run("score", folder / "3_b_eff_7", "--history", history(tmp_path / "r.db", folder))
    [row] = table(done.stdout, ["#", "result", "value", "unit", "size", "official", "change"])
    assert row[1] == "b_eff" and row[-1] == "first run"


def test_a_test_without_a_value_is_below_the_table(folder, tmp_path):
    failed = case({}, result="fail", fail_phase="sanity", fail_reason="planted")
    stored = history(tmp_path / "r.db", folder)
    done = run("score", folder, "--history", stored)
    assert done.exit_code == 0 and "NO VALUE" not in done.stdout
    sha256 = score_log(folder / "2_b_eff_16" / "log.jsonl").log.sha256
    made = session([failed, case({"b_eff": (1.0, "MByte/s")}, processes=16, log_sha256=sha256)], night(9))
    done = run("score", folder / "2_b_eff_16", "--history", database(tmp_path / "failed.db", [made]))
    assert done.exit_code == 1, "nothing passes because a value is missing"
    assert "NO VALUE: b_eff %num_processes=2 on local:default+mpi" in done.stdout and "planted" in done.stdout


@pytest.mark.parametrize(
    ("options", "told"),
    [(["--json"], "coffeecup history --last --json"), (["--csv"], "coffeecup history"), ([], "none of these logs")],
)
def test_a_history_that_cannot_be_shown_is_refused(folder, tmp_path, options, told):
    stored = database(tmp_path / "r.db", [session([case({"b_eff": (1.0, "MByte/s")})], night(0))])
    done = run("score", folder, "--history", stored, *options)
    assert done.exit_code == 2 and done.stdout == "" and told in said(done)


def test_a_history_does_not_hide_why_no_log_has_a_score(tmp_path):
    """As after a `make run` of which every kernel was killed."""
    (tmp_path / "broken.jsonl").write_bytes(b"{}\n")
    stored = database(tmp_path / "r.db", [session([case({"b_eff": (1.0, "MByte/s")})], night(0))])
    alone = run("score", tmp_path / "broken.jsonl")
    done = run("score", tmp_path / "broken.jsonl", "--history", stored)
    assert done.exit_code == alone.exit_code == 1
    assert "broken.jsonl" in done.stderr and (done.stdout, done.stderr) == (alone.stdout, alone.stderr)


def test_the_report_has_the_same_order_and_reasons(folder, tmp_path):
    (tmp_path / "broken.jsonl").write_bytes(b"{}\n")
    page = tmp_path / "report.html"
    done = run("report", tmp_path / "broken.jsonl", folder, "-o", page)
    assert done.exit_code == 1
    assert done.stderr == f"wrote {page}\ncoffeecup: 1 log without a score: {page} states why\n"
    parts = page.read_text().split('<tr><th scope="row"><a href="#log-')[1:]
    assert [part[0] for part in parts] == list("123456")
    standings = [row[4].replace("no:", "not official:").replace("yes", "official") for row in ROWS]
    for number, part, row, standing in zip("12345", parts, ROWS, standings):
        assert row[1].split()[0] in re.split(r"[\s<>,]+", part.casefold())
        assert row[3].split()[0] in part.partition("</a>")[0]
        assert f"<td>{standing}</td>" in part.partition("</tr>")[0]
        assert ("<strong>" in part.partition("</tr>")[0]) == (standing == "official")
        section = page.read_text().partition(f'<h2 id="log-{number}">')[2].partition("</section>")[0]
        reason = standing.partition(": ")[2]
        assert f"The run broke rules of the paper: {reason}." in section if reason else "broke rules" not in section
    assert "No score" in parts[5].partition("</tr>")[0]
