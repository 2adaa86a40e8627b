# SPDX-License-Identifier: Apache-2.0
"""Contracts on tests of other suites: their values are ReFrame's, without a log, and marked as weaker evidence."""

import json
import shlex
import textwrap
import time
from datetime import UTC, datetime

import pytest
from commands import said
from contracts_made import NONCE, begin, clause, contract, evaluate, write_contract
from other_suite import case, session

MADE_SUITE = """\
    import reframe as rfm
    import reframe.utility.sanity as sn
    from reframe.core.builtins import parameter, performance_function, sanity_function

    @rfm.simple_test
    class stream(rfm.RunOnlyRegressionTest):
        kernel = parameter(["copy", "triad 2", "triad"])
        valid_systems = ["*"]
        valid_prog_environs = ["*"]
        executable = "echo 1000"

        @sanity_function
        def ended(self):
            return sn.assert_found("1000", self.stdout)

        @performance_function("MB/s")
        def bandwidth(self):
            return sn.extractsingle(r"\\d+", self.stdout, 0, float)
"""


def weaker(**changed):
    """A clause on the scratch test of tests/support/other_suite.py, whose values the test knows."""
    wanted = {"benchmark": "scratch", "metric": "bandwidth", "unit": "MB/s", "evidence": "session"}
    place = {"system": "cluster", "partition": "cpu", "size": {"processes": 4}}
    return clause(**wanted | place | {"official": False, "floor": 100, "repetitions": 3} | changed)


def measured(*values, pattern="write", unit="MB/s", **more):
    return [
        case({"bandwidth": (value, unit)}, parameters={"pattern": pattern}, **more) if value else failed(pattern)
        for value in values
    ]


def failed(pattern):
    return case({}, parameters={"pattern": pattern}, result="fail", fail_reason="sanity error: no 'Run status'")


def judged(folder, cases, *clauses, nonce=None, shift=0, **changed):
    """The verdicts on clauses by a session of these cases that ran `shift` seconds after the acceptance had begun;
    `nonce` replaces the one that was issued."""
    path = write_contract(folder, contract(*clauses, **changed))
    issued = begin(path)
    when = datetime.fromtimestamp(time.time() + shift, UTC)
    report = session(cases, when, **{NONCE: issued if nonce is None else nonce})
    (folder / "session.json").write_text(json.dumps(report))
    return evaluate(folder, folder / "session.json")


def reasons(result):
    return {refusal["key"] for run in result["clauses"][0]["runs"] for refusal in run["refusals"]}


@pytest.mark.parametrize(
    ("values", "outcome", "value"),
    [((90, 100, 110), "pass", 100), ((90, 99, 110), "fail", 99), ((100, 110), "not proven", None)],
)
def test_values_of_a_session_are_compared_and_marked_as_weaker(tmp_path, values, outcome, value):
    done, result = judged(tmp_path, measured(*values), weaker())
    [found] = result["clauses"]
    assert (found["result"], found["value"], found["evidence"]) == (outcome, value, "session")
    assert (result["result"], done.exit_code) == (outcome, 0 if outcome == "pass" else 1)
    words = "1 clause rests on weaker evidence: ReFrame's session alone, because this test writes no log."
    page = (tmp_path / "result" / "acceptance.html").read_text().replace("&#39;", "'")
    assert words in result["notices"] and words in page and words in " ".join(done.stdout.split())


def test_every_run_enters_the_statistic_even_below_its_reference(tmp_path):
    """The worst of four, which ReFrame counted as failed, decides."""
    low = case({"bandwidth": (50, 100, -0.1, None, "MB/s", "fail")}, parameters={"pattern": "write"}, result="fail")
    _, result = judged(tmp_path, [*measured(120, 130, 140), low], weaker(statistic="minimum"))
    assert (result["result"], result["clauses"][0]["value"]) == ("fail", 50)


@pytest.mark.parametrize(
    ("cases", "more", "key"),
    [
        (measured(120, 130, None), {}, "failed"),
        (measured(120, 130, 140, unit="GB/s"), {}, "other_unit"),
        ([case({"iops": (5.0, "1/s")}, parameters={"pattern": "write"})] * 3, {}, "not_measured"),
        (measured(120, 130, 140), {"nonce": ""}, "unbound"),
        (measured(120, 130, 140), {"nonce": "0" * 64}, "unbound"),
        (measured(120, 130, 140), {"shift": -3600}, "other_time"),
        (measured(120, 130, 140), {"period": {"from": "2020-01-01", "until": "2020-01-02"}}, "period"),
    ],
)
def test_what_proves_nothing_is_refused(tmp_path, cases, more, key):
    done, result = judged(tmp_path, cases, weaker(), **more)
    assert (result["result"], done.exit_code) == ("not proven", 1) and key in reasons(result)


