# SPDX-License-Identifier: Apache-2.0
"""The comparison with an earlier acceptance, part by part, on made-up values whose ratios and intervals can be computed
by hand: limits from both sides, all sentences in full, all evidence that does not count. test_baseline.py has whole
acceptances."""

import json
import math
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import clauses_made
import pytest
from clauses_made import CLAUSE, run, verdict
from contracts_made import level
from logs_made import sha256

from coffeecup.postprocess.acceptance import baseline
from coffeecup.postprocess.acceptance.baseline import Accepted, BaselineError, read_baseline
from coffeecup.postprocess.acceptance.contract import Baseline

EASY = replace(CLAUSE, floor=1.0, at_least=0.9)
TIME = replace(EASY, floor=None, ceiling=1e9)
STRICT = Baseline(Path("acceptance.json"), ())
NAMES = ("benchmark", "metric", "unit", "statistic", "evidence", "processes", "hosts")


def log(version="1.0", sources="a" * 64, plan=None, **options):
    made = clauses_made.log(source_sha256=sources)
    made.run.kernel_version, made.run.options, made.plan = version, options, plan or SimpleNamespace()
    return made


def earlier(*values, clause=EASY, value=None, logs=(), **changed):
    stated = {name: getattr(clause, name) for name in NAMES} | {"value": value or values[0]} | changed
    return Accepted(stated, list(values), list(logs))


def compared(now, then, clause=EASY, allow=(), logs=None):
    runs = [run(value, score=logs and SimpleNamespace(log=logs[0], breaches=(), qualifications=())) for value in now]
    found = verdict(replace(clause, repetitions=len(runs)), *runs)
    contract = SimpleNamespace(baseline=replace(STRICT, allow=allow))
    [one] = baseline.compare(contract, [found], {clause.name: then})
    return one


# --- the ratio --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("now", "outcome", "percent"),
    [
        (910.0, "pass", "91 % of the accepted value, 95 % interval 91.0 to 91.0 %."),
        (900.0, "pass", "90 % of the accepted value, 95 % interval 90.0 to 90.0 %."),
        (900.0 * (1 - 0.9e-9), "pass", "90 % of the accepted value, 95 % interval 90.0 to 90.0 %."),
        (900.0 * (1 - 1.1e-9), "fail", "90 % of the accepted value, 95 % interval 90.0 to 90.0 %."),
        (890.04, "fail", "89 % of the accepted value, 95 % interval 89.0 to 89.0 %."),
        (890.16, "fail", "89.02 % of the accepted value, 95 % interval 89.0 to 89.0 %."),
    ],
)
def test_values_without_scatter_have_an_interval_of_no_width(now, outcome, percent):
    found = compared([now, now], earlier(1000.0, 1000.0))
    assert (found.outcome, found.value, found.sentence) == (outcome, now / 1000, f"It reaches {percent}")
    assert found.relation.name == "bandwidth, since the earlier acceptance"
    assert (found.relation.kind, found.relation.clauses, found.relation.limits) == (
        "baseline",
        (CLAUSE.name,),
        (0.9, None),
    )


def test_times_have_the_inverse_ratio():
    found = compared([125.0, 125.0], earlier(100.0, 100.0, clause=TIME), TIME)
    assert (found.outcome, found.value) == ("fail", 0.8)
    assert compared([110.0, 110.0], earlier(100.0, 100.0, clause=TIME), TIME).value == pytest.approx(1 / 1.1)


@pytest.mark.parametrize(("reached", "outcome"), [(0.92, "pass"), (0.905, "not proven"), (0.88, "fail")])
def test_the_interval_of_two_values_is_that_of_student(reached, outcome):
    """Logarithms 0.001 above and below their mean have the standard error 0.001; Student's t for one degree of freedom
    is 12.706. The drawn quantile is right within 5 %."""
    found = compared([1000 * reached * math.exp(d) for d in (-0.001, 0.001)], earlier(1000.0, 1000.0))
    low, high = (100 * reached * math.exp(side * 12.706 * 0.001) for side in (-1, 1))
    stated = found.sentence.split("interval ")[1].split(" %")[0].split(" to ")
    assert found.outcome == outcome
    assert list(map(float, stated)) == [pytest.approx(low, abs=0.11), pytest.approx(high, abs=0.11)]
    if outcome == "not proven":
        assert found.value is None
        assert found.sentence.endswith(" %, which does not tell whether it is 90 %: repeat more runs.")
        assert found.sentence.startswith("It reaches 90.5 % of the accepted value, 95 % interval ")


# --- what cannot be compared ------------------------------------------------------------------------------------------


def test_only_clauses_that_have_to_reach_a_part_are_compared():
    verdicts = [verdict(clause, run(950.0), run(950.0)) for clause in (EASY, replace(EASY, at_least=None))]
    assert len(baseline.compare(SimpleNamespace(baseline=STRICT), verdicts, {})) == 1
    assert baseline.compare(SimpleNamespace(baseline=None), verdicts, {}) == []


