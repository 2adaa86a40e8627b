# SPDX-License-Identifier: Apache-2.0
"""Sessions as ReFrame stored them become one table, whatever file they are in; what cannot be read is refused and never
changed."""

import json
import sqlite3
import subprocess
import sys

import jsonschema
import logs_made
import pytest
import sessions_made
from logs_made import sha256
from logs_made_b_eff import averaged_log
from sessions_made import case, database, each_night, night, nights, session, write

from coffeecup.postprocess.benchmarks.scoring import score_log
from coffeecup.postprocess.history.table import case_table, history_table
from coffeecup.postprocess.logs.reader import LogError
from coffeecup.postprocess.sessions.files import read_reports


@pytest.fixture
def real(reframe, tmp_path, kernel_that):
    """A session that ReFrame ran and stored both ways, and the log that its kernel left."""
    log = logs_made.write(tmp_path / "made.jsonl", averaged_log(ranks=2, nodes=1))
    options = ("-r", "-n", "b_eff%num_processes=2$", "--session-extras", "firmware=1.2")
    done = reframe(*options, *kernel_that(f'cp {log} "$log"'))
    assert done.returncode == 0, done.output
    return tmp_path / "session.json", tmp_path / "results.db", log


def test_a_real_session_is_the_same_from_its_report_and_from_the_database(real):
    report, stored, log = real
    from_report, from_database = (history_table(read_reports([source])) for source in (report, stored))
    assert from_report.drop(columns="source").equals(from_database.drop(columns="source"))
    stated = from_report[["metric", "value", "unit"]].itertuples(index=False, name=None)
    assert [*stated] == [(name, metric.value, metric.unit) for name, metric in score_log(log).metrics.items()]
    assert set(from_report["outcome"]) == {"no reference"}
    assert from_report[["reference", "lower", "upper"]].isna().all(axis=None)
    row = from_report.iloc[0]
    assert row["log_sha256"] == sha256(log)
    columns = ["benchmark", "system", "partition", "processes", "settings"]
    assert row[columns].tolist() == ["b_eff", "local", "default", 2, ""]
    facts = json.loads(row["facts"])
    assert facts["session firmware"] == "1.2" and facts["single copy"] == "cma" and "binding" in facts


def test_a_session_that_is_in_several_files_counts_once(real):
    report, stored, _ = real
    assert len(read_reports([report, stored, report.parent])) == 1


def test_made_sessions_are_what_reframe_would_write():
    jsonschema.validate(session([case({"b_eff": (1.0, "MByte/s")})], firmware="1"), sessions_made.SCHEMA)


def test_a_row_tells_session_case_and_metric(tmp_path):
    metrics = {"b_eff": (90.0, 100.0, -0.05, None, "MByte/s", "fail")}
    metrics["ping_pong_latency"] = (None, 0, None, None, "us", None)
    judged = case(metrics, result="fail", fail_reason="too\nslow", processes=4, outputdir=None)
    table = history_table(read_reports([write(tmp_path, [session([judged], night(3))])]))
    assert table["metric"].tolist() == ["b_eff", "ping_pong_latency"]
    first = table.iloc[0]
    assert (first["value"], first["reference"], first["lower"], first["outcome"]) == (90, 100, 95, "fail")
    assert (first["reason"], first["processes"], first["settings"]) == ("too slow", 4, "--time-budget 5")
    assert first["log"] == "/stage/b_eff/b_eff.jsonl", "what failed stays in the stage directory"
    assert first["session_time"] == night(3) and (first["time"] - first["session_time"]).total_seconds() == 60
    assert table["outcome"][1] == "not measured" and table["value"].isna()[1]


def test_what_passed_has_its_log_in_the_output_directory_and_its_facts(tmp_path):
    table = history_table(read_reports([write(tmp_path, [session([case({"b_eff": (90.0, "MByte/s")})])])]))
    [row] = table.to_dict("records")
    assert row["log"] == "/output/b_eff/b_eff.jsonl"
    assert json.loads(row["facts"])["binding"] == "1 cores a process"


@pytest.mark.parametrize(
    ("file_system", "settings"),
    [("scratch", "--repeat 2"), ("given", "--directory /x --repeat 2"), (None, "--directory /x --repeat 2")],
)
def test_the_directory_of_a_named_file_system_is_no_setting(tmp_path, file_system, settings):
    options = ["--log", "ftio.jsonl", "--directory", "/x", "--repeat", "2"]
    made = case({"io_fraction": (0.5, "1")}, benchmark="ftio", file_system=file_system, executable_opts=options)
    table = history_table(read_reports([write(tmp_path, [session([made])])]))
    assert table["settings"].tolist() == [settings]


