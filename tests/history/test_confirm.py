# SPDX-License-Identifier: Apache-2.0
"""`check-history --confirm`: real reruns of a small suite confirm or refute what only the last session shows, bounded
in number and time."""

import json
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
import sessions_made
from commands import run
from other_suite import later
from sessions_made import database, night, steady, write

from coffeecup.postprocess.cli.confirm import SELECTING
from coffeecup.postprocess.history.cases import OF_ONE_SESSION, arguments

SUITE = """
import reframe as rfm
import reframe.utility.sanity as sn
from reframe.core.builtins import parameter, performance_function, run_before, sanity_function, variable


@rfm.simple_test
class disk(rfm.RunOnlyRegressionTest):
    pattern = parameter(["read", "write"])
    folder = variable(str, value="")
    valid_systems = ["*"]
    valid_prog_environs = ["*"]
    executable = "bash"

    @run_before("run")
    def set_options(self):
        self.executable_opts = [f"'{self.folder}/{self.pattern}'"]

    @sanity_function
    def finished(self):
        return sn.assert_found("speed", self.stdout)

    @performance_function("MB/s")
    def bandwidth(self):
        return sn.extractsingle(r"speed (\\S+)", self.stdout, 1, float)
"""
PATTERNS = ("read", "write")


def measuring(folder, **scripts):
    """What the tests of the suite do from now on: a value, or a shell script."""
    for pattern, script in scripts.items():
        text = f"echo speed {script}" if isinstance(script, float) else script
        (folder / pattern).write_text(text)


@pytest.fixture(scope="module")
def suite(tmp_path_factory):
    """A folder with a suite and a report of one real session."""
    folder = tmp_path_factory.mktemp("a suite")
    (folder / "disk.py").write_text(SUITE)
    measuring(folder, read=100.0, write=100.0)
    return folder


@pytest.fixture
def nights(suite, reframe, monkeypatch):
    """Sessions of 20 nights, of which the last measured less; copies of a real one with other values."""
    for name, value in reframe.environment().items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("RFM_ENABLE_RESULTS_STORAGE", "1")
    report = suite / "real.json"
    if not report.exists():
        real = reframe("-r", "-S", f"folder={suite}", checks=suite / "disk.py", config=None)
        assert real.returncode == 0, real.output
        report.write_text(json.dumps(real.report))
    Path(reframe.folder, "results.db").unlink(missing_ok=True)
    made = []
    for number, value in enumerate([*[99.0, 101.0] * 9, 100.0, 60.0]):
        night_of = later(json.loads(report.read_text()), night(number))
        night_of["session_info"]["prefix_output"] = str(reframe.folder / "output")
        for case in night_of["runs"][0]["testcases"]:
            [(key, entry)] = case["perfvalues"].items()
            low = 0.9 if number == 19 and case["pattern"] == "write" else 1.0
            case["perfvalues"][key] = [value * low, *entry[1:]]
        made.append(night_of)
    return write(reframe.folder / "sessions", made)


def lines(done, pattern):
    return [line for line in done.output.splitlines() if f"pattern={pattern}" in line and "in its last value (" in line]


def test_a_rerun_confirms_or_refutes_each_suspected_test(suite, nights):
    """One real session: writes are slow again, reads are not. The limit is 100 - 3 * 1.4826 * 1."""
    measuring(suite, read=95.6, write=95.5)
    done = run("check-history", nights, "--confirm", "--json")
    assert done.exit_code == 1, done.output
    found = {row["settings"]: (row["confirmation"], row["again"]) for row in json.loads(done.stdout)["suspected"]}
    assert found == {"pattern=read": ("refuted", 95.6), "pattern=write": ("confirmed", 95.5)}
    assert not (nights.parent / "results.db").exists(), "runs that confirm enter no history"
    assert sorted(nights.parent.glob("confirm/*/confirmation.json")), "their logs can be read"
    assert not list(nights.parent.glob("confirm/**/session*.json"))


