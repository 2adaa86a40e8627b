# SPDX-License-Identifier: Apache-2.0
"""The result of an acceptance as a document for the file, as PDF, and as JSON for programs."""

import copy
import json
import unicodedata
from functools import reduce
from operator import getitem

import evidence_made
import jsonschema_rs
import pytest
from commands import run
from contracts_made import begin, clause, contract, write_contract
from pages import needs_browser
from pypdf import PdfReader

PARTIES = [f"Party {number} of the acceptance" for number in range(1, 9)]
ANNEXES = ["Runs", "Scores", "Settings", "Versions", "Sessions", "Contract"]


def evaluated(folder, *sessions, options=()):
    done = run("accept", folder / "contract.yaml", *sessions, "-o", folder / "acceptance.html", *options)
    assert done.exit_code in (0, 1), done.output
    return json.loads((folder / "acceptance.json").read_text())


def printed(folder):
    """The text of each page of the PDF, without ligatures and white space: a browser breaks lines anywhere."""
    pages = PdfReader(folder / "acceptance.pdf").pages
    return ["".join(unicodedata.normalize("NFKC", page.extract_text()).split()) for page in pages]


def page_of(pages, words):
    """The only page with these words, from 1."""
    [number] = [number for number, text in enumerate(pages, 1) if "".join(words.split()) in text]
    return number


# --- the document -----------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def document(tmp_path_factory):
    """Five clauses on one run, of which the last fails, and the pages of the PDF."""
    folder = tmp_path_factory.mktemp("document")
    clauses = [clause(clause=f"clause {word}", size={"processes": 16}, floor=1, repetitions=1) for word in "abcd"]
    clauses.append(clause(clause="clause e", size={"processes": 16}, floor=1e9, repetitions=1))
    agreed = write_contract(folder, contract(*clauses, parties=["Centre", "Supplier"]))
    result = evaluated(folder, evidence_made.evidence(folder, agreed), options=["--pdf", "--sbom"])
    return result, printed(folder)


@needs_browser
def test_the_first_page_has_the_verdict_and_the_signatures(document):
    _, [first, *others] = document
    for words in ("Failed", "4 of 5 clauses passed, 1 failed, 0 not proven", "Centre", "Supplier", "clause e"):
        assert "".join(words.split()) in first
    assert first.count("Name,place,date") == 2 and "Name,place,date" not in "".join(others)


@needs_browser
def test_every_page_has_its_number_and_the_hash_of_the_contract(document):
    result, pages = document
    for number, text in enumerate(pages, 1):
        assert f"contract{result['contract']['sha256']}" in text and f"{number}/{len(pages)}" in text


@needs_browser
def test_two_clauses_are_on_a_page_and_the_annexes_follow(document):
    _, pages = document
    assert [page_of(pages, f"{number}. clause {word}") for number, word in enumerate("abcde", 1)] == [2, 2, 3, 3, 4]
    starts = [page_of(pages, f"Annex {letter}: {name}") for letter, name in zip("ABCDEF", ANNEXES)]
    assert starts[0] == 5 and starts == sorted(starts)


@needs_browser
def test_the_annexes_have_scores_settings_versions_and_hashes(document):
    result, pages = document
    annexes = "".join(pages[4:])
    [log], bill = result["logs"], result["software_bill"]
    words = [log["sha256"], *log["metrics"], log["compiler"], log["mpi_library"], f"{bill['sha256']}{bill['file']}"]
    words += [f"{name}={json.dumps(value)}" for name, value in log["options"].items()]
    words += [f"{file['sha256']}{file['path']}" for file in log["files"]]
    words += [result["begun"][0]["nonce"], result["sessions"][0]["file_sha256"]]
    assert [word for word in words if "".join(word.split()) not in annexes] == []


@pytest.mark.slow
@needs_browser
def test_verdict_and_signatures_of_many_parties_fit_on_the_first_page(tmp_path):
    """With a long title and more missing sessions than the page names."""
    title = "Acceptance of a system with a long name, " * 8
    agreed = write_contract(tmp_path, contract(clause(), contract=title, parties=PARTIES))
    evidence = last = evidence_made.evidence(tmp_path, agreed)
    for number in range(7):
        last = evidence_made.official_session(tmp_path / str(number), begin(agreed, "--after", last), [1000])
    result = evaluated(tmp_path, evidence, options=["--pdf"])
    first, *others = printed(tmp_path)
    assert "Notproven" in first and all("".join(party.split()) in first for party in PARTIES)
    assert first.count("Name,place,date") == 8
    gaps = ["".join(gap.split()) for gap in result["gaps"]]
    assert [gap in first for gap in gaps] == [True] * 4 + [False] * 3 and "3moregaps:seeSessions" in first
    assert all(gap in "".join(others) for gap in gaps)


