# SPDX-License-Identifier: Apache-2.0
"""The ledger of an acceptance without ReFrame: its chain of lines, and what is missing between them and the sessions.
test_ledger.py manipulates whole sessions."""

import json
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta

import pytest
from logs_made import sha256

from coffeecup.postprocess.acceptance.contract import Contract, ContractError
from coffeecup.postprocess.acceptance.ledger import Entry, begin, gaps, ledger_path, nonce_of, nonces, read_ledger
from coffeecup.postprocess.acceptance.terms import Terms
from coffeecup.postprocess.sessions.files import SessionReport

FIRST, SECOND = "a" * 64, "b" * 64
BEGUN = datetime(2026, 12, 1, 8, 30, 5, tzinfo=UTC)


@pytest.fixture
def contract(tmp_path):
    return Contract(tmp_path / "c.yaml", "c" * 64, "", "", Terms(), (), ())


def lines(contract):
    return [json.loads(line) for line in ledger_path(contract.path).read_bytes().splitlines()]


def three(contract):
    """Session 1 has a report, session 2 was abandoned, session 3 is the last."""
    first = begin(contract, None, None)
    return [first, begin(contract, ran(contract, first), None), begin(contract, None, "power failure")]


def ran(contract, entry):
    """A report of the session that was begun with an entry."""
    folder = contract.path.with_name(f"ran-{entry.nonce}")
    folder.mkdir()
    return report(folder, nonce(entry.nonce))


# --- the chain --------------------------------------------------------------------------------------------------------


def test_of_those_who_begin_a_session_at_the_same_time_one_succeeds(contract):
    """Otherwise two of them have the same nonce."""

    def begun(_):
        try:
            return begin(contract, None, None).number
        except ContractError as error:
            return str(error)

    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(begun, range(8)))
    assert found.count(1) == 1 and sum("session 1 has begun" in str(each) for each in found) == 7
    assert [path.name for path in contract.path.parent.iterdir()] == [ledger_path(contract.path).name]


def test_each_line_commits_to_all_earlier_ones(contract):
    assert read_ledger(contract) == []
    before = datetime.now(UTC).replace(microsecond=0)
    begun = three(contract)
    texts = ledger_path(contract.path).read_bytes().splitlines()
    assert ledger_path(contract.path).name == "c.acceptance.jsonl"
    assert [line["number"] for line in lines(contract)] == [1, 2, 3]
    assert [line["previous"] for line in lines(contract)] == [None, *map(sha256, texts[:2])]
    first = sha256(next(contract.path.parent.glob("ran-*/*")))
    reported = [(line["session_sha256"], line["abandoned"]) for line in lines(contract)]
    assert reported == [(None, None), (first, None), (None, "power failure")]
    assert {line["contract_sha256"] for line in lines(contract)} == {"c" * 64}
    assert len({line["random"] for line in lines(contract)}) == 3
    read = read_ledger(contract)
    assert [entry.nonce for entry in begun] == [entry.nonce for entry in read] == list(map(sha256, texts))
    known = [(entry.number, entry.session_sha256, entry.abandoned) for entry in read]
    assert known == [(1, first, None), (2, None, "power failure"), (3, None, None)]
    assert all(before <= entry.issued <= datetime.now(UTC) for entry in read)


@pytest.mark.parametrize(
    ("sessions", "after", "abandoned", "words"),
    [
        (0, "n1", None, "c.acceptance.jsonl: no session has begun yet: leave out --after and --abandoned"),
        (0, None, "why", "c.acceptance.jsonl: no session has begun yet"),
        (1, None, None, "c.acceptance.jsonl: session 1 has begun: name its report with --after, or say with"),
        (2, None, "", "c.acceptance.jsonl: session 2 has begun"),
        (1, "n1", None, "0.json: it does not contain the nonce of session 1: name the report of that session, or say"),
    ],
)
def test_it_has_to_be_said_what_became_of_the_last_session(contract, sessions, after, abandoned, words):
    begun = None
    for _ in range(sessions):
        begun = begin(contract, begun and ran(contract, begun), None)
    (contract.path.parent / "after").mkdir()
    session = after and report(contract.path.parent / "after", nonce(after))
    with pytest.raises(ContractError, match=words):
        begin(contract, session, abandoned)
    assert len(read_ledger(contract)) == sessions


def changed(place, **fields):
    return lambda made: made[place].update(fields)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda made: made.pop(0), "c.acceptance.jsonl, line 1: the ledger was altered"),
        (lambda made: made.pop(1), "line 2: the ledger was altered: this line does not follow the one before"),
        (changed(1, number=3), "line 2: the ledger was altered"),
        (changed(1, previous="d" * 64), "line 2: the ledger was altered"),
        (changed(0, previous="d" * 64), "line 1: the ledger was altered"),
        (changed(0, issued="2026-12-02T00:00:00Z"), "line 2: the ledger was altered"),
        (changed(2, session_sha256=SECOND), "line 3: either session_sha256 or abandoned is expected"),
        (changed(2, abandoned=None), "line 3: either session_sha256 or abandoned is expected"),
        (changed(2, contract_sha256="e" * 64), f"its SHA-256 was {'e' * 64} and is now {'c' * 64}; restore it"),
        (changed(2, surprise=1), "line 3: no line of a ledger: "),
        (changed(0, random="x"), "line 1: no line of a ledger: "),
    ],
)
def test_an_altered_line_is_named(contract, change, words):
    three(contract)
    made = lines(contract)
    text = ledger_path(contract.path).read_text()
    change(made)
    compact = "".join(json.dumps(line, separators=(",", ":")) + "\n" for line in made)
    ledger_path(contract.path).write_text(compact)
    with pytest.raises(ContractError) as error:
        read_ledger(contract)
    assert words in str(error.value)
    ledger_path(contract.path).write_text(text)
    assert len(read_ledger(contract)) == 3


