# SPDX-License-Identifier: Apache-2.0
"""The report beside a ReFrame session: the session's verdicts and their references."""

import json
import os
import re
import subprocess

import logs_made
import pytest
from builds import PATIENCE
from conftest import REFRAME
from logs_made_b_eff import b_eff_log
from pages import Page, hostile_log

from coffeecup.postprocess.benchmarks.scoring import score_log
from coffeecup.postprocess.logs.reader import LogError
from coffeecup.postprocess.reports import page as report
from coffeecup.postprocess.sessions.verdicts import case_of, differing, read_session

CHECK = """
import reframe as rfm
import reframe.utility.sanity as sn
from reframe.core.builtins import sanity_function, variable, xfail

VALUES, UNITS = {values!r}, {units!r}


@rfm.simple_test
class b_eff(rfm.RunOnlyRegressionTest):
    valid_systems = valid_prog_environs = ["*"]
    executable = "true"
    log_sha256 = variable(str, value={sha256!r}, loggable=True)
    reference = {{"*": {{"b_eff": ({b_eff!r}, -0.05, None, "MByte/s"), "ping_pong_latency": (1e-3, None, 0.1, "us"),
                       "ring_latency": xfail("known", (1e-3, None, 0.1, "us")), "l_max": (8, None, None, "MiB")}}}}
    perf_variables = {{name: sn.make_performance_function(sn.defer(value), UNITS[name]) for name, value in VALUES.items()}}

    @sanity_function
    def ran(self):
        return True
"""  # noqa: E501


@pytest.fixture(scope="module")
def logs(tmp_path_factory):
    """An official full log, and a hostile one."""
    folder = tmp_path_factory.mktemp("logs")
    made = {"full": b_eff_log(), "hostile": hostile_log()}
    return {name: logs_made.write(folder / f"{name}.jsonl", records) for name, records in made.items()}


def changed(session, folder, change):
    """The session with a change of its only test case."""
    data = json.loads(session.read_text())
    [testcase] = data["runs"][0]["testcases"]
    change(testcase)
    (folder / "s.json").write_text(json.dumps(data))
    return folder / "s.json"


def words_of(log, cases):
    return Page(report.html(report.items([log]), cases)).words


@pytest.fixture(scope="module")
def session(logs, tmp_path_factory):
    """A session report that ReFrame itself wrote of a check with the full log's metrics."""
    folder = tmp_path_factory.mktemp("session")
    score = score_log(logs["full"])
    values = {name: metric.value for name, metric in score.metrics.items()}
    units = {name: metric.unit for name, metric in score.metrics.items()}
    check = CHECK.format(values=values, units=units, sha256=score.log.sha256, b_eff=values["b_eff"])
    (folder / "check.py").write_text(check)
    clean = {name: value for name, value in os.environ.items() if not name.startswith("RFM_")}
    command = [*REFRAME, "-c", "check.py", "-r", "--report-file=session.json"]
    subprocess.run(command, cwd=folder, env=clean, capture_output=True, timeout=PATIENCE, check=False)
    return folder / "session.json"


def test_a_sessions_verdicts_are_read_with_their_references(session):
    [case] = read_session(session)
    verdicts = {
        name: (verdict.outcome, verdict.reference, verdict.lower, verdict.upper)
        for name, verdict in case.verdicts.items()
    }
    value = verdicts["b_eff"][1]
    assert verdicts["b_eff"] == ("pass", value, pytest.approx(0.95 * value), None)
    assert verdicts["ping_pong_latency"] == ("fail", 1e-3, None, pytest.approx(1.1e-3))
    assert verdicts["ring_latency"][0] == "expected failure"
    assert verdicts["l_max"] == ("no bounds", 8, None, None)
    assert all(
        verdicts[name] == ("no reference", None, None, None)
        for name in verdicts.keys() - {"b_eff", "ping_pong_latency", "ring_latency", "l_max"}
    )
    assert (case.result, case.compared, len(case.verdicts)) == ("fail", 3, 12)


def test_a_metric_without_reference_says_so_and_never_passes(logs, session):
    words = words_of(logs["full"], read_session(session))
    assert words.count("no reference") == 8 and words.count("✓ pass") == 1 and words.count("✗ fail") == 1
    assert "ended with 'fail'" in words and "3 of 12 metrics were compared with a reference" in words
    assert re.search(r"b_eff 12 \d\d\d MByte/s 12 \d\d\d at least 12 \d\d\d ✓ pass", words)


def test_a_session_that_compared_nothing_says_so(logs, session, tmp_path):
    def without(testcase):
        values = testcase["perfvalues"].items()
        free = {key: [value[0], 0, None, None, value[4], "pass"] for key, value in values}
        testcase.update(result="pass", perfvalues=free)

    words = words_of(logs["full"], read_session(changed(session, tmp_path, without)))
    assert "no metric was compared with a reference" in words
    assert words.count("no reference") == 12 and "✓ pass" not in words


def test_a_session_of_another_log_gives_no_verdict(logs, session):
    cases = read_session(session)
    words = words_of(logs["hostile"], cases)
    assert "The session contains no test case for this log" in words
    assert "Test cases of the session without a log on this page b_eff on generic:default+builtin: fail" in words
    assert "✓ pass" not in words


def test_a_session_with_other_values_is_not_to_be_relied_on(logs, session, tmp_path):
    (tmp_path / "s.json").write_text(re.sub(r'("generic:default:b_eff": \[\s*)', r"\g<1>2", session.read_text()))
    cases, score = read_session(tmp_path / "s.json"), score_log(logs["full"])
    assert differing(score, case_of(score, cases).values) == ["b_eff"]
    assert "do not rely on its verdict" in words_of(logs["full"], cases)


def test_what_slurm_counted_is_shown_as_that(logs, session, tmp_path):
    def counting(**energy):
        return changed(session, tmp_path, lambda testcase: testcase.update(slurm_energy=energy))

    counted = "700 J in the step batch, 1400 J in the step 0 of the job (ConsumedEnergyRaw of sacct)"
    words = words_of(logs["full"], read_session(counting(**{"batch": 700, "0": 1400})))
    assert f"Energy, by Slurm {counted}" in words
    assert "by Slurm" not in words_of(logs["full"], read_session(session))
    with pytest.raises(LogError):
        read_session(counting(batch="700"))


@pytest.mark.parametrize("text", ["", "{", "[]", "{}", '{"runs": 1}', '{"runs": [{"testcases": [{}]}]}', "\0"])
def test_what_is_no_session_report_is_refused(tmp_path, text):
    (tmp_path / "s.json").write_text(text)
    with pytest.raises(LogError, match="session report"):
        read_session(tmp_path / "s.json")