def test_only_what_deviates_most_is_rerun_and_a_refuted_loss_does_not_alarm(suite, nights):
    measuring(suite, read=50.0, write=98.0)
    done = run("check-history", nights, "--confirm", "--confirm-tests", "1")
    assert done.exit_code == 0, done.output
    [write_line], [read_line] = lines(done, "write"), lines(done, "read")
    assert write_line.startswith("suspected: ") and "Refuted by 3 more runs: 98 MB/s" in write_line
    assert (
        read_line.startswith("suspected: ")
        and "Not rerun: of an older session, or beyond --confirm-tests. Confirm it: " in read_line
    )


def test_a_test_that_has_no_value_again_alarms(suite, nights):
    measuring(suite, read=100.0, write="exit 1")
    done = run("check-history", nights, "--confirm")
    [line] = lines(done, "write")
    assert done.exit_code == 1 and line.startswith("REGRESSION: ") and "Not confirmed: the rerun has no value" in line
    assert ", 1 confirmed by reruns or without a value in them" in done.output


@pytest.mark.parametrize("by_script", [False, True])
def test_a_rerun_ends_in_time(suite, nights, by_script):
    """Also if the recorded program is a script that calls ReFrame: it does not pass signals on."""
    for session in nights.glob("*.json") if by_script else ():
        report_ = json.loads(session.read_text())
        reframe_, _, options = report_["session_info"]["cmdline"].partition(" ")
        script = suite / "reframe.sh"
        script.write_text(f'#!/bin/sh\n{reframe_} "$@"\nexit\n')
        script.chmod(0o755)
        report_["session_info"]["cmdline"] = f"'{script}' {options}"
        session.write_text(json.dumps(report_))
    measuring(suite, read=100.0, write="sleep 600; true")
    done = run("check-history", nights, "--confirm", "--confirm-minutes", "0.1")
    assert done.exit_code == 1 and "the rerun did not end within 6 seconds" in done.output, done.output
    assert subprocess.run(["pgrep", "-f", f"{suite}/write"], check=False).returncode == 1, "ReFrame ended its job"


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP, signal.SIGKILL])
def test_a_command_that_a_signal_ends_leaves_no_rerun(suite, nights, number):
    measuring(suite, read=100.0, write="sleep 600; true")
    job = ["pgrep", "-f", f"{suite}/write"]
    not_ignored = ["env", "--default-signal"]  # also where nohup started the tests
    words = [sys.executable, "-m", "coffeecup.postprocess.cli", "check-history", str(nights), "--confirm"]
    command = subprocess.Popen([*not_ignored, *words], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    running = lambda: len(subprocess.run(job, check=False, capture_output=True).stdout.split())  # noqa: E731
    # After SIGKILL, nobody ends a job that ReFrame is just starting when it gets the signal of its parent's end.
    wait_for(lambda: running() >= (3 if number == signal.SIGKILL else 1))
    command.send_signal(number)
    command.wait()
    wait_for(lambda: running() == 0)


def wait_for(condition):
    end = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.1)


def test_without_a_recorded_command_nothing_is_rerun_and_it_alarms(tmp_path):
    """Nor is a test of a session that is a day older than the newest one."""
    made = sessions_made.nights([*steady(19), 700.0])
    for one in sessions_made.nights([*[100.0] * 17, 50.0], "write", benchmark="b_eff_io"):
        made.append(one | {"session_info": one["session_info"] | {"uuid": f"io {len(made)}"}})
    source = database(tmp_path / "results.db", made)
    done = run("check-history", source, "--confirm")
    assert done.exit_code == 1, done.output
    first, second = [line for line in done.output.splitlines() if "in its last value (" in line]
    assert first.startswith("suspected: b_eff_io") and "Not rerun: of an older session" in first
    assert second.startswith("REGRESSION: b_eff on") and "does not state a command and a directory" in second
    done = run("check-history", source, "--confirm", "--until", "2027-01-01")
    assert done.exit_code == 2 and "do not use it with --until" in done.output.replace("\n", " "), done.output


def test_the_command_of_the_session_runs_with_its_options_and_none_of_its_selection(tmp_path):
    line = f"{sys.executable} -c 'a b' -n x --name=y -r --prefix p --repeat 2 --reruns=3 -S k=v -s stage --mode=nightly"
    assert arguments(line, (*OF_ONE_SESSION, *SELECTING)) == ["-c", "a b", "-r", "-S", "k=v", "--mode=nightly"]
