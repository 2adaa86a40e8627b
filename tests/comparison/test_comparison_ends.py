# SPDX-License-Identifier: Apache-2.0
"""Runs of a comparison that hang, and comparisons that are interrupted: everything they started ends, also what does
not heed SIGTERM or has a process group of its own, and what is measured is kept."""

import errno
import json
import os
import resource
import signal
import subprocess
import sys
import time
from pathlib import Path
from types import SimpleNamespace

import logs_made
import pytest
from commands import run, said
from logs_made_b_eff import averaged_log

from coffeecup.postprocess.cli import alternation
from coffeecup.postprocess.cli.alternation import Alternation, run_until_decided
from coffeecup.postprocess.comparison.plan import Arm, Plan, PlanError
from coffeecup.postprocess.comparison.result import Run

# A launcher that gives its kernel a process group of its own; the kernel heeds no SIGTERM.
HANGING = """
import os, signal, sys, time
if not (kernel := os.fork()):
    os.setpgid(0, 0)
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    open("kernel", "w").write(str(os.getpid()))
while True:
    time.sleep(0.01)
"""
ARMS = {"usual": Arm(), "other": Arm(options=["other"])}


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_an_interrupt_while_a_run_starts_ends_this_run(tmp_path, monkeypatch, number):
    """As it happens on a busy machine: the run is there before Popen returns."""
    started = []

    def start(*words, **settings):
        started.append(subprocess.Popen(*words, **settings))
        os.kill(os.getpid(), number)
        return started[0]

    monkeypatch.setattr(alternation, "subprocess", SimpleNamespace(**vars(subprocess) | {"Popen": start}))
    plan = Plan(command=["sleep", "1000"], arms=ARMS)
    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # ignored in the background of a shell
    try:
        alternation.run_blocks(Alternation(plan, tmp_path / "runs"), 20, lambda: False)
    finally:
        signal.signal(signal.SIGINT, before)
    assert [each.returncode for each in started] == [-signal.SIGTERM]


def runs_still(pid):
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


def test_a_run_that_hangs_is_ended_with_all_its_processes(tmp_path, monkeypatch):
    monkeypatch.setattr(alternation, "GRACE", 0.5)
    plan = Plan(command=[sys.executable, "-c", HANGING], arms=ARMS, run_limit=3)
    [first, *_] = Alternation(plan, tmp_path / "runs").block([])
    assert first.problem.startswith("it did not end within 3 s and was ended")
    assert not runs_still(int((tmp_path / "runs" / first.folder / "kernel").read_text()))


@pytest.mark.parametrize(
    ("stated", "longest", "limit"), [(5.0, 100.0, 5.0), (None, 5.9, 60), (None, 6.1, 61), (None, None, 14400)]
)
def test_limit_of_a_run(tmp_path, stated, longest, limit):
    """Ten times the longest run that did not fail, at least a minute, and four hours before there is one; a plan may
    state another one."""
    runs = Alternation(Plan(command=["kernel"], arms=ARMS, run_limit=stated), tmp_path / "runs")
    runs.results.ended.append(Run(0, "usual", 1e6, "failed"))
    runs.results.ended += [Run(0, "usual", each) for each in (1.0, longest) if longest]
    assert runs.limit == pytest.approx(limit)


def test_blocks_in_which_an_arm_failed_twice_run_again_with_the_same_command(tmp_path):
    """Here the third and fourth one, until the machine is repaired. A single failure before stays one."""
    log = logs_made.write(tmp_path / "log.jsonl", averaged_log(ranks=2, repetitions=1))
    cases = f"*/0001-usual) exit 1 ;; */000[34]-other) [ -e {tmp_path}/repaired ] || exit 2 ;;"
    plan = Plan(command=["sh", "-c", f"case $PWD in {cases} esac; cp {log} .", "sh"], arms=ARMS, pairs=7)
    broken = run_until_decided(Alternation(plan, tmp_path / "runs"))
    assert [(run.block, run.arm) for run in broken.failed] == [(0, "usual"), (2, "other"), (3, "other")]
    (tmp_path / "repaired").touch()
    repaired = run_until_decided(Alternation(plan, tmp_path / "runs"))
    assert [(run.block, run.arm) for run in repaired.failed] == [(0, "usual")] and not repaired.holds


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGKILL])
def test_an_interrupt_ends_the_run_and_keeps_what_is_measured(tmp_path, number):
    """In the second block, which hangs until it is interrupted. The same command then goes on with it. SIGKILL of the
    command ends the run as well."""
    logs_made.write(tmp_path / "log.jsonl", averaged_log(ranks=2, repetitions=1))
    hang = f"echo $$ > {tmp_path}/kernel; exec sleep 1000"
    script = f"case $PWD in */0001-*) cp {tmp_path}/log.jsonl . ;; *) {hang} ;; esac"
    # A test in the background of a shell ignores SIGINT, and so would what it starts.
    words = ["env", "--default-signal=INT", Path(sys.executable).with_name("coffeecup"), "compare"]
    words += ["--arm", "usual=", "--arm", "other=other"]
    words += ["-o", tmp_path / "runs", "--json", "--", "sh", "-c", script, "sh"]
    started = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    while not (tmp_path / "kernel").exists() or not (tmp_path / "kernel").read_text().strip():
        assert started.poll() is None, started.communicate()
        time.sleep(0.05)
    os.kill(started.pid, number)
    output, errors = started.communicate()
    kernel = int((tmp_path / "kernel").read_text())
    if number == signal.SIGKILL:
        while runs_still(kernel):
            time.sleep(0.05)
    else:
        assert started.returncode == 1 and "interrupted: the same command goes on" in errors
        assert json.loads(output)["runs"] == 3
        assert not runs_still(kernel)
    assert len((tmp_path / "runs" / "runs.jsonl").read_text().splitlines()) == 3


