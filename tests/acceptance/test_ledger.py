# SPDX-License-Identifier: Apache-2.0
"""Manipulations of sessions by an interested party: the contract is not proven, with one sentence that says why.
docs/evidence/acceptance.md lists them, and what nothing here detects. test_binding.py manipulates runs,
test_ledger_lines.py ledgers."""

import json
import os
import re
import shutil
import subprocess
import time
from datetime import UTC, datetime

import pytest
from commands import run, said
from contracts_made import begin, clause, contract, evaluate, io, moved, rebound, utc, write_contract
from evidence_made import official_session
from logs_made import sha256
from sessions_made import case, session

ONE = clause(floor=1, repetitions=1)


def made(folder, agreed, *mbytes):
    """The folder of the first session of an acceptance, with official runs of these values, or with one."""
    nonce = begin(write_contract(folder, agreed))
    return official_session(folder / "session", nonce, mbytes or [1000]).parent


# --- sessions ---------------------------------------------------------------------------------------------------------


def a_second_later(found):
    return utc(datetime.fromisoformat(found[0]).timestamp() + 1)


def started_later(text):
    """A generator that writes one log several times."""
    return re.sub(r'(?<=_time": ")[^"]*', a_second_later, text)


def formatted(text):
    """The same records in other words: another order of keys, white space and digits of numbers."""
    numbers = {"elapsed_seconds": lambda value: json.loads(f"{value:.25e}")}
    for line in text.splitlines():
        record = {key: numbers.get(key, lambda same: same)(value) for key, value in json.loads(line).items()}
        yield json.dumps(dict(reversed(record.items())), indent=None, separators=(" , ", " : ")) + "\n"


@pytest.mark.parametrize("again", [started_later, formatted])
def test_the_same_measurements_with_another_start_or_in_another_format_count_once(tmp_path, again):
    session = made(tmp_path, contract(clause()), 1000, 1010, 1060)
    first, second, _ = sorted(session.glob("*/b_eff.jsonl"))
    report, before = session / "session.json", sha256(second)
    second.write_text("".join(again(first.read_text())))
    report.write_text(report.read_text().replace(before, sha256(second)))
    [found] = evaluate(tmp_path, session)[1]["clauses"]
    refused = {run["log"]: [refusal["key"] for refusal in run["refusals"]] for run in found["runs"]}
    assert refused[str(second)] == ["duplicate"] and found["counted"] == 2


def test_a_log_that_is_a_link_to_a_better_one_is_altered(tmp_path):
    session = made(tmp_path, contract(clause(statistic="minimum")), 1000, 1010, 1060)
    bad, _, good = sorted(session.glob("*/b_eff.jsonl"))
    bad.unlink()
    bad.symlink_to(good)
    _, result = evaluate(tmp_path, session)
    [run] = [run for run in result["clauses"][0]["runs"] if run["log"] == str(bad)]
    assert "other_log" in {refusal["key"] for refusal in run["refusals"]} and result["result"] == "not proven"


def test_a_slow_log_that_is_altered_to_another_file_system_stays_in_the_evaluation(tmp_path):
    """Only the log states the file system, by which a clause selects its runs."""
    place = {"benchmark": "b_eff_io", "metric": "b_eff_io", "file_system": {"type": "lustre"}}
    nonce = begin(write_contract(tmp_path, contract(clause(**place, floor=90, repetitions=2), refused_runs=0)))
    cases, logs = [], [moved(io(value, cache=2**20), nonce, time.time()) for value in (100, 1, 101)]
    for number, log in enumerate(logs):
        output = tmp_path / str(number)
        output.mkdir()
        (output / "b_eff_io.jsonl").write_bytes(log)
        cases.append(case({}, benchmark="b_eff_io", outputdir=str(output), log_sha256=sha256(log), official=True))
    report = tmp_path / "session.json"
    report.write_text(json.dumps(rebound(session(cases), {}, nonce)))
    (tmp_path / "1" / "b_eff_io.jsonl").write_bytes(logs[1].replace(b"lustre", b"gpfs"))
    _, result = evaluate(tmp_path, report)
    refused = [[refusal["key"] for refusal in run["refusals"]] for run in result["clauses"][0]["runs"]]
    assert refused == [[], ["other_log"], []]
    assert (result["result"], result["refused"]["runs"]) == ("not proven", 1)


def test_a_log_that_is_a_pipe_is_missing(tmp_path):
    """Reading it would never end."""
    session = made(tmp_path, contract(ONE))
    [log] = session.glob("*/b_eff.jsonl")
    log.unlink()
    os.mkfifo(log)
    _, result = evaluate(tmp_path, session)
    assert "missing" in {refusal["key"] for refusal in result["clauses"][0]["runs"][0]["refusals"]}