# --- for programs -----------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def schema():
    done = run("schema", "acceptance")
    assert done.exit_code == 0
    return jsonschema_rs.validator_for(json.loads(done.stdout))


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    """By verdict."""
    found = {}
    for verdict, floor, needed in (("pass", 1, 1), ("fail", 1e9, 1), ("not proven", 1, 2)):
        folder = tmp_path_factory.mktemp("results")
        agreed = evidence_made.contract(folder, floor)
        agreed.write_text(agreed.read_text().replace("repetitions: 1", f"repetitions: {needed}"))
        found[verdict] = evaluated(folder, evidence_made.evidence(folder, agreed), options=["--sbom"])
        assert found[verdict]["result"] == verdict
    return found


@pytest.mark.parametrize("verdict", ["pass", "fail", "not proven"])
def test_a_result_conforms_to_its_schema(schema, results, verdict):
    assert [error.message for error in schema.iter_errors(results[verdict])] == []


FREE_KEYS = ("options", "environment", "metrics", "excluded_nodes", "parameters")


def changes(value, path=()):
    """Every way to leave out a field, to add one, or to change the type of a value: (path, what to do)."""
    if isinstance(value, dict):
        if not path or path[-1] not in FREE_KEYS:
            yield from ((*path, key, "leave out") for key in value)
            yield (*path, "unknown", "add")
        for key, inner in value.items():
            yield from changes(inner, (*path, key))
    elif isinstance(value, list):
        for place, inner in enumerate(value[:1]):
            yield from changes(inner, (*path, place))
    else:
        yield (*path, "another type")


def place(result, path):
    """A copy of the result, and what holds the last key of a path in it."""
    result = copy.deepcopy(result)
    return result, reduce(getitem, path[:-1], result)


def changed(result, change):
    *path, what = change
    result, holder = place(result, path)
    if what == "leave out":
        del holder[path[-1]]
    else:
        holder[path[-1]] = [[]]
    return result


def test_no_field_can_be_left_out_added_or_of_another_type(schema, results):
    tried = list(changes(results["pass"]))
    assert len(tried) > 200
    assert [change for change in tried if schema.is_valid(changed(results["pass"], change))] == []


CLAUSE, RUN = ("clauses", 0), ("clauses", 0, "runs", 0)
WHY = [{"key": "other_log", "text": "the log was altered"}]


@pytest.mark.parametrize(
    ("verdict", "path", "value"),
    [
        ("pass", ("result",), "fail"),
        ("pass", ("result",), "not proven"),
        ("fail", ("result",), "pass"),
        ("fail", ("result",), "not proven"),
        ("not proven", ("result",), "pass"),
        ("not proven", ("result",), "fail"),
        ("pass", ("result",), "passed"),
        ("pass", ("version",), 2),
        ("pass", ("gaps",), ["Session 2 is missing."]),
        ("pass", ("begun",), []),
        ("pass", (*CLAUSE, "result"), "fail"),
        ("pass", (*CLAUSE, "result"), "not proven"),
        ("pass", (*CLAUSE, "value"), None),
        ("pass", (*CLAUSE, "counted"), 0),
        ("pass", (*CLAUSE, "runs"), []),
        ("not proven", (*CLAUSE, "value"), 1.0),
        ("not proven", (*CLAUSE, "result"), "pass"),
        ("pass", ("relations", 0, "result"), "fail"),
        ("pass", ("relations", 0, "value"), None),
        ("pass", (*RUN, "refusals"), WHY),
        ("pass", (*RUN, "counts"), False),
        ("not proven", (*RUN, "counts"), False),
        ("pass", (*RUN, "value"), None),
        ("pass", (*RUN, "sha256_now"), None),
        ("pass", (*RUN, "sha256_recorded"), ""),
        ("pass", (*RUN, "time"), "yesterday"),
        ("pass", ("contract", "sha256"), "0" * 63),
        ("pass", ("software_bill", "packages"), -1),
    ],
)
def test_a_result_that_contradicts_itself_does_not_conform(schema, results, verdict, path, value):
    result, holder = place(results[verdict], path)
    holder[path[-1]] = value
    assert not schema.is_valid(result)


def test_the_schema_of_a_contract_is_printed_too():
    schema = jsonschema_rs.validator_for(json.loads(run("schema", "contract").stdout))
    good = contract(clause())
    assert schema.is_valid(good) and not schema.is_valid(good | {"version": 2})