@pytest.mark.parametrize(("script", "logs"), [("true", "no"), ("touch a.jsonl; mkdir b; touch b/c.jsonl", "2")])
def test_a_run_that_writes_not_one_log_into_its_folder_fails_with_the_remedy(tmp_path, script, logs):
    [first, *_] = Alternation(Plan(command=["sh", "-c", script], arms=ARMS), tmp_path / "runs").block([])
    assert first.problem.startswith(f"{logs} logs, *.jsonl, are in its folder: the command must write one log into its")


def test_a_full_disk_costs_no_run_and_the_same_command_goes_on(tmp_path):
    """As a limit of the size of files, before the first run and between two commands."""
    plan, (soft, hard) = Plan(command=["true"], arms=ARMS), resource.getrlimit(resource.RLIMIT_FSIZE)

    def begin_without_space():
        resource.setrlimit(resource.RLIMIT_FSIZE, (10, hard))
        try:
            with pytest.raises(OSError, match="too large"):
                Alternation(plan, tmp_path / "runs")
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))

    begin_without_space()
    ended = [*Alternation(plan, tmp_path / "runs").block([])]
    begin_without_space()
    assert Alternation(plan, tmp_path / "runs").results.ended == ended and len(ended) == 3


@pytest.mark.parametrize("options", [["--arm=usual=", "--arm=other=other"], ["--parameter=--x=1,2"]])
def test_a_second_command_in_a_folder_is_refused_until_the_first_one_ends(tmp_path, options):
    """A comparison and a search, each as two processes. The first run waits for the file `go`."""
    logs_made.write(tmp_path / "log.jsonl", averaged_log(ranks=2, repetitions=1))
    wait = "[ -e go ] || mkdir first || exit 3; until [ -e go ]; do sleep 0.05; done"
    script = f"cd {tmp_path}; {wait}; cp log.jsonl $OLDPWD"
    words = ["compare", *options, "-o", tmp_path / "runs", "--", "sh", "-c", script, "sh"]
    command = [Path(sys.executable).with_name("coffeecup"), *words]
    first = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    while not (tmp_path / "first").exists():
        assert first.poll() is None, first.communicate()
        time.sleep(0.05)
    before = sorted((tmp_path / "runs").rglob("*"))
    second = run(*words)
    after = sorted((tmp_path / "runs").rglob("*"))
    (tmp_path / "go").touch()
    output, errors = first.communicate()
    assert second.exit_code == 2 and "another `coffeecup compare` runs there" in said(second)
    assert before == after
    assert first.returncode == 0, errors
    third = run(*words)
    assert (third.exit_code, third.stdout) == (0, output)


def test_a_folder_with_other_files_is_refused(tmp_path):
    (tmp_path / "results.db").touch()
    with pytest.raises(PlanError, match="is not empty"), alternation.alone_in(tmp_path, "plan.json"):
        pass


def test_a_file_system_without_locks_is_named(tmp_path, monkeypatch, capsys):
    def flock(file, operation):
        raise OSError(errno.ENOSYS, "Function not implemented")

    monkeypatch.setattr(alternation.fcntl, "flock", flock)
    with alternation.alone_in(tmp_path / "runs", "plan.json"):
        pass
    assert "no lock (Function not implemented): do not start another comparison there" in capsys.readouterr().err