def test_a_ledger_that_begins_again_proves_nothing_about_older_sessions(tmp_path):
    """The contract and the ledger are replaced together, to keep the good sessions."""
    session = made(tmp_path, contract(ONE | {"floor": 1e6}))
    (tmp_path / "contract.acceptance.jsonl").unlink()
    begin(write_contract(tmp_path, contract(ONE)))
    _, result = evaluate(tmp_path, session)
    assert (result["result"], result["clauses"][0]["counted"]) == ("not proven", 0)
    [gap] = result["gaps"]
    assert gap.startswith("Session 1, begun ") and "is missing" in gap


def test_the_time_zone_of_the_evaluation_changes_nothing(tmp_path, monkeypatch):
    today = datetime.now(UTC).date().isoformat()
    session = made(tmp_path, contract(ONE, period={"from": today, "until": today}))
    results = []
    for zone in ("UTC", "Pacific/Kiritimati", "Etc/GMT+12"):  # 14 h before and 12 h behind UTC
        with monkeypatch.context() as within:
            within.setenv("TZ", zone)
            time.tzset()
            results.append(evaluate(tmp_path, session)[1])
        time.tzset()
    assert [result["result"] for result in results] == ["pass"] * 3
    assert len({result["clauses"][0]["runs"][0]["time"] for result in results}) == 1


def test_a_contract_that_was_never_begun_is_not_proven(tmp_path):
    session = made(tmp_path, contract(ONE))
    (tmp_path / "contract.acceptance.jsonl").unlink()
    done, result = evaluate(tmp_path, session)
    assert (done.exit_code, result["result"], result["clauses"][0]["counted"]) == (1, "not proven", 0)
    assert result["gaps"] == [
        "This acceptance was not begun with `coffeecup accept begin`: no run can be shown to belong to it."
    ]


def test_sessions_of_another_acceptance_do_not_count(tmp_path):
    (tmp_path / "other").mkdir()
    foreign = made(tmp_path / "other", contract(ONE | {"floor": 2}))
    begin(write_contract(tmp_path, contract(ONE)))
    _, result = evaluate(tmp_path, foreign)
    assert (result["result"], result["clauses"][0]["counted"]) == ("not proven", 0)
    refusals = [refusal["text"] for run in result["clauses"][0]["runs"] for refusal in run["refusals"]]
    assert "the log contains a nonce that was not issued for this contract" in refusals


def test_a_session_that_is_left_out_is_a_named_gap(tmp_path):
    first = made(tmp_path, contract(ONE)) / "session.json"
    second = official_session(tmp_path / "second", begin(tmp_path / "contract.yaml", "--after", first), [1010])
    assert evaluate(tmp_path, first, second)[1]["result"] == "pass"
    for given, missing in ((first, 2), (second, 1)):
        done, result = evaluate(tmp_path, given)
        assert (done.exit_code, result["result"], result["clauses"][0]["result"]) == (1, "not proven", "pass")
        [gap] = result["gaps"]
        assert gap.startswith(f"Session {missing}, begun ") and "is missing" in gap and gap[:50] in done.stdout


def test_a_session_without_a_report_is_abandoned_with_a_reason_that_the_page_states(tmp_path):
    agreed = write_contract(tmp_path, contract(ONE))
    begin(agreed)
    assert run("accept", "begin", agreed).exit_code == 2  # what became of the first one?
    nonce = begin(agreed, "--abandoned", "power failure")
    _, result = evaluate(tmp_path, official_session(tmp_path / "session", nonce, [1000]))
    assert (result["result"], result["gaps"]) == ("pass", [])
    assert "abandoned: power failure" in (tmp_path / "result" / "acceptance.html").read_text()


def test_a_contract_that_was_changed_after_the_beginning_is_refused(tmp_path):
    session = made(tmp_path, contract(ONE))
    agreed = tmp_path / "contract.yaml"
    agreed.write_text(agreed.read_text().replace("floor: 1", "floor: 0.5"))
    done, _ = evaluate(tmp_path, session)
    assert done.exit_code == 2 and "the contract was changed after this acceptance had begun" in said(done)


# --- signatures -------------------------------------------------------------------------------------------------------


@pytest.fixture
def signed(tmp_path):
    """A contract whose sessions the centre signs, and the keys of the centre and of somebody else."""
    if not shutil.which("ssh-keygen"):
        pytest.skip("no ssh-keygen on this machine (Debian: openssh-client)")
    for name in ("centre", "supplier"):
        subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", tmp_path / name], check=True)
    (tmp_path / "signers").write_text(f"acceptance@centre {(tmp_path / 'centre.pub').read_text()}")
    signers = {"file": "signers", "sha256": sha256(tmp_path / "signers")}
    return contract(ONE, signers=signers)


def sign(folder, file, key="centre"):
    file.with_name(f"{file.name}.sig").unlink(missing_ok=True)
    subprocess.run(["ssh-keygen", "-q", "-Y", "sign", "-n", "coffeecup", "-f", folder / key, file], check=True)


