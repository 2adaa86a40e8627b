# SPDX-License-Identifier: Apache-2.0
"""A second acceptance is compared with the evidence of the first: passed at 91 %, failed at 89 % where 90 % is
demanded, and nothing is compared with evidence that was altered, or measured in another way."""

import getpass
import json
import lzma
import math
import shutil
import subprocess
import time

import numpy as np
import pytest
from builds import ROOT
from commands import run, said
from contracts_made import begin, clause, contract, level, rebound, utc, write_contract
from evidence_made import official_session
from logs_made import sha256
from mutator import KERNEL_LOGS
from sessions_made import case, session

from coffeecup.postprocess.statistics.means import half_width_of_difference

SCATTER = (0.999, 1.0, 1.001)


def accepted(folder, agreed, mbytes, **run_fields):
    """The result of an acceptance with a session of official runs of these values."""
    folder.mkdir()
    path = write_contract(folder, agreed)
    report = official_session(folder, begin(path), mbytes, **run_fields)
    done = run("accept", path, report, "-o", folder / "acceptance.html")
    return done, json.loads((folder / "acceptance.json").read_text())


def near(value):
    return [value * part for part in SCATTER]


@pytest.fixture(scope="module")
def first(tmp_path_factory):
    folder = tmp_path_factory.mktemp("baseline") / "first"
    done, result = accepted(folder, contract(clause(floor=900)), near(1000))
    assert done.exit_code == 0, done.output
    assert result["clauses"][0]["value"] == pytest.approx(1000, rel=1e-3)
    return folder


def again(first, **more):
    """The baseline of a second contract."""
    file = first / "acceptance.json"
    return {"baseline": {"file": str(file), "sha256": sha256(file), "at_least": 0.9} | more}


def second(tmp_path, first, mbytes, baseline=None, run_fields=None, **changed):
    agreed = contract(clause(floor=1, **changed), **again(first, **(baseline or {})))
    return accepted(tmp_path / "second", agreed, mbytes, **(run_fields or {}))


@pytest.mark.parametrize(
    ("percent", "result", "part", "outcome"),
    [(91, "pass", {}, "pass"), (89, "fail", {}, "fail"), (91, "fail", {"at_least": 0.92}, "fail")],
)
def test_a_second_acceptance(tmp_path, first, percent, result, part, outcome):
    done, content = second(tmp_path, first, near(10.0 * percent), **part)
    [relation] = content["relations"]
    assert (content["result"], relation["result"]) == (result, outcome), done.output
    assert relation["value"] == pytest.approx(percent / 100, rel=1e-3)
    assert relation["sentence"].startswith(f"It reaches {percent} % of the accepted value, 95 % interval ")
    assert done.exit_code == (result == "fail")
    if (percent, result) == (91, "pass"):
        assert f"{relation['sentence']}\n```" in (ROOT / "docs" / "acceptance-again.md").read_text()


def test_runs_that_cannot_tell_prove_nothing(tmp_path, first):
    _, content = second(tmp_path, first, [860, 920, 980])
    assert content["result"] == "not proven"
    assert "which does not tell whether it is 90 %: repeat more runs" in content["relations"][0]["sentence"]


@pytest.mark.parametrize(("values", "outcome"), [([950, 951], "pass"), ([950], "not proven")])
def test_two_runs_tell_an_uncertainty(tmp_path, first, values, outcome):
    _, content = second(tmp_path, first, values, repetitions=1)
    assert content["result"] == outcome
    assert ("The uncertainty of the ratio is unknown" in content["relations"][0]["sentence"]) == (outcome != "pass")


def test_the_accepted_value_of_a_sequential_clause_is_that_of_its_first_runs(tmp_path):
    """The first three of at most five runs reached 1000. Worse ones after them change neither this nor 90 % of it."""
    agreed = contract(clause(floor=900, repetitions=5, sequential=True))
    _, one = accepted(tmp_path / "first", agreed, [*near(1000), 801, 802, 803, 804, 805])
    assert one["clauses"][0]["value"] == pytest.approx(1000, rel=1e-3)
    _, content = second(tmp_path, tmp_path / "first", near(890))
    assert content["relations"][0]["sentence"].startswith("It reaches 89 % of the accepted value")


def test_times_may_be_so_much_longer(tmp_path, first):
    """1 GiB for each of two processes takes 2 * 2**30 / 1e9 s, at 91 % of the bandwidth so much longer."""
    timed = {"metric": "time_to_communicate_total_memory", "unit": "s", "floor": None, "ceiling": 100}
    made = {key: value for key, value in clause(**timed).items() if value is not None}
    _, one = accepted(tmp_path / "first", contract(made), near(1000))
    assert one["result"] == "pass"
    agreed = contract(made, **again(tmp_path / "first"))
    assert accepted(tmp_path / "second", agreed, near(910))[1]["result"] == "pass"
    assert accepted(tmp_path / "third", agreed, near(890))[1]["result"] == "fail"


# --- what must not differ ---------------------------------------------------------------------------------------------


