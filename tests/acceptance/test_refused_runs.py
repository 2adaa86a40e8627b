# SPDX-License-Identifier: Apache-2.0
"""Runs that do not count: whoever kills a slow run does not pass, unless the contract allows it. And where the logs of
a session are read."""

import json
import shutil
import time

import logs_made
import pytest
from commands import run
from conftest import CHECKS, Reframe
from contracts_made import (
    NONCE,
    Kernels,
    begin,
    clause,
    contract,
    evaluate,
    level,
    moved,
    provable,
    rebound,
    write_contract,
)
from logs_made import sha256
from logs_made_b_eff import AVERAGED, averaged_log
from pages import Page
from sessions_made import case, session

PLACE = {"system": "local", "partition": "default", "size": {"processes": 16}}
AGREED = contract(clause(**PLACE, repetitions=2, floor=1), clause(clause="again", **PLACE, repetitions=1, floor=1))


def write(folder, **changed):
    """Two clauses on the same runs. A field that is None is left out."""
    stated = {name: value for name, value in (AGREED | changed).items() if value is not None}
    return write_contract(folder, stated)


def of_runs(folder, nonce, *mbytes):
    """The report of a session in `folder` with a run for each bandwidth; None is a run whose kernel was killed."""
    cases, now = [], time.time()
    for number, value in enumerate(mbytes):
        output = folder / "output" / str(number)
        output.mkdir(parents=True)
        made = averaged_log(methods=AVERAGED, repetitions=3, bandwidth=lambda *_, value=value: (value or 1) * 1e6)
        text = moved(logs_made.text(provable(made)), nonce, now)
        log = logs_made.write(output / "b_eff.jsonl", text if value else text[: len(text) // 2])
        end = {"log_sha256": sha256(log), "official": True}
        failed = {"log_sha256": "", "result": "fail", "fail_reason": "sanity error: killed by signal 9"}
        cases.append(case({}, processes=16, outputdir=str(output), **(end if value else failed)))
    report = folder / "session.json"
    report.write_text(json.dumps(rebound(session(cases), {}, nonce)))
    return report


@pytest.mark.parametrize(
    ("runs", "allowed", "outcome"),
    [
        ((100, 110), None, "pass"),
        ((100, 110), 0, "pass"),
        ((100, None, 110), None, "not proven"),
        ((100, None, 110), 0, "not proven"),
        ((100, None, 110), 1, "pass"),
        ((None, 100, 110, None), 1, "not proven"),
        ((None, 100, 110, None), 2, "pass"),
    ],
)
def test_no_more_runs_are_refused_than_the_contract_allows(tmp_path, runs, allowed, outcome):
    """A run that two clauses refuse is one run. Terminal, page and document count it and say what to do."""
    path = write(tmp_path, refused_runs=allowed)
    done, result = evaluate(tmp_path, of_runs(tmp_path, begin(path), *runs))
    refused = runs.count(None)
    assert (done.exit_code, result["result"]) == (0 if outcome == "pass" else 1, outcome)
    assert [found["result"] for found in result["clauses"]] == ["pass", "pass"]
    assert result["refused"] == {"runs": refused, "abandoned_sessions": 0, "allowed": allowed or 0}
    words = f"{refused} run{'s' * (refused != 1)} refused, {allowed or 0} allowed"
    page = Page((tmp_path / "result" / "acceptance.html").read_text()).words
    assert words in page and words in " ".join(done.stdout.split()).partition(" clause ")[0]
    assert done.stdout.count("killed by signal 9") == bool(refused)  # the same reason once
    assert len(result["gaps"]) == (outcome != "pass")
    assert all(gap.startswith(words) and "refused_runs" in gap and gap in page for gap in result["gaps"])


@pytest.mark.parametrize(("allowed", "outcome"), [(1, "not proven"), (2, "pass")])
def test_an_abandoned_session_counts_as_a_refused_run(tmp_path, allowed, outcome):
    path = write(tmp_path, refused_runs=allowed)
    begin(path)
    nonce = begin(path, "--abandoned", "power failure")
    done, result = evaluate(tmp_path, of_runs(tmp_path, nonce, 100, None, 110))
    assert (result["result"], result["refused"]) == (outcome, {"runs": 1, "abandoned_sessions": 1, "allowed": allowed})
    assert f"1 run refused and 1 session abandoned, {allowed} allowed" in " ".join(done.stdout.split())


@pytest.mark.parametrize("unfit", [-1, 0.5, "1", True])
def test_a_number_of_refused_runs_is_a_count(tmp_path, unfit):
    done = run("accept", "--explain", write(tmp_path, refused_runs=unfit))
    assert done.exit_code == 2 and "refused_runs" in done.output


def test_the_contract_in_sentences_states_how_many(tmp_path):
    done = run("accept", "--explain", write(tmp_path, refused_runs=7))
    assert "At most 7 runs may be refused or missing, in all clauses together." in done.stdout


def test_a_kernel_that_is_killed_in_a_session_of_reframe_is_a_refused_run(tmp_path):
    path = write_contract(tmp_path, contract(clause(official=False, floor=1, repetitions=1), refused_runs=0))
    nonce, kernels = begin(path), Kernels(tmp_path)
    kernels.leave("b_eff", [moved(level(1000), nonce, time.time()), moved(level(100), nonce, time.time())])
    kernel = kernels.bin / "b_eff"
    kernel.write_text(kernel.read_text() + '\n[ $n = 0 ] || { truncate -s -200 "$2"; kill -9 $$; }\n')
    options = ("-n", "^b_eff%.*num_processes=2", "--repeat=2", "-S", "builder=prebuilt")
    (tmp_path / "s").mkdir()
    Reframe(tmp_path / "s", CHECKS / "b_eff.py")(
        "-r", *options, "-S", f"prebuilt_directory={kernels.bin}", env={NONCE: nonce}
    )
    _, result = evaluate(tmp_path, tmp_path / "s")
    reasons = [{why["key"] for why in entry["refusals"]} for entry in result["clauses"][0]["runs"]]
    assert ["failed" in keys for keys in reasons] == [False, True] and result["result"] == "not proven"
    refused = "2 runs refused, 0 allowed: what does not count may have been slow."  # the other one states made-up hosts
    assert result["gaps"][0].startswith(refused)


# --- where logs are read ----------------------------------------------------------------------------------------------


def test_a_copy_is_evaluated_by_its_own_logs(tmp_path):
    """The copy's log is altered; the original one is not."""
    path = write(tmp_path, refused_runs=0)
    (tmp_path / "original").mkdir()
    report = of_runs(tmp_path / "original", begin(path), 100, 110)
    shutil.copytree(tmp_path / "original", tmp_path / "copy")
    _, result = evaluate(tmp_path, tmp_path / "copy")
    assert result["result"] == "pass"
    assert all(entry["log"].startswith(f"{tmp_path}/copy/") for entry in result["clauses"][0]["runs"])
    altered = tmp_path / "copy" / "output" / "1" / "b_eff.jsonl"
    altered.write_bytes(altered.read_bytes() + b"\n")
    assert evaluate(tmp_path, tmp_path / "copy")[1]["result"] == "not proven"
    assert evaluate(tmp_path, report)[1]["result"] == "pass"


def test_a_log_that_a_later_session_replaced_is_not_said_to_be_altered(tmp_path):
    """Both sessions had the same --prefix."""
    path = write(tmp_path, refused_runs=0)
    first = of_runs(tmp_path / "1", begin(path), 100)
    before = sha256(tmp_path / "1" / "output" / "0" / "b_eff.jsonl")
    second = of_runs(tmp_path / "2", begin(path, "--after", first), 110)
    shutil.copytree(tmp_path / "2" / "output", tmp_path / "1" / "output", dirs_exist_ok=True)
    _, result = evaluate(tmp_path, first, second)
    [[why, *_]] = [entry["refusals"] for entry in result["clauses"][0]["runs"] if not entry["counts"]]
    assert why["key"] == "other_log"
    assert why["text"] == (
        "the log was altered or replaced since the session, for example by a later session with the same --prefix: its "
        f"SHA-256 is now {sha256(tmp_path / '2' / 'output' / '0' / 'b_eff.jsonl')}, the session recorded {before}"
    )


@pytest.mark.parametrize("how", ["elsewhere", "link"])
def test_a_log_outside_the_folder_of_its_session_is_named(tmp_path, how):
    path = write(tmp_path, refused_runs=0)
    (tmp_path / "original").mkdir()
    report = of_runs(tmp_path / "original", begin(path), 100, 110)
    other = tmp_path / "other"
    other.mkdir()
    shutil.copy(report, other)
    if how == "link":
        (other / "output").symlink_to(tmp_path / "original" / "output")
    done, result = evaluate(tmp_path, other)
    assert result["result"] == "pass"
    [named] = [notice for notice in result["notices"] if notice.startswith("Read from outside the folder of the")]
    first = result["clauses"][0]["runs"][0]["log"]
    assert f"{first} and 1 more" in named and first.startswith(str(other if how == "link" else tmp_path / "original"))
    page = Page((tmp_path / "result" / "acceptance.html").read_text()).words
    assert named in page and "".join(named.split()) in "".join(done.stdout.split())
    _, result = evaluate(tmp_path, report)
    assert not [notice for notice in result["notices"] if "outside" in notice]


@pytest.mark.parametrize(
    ("variant", "outcome", "refused"),
    [(None, "not proven", 1), ("standard", "pass", 0), ("placement=block", "not proven", 1)],
)
def test_variant_of_a_run_is_that_of_the_session_and_belongs_to_one_clause(tmp_path, variant, outcome, refused):
    """Two standard runs, and one with a requested placement, which was killed and does not count for standard runs."""
    named = {"parameters": {"variant": variant}} if variant else {}
    agreed = write(tmp_path, clauses=[clause(**PLACE, repetitions=2, floor=1, **named)], refused_runs=0)
    report = of_runs(tmp_path, begin(agreed), 100, 110, None)
    stated = json.loads(report.read_text())
    stated["runs"][0]["testcases"][2]["variant"] = "placement=block"
    report.write_text(json.dumps(stated))
    _, result = evaluate(tmp_path, report)
    assert (result["result"], result["refused"]["runs"]) == (outcome, refused)
