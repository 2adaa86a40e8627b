# SPDX-License-Identifier: Apache-2.0
"""What a test case of a session records: a check of coffeecup with its log, or any other test with what ReFrame records
of every one.

A test of others is known by its name, which is its class and its parameters. Fixtures are no tests.
"""

import re
import shlex
from collections.abc import Container, Iterable
from functools import cache
from math import isfinite
from pathlib import Path

import orjson

from coffeecup.postprocess.benchmarks.benchmark import STANDARD, VARIANT
from coffeecup.postprocess.sessions.verdicts import Verdict

# What may explain a change of a value; `facts` contains more.
EVENTS = {
    "kernel_version": "kernel version",
    "mpi_library": "MPI library",
    "spack_hash": "Spack hash",
    "git_revision": "source revision",
}
# The same of other tests: ReFrame's variables.
RECORDED = {
    "executable": "executable",
    "executable_opts": "options",
    "modules": "modules",
    "env_vars": "environment",
    "num_tasks_per_node": "processes of a node",
    "num_cpus_per_task": "processors of a process",
}
# What ReFrame records of every test case besides the variables of the test.
REPORTED = frozenset(
    (
        "build_jobid build_stderr build_stdout environ fail_phase fail_reason fail_severe filename fixture "
        "job_completion_time job_completion_time_unix job_stderr job_stdout outputdir partition result run_index "
        "scheduler session_uuid uuid time_compile time_performance time_run time_sanity time_setup time_total"
    ).split()
)
GIVEN = "given"  # the file system of a run with an explicit directory
BUILD_FAILED = "fail_deps"  # ReFrame's result of a test whose fixture failed
FAILURES = ("fail", BUILD_FAILED, "abort")
OWN = ("benchmark", "num_processes", "log_sha256")  # variables that identify a test case of coffeecup
NODE = re.compile(r" %\.nid=(\S+)")  # in the name of a test that --distribute runs on each node
# ReFrame's options, each with a value, that differ between sessions which run the same tests.
OF_ONE_SESSION = ("--prefix", "--report-file", "--session-extras", "--perflogdir", "--output", "-o", "--stage", "-s")


def is_own(case: dict) -> bool:
    """Whether a test case ran one of coffeecup's kernels."""
    return all(case.get(name) is not None for name in OWN)


def is_without_value(case: dict, found: list[Verdict]) -> bool:
    """Whether a test case passed without a value although its job ended, which it does not in a dry run."""
    having = any(verdict.value is not None for verdict in found)
    return case["result"] == "pass" and not having and case.get("job_completion_time_unix") is not None


def why(case: dict, run: list[dict]) -> str:
    """The reason of a failure; of a test whose fixtures failed, theirs."""
    reason = " ".join((case.get("fail_reason") or "").split())
    if case["result"] != BUILD_FAILED:
        return reason
    needed = {tuple(needed) for needed in case.get("dependencies_actual") or ()}
    others = [other for other in run if other is not case and other["result"] in FAILURES]
    reasons = [
        why(other, others)
        for other in others
        if (other.get("unique_name"), f"{other['system']}:{other['partition']}", other["environ"]) in needed
    ]
    return "; ".join(dict.fromkeys(filter(None, reasons))) or reason


def of_kernel(case: dict) -> dict:
    """What a test case of coffeecup records."""
    variant = case.get(VARIANT) or STANDARD
    own = {} if variant == STANDARD else {VARIANT: variant}
    copied = ("benchmark", "file_system", "qualifications", "breaches", "reference_status", "log_sha256", *EVENTS)
    return {name: case.get(name) or "" for name in copied} | {
        "processes": case["num_processes"],
        "settings": " ".join([*own.values(), settings(case)]).strip(),
        "parameters": orjson.dumps(own).decode(),
        "official": bool(case.get("official")),
        # ReFrame leaves the files of failed tests in the stage directory.
        "log": str(Path(case.get("outputdir") or case.get("stagedir") or "", f"{case['benchmark']}.jsonl")),
        "facts": case.get("facts") or {},
    }


def of_other_test(case: dict, info: dict) -> dict:
    """What ReFrame records of any test. Its name is its class and its parameters, those of fixtures as well; its file
    system is its parameter or variable `file_system`."""
    name, *parameters = case["name"].split(" %")
    named = {parameter: text for parameter, _, text in (word.partition("=") for word in parameters)}
    processes = case.get("num_tasks")
    files = case.get("file_system", named.get("file_system"))
    empty = ("qualifications", "breaches", "reference_status", "log", "log_sha256", *EVENTS)
    return dict.fromkeys(empty, "") | {
        "benchmark": name,
        "file_system": files if isinstance(files, str) else "",
        "processes": processes if isinstance(processes, int) and processes > 0 else 0,
        "settings": " ".join(parameters),
        "parameters": orjson.dumps({key: value_of(case, key, text) for key, text in named.items()}).decode(),
        "official": False,
        "facts": recorded(case, named, info),
    }


def value_of(case: dict, parameter: str, text: str) -> str | int | float | bool:
    """The value of a parameter with its type, by which ReFrame looks it up in references."""
    value = case.get(parameter)
    return value if isinstance(value, (str, int, float)) and str(value) == text else text


def recorded(case: dict, parameters: Container[str], info: dict) -> dict[str, str | float]:
    """What may explain a change of any test: some of ReFrame's variables, and the test's own that are loggable. Paths
    of the session are shortened."""
    left_out = variables_of_reframe()
    own = {name: value for name, value in case.items() if name not in left_out and name not in parameters}
    texts = {name: readable(value) for name, value in own.items() if isinstance(value, (str, int))}
    texts |= {word: readable(case[name]) for name, word in RECORDED.items() if case.get(name)}
    for folder in ("prefix_stage", "prefix_output"):
        if path := info.get(folder):
            short = f"({folder.removeprefix('prefix_')})"
            texts = {name: text.replace(str(path), short) for name, text in texts.items()}
    return texts | {name: value for name, value in own.items() if isinstance(value, float) and isfinite(value)}


def readable(value) -> str:
    """A variable of ReFrame in a line."""
    if isinstance(value, dict):
        return " ".join(f"{name}={inner}" for name, inner in value.items())
    return " ".join(map(str, value)) if isinstance(value, list) else str(value)


@cache
def variables_of_reframe() -> frozenset[str]:
    """What ReFrame records of every test."""
    from reframe.core.pipeline import RegressionTest

    return frozenset({alias or name for name, alias in RegressionTest.loggable_attrs()} | REPORTED)


@cache
def selection(cmdline: str) -> str:
    """What a session's command line selects: it without its program and without what differs from session to session.
    Sessions with the same selection run the same tests."""
    return " ".join(arguments(cmdline, OF_ONE_SESSION))


def arguments(cmdline: str, left_out: Iterable[str]) -> list[str]:
    """A session's command line without its program and without these options, each with a value."""
    try:
        words = shlex.split(cmdline)[1:]
    except ValueError:  # a quote without its end, in a line that ReFrame did not write
        words = cmdline.split()[1:]
    pairs = zip(["", *words], words)
    return [word for before, word in pairs if not {before, word.partition("=")[0]} & set(left_out)]


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
