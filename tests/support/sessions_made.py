# SPDX-License-Identifier: Apache-2.0
"""ReFrame sessions made for tests, as ReFrame 4.10.4 would write them; tests hold them against ReFrame's own schema."""

import json
import sqlite3
import uuid
from datetime import UTC, datetime, timedelta
from pathlib import Path

import numpy as np
import reframe

from coffeecup.postprocess.history.change_points import session_values
from coffeecup.postprocess.history.table import history_table
from coffeecup.postprocess.sessions.files import read_reports

START = datetime(2026, 1, 1, 2, 0, tzinfo=UTC)
SCHEMA = json.loads(Path(reframe.__file__).with_name("schemas").joinpath("runreport.json").read_text())
# The tables of ReFrame's reporting/storage.py.
TABLES = """
CREATE TABLE sessions(uuid TEXT PRIMARY KEY, session_start_unix REAL, session_end_unix REAL, json_blob TEXT, report_file TEXT);
CREATE TABLE testcases(name TEXT, system TEXT, partition TEXT, environ TEXT, job_completion_time_unix REAL, session_uuid TEXT, uuid TEXT,
                       FOREIGN KEY(session_uuid) REFERENCES sessions(uuid) ON DELETE CASCADE);
CREATE TABLE metadata(schema_version TEXT);
INSERT INTO metadata VALUES('1.0');
"""  # noqa: E501


def night(number):
    """When the session of a night begins; the first is number 0."""
    return START + timedelta(days=number)


def case(metrics, *, processes=2, system="local", partition="default", benchmark="b_eff", result="pass", **variables):
    """A test case of a check. `metrics`: name to (value, unit), or to (value, reference, lower, upper, unit,
    result)."""
    perfvalues = {
        f"{system}:{partition}:{name}": list(value) if len(value) == 6 else [value[0], 0, None, None, value[1], "pass"]
        for name, value in metrics.items()
    }
    where = {"system": system, "partition": partition, "benchmark": benchmark, "num_processes": processes}
    names = {"name": f"{benchmark} %num_processes={processes}", "unique_name": f"{benchmark}_{processes}"}
    names |= {"filename": f"/checks/{benchmark}.py", "log_sha256": "0" * 64}
    folders = {"stagedir": f"/stage/{benchmark}", "outputdir": f"/output/{benchmark}"}
    options = ["--log", f"{benchmark}.jsonl", "--time-budget", "5"]
    known = {**json.loads(CASE), **where, **names, **folders}
    return known | {"result": result, "perfvalues": perfvalues, "executable_opts": options} | variables


CASE = """{"environ": "mpi", "fail_phase": null, "fail_reason": null, "fixture": false, "time_total": 10.0,
"run_index": 0, "job_nodelist": ["node1"], "official": false, "qualifications": "", "kernel_version": "0.1.0",
"spack_hash": "abcdefg", "mpi_library": "Open MPI v4.1.4", "git_revision": "0123456789ab",
"reference_status": "no reference", "facts": {"binding": "1 cores a process"}}"""


def session(cases, when=START, **extras):
    """A report of one run."""
    name = str(uuid.uuid5(uuid.NAMESPACE_URL, f"{when.isoformat()} {extras}"))
    begun = when.timestamp()
    cases = [
        {"job_completion_time_unix": begun + 60 + number} | made | {"uuid": f"{name}:0:{number}"}
        for number, made in enumerate(cases)
    ]
    counts = {"num_cases": len(cases), "num_failures": 0, "num_aborted": 0, "num_skipped": 0}
    times = {"time_start_unix": begun, "time_end_unix": begun + 600, "time_elapsed": 600.0}
    info = {"data_version": "4.2", "hostname": "login1", "uuid": name, **times, **counts, **extras}
    runs = [{**counts, "run_index": 0, "testcases": cases}]
    return {"session_info": info, "runs": runs, "restored_cases": []}


def each_night(count, cases, first=0, **extras):
    """A session in each of `count` nights from the first on; `cases` makes those of a night from its number."""
    return [session(list(cases(number)), night(number), **extras) for number in range(first, first + count)]


def nights(values, metric="b_eff", unit="MByte/s", first=0, **variables):
    """A session each night that measured these values of one metric."""
    return each_night(len(values), lambda number: [case({metric: (values[number - first], unit)}, **variables)], first)


def write(folder, sessions):
    """Report files in a folder; the folder."""
    folder.mkdir(parents=True, exist_ok=True)
    for made in sessions:
        folder.joinpath(f"session-{made['session_info']['uuid']}.json").write_text(json.dumps(made))
    return folder


def database(path, sessions):
    """A results database; its path."""
    connection = sqlite3.connect(path)
    connection.executescript(TABLES)
    for made in sessions:
        info = made["session_info"]
        row = (info["uuid"], info["time_start_unix"], info["time_end_unix"], json.dumps(made), "")
        connection.execute("INSERT INTO sessions VALUES(?, ?, ?, ?, ?)", row)
    connection.commit()
    connection.close()
    return path


def steady(count, level=1000.0, spread=0.03, seed=1):
    """Values of a series without a change."""
    return (level * (1 + spread * np.random.default_rng(seed).standard_normal(count))).tolist()


def table_of(tmp_path, sessions, name="results.db"):
    """The table of their results, by way of a database."""
    return history_table(read_reports([database(tmp_path / name, sessions)]))


def values_of(tmp_path, sessions, name="results.db"):
    """A value for each session and metric."""
    return session_values(table_of(tmp_path, sessions, name))
