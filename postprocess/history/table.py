# SPDX-License-Identifier: Apache-2.0
"""One tidy table over sessions: a row per test case and metric, with the circumstances of its measurement.

ReFrame's session reports and its results database are the only store; here they become a table.
"""

from pathlib import Path

import orjson
import pandas as pd
import pandera.pandas as pa

from postprocess.sessions.files import SessionReport
from postprocess.sessions.verdicts import verdict

# A time series: rows that differ only in the session. Other options of the kernel are another series.
SERIES = ["benchmark", "system", "partition", "environ", "file_system", "processes", "settings", "metric"]
# What may explain a change of a value; `facts` contains more.
EVENTS = {
    "kernel_version": "kernel version",
    "mpi_library": "MPI library",
    "spack_hash": "Spack hash",
    "git_revision": "source revision",
}
GIVEN = "given"  # the file system of a run with an explicit directory
BUILD_FAILED = "fail_deps"  # ReFrame's result of a test whose fixture failed
FAILURES = ("fail", BUILD_FAILED, "abort")
OWN = ("benchmark", "num_processes", "log_sha256")  # variables that identify a test case of coffeecup
# ReFrame's options, each with a value, that differ between sessions which run the same tests.
OF_ONE_SESSION = ("--prefix", "--report-file", "--session-extras", "--perflogdir", "--output", "-o", "--stage", "-s")
# What ReFrame itself records of a session; everything else was given with --session-extras.
RESERVED = {
    "data_version",
    "hostname",
    "uuid",
    "cmdline",
    "config_files",
    "log_files",
    "prefix_output",
    "prefix_stage",
    "user",
    "version",
    "workdir",
    "session_uuid",
}

TEXT, NUMBER, TIME = pa.Column(str), pa.Column(float, nullable=True), pa.Column("datetime64[us, UTC]")
CASES = {
    "session": TEXT,
    "session_time": TIME,
    "time": TIME,
    "selection": TEXT,
    "run": pa.Column(int, pa.Check.ge(0)),
    "case": pa.Column(str, unique=True),
    "name": TEXT,
    "benchmark": TEXT,
    "system": TEXT,
    "partition": TEXT,
    "environ": TEXT,
    "file_system": TEXT,
    "processes": pa.Column(int, pa.Check.gt(0)),
    "settings": TEXT,
    "result": TEXT,
    "reason": TEXT,
    "measured": pa.Column(bool),
    "official": pa.Column(bool),
    "qualifications": TEXT,
    "reference_status": TEXT,
    "log": TEXT,
    "log_sha256": TEXT,
    **dict.fromkeys(EVENTS, TEXT),
    "hosts": TEXT,
    "facts": TEXT,
    "source": TEXT,
}
METRICS = {
    "metric": TEXT,
    "value": NUMBER,
    "unit": TEXT,
    "reference": NUMBER,
    "lower": NUMBER,
    "upper": NUMBER,
    "outcome": TEXT,
}
CASE_TABLE = pa.DataFrameSchema(CASES, strict=True)
HISTORY = pa.DataFrameSchema(CASES | {"case": TEXT} | METRICS, strict=True, unique=["case", "metric"])


def case_table(reports: list[SessionReport]) -> pd.DataFrame:
    """A row per test case that ran one of coffeecup's kernels, by time, including those that failed without a metric.

    `session_time` and `time` are when the session began and the job ended (UTC). `selection` is the same for sessions
    that run the same tests. `file_system` is the site's name for it, empty if none is tested. `measured` is whether any
    metric has a value. `settings` are the kernel's options without paths of the session. `facts` is a JSON object of
    everything else that was recorded, with the session's extras as "session NAME".
    """
    return CASE_TABLE.validate(typed([row for report in reports for row, _ in cases_of(report)], CASES))


def history_table(reports: list[SessionReport]) -> pd.DataFrame:
    """A row per test case and metric, by time: the columns of case_table, and the metric against its reference.

    `value`, `reference`, `lower` and `upper` are in `unit`, NaN if there is none; the bounds are absolute. `outcome` is
    "no reference" if nothing was compared, and "not measured" if the value is NaN.
    """
    rows = [row | metric for report in reports for row, metrics in cases_of(report) for metric in metrics]
    return HISTORY.validate(typed(rows, CASES | METRICS))