UNKNOWN = "The uncertainty of the ratio is unknown: at least two runs with positive values are needed in each."


@pytest.mark.parametrize(
    ("now", "then", "sentence"),
    [
        ([950.0] * 2, None, "The earlier acceptance has no such clause whose evidence counts."),
        ([], earlier(1000.0, 1000.0), "Clause 'bandwidth' has no value."),
        ([950.0] * 2, earlier(1000.0, 1000.0, unit="GByte/s"), "The earlier clause has another unit."),
        (
            [950.0] * 2,
            earlier(1000.0, 1000.0, metric="b", statistic="mean"),
            "The earlier clause has another metric and statistic.",
        ),
        ([950.0], earlier(1000.0, 1000.0), UNKNOWN),
        ([950.0] * 2, earlier(1000.0), UNKNOWN),
        ([950.0] * 2, earlier(1000.0, 0.0), UNKNOWN),
        ([950.0, 0.0, 950.0], earlier(1000.0, 1000.0), UNKNOWN),
    ],
)
def test_what_cannot_be_compared_is_not_proven(now, then, sentence):
    found = compared(now, then)
    assert (found.outcome, found.value, found.sentence) == ("not proven", None, sentence)


def test_positive_values_may_be_small():
    assert compared([0.95, 0.95], earlier(1.0, 1.0, clause=TIME), TIME).outcome == "pass"


SOURCES = f"1.0 of sources {'a' * 12}"
DIFFERING = [
    ("size", {"processes": 128}, log(), log(), "size (128 processes, now 256 processes)"),
    ("size", {"hosts": 2}, log(), log(), "size (256 processes on 2 hosts, now 256 processes)"),
    ("kernel", {}, log(), log("1.1"), f"kernel ({SOURCES}, now 1.1 of sources {'a' * 12})"),
    ("kernel", {}, log(), log(sources=None), f"kernel ({SOURCES}, now 1.0 of sources unknown)"),
    ("options", {}, log(memory=1, seed=5), log(memory=2, seed=5), "option memory (1, now 2)"),
    ("options", {}, log(), log(name="x" * 61), f"option name (None, now {'x' * 60})"),
    ("options", {}, log(old="y" * 61), log(), f"option old ({'y' * 60}, now None)"),
    (
        *("options", {}, log(a=1, b=1), log(a=2, b=2)),
        "option a (1, now 2); another option b (1, now 2)",
    ),
]


@pytest.mark.parametrize(("kind", "stated", "before", "now", "words"), DIFFERING)
def test_what_differs_is_named_with_both_values_and_may_be_allowed(kind, stated, before, now, words):
    then = earlier(1000.0, 1000.0, logs=[before, before], **stated)
    others = tuple({"kernel", "options", "size"} - {kind})
    sentence = f"It was measured with another {words}; `allow` in the contract permits that."
    for allow in ((), others):
        assert compared([950.0] * 2, then, allow=allow, logs=[now]).sentence == sentence
    assert compared([950.0] * 2, then, allow=(kind,), logs=[now]).outcome == "pass"


def test_places_may_differ_and_the_text_of_a_workload_may_not():
    then = earlier(1000.0, 1000.0, logs=[log(directory="/a", log="b")])
    assert compared([950.0] * 2, then, logs=[log(directory="/c", log="d")]).outcome == "pass"
    texts = [log(plan=SimpleNamespace(workload_text=text)) for text in ("one", "other")]
    hashes = [baseline.hashlib.sha256(text.encode()).hexdigest()[:60] for text in ("one", "other")]
    found = compared([950.0] * 2, earlier(1000.0, 1000.0, logs=texts[:1]), logs=texts[1:])
    assert f"another option workload's content ({hashes[0]}, now {hashes[1]})" in found.sentence


# --- evidence ---------------------------------------------------------------------------------------------------------


@pytest.fixture
def folder(tmp_path):
    """A result with a session and two logs, of 1000 and 1010 MByte/s."""
    (tmp_path / "session.json").write_text("{}")
    for value in (1000, 1010):
        (tmp_path / f"{value}.jsonl").write_bytes(level(value))
    return tmp_path


def stated(folder, **changed):
    """A clause of a result. A third run does not count."""
    runs = [
        {"counts": True, "value": value, "log": f"{value}.jsonl", "sha256_now": sha256(folder / f"{value}.jsonl")}
        for value in (1000, 1010)
    ]
    runs.append({"counts": False, "value": 1.0, "log": None, "sha256_now": None})
    whole = {"evidence": "log", "metric": "b_eff", "sequential": False, "statistic": "maximum", "value": 1010.0}
    return {"clause": "network", "runs": runs} | whole | changed


def written(folder, content):
    path = folder / "acceptance.json"
    path.write_text(content if isinstance(content, str) else json.dumps(content))
    return replace(STRICT, file=path)