OPTIONS = json.loads(level(1000).splitlines()[0])["options"] | {"hang-after": 5.0, "log": "elsewhere.jsonl"}


@pytest.mark.parametrize(
    ("kind", "others", "run_fields", "changed", "named"),
    [
        ("kernel", ["options", "size"], {"kernel_version": "0.1.1"}, {}, "another kernel (0.1.0 of sources"),
        ("options", ["kernel", "size"], {"options": OPTIONS}, {}, "another option hang-after ("),
        ("size", ["kernel", "options"], {}, {"hosts": 1}, "another size (2 processes, now 2 processes on 1 host)"),
    ],
)
def test_what_differs_is_named_and_refused_unless_it_is_allowed(
    tmp_path, first, kind, others, run_fields, changed, named
):
    for allow in ([], others, [kind]):
        agreed = contract(clause(floor=1, size={"processes": 2} | changed), **again(first, allow=allow))
        del agreed["kernel_version"]
        _, content = accepted(tmp_path / "-".join(["second", *allow]), agreed, near(950), **run_fields)
        sentence = content["relations"][0]["sentence"]
        assert content["result"] == ("pass" if kind in allow else "not proven")
        assert (named in sentence) == (kind not in allow)
        assert "option log" not in sentence


def test_another_statistic_is_another_clause(tmp_path, first):
    _, content = second(tmp_path, first, near(950), statistic="minimum")
    assert content["result"] == "not proven"
    assert "The earlier clause has another statistic" in content["relations"][0]["sentence"]


def test_a_clause_that_is_new_has_no_accepted_value(tmp_path, first):
    _, content = second(tmp_path, first, near(950), clause="another")
    assert content["result"] == "not proven"
    assert "The earlier acceptance has no such clause" in content["relations"][0]["sentence"]


# --- evidence of the first --------------------------------------------------------------------------------------------


def copy_of(first, tmp_path):
    """Evidence is found below the folder of the result, wherever that is now."""
    return shutil.copytree(first, tmp_path / "copy")


def test_a_copy_of_the_evidence_is_as_good(tmp_path, first):
    copy = copy_of(first, tmp_path)
    assert second(tmp_path, copy, near(950))[1]["result"] == "pass"


def test_sessions_that_were_named_relative_to_a_folder_are_found_beside_the_result(tmp_path, monkeypatch):
    """Not relative to the folder of the second evaluation, where another session has this name."""
    folder = tmp_path / "first"
    folder.mkdir()
    path = write_contract(folder, contract(clause(floor=900)))
    official_session(folder / "1", begin(path), near(1000))
    monkeypatch.chdir(folder)
    assert run("accept", "contract.yaml", "1", "-o", "acceptance.html").exit_code == 0
    shutil.copytree(folder / "1", tmp_path / "1")
    (tmp_path / "1" / "session.json").write_text("{}")
    monkeypatch.chdir(tmp_path)
    assert second(tmp_path, folder, near(950))[1]["result"] == "pass"


@pytest.mark.parametrize("name", ["run-1/b_eff.jsonl", "session.json"])
def test_an_altered_file_of_the_first_is_refused(tmp_path, first, name):
    copy = copy_of(first, tmp_path)
    with (copy / name).open("ab") as file:
        file.write(b"\n")
    done, content = second(tmp_path, copy, near(950))
    assert content["result"] == "not proven"
    assert "The baseline does not count:" in said(done) and "was altered or replaced since the acceptance" in said(done)


def test_a_forged_result_is_refused(tmp_path, first):
    """Its hash is in the contract."""
    copy = copy_of(first, tmp_path)
    agreed = contract(clause(floor=1), **again(copy))
    result = copy / "acceptance.json"
    result.write_text(result.read_text().replace('"value": 1000', '"value": 900'))
    (tmp_path / "second").mkdir()
    done = run("accept", "begin", write_contract(tmp_path / "second", agreed))
    assert done.exit_code == 2
    assert "baseline.sha256" in said(done) and "one of the two was altered" in said(done)


@pytest.mark.parametrize(
    ("forge", "problem"),
    [
        (lambda clause: clause["runs"][0].update(value=900), "does not yield the accepted value 900"),
        (lambda clause: clause["runs"][0].update(log=None), "is not the result of an acceptance"),
        (lambda clause: clause.update(value=900), "the runs of 'network' do not yield the accepted value 900"),
        (lambda clause: clause.update(value=clause["runs"][0]["value"]), "the runs of 'network' do not yield"),
    ],
)
def test_a_forged_result_with_its_own_hash_is_refused(tmp_path, first, forge, problem):
    """The log does not yield it, or all runs together."""
    copy = copy_of(first, tmp_path)
    content = json.loads((copy / "acceptance.json").read_text())
    forge(content["clauses"][0])
    (copy / "acceptance.json").write_text(json.dumps(content))
    done, content = second(tmp_path, copy, near(950))
    assert content["result"] == "not proven"
    assert problem in said(done)


