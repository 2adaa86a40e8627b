# SPDX-License-Identifier: Apache-2.0
"""Sessions of a suite that is not ours, as ReFrame 4.10.4 writes them: real reports of the tests on docs/any-suite.md
were the model."""

import json
import uuid

import sessions_made
from sessions_made import database, night

from coffeecup.postprocess.history.table import case_table, history_table
from coffeecup.postprocess.sessions.files import read_reports

NIGHTLY = "reframe -c centre -r --report-file=sessions/session-{sessionid}.json"


def case(metrics, test="scratch", parameters=None, *, node="", result="pass", **variables):
    """A test case. `metrics`: name to (value, unit), or to (value, reference, lower, upper, unit, result); `parameters`
    by name."""
    parameters = parameters or {}
    name = " %".join([test, *(f"{key}={value}" for key, value in parameters.items())])
    implicit = f" %.nid={node} %.part=cluster:cpu" if node else ""
    names = {"name": name, "display_name": name + implicit, "unique_name": name.replace(" %", "_").replace("=", "_")}
    perfvalues = {
        f"cluster:cpu:{metric}": list(value) if len(value) == 6 else [value[0], 0, None, None, value[1], "pass"]
        for metric, value in metrics.items()
    }
    known = {**json.loads(CASE), **names, "result": result, "job_nodelist": [node or "node1"], "perfvalues": perfvalues}
    return known | parameters | variables


CASE = """{"system": "cluster", "partition": "cpu", "environ": "gnu", "fail_phase": null, "fail_reason": null,
"fixture": false, "filename": "/centre/disk.py", "time_total": 1.0, "run_index": 0, "num_tasks": 4,
"executable": "fio", "executable_opts": ["--rate=40M"]}"""


def session(cases, when, cmdline=NIGHTLY, **extras):
    """A report of one run."""
    folders = {f"prefix_{name}": f"/scratch/{name}" for name in ("stage", "output")}
    return sessions_made.session(cases, when, cmdline=cmdline, **folders, **extras)


def nights(*lists, first=0):
    """A session each night with these cases."""
    return [session(cases, night(first + number)) for number, cases in enumerate(lists)]


def later(report, when):
    """A copy of a real report whose session began at another time."""
    report = json.loads(json.dumps(report))
    info, name = report["session_info"], str(uuid.uuid5(uuid.NAMESPACE_URL, when.isoformat()))
    shift = when.timestamp() - info["time_start_unix"]
    info.update(uuid=name, time_start_unix=when.timestamp(), time_end_unix=info["time_end_unix"] + shift)
    for made in report["runs"][0]["testcases"]:
        made["uuid"] = f"{name}:{made['uuid'].partition(':')[2]}"
        if made["job_completion_time_unix"] is not None:  # as of a fixture without a job
            made["job_completion_time_unix"] += shift
    return report


def bandwidth(value, **more):
    """A test case with a metric whose unit tells the direction."""
    return case({"bandwidth": (value, "MB/s")}, parameters={"pattern": "write"}, **more)


def usage(values):
    """A session each night with a metric of which nothing tells the direction."""
    return nights(*[[case({"usage": (value, "%")})] for value in values])


def tables(folder, sessions):
    """The case_table and the history_table of sessions in a results database."""
    reports = read_reports([database(folder / "results.db", sessions)])
    return case_table(reports), history_table(reports)