def test_fixture_is_left_out_and_what_failed_before_a_metric_is_a_case(tmp_path):
    cases = [case({}, result="fail"), case({"x": (1.0, "s")}, fixture=True)]
    reports = read_reports([write(tmp_path, [session(cases)])])
    assert case_table(reports)["result"].tolist() == ["fail"] and history_table(reports).empty


def test_sessions_come_by_their_time_and_since_leaves_out_older_ones(tmp_path):
    stored = database(tmp_path / "results.db", reversed(nights([1.0, 2.0, 3.0])))
    assert history_table(read_reports([stored]))["value"].tolist() == [1, 2, 3]
    assert history_table(read_reports([stored], since=night(1)))["value"].tolist() == [2, 3]
    reports = read_reports([write(tmp_path / "j", nights([1.0, 2.0]))], since=night(1))
    assert history_table(reports)["value"].tolist() == [2]


def test_until_leaves_out_later_sessions_and_includes_its_own_time(tmp_path):
    made = nights([1.0, 2.0, 3.0])
    for source in (database(tmp_path / "results.db", made), write(tmp_path / "j", made)):
        assert history_table(read_reports([source], until=night(1)))["value"].tolist() == [1, 2]
        assert history_table(read_reports([source], since=night(1), until=night(1)))["value"].tolist() == [2]


@pytest.mark.parametrize("start", ["NULL", "'a night'", "x'00'"])
def test_a_session_without_a_start_in_the_table_is_not_dropped(tmp_path, start):
    """Its text states when it began."""
    stored = database(tmp_path / "results.db", nights([1.0, 2.0, 3.0]))
    with sqlite3.connect(stored) as connection:
        connection.execute(f"UPDATE sessions SET session_start_unix = {start}")
    assert history_table(read_reports([stored]))["value"].tolist() == [1, 2, 3]
    assert history_table(read_reports([stored], since=night(1), until=night(1)))["value"].tolist() == [2]


RATE = [1.0, 0, None, None, "MByte/s", "pass"]


@pytest.mark.parametrize(
    ("where", "change", "complaint"),
    [
        ("info", {"time_start_unix": 1e18}, r"<= 9007199254\.\d+ - at `\$\.session_info\.time_start_unix`"),
        ("info", {"time_start_unix": -1}, ">= 0"),
        ("info", {"cmdline": 7}, "session_info.cmdline"),
        ("run", {"testcases": {}}, "Expected `array`"),
        ("case", {"num_processes": 0}, "num_processes"),
        ("case", {"num_processes": 2**31}, "num_processes"),
        ("case", {"run_index": -1}, "run_index"),
        ("case", {"job_completion_time_unix": 1e18}, "completion_time"),
        ("case", {"anything": json.loads("[" * 500 + "]" * 500)}, "nested too deeply"),
        ("case", {"anything": float("nan"), "name": "\ud800"}, "no JSON"),
        ("case", {"name": None}, "name"),
        ("case", {"dependencies_actual": [5]}, "dependencies_actual"),
        ("case", {"unique_name": [[]]}, "unique_name"),
        ("case", {"facts": {"binding": [1]}}, "the test 'b_eff .*facts"),
        ("case", {"node_effects": {"values": {"node1": [1.0] * 4}}}, "node_effects"),
        ("case", {"node_effects": {"servers": {"values": {"ost1": [1.0, 1.0, 1.0, 1.0, -1e-9]}}}}, "servers"),
        ("case", {"perfvalues": {"a": RATE[:5]}}, "perfvalues"),
        ("case", {"perfvalues": {"a": [1.0, True, *RATE[2:]]}}, "perfvalues"),
        ("case", {"perfvalues": {"local:default:b_eff": RATE, "other:place:b_eff": RATE}}, "two values of one metric"),
    ],
)
def test_a_session_with_an_impossible_value_is_refused(tmp_path, where, change, complaint):
    [made] = nights([1.0])
    [only] = made["runs"]
    {"info": made["session_info"], "run": only, "case": only["testcases"][0]}[where].update(change)
    with pytest.raises(LogError, match=complaint) as raised:
        read_reports([write(tmp_path, [made])])
    assert "\n" not in str(raised.value)


def test_variables_of_other_tests_may_have_our_names(tmp_path):
    [made] = nights([1.0], facts=3, num_processes="many", node_effects=[], official=None)
    made["runs"][0]["testcases"][0].pop("log_sha256")
    assert history_table(read_reports([write(tmp_path, [made])]))["value"].tolist() == [1]