@pytest.mark.parametrize("signed", [False, True])
def test_an_unsigned_result_is_refused_where_signers_are_named(tmp_path, first, signed):
    copy, key = copy_of(first, tmp_path), tmp_path / "key"
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", key], check=True)
    signers = tmp_path / "signers"
    signers.write_text(f"a@centre {key.with_suffix('.pub').read_text()}")
    if signed:
        words = ["ssh-keygen", "-q", "-Y", "sign", "-n", "coffeecup", "-f", key, copy / "acceptance.json"]
        subprocess.run(words, check=True, capture_output=True)
    agreed = contract(clause(floor=1), **again(copy), signers={"file": str(signers), "sha256": sha256(signers)})
    _, content = accepted(tmp_path / "second", agreed, near(950))
    assert any("The baseline does not count: acceptance.json is not signed" in gap for gap in content["gaps"]) != signed


def test_a_failed_acceptance_is_no_baseline(tmp_path):
    accepted(tmp_path / "first", contract(clause(floor=2000)), near(1000))
    done, _ = second(tmp_path, tmp_path / "first", near(950))
    assert "did not pass" in said(done)


def test_a_part_of_nothing_is_refused(tmp_path):
    done = run("accept", "--explain", write_contract(tmp_path, contract(clause(at_least=0.9))))
    assert done.exit_code == 2
    assert "The contract names no baseline" in said(done)


# --- the interval -----------------------------------------------------------------------------------------------------


def test_the_interval_is_that_of_student_if_one_sample_does_not_scatter():
    """Student's t for two degrees of freedom: 4.303; the standard error of 1, 2, 3 is 1/sqrt(3)."""
    found = half_width_of_difference(np.array([1.0, 2.0, 3.0]), np.array([5.0, 5.0]))
    assert found == pytest.approx(4.303 / math.sqrt(3), rel=0.02)


def test_the_interval_covers_the_true_difference():
    """Behrens and Fisher's interval is at least as wide as needed."""
    rng = np.random.default_rng(1)
    first, other = rng.normal(0, 1, (400, 4)), rng.normal(0, 3, (400, 3))
    covered = [abs(a.mean() - b.mean()) <= half_width_of_difference(a, b) for a, b in zip(first, other)]
    assert np.mean(covered) >= 0.93


# --- real runs --------------------------------------------------------------------------------------------------------


def scaled(log, nonce, share):
    """The records of a log as if all that was measured had taken 1/share of its time, in a run that began now."""
    begun, made = time.time(), [json.loads(line) for line in log.splitlines()]
    for record in made:
        if record["record"] not in ("run", "plan", "overhead"):
            slower(record, share)
    made[0]["provenance"] |= {"nonce": nonce, "user": getpass.getuser()}
    made[0]["start_time"], made[-1]["end_time"] = utc(begun), utc(begun + made[-1]["elapsed_seconds"])
    return b"".join(json.dumps(record).encode() + b"\n" for record in made)


def slower(value, share):
    for key, inner in value.items() if isinstance(value, dict) else enumerate(value):
        if isinstance(inner, dict | list):
            slower(inner, share)
        elif isinstance(key, str) and key.endswith("_seconds"):
            value[key] = inner / share


LOG = lzma.decompress((KERNEL_LOGS / "b_eff.jsonl.xz").read_bytes())
RUN = json.loads(LOG.splitlines()[0])


def real_session(folder, nonce, shares):
    """The report of a session of the b_eff that a kernel measured (tests/kernel_logs), scaled."""
    cases = []
    for number, share in enumerate(shares):
        path = folder / f"run-{number}" / "b_eff.jsonl"
        path.parent.mkdir(parents=True)
        path.write_bytes(scaled(LOG, nonce, share))
        cases.append(case({}, processes=RUN["ranks"], outputdir=str(path.parent), log_sha256=sha256(path)))
    report = rebound(session(cases, COFFEECUP_ACCEPTANCE=nonce), {}, nonce)
    for made in report["runs"][0]["testcases"]:
        made["job_nodelist"] = [host["name"] for host in RUN["hosts"]]
    (folder / "session.json").write_text(json.dumps(report))
    return folder / "session.json"


def real_acceptance(folder, shares, **terms):
    folder.mkdir()
    agreed = contract(clause(floor=1, official=False, size={"processes": RUN["ranks"]}), **terms)
    del agreed["kernel_version"]
    path = write_contract(folder, agreed)
    report = real_session(folder, begin(path), shares)
    done = run("accept", path, report, "-o", folder / "acceptance.html")
    return done, json.loads((folder / "acceptance.json").read_text())


@pytest.mark.parametrize(("share", "outcome"), [(0.91, "pass"), (0.89, "fail")])
def test_a_second_acceptance_of_real_runs(tmp_path, share, outcome):
    done, first = real_acceptance(tmp_path / "first", SCATTER)
    assert first["result"] == "pass", done.output
    _, second = real_acceptance(tmp_path / "second", [share * part for part in SCATTER], **again(tmp_path / "first"))
    [relation] = second["relations"]
    assert (relation["result"], second["result"]) == (outcome, outcome), relation["sentence"]
    assert relation["value"] == pytest.approx(share, rel=1e-6)