def test_signed_sessions_count_and_the_page_names_the_signer(signed, tmp_path):
    session = made(tmp_path, signed)
    sign(tmp_path, session / "session.json")
    sign(tmp_path, tmp_path / "contract.acceptance.jsonl")
    _, result = evaluate(tmp_path, session)
    assert (result["result"], result["gaps"]) == ("pass", [])
    assert [one["signer"] for one in result["sessions"]] == ["acceptance@centre"]
    assert "signed by acceptance@centre" in (tmp_path / "result" / "acceptance.html").read_text()


@pytest.mark.parametrize(
    ("how", "words"),
    [
        ("unsigned", "session.json is not signed"),
        ("supplier", "the key that signed session.json is not one of those that the contract allows"),
        ("altered", "session.json by acceptance@centre is not valid: another content was signed"),
        ("other namespace", "by acceptance@centre is not valid: namespace does not match"),
    ],
)
def test_a_session_without_a_valid_signature_does_not_count(signed, tmp_path, how, words):
    session = made(tmp_path, signed)
    report = session / "session.json"
    sign(tmp_path, tmp_path / "contract.acceptance.jsonl")
    if how != "unsigned":
        sign(tmp_path, report, "supplier" if how == "supplier" else "centre")
    if how == "altered":
        report.write_text(report.read_text() + " ")
    if how == "other namespace":
        (session / "session.json.sig").unlink()
        subprocess.run(["ssh-keygen", "-q", "-Y", "sign", "-n", "file", "-f", tmp_path / "centre", report], check=True)
    _, result = evaluate(tmp_path, session)
    assert (result["result"], result["clauses"][0]["counted"]) == ("not proven", 0)
    assert all(any(words in r["text"] for r in run["refusals"]) for run in result["clauses"][0]["runs"])


def test_a_signed_session_whose_slow_runs_are_moved_to_another_partition_is_a_gap(signed, tmp_path):
    """No run of it concerns a clause any more, so none is refused."""
    first = made(tmp_path, signed) / "session.json"
    second = official_session(tmp_path / "2", begin(tmp_path / "contract.yaml", "--after", first), [0.5])
    for file in (first, second, tmp_path / "contract.acceptance.jsonl"):
        sign(tmp_path, file)
    assert evaluate(tmp_path, first, second)[1]["gaps"] == []
    second.write_text(second.read_text().replace('"default"', '"other"'))
    _, result = evaluate(tmp_path, first, second)
    [gap] = result["gaps"]
    assert result["result"] == "not proven"
    assert "does not count: the signature of session.json by acceptance@centre is not valid" in gap


def test_a_ledger_without_a_valid_signature_is_a_gap(signed, tmp_path):
    session = made(tmp_path, signed)
    sign(tmp_path, session / "session.json")
    _, result = evaluate(tmp_path, session)
    [gap] = result["gaps"]
    assert result["result"] == "not proven"
    assert gap.startswith("The ledger does not count: contract.acceptance.jsonl is not signed")


def test_begin_signs_the_ledger_and_the_last_session(signed, tmp_path):
    agreed = write_contract(tmp_path, signed)
    nonce = begin(agreed, "--key", tmp_path / "centre")
    report = official_session(tmp_path / "session", nonce, [1000])
    begin(agreed, "--after", report, "--key", tmp_path / "centre")
    for file in (tmp_path / "contract.acceptance.jsonl", report):
        words = ["-f", tmp_path / "signers", "-I", "acceptance@centre", "-n", "coffeecup", "-s", f"{file}.sig"]
        subprocess.run(["ssh-keygen", "-Y", "verify", *words], input=file.read_bytes(), check=True)


def test_a_session_that_cannot_be_signed_does_not_begin(signed, tmp_path):
    """Otherwise its nonce would be unknown, and it could only be declared abandoned. An earlier signature stays."""
    agreed = write_contract(tmp_path, signed)
    assert run("accept", "begin", agreed, "--key", tmp_path / "none").exit_code == 2
    nonce = begin(agreed, "--key", tmp_path / "centre")
    report = official_session(tmp_path / "session", nonce, [1000])
    sign(tmp_path, report)
    kept = {file: file.read_bytes() for file in tmp_path.rglob("*") if file.is_file()}
    done = run("accept", "begin", agreed, "--after", report, "--key", tmp_path / "none")
    assert (done.exit_code, done.stdout) == (2, "") and "ssh-keygen did not sign" in said(done)
    assert {file: file.read_bytes() for file in tmp_path.rglob("*") if file.is_file()} == kept


def test_the_report_of_another_session_is_refused_and_not_signed(signed, tmp_path):
    agreed = write_contract(tmp_path, signed)
    first = official_session(tmp_path / "1", begin(agreed, "--key", tmp_path / "centre"), [1000])
    begin(agreed, "--after", first, "--key", tmp_path / "centre")
    signature = first.with_name("session.json.sig")
    signature.unlink()
    done = run("accept", "begin", agreed, "--after", first, "--key", tmp_path / "centre")
    assert done.exit_code == 2 and "it does not contain the nonce of session 2" in said(done)
    assert not signature.exists()