def test_the_same_identifier_of_two_tests_does_not_matter(tmp_path):
    made = session([case({"b_eff": (1.0, "MByte/s")}), case({"b_eff": (2.0, "MByte/s")}, processes=4)])
    for testcase in made["runs"][0]["testcases"]:
        testcase["uuid"] = "same"
    assert history_table(read_reports([write(tmp_path, [made])]))["value"].tolist() == [1, 2]


def test_a_path_of_the_sessions_own_makes_no_other_series(tmp_path):

    def of_night(number):
        options = ["--log", "ftio.jsonl", "--directory", f"/stage/{number}/x", "--repeat", "2"]
        paths = {"stagedir": f"/stage/{number}", "executable_opts": options}
        yield case({"io_fraction": (0.5, "1")}, benchmark="ftio", **paths)

    table = history_table(read_reports([write(tmp_path, each_night(2, of_night))]))
    assert set(table["settings"]) == {"--directory (stage directory)/x --repeat 2"}


def sql(statement):
    """A change of a database by this statement."""

    def change(path):
        connection = sqlite3.connect(path)
        connection.execute(statement)
        connection.commit()
        connection.close()

    return change


def damaged_pages(path):
    data = path.read_bytes()
    path.write_bytes(data[:100] + b"\xff" * (len(data) - 100))


def cut(path):
    path.write_bytes(path.read_bytes()[:4096])


SHORTER = "UPDATE sessions SET json_blob = substr(json_blob, 1, 100) WHERE session_start_unix = "
RENAMED = "UPDATE sessions SET json_blob = replace(json_blob, '\"perfvalues\"', '\"perfvars\"')"


@pytest.mark.parametrize(
    ("spoil", "complaint"),
    [
        (sql("UPDATE metadata SET schema_version = '0.9'"), "version 0.9, and 1.0 is read"),
        (sql("DROP TABLE sessions"), "no table of sessions"),
        (damaged_pages, "damaged"),
        (cut, "damaged"),
        (sql(f"{SHORTER}{night(1).timestamp()}"), "damaged: remove it with `reframe --delete-stored-sessions="),
        (sql(RENAMED), "perfvalues"),
    ],
)
def test_a_database_that_cannot_be_read_is_refused_and_stays_as_it_is(tmp_path, spoil, complaint):
    stored = database(tmp_path / "results.db", nights([1.0, 2.0, 3.0]))
    spoil(stored)
    before = stored.read_bytes()
    with pytest.raises(LogError, match=r"results\.db") as raised:
        read_reports([stored])
    assert complaint in str(raised.value) and "\n" not in str(raised.value)
    assert stored.read_bytes() == before
    assert [path.name for path in tmp_path.iterdir()] == ["results.db"], "something was left beside the database"


def test_a_locked_database_is_said_to_be_in_use(tmp_path, monkeypatch):
    monkeypatch.setattr("coffeecup.postprocess.sessions.files.LOCK_SECONDS", 0.2)
    stored = database(tmp_path / "results.db", nights([1.0]))
    writer = sqlite3.connect(stored, isolation_level=None)
    writer.execute("BEGIN EXCLUSIVE")
    with pytest.raises(LogError, match="another process has been writing to this results database"):
        read_reports([stored])
    writer.execute("COMMIT")
    writer.close()
    assert len(read_reports([stored])) == 1


WRITER = """
import os, sqlite3, sys
connection = sqlite3.connect(sys.argv[1])
connection.execute("PRAGMA cache_size = 1")
connection.execute("UPDATE sessions SET json_blob = json_blob || ' '")
os.kill(os.getpid(), 9)
"""


def test_a_session_that_was_stored_by_half_is_named_with_the_remedy(tmp_path):
    stored = database(tmp_path / "results.db", nights([1.0] * 40))
    subprocess.run([sys.executable, "-c", WRITER, stored], check=False)
    with pytest.raises(LogError, match=r"ReFrame ended while it stored a session .*repair it with") as raised:
        read_reports([stored])
    assert raised.value.path == stored
    sqlite3.connect(stored).execute("SELECT * FROM sqlite_master").fetchall()  # as .schema does
    assert len(read_reports([stored])) == 40


@pytest.mark.parametrize("content", [b"", b"{}", b"SQLite format", b"\0" * 4096, b"[]"])
def test_a_file_that_is_neither_is_refused(tmp_path, content):
    (tmp_path / "x").write_bytes(content)
    with pytest.raises(LogError, match="no ReFrame session report"):
        read_reports([tmp_path / "x"])


def test_a_file_or_a_directory_without_sessions_is_named(tmp_path):
    with pytest.raises(LogError, match="contains no session"):
        read_reports([tmp_path])
    with pytest.raises(LogError, match=r"nowhere\.db: cannot be read: No such file"):
        read_reports([tmp_path / "nowhere.db"])