def test_values_that_a_copied_session_repeats_count_once(tmp_path):
    """The copy has another identifier, and so another session."""
    path = write_contract(tmp_path, contract(weaker(repetitions=2)))
    now, files = datetime.now(UTC), []
    for name in ("first", "second"):
        nonce = begin(path, *(("--after", files[0]) if files else ()))
        file = tmp_path / f"{name}.json"
        file.write_text(json.dumps(session(measured(120), now, **{NONCE: nonce, "copy": name})))
        files.append(file)
    _, result = evaluate(tmp_path, *files)
    assert result["result"] == "not proven" and "duplicate" in reasons(result)


def test_runs_of_different_parameters_are_never_mixed(tmp_path):
    cases = [*measured(120, 130), *measured(300, pattern="randwrite")]
    _, result = judged(tmp_path, cases, weaker(), weaker(clause="w", repetitions=2, parameters={"pattern": "write"}))
    mixed, chosen = result["clauses"]
    assert mixed["result"] == "not proven" and "differ in pattern" in mixed["sentence"]
    assert (chosen["result"], chosen["value"]) == ("pass", 125)


def test_a_test_of_the_same_name_without_a_log_is_no_evidence_for_a_benchmark(tmp_path):
    place = {"system": "cluster", "partition": "cpu", "size": {"processes": 4}}
    cases = [case({"b_eff": (5000.0, "MByte/s")}, test="b_eff")] * 3
    _, result = judged(tmp_path, cases, clause(**place))
    assert result["result"] == "not proven" and not result["clauses"][0]["runs"]


@pytest.mark.parametrize(
    ("changed", "told"),
    [
        ({"benchmark": "b_eff", "metric": "b_eff", "unit": "MByte/s"}, "b_eff writes a log, which is stronger"),
        ({"official": True}, "only a log can prove that a run is official"),
        ({"forbidden": ["overcommitted"]}, "only a log can prove this"),
        ({"file_system": {"type": "lustre"}}, "only a log can prove this"),
        ({"workload_sha256": "0" * 64}, "only a log can prove this"),
        ({"evidence": "log"}, "unknown benchmark 'scratch'"),
        ({"evidence": "hearsay"}, "hearsay"),
    ],
)
def test_what_only_a_log_proves_cannot_be_demanded(tmp_path, changed, told):
    path = write_contract(tmp_path, contract(weaker() | changed))
    done, result = evaluate(tmp_path, options=("--explain",))
    assert done.exit_code == 2 and told in said(done) and result is None, path


def test_parameters_belong_to_tests_of_other_suites(tmp_path):
    write_contract(tmp_path, contract(clause(parameters={"pattern": "write"})))
    done, _ = evaluate(tmp_path, options=("--explain",))
    assert done.exit_code == 2 and "evidence: session" in said(done)


def test_a_suite_that_is_not_ours_is_accepted_as_described(reframe, tmp_path):
    """Real ReFrame, by the commands that `begin` and `--dry-run` print."""
    suite = tmp_path / "suite.py"
    suite.write_text(textwrap.dedent(MADE_SUITE))
    wanted = {"benchmark": "stream", "system": "generic", "partition": "default", "size": {"processes": 1}}
    path = write_contract(tmp_path, contract(weaker(**wanted, repetitions=2, parameters={"kernel": "triad 2"})))
    nonce = begin(path)
    [printed] = evaluate(tmp_path, options=("--dry-run",))[0].stdout.splitlines()
    sentence, _, command = printed.partition(": reframe ")
    assert sentence == "network: 2 runs are missing"
    words = shlex.split(command.replace(f"${NONCE}", nonce))
    ran = reframe(*words, config=None, checks=suite)
    assert ran.returncode == 0 and len(ran.cases) == 2, ran.output
    done, result = evaluate(tmp_path, tmp_path / "session.json")
    assert (done.exit_code, result["result"], result["clauses"][0]["value"]) == (0, "pass", 1000), done.output