def test_a_ledger_that_cannot_be_read_is_refused(contract):
    ledger_path(contract.path).mkdir()
    with pytest.raises(ContractError, match=r"c\.acceptance\.jsonl: cannot be read: Is a directory"):
        read_ledger(contract)


# --- the sessions -----------------------------------------------------------------------------------------------------


def report(folder, *variables, **info):
    """A session whose test cases have these variables of the environment, in two runs; `info` is of the session."""
    cases = [{"env_vars": environment} for environment in variables]
    content = {"session_info": info, "runs": [{"testcases": cases[:1]}, {"testcases": cases[1:]}]}
    path = folder / f"{len(list(folder.iterdir()))}.json"
    path.write_text(json.dumps(content))
    return SessionReport(path, content)


def nonce(value):
    return {"COFFEECUP_ACCEPTANCE": value}


def test_nonces_of_a_session_are_those_of_all_its_runs(tmp_path):
    assert nonces(report(tmp_path, nonce("n1"), nonce("n1"), nonce("n2"))) == {"n1", "n2"}
    assert nonces(report(tmp_path, None, {}, nonce(""), {"OTHER": "n3"})) == set()
    assert nonces(SessionReport(tmp_path, {"session_info": {}, "runs": [{"testcases": [{}]}]})) == set()


def test_the_nonce_of_a_session_is_that_of_its_tests_that_pass_none_on(tmp_path):
    session = report(tmp_path, nonce("n1"), {}, **nonce("n9"))
    assert nonces(session) == {"n1", "n9"} == nonces(report(tmp_path, nonce("n1"), **nonce("n9")))
    assert [nonce_of(session, case) for run in session.content["runs"] for case in run["testcases"]] == ["n1", "n9"]
    assert nonces(report(tmp_path, **nonce("n9"))) == {"n9"}
    assert nonces(report(tmp_path, nonce("n1"), **nonce(""))) == {"n1"}


def entry(number, **more):
    return Entry(
        **{"number": number, "nonce": f"n{number}", "issued": BEGUN, "session_sha256": None, "abandoned": None} | more
    )


NAME = "Session 1, begun 2026-12-01 08:30:05 UTC,"
MISSING = f"{NAME} is missing: evaluate all sessions of the acceptance together."
TWICE = f"{NAME} was run 2 times: begin each session with `coffeecup accept begin`."
ABANDONED = f"{NAME} was declared abandoned (power failure), but here it is: the ledger is wrong."
ALTERED = f"{NAME} was altered or replaced after the next one had begun: its SHA-256 was {FIRST}."
NEVER = "This acceptance was not begun with `coffeecup accept begin`: no run can be shown to belong to it."


@pytest.mark.parametrize(
    ("entries", "ran", "expected"),
    [
        ([], [], [NEVER]),
        ([entry(1)], ["n1"], []),
        ([entry(1), entry(2)], ["n1", "n2"], []),
        ([entry(1)], [], [MISSING]),
        ([entry(1)], ["n7"], [MISSING]),
        ([entry(1, abandoned="power failure")], [], []),
        ([entry(1)], ["n1", "n1"], [TWICE]),
        ([entry(1, abandoned="power failure")], ["n1"], [ABANDONED]),
        ([entry(1, session_sha256=FIRST)], ["n1"], [ALTERED]),
        ([entry(1, session_sha256=FIRST)], [], [MISSING]),
    ],
)
def test_what_is_missing_in_the_sequence_of_sessions(tmp_path, entries, ran, expected):
    assert list(gaps(entries, [report(tmp_path, nonce(value)) for value in ran])) == expected


def test_a_session_is_the_one_that_the_next_line_states_by_its_hash(tmp_path):
    first, second = report(tmp_path, nonce("n1")), report(tmp_path, nonce("n2"), nonce("n2"))
    hashes = [sha256(made.source.read_bytes()) for made in (first, second)]
    known = [entry(1, session_sha256=hashes[0]), entry(2, session_sha256=hashes[1]), entry(3, abandoned="no")]
    assert list(gaps(known, [second, first])) == []
    late = [entry(1, issued=BEGUN + timedelta(days=1)), entry(2)]
    starts = ["Session 1, begun 2026-12-02 08:", "Session 2, begun 2026-12-01 08:"]
    assert [gap[:31] for gap in gaps(late, [])] == starts