def cases_of(report: SessionReport):
    """Pairs of a row of case_table and its rows of metrics."""
    extras = {
        f"session {name}": str(value)
        for name, value in report.info.items()
        if name not in RESERVED and not name.startswith(("num_", "time_"))
    }
    for number, run in enumerate(report.content["runs"]):
        failed = [case for case in run["testcases"] if case.get("fixture") and case["result"] in FAILURES]
        for place, case in enumerate(run["testcases"]):
            if not case.get("fixture") and all(case.get(name) is not None for name in OWN):
                row = case_row(report, case, number, extras)
                if case["result"] == BUILD_FAILED:
                    row["reason"] = "; ".join(reason_of(build) for build in failed if is_for(build, case))
                row["case"] = f"{report.info['uuid']}:{number}:{place}"
                yield row, [metric_row(key, values) for key, values in case["perfvalues"].items()]


def is_for(build: dict, case: dict) -> bool:
    """Whether a fixture built the kernel of a case."""
    return all(build.get(name) == case.get(name) for name in ("benchmark", "system", "partition", "environ"))


def reason_of(case: dict) -> str:
    return " ".join((case.get("fail_reason") or "").split())


def case_row(report: SessionReport, case: dict, run: int, extras: dict[str, str]) -> dict:
    begun, ended = report.info["time_start_unix"], report.info["time_end_unix"]
    nodes = case.get("job_nodelist") or []
    copied = (
        "name",
        "benchmark",
        "system",
        "partition",
        "environ",
        "file_system",
        "result",
        "qualifications",
        "reference_status",
        "log_sha256",
        *EVENTS,
    )
    return {name: case.get(name) or "" for name in copied} | {
        "session": report.info["uuid"],
        "session_time": begun,
        "selection": selection(report.info.get("cmdline") or ""),
        "time": case.get("job_completion_time_unix") or ended,
        "run": case.get("run_index", run),
        "processes": case["num_processes"],
        "settings": settings(case),
        "reason": reason_of(case),
        "measured": any(values[0] is not None for values in case["perfvalues"].values()),
        "official": bool(case.get("official")),
        # ReFrame leaves the files of failed tests in the stage directory.
        "log": str(Path(case.get("outputdir") or case.get("stagedir") or "", f"{case['benchmark']}.jsonl")),
        "hosts": nodes if isinstance(nodes, str) else ",".join(map(str, nodes)),
        "facts": orjson.dumps((case.get("facts") or {}) | extras, option=orjson.OPT_SORT_KEYS).decode(),
        "source": str(report.source),
    }


def selection(cmdline: str) -> str:
    """What a session's command line selects: it without its program and without what differs from session to session.
    Sessions with the same selection run the same tests."""
    words, kept = cmdline.split()[1:], []
    for place, word in enumerate(words):
        before = words[place - 1] if place else ""
        if before not in OF_ONE_SESSION and word.partition("=")[0] not in OF_ONE_SESSION:
            kept.append(word)
    return " ".join(kept)


def settings(case: dict) -> str:
    """The kernel's options without those that name the session's own files, and without the directory if the file
    system has a name."""
    options, kept = [str(option) for option in case.get("executable_opts") or []], []
    left_out = {"--log"} | ({"--directory"} if case.get("file_system") not in (None, "", GIVEN) else set())
    stage = case.get("stagedir") or "\0"
    for place, option in enumerate(options):
        before = options[place - 1] if place else ""
        if not {option, before} & left_out:
            kept.append(option.replace(stage, "(stage directory)"))
    return " ".join(kept)


def metric_row(key: str, values: list) -> dict:
    found = verdict(key.rsplit(":", 1)[-1], *values)
    return {name: getattr(found, name) for name in METRICS}


def typed(rows: list[dict], columns: dict) -> pd.DataFrame:
    """A table of these columns by time; an empty one has the right types as well."""
    table = pd.DataFrame(rows, columns=list(columns))
    table = table.assign(
        **{name: pd.to_datetime(table[name], unit="s", utc=True).dt.as_unit("us") for name in ("session_time", "time")}
    )
    return table.astype({name: str(column.dtype) for name, column in columns.items()}).sort_values(
        "time", kind="stable", ignore_index=True
    )