def result(folder, **changed):
    session = {"file": "session.json", "file_sha256": sha256(folder / "session.json")}
    return {"result": "pass", "sessions": [session], "clauses": [stated(folder)]} | changed


UNSIGNED = SimpleNamespace(signers=None)


def test_values_and_logs_of_the_runs_that_counted_are_read(folder):
    found = read_baseline(UNSIGNED, written(folder, result(folder)))
    assert list(found) == ["network"]
    assert found["network"].values == [1000, 1010]
    assert [one.run.benchmark for one in found["network"].logs] == ["b_eff", "b_eff"]
    assert found["network"].clause == json.loads(json.dumps(stated(folder)))


@pytest.mark.parametrize(
    ("changed", "problem"),
    [
        ({"value": 1000.0}, "the runs of 'network' do not yield the accepted value 1000.0"),
        (
            {"value": 1010.0 * (1 + 1.1e-9)},
            f"the runs of 'network' do not yield the accepted value {1010 * (1 + 1.1e-9)}",
        ),
        ({"value": 1010.0 * (1 + 0.9e-9)}, None),
        ({"value": 1000.0, "sequential": True}, None),
        ({"value": 1010.0, "sequential": True}, None),
        ({"value": 1005.0, "sequential": True}, "the runs of 'network' do not yield the accepted value 1005.0"),
        ({"metric": "unknown"}, "the log 1000.jsonl does not yield the accepted value 1000 any more"),
    ],
)
def test_a_clause_states_what_its_runs_yield(folder, changed, problem):
    file = written(folder, result(folder, clauses=[stated(folder, **changed)]))
    if problem is None:
        assert read_baseline(UNSIGNED, file)
        return
    with pytest.raises(BaselineError) as error:
        read_baseline(UNSIGNED, file)
    assert str(error.value) == problem


@pytest.mark.parametrize(("by", "counts"), [(0.9e-9, True), (1.1e-9, False)])
def test_a_log_yields_the_value_of_its_run_up_to_rounding(folder, by, counts):
    clause = stated(folder, value=1010.0)
    clause["runs"][0]["value"] = 1000 * (1 + by)
    if counts:
        assert read_baseline(UNSIGNED, written(folder, result(folder, clauses=[clause])))
        return
    with pytest.raises(BaselineError, match=r"the log 1000.jsonl does not yield the accepted value 1000.0"):
        read_baseline(UNSIGNED, written(folder, result(folder, clauses=[clause])))


def test_a_log_that_is_none_yields_no_value(folder):
    (folder / "1000.jsonl").write_text("{}\n")
    with pytest.raises(BaselineError, match=r"the log 1000.jsonl does not yield the accepted value 1000 any more"):
        read_baseline(UNSIGNED, written(folder, result(folder)))


def test_a_test_without_logs_has_its_values_in_the_session(folder):
    clause = stated(folder, evidence="session")
    found = read_baseline(UNSIGNED, written(folder, result(folder, clauses=[clause])))
    assert (found["network"].values, found["network"].logs) == ([1000, 1010], [])


@pytest.mark.parametrize("content", ["{", "[]", "{}", "null", '{"result": "pass", "sessions": [1], "clauses": []}'])
def test_another_file_is_no_result(folder, content):
    file = written(folder, content)
    with pytest.raises(BaselineError) as error:
        read_baseline(UNSIGNED, file)
    assert str(error.value) == f"{file.file} is not the result of an acceptance"


def test_only_what_passed_is_a_baseline(folder):
    file = written(folder, result(folder, result="not proven"))
    with pytest.raises(BaselineError) as error:
        read_baseline(UNSIGNED, file)
    assert str(error.value) == f"the acceptance of {file.file} did not pass"


@pytest.mark.parametrize("name", ["session.json", "1010.jsonl"])
def test_evidence_is_there_and_as_it_was(folder, name):
    file, path = written(folder, result(folder)), folder / name
    before = sha256(path)
    path.write_text("other")
    with pytest.raises(BaselineError) as error:
        read_baseline(UNSIGNED, file)
    altered = f"{path} was altered or replaced since the acceptance: its SHA-256 was {before} and is now {sha256(path)}"
    assert str(error.value) == altered
    path.unlink()
    with pytest.raises(BaselineError) as error:
        read_baseline(UNSIGNED, file)
    assert str(error.value) == f"{name} is missing: keep the evidence with acceptance.json"


def test_a_result_has_to_be_signed_by_the_signers(folder, monkeypatch):
    signers, asked = folder / "signers", []

    def verify(file, of):
        asked.append((file, of))
        return SimpleNamespace(signer=None, problem="it is not signed")

    monkeypatch.setattr(baseline, "verify", verify)
    file = written(folder, result(folder))
    with pytest.raises(BaselineError, match=r"^it is not signed$"):
        read_baseline(SimpleNamespace(signers=signers), file)
    assert asked == [(file.file, signers)]
