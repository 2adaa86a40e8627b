# SPDX-License-Identifier: Apache-2.0
"""What a clause and a contract demand besides the bounds of a value: scatter, qualifications, workloads, software, and
relations of two clauses; every rule from both sides."""

from dataclasses import replace
from datetime import date
from pathlib import Path
from types import SimpleNamespace

import logs_made
import pytest
import yaml
from clauses_made import CLAUSE, log, run, verdict
from commands import run as run_command
from commands import said
from counters_made import source, with_counters
from logs_made import sha256
from logs_made_b_eff import b_eff_log

from coffeecup.postprocess.acceptance.contract import read_contract
from coffeecup.postprocess.acceptance.evaluation import Verdict, evaluate_relation, overall
from coffeecup.postprocess.acceptance.refusal import Refusal
from coffeecup.postprocess.acceptance.relations import Relation
from coffeecup.postprocess.acceptance.terms import broken_terms
from coffeecup.postprocess.benchmarks.score import Qualification
from coffeecup.postprocess.benchmarks.scoring import read_log, score_logs

# --- scatter, qualifications and workloads ----------------------------------------------------------------------------

# 90, 100, 110: the sample's standard deviation is 10, the mean 100
TEN_PERCENT = (900.0, 1000.0, 1100.0)


@pytest.mark.parametrize(("most", "outcome"), [(9.99, "fail"), (10.0, "pass"), (10.01, "pass")])
def test_the_coefficient_of_variation_is_at_most_that_of_the_clause(most, outcome):
    found = verdict(replace(CLAUSE, variation=most), *map(run, TEN_PERCENT))
    assert (found.outcome, found.value) == (outcome, 1000)
    assert ("The coefficient of variation is 10 %, above 9.99 %." in found.sentence) is (outcome == "fail")


@pytest.mark.parametrize("values", [(1000.0,), (-1.0, 1.0)])
def test_one_run_and_a_mean_of_zero_have_no_coefficient_of_variation(values):
    clause = replace(CLAUSE, variation=50, repetitions=1, floor=-1e9)
    found = verdict(clause, *map(run, values))
    assert found.outcome == "fail" and "no coefficient of variation" in found.sentence
    assert verdict(replace(clause, variation=None), *map(run, values)).outcome == "pass"


@pytest.mark.parametrize("sign", [1, -1])
@pytest.mark.parametrize(
    ("bounds", "outcome", "words"),
    [
        ({"least_of_median": 90}, "pass", ""),
        ({"least_of_median": 90.1}, "fail", "A run reached {below}, below 90.1 % of the median."),
        ({"most_of_median": 110}, "pass", ""),
        ({"most_of_median": 109.9}, "fail", "A run reached {above}, above 109.9 % of the median."),
    ],
)
def test_every_run_is_near_the_median(bounds, outcome, words, sign):
    """PRIOMark's losses can be negative: -1100 is 10 % below -1000."""
    found = verdict(replace(CLAUSE, floor=-1e9, **bounds), *(run(sign * value) for value in TEN_PERCENT))
    low, high = sorted(sign * value for value in (900, 1100))
    assert found.outcome == outcome and words.format(below=low, above=high) in found.sentence


@pytest.mark.parametrize(
    ("values", "refused"),
    [
        ([0], []),
        ([[3, 5]], ["port_errors"]),
        (["absent"], ["not_counted"]),
        (["forbidden"], ["not_counted"]),
        ([[5, 3]], ["errors_unknown", "not_counted"]),
        (None, ["not_counted"]),
    ],
)
def test_no_port_errors_are_proven_by_the_counters_of_all_nodes(tmp_path, values, refused):
    """The second node has `values`; None: the log has no counters."""
    records = b_eff_log(ranks=16, methods=("sendrecv",), repetitions=1)
    if values:
        records = with_counters(records, [source("infiniband_symbol_error", "mlx5_0/1")], [[0], values])
    [score] = score_logs([logs_made.write(tmp_path / "log.jsonl", logs_made.numbered(records))])
    clause = replace(CLAUSE, repetitions=1, forbidden=("port_errors", "errors_unknown"))
    [entry] = verdict(clause, run(score=score)).runs
    assert [refusal.key for refusal in entry.refusals if refusal.key != "not_measured"] == refused
    assert "not_counted" not in {refusal.key for refusal in verdict(CLAUSE, run(score=score)).runs[0].refusals}


def test_a_clause_forbids_qualifications():
    busy, unknown = Qualification("load_of_others", "Others."), Qualification("activity_unknown", "Not known.")
    clause = replace(CLAUSE, forbidden=("load_of_others",), repetitions=1)
    runs = [run(qualifications=(busy,)), run(qualifications=(unknown,)), run(qualifications=(Qualification("a", "b"),))]
    found = verdict(clause, *runs)
    assert [entry.counts for entry in found.runs] == [False, False, True]
    assert found.runs[0].refusals == (Refusal("load_of_others", "Others"),)
    assert [entry.counts for entry in verdict(CLAUSE, *runs).runs] == [True, True, True]
    assert verdict(replace(clause, forbidden=("stolen",)), runs[1]).runs[0].counts
    official = replace(clause, official=True, forbidden=("repetitions",))
    twice = verdict(official, run(breaches=(Qualification("repetitions", "One."),))).runs[0].refusals
    assert twice == (Refusal("repetitions", "One"),)


def test_a_workload_is_that_of_the_clause_by_its_content():
    made, other, none = run(), run(), run()
    made.score.log.plan = SimpleNamespace(workload_text="a")
    other.score.log.plan = SimpleNamespace(workload_text="b")
    none.score.log.plan = SimpleNamespace()
    clause = replace(CLAUSE, workload_sha256=sha256(b"a"))
    found = verdict(clause, made, other, none)
    assert [[refusal.key for refusal in entry.refusals] for entry in found.runs] == [[], ["workload"], ["workload"]]


def with_interfaces(*loaded):
    made = run()
    made.score.log.plan = SimpleNamespace(interfaces=[SimpleNamespace(name=name, sha256=sha) for name, sha in loaded])
    return made


def test_loaded_interfaces_are_exactly_those_of_the_clause():
    none, one, both = run(), with_interfaces(("a", "a" * 64)), with_interfaces(("a", "a" * 64), ("b", "b" * 64))
    none.score.log.plan = SimpleNamespace()
    for listed, counting in (((), [True, False, False]), (("a" * 64,), [False, True, False])):
        found = verdict(replace(CLAUSE, interface_sha256=listed), none, one, both)
        assert [entry.counts for entry in found.runs] == counting
        assert {refusal.key for entry in found.runs for refusal in entry.refusals} == {"interface"}


# --- terms of the contract --------------------------------------------------------------------------------------------

PERIOD = {"first_day": date(2026, 12, 1), "last_day": date(2026, 12, 3)}
PROGRAM = SimpleNamespace(role="program", sha256="c" * 64)


def started(*times):
    return [{"start": time} for time in times]


def loaded(*letters):
    hashes = [letter and letter * 64 for letter in letters]
    return {"files": (PROGRAM, *(SimpleNamespace(role="library", path="/lib/a.so", sha256=one) for one in hashes))}


RAN = {"files": (PROGRAM,)}
BEYOND = ("2026-11-30T23:59:59Z", "2026-12-04T00:00:00Z", "2020-12-02T00:00:00Z")


@pytest.mark.parametrize(
    ("terms", "key", "kept", "broken"),
    [
        (PERIOD, "period", started("2026-12-01T00:00:00Z", "2026-12-03T23:59:59Z"), started(*BEYOND)),
        ({"git_revision": "0123abc"}, "git_revision", [{}], [{"git_revision": "0123abd"}, {"git_revision": None}]),
        ({"source_sha256": "a" * 64}, "source", [{}], [{"source_sha256": "b" * 64}, {"source_sha256": None}]),
        ({"mpi_library": "Open MPI v4.1"}, "mpi_library", [{}], [{"library": "Open MPI v4.0"}]),
        ({"compiler": "GNU 12"}, "compiler", [{}], [{"compiler": "GNU 11.2.0"}]),
        ({"programs": {"b_eff": "c" * 64}}, "program", [RAN], [{}]),
        ({"programs": {"b_eff": "d" * 64}}, "program", [], [RAN]),
        ({"programs": {"ftio": "d" * 64}}, "program", [RAN], []),
        (
            {"libraries": ("d" * 64, "e" * 64)},
            "library",
            [loaded("d"), loaded("e", "d")],
            [loaded("c"), loaded("d", None)],
        ),
    ],
)
def test_a_run_outside_the_terms_of_the_contract_is_refused(terms, key, kept, broken):
    def refusals(stated):
        made = run()
        made.score.log = log(**stated)
        return [refusal.key for refusal in verdict(CLAUSE, made, **terms).runs[0].refusals]

    assert [refusals(stated) for stated in kept + broken] == [[]] * len(kept) + [[key]] * len(broken)


def test_a_refusal_states_what_the_contract_requires():
    made = run()
    made.score.log = log(compiler="GNU 11.2.0")
    [refusal] = verdict(CLAUSE, made, compiler="GNU 12").runs[0].refusals
    assert refusal.text == "its compiler is GNU 11.2.0, the contract requires GNU 12"


def log_with(path, *libraries, **changes):
    """A log that states these files beside its program, by path and letter of their hash."""
    records = b_eff_log(ranks=2, nodes=1, methods=("sendrecv",), repetitions=1)
    files = [{"role": "library", "path": name, "sha256": letter and letter * 64} for name, letter in libraries]
    [ran] = [record for record in records if record["record"] == "files"]
    ran["files"] = [*ran["files"], *files]
    records[0]["build"] |= changes
    return logs_made.write(path, records)


MPI, LIBC = ("/lib/libmpi.so.40", "a"), ("/lib/libc.so.6", "b")


def test_the_software_of_logs_is_a_section_of_a_contract_that_allows_it_and_nothing_else(tmp_path):
    logs = log_with(tmp_path / "1.jsonl", MPI, LIBC), log_with(tmp_path / "2.jsonl", MPI, ("/lib/other.so", "c"))
    done = run_command("accept", "software", *logs)
    assert done.exit_code == 0
    assert f"    - '{'b' * 64}'  # /lib/libc.so.6\n    - '{'a' * 64}'  # /lib/libmpi.so.40" in done.output
    section = yaml.safe_load(done.stdout)
    stated = read_log(logs[0]).run
    assert section["software"]["libraries"] == [letter * 64 for letter in "bac"]
    assert section["software"]["programs"] == {"b_eff": logs_made.PROGRAM["sha256"]}
    assert section["software"]["source_sha256"] == stated.build.source_sha256
    assert stated.mpi.library.startswith(section["software"]["mpi_library"])
    clause = {
        "clause": "c",
        "benchmark": "b_eff",
        "metric": "b_eff",
        "unit": "MByte/s",
        "system": "s",
        "partition": "p",
    }
    clause |= {"size": {"processes": 2}, "floor": 1, "official": False, "repetitions": 1, "statistic": "median"}
    agreed = {"contract": "made", "version": 1, "parties": ["A"], "clauses": [clause]}
    (tmp_path / "contract.yaml").write_text(yaml.safe_dump(agreed | section))
    terms = read_contract(tmp_path / "contract.yaml").terms
    assert [list(broken_terms(terms, read_log(path))) for path in logs] == [[], []]
    other = read_log(log_with(tmp_path / "3.jsonl", MPI, ("/lib/libc.so.6", "d")))
    assert [refusal.key for refusal in broken_terms(terms, other)] == ["library"]


@pytest.mark.parametrize(
    ("libraries", "changes", "reason"),
    [
        ([MPI], {"compiler": "GNU 99"}, "2.jsonl: its compiler is GNU 99, that of another log"),
        ([MPI], {"source_sha256": "e" * 64}, "2.jsonl: its source_sha256 is eee"),
        (
            [("/lib/libmpi.so.40", None)],
            {},
            "2.jsonl: it does not state the hashes of its program and of all libraries",
        ),
    ],
)
def test_logs_of_different_or_unknown_software_have_no_section(tmp_path, monkeypatch, libraries, changes, reason):
    monkeypatch.chdir(tmp_path)  # a long path would be broken over lines
    logs = log_with(Path("1.jsonl"), MPI), log_with(Path("2.jsonl"), *libraries, **changes)
    done = run_command("accept", "software", *logs)
    assert done.exit_code == 2 and reason in said(done)


@pytest.mark.parametrize(
    ("revision", "terms", "remedy"),
    [
        ("0123abc", {}, None),
        ("0123abc-dirty", {}, "build a committed state"),
        ("0123abc-dirty", {"source_sha256": "a" * 64}, "build a committed state"),
        (None, {}, "build a Git checkout, or state source_sha256 in the contract"),
        (None, {"source_sha256": "a" * 64}, None),
    ],
)
def test_official_evidence_comes_from_known_sources_only(revision, terms, remedy):
    made = run()
    made.score.log = log(git_revision=revision)
    refusals = verdict(replace(CLAUSE, official=True), made, **terms).runs[0].refusals
    assert [(refusal.key, refusal.text.split(": ")[1]) for refusal in refusals] == [("revision", remedy)] * bool(remedy)
    assert verdict(CLAUSE, made, **terms).runs[0].counts


# --- relations of two clauses -----------------------------------------------------------------------------------------

SMALL = Verdict(replace(CLAUSE, name="small", processes=100), "pass", 1000.0, "", ())
LARGE = Verdict(replace(CLAUSE, name="large", processes=400), "fail", 3000.0, "", ())


@pytest.mark.parametrize(
    ("kind", "bounds", "outcome", "value"),
    [
        ("ratio", (3.0, None), "pass", 3.0),
        ("ratio", (3.001, None), "fail", 3.0),
        ("ratio", (None, 3.0), "pass", 3.0),
        ("ratio", (None, 2.999), "fail", 3.0),
        ("scaling_efficiency", (0.75, None), "pass", 0.75),  # 3000 / 400 to 1000 / 100
        ("scaling_efficiency", (0.751, None), "fail", 0.75),
    ],
)
def test_a_relation_compares_the_values_of_two_clauses(kind, bounds, outcome, value):
    found = evaluate_relation(Relation("r", kind, ("large", "small"), *bounds), [SMALL, LARGE])
    assert (found.outcome, found.value) == (outcome, value)
    assert found.sentence.startswith(f"It is {value:g}, ")


@pytest.mark.parametrize(
    ("bounds", "outcome", "words"),
    [
        ((3000.0, None), "pass", "It is 3000 MByte/s, just the floor 3000."),
        ((3001.0, None), "fail", "It is 3000 MByte/s, 0.0333 % below the floor 3001."),
        ((None, 2999.0), "fail", "It is 3000 MByte/s, 0.0333 % above the ceiling 2999."),
    ],
)
def test_the_largest_value_of_clauses_has_bounds_and_a_unit(bounds, outcome, words):
    relation = Relation("r", "largest", ("large", "small"), *bounds, "MByte/s")
    found = evaluate_relation(relation, [SMALL, LARGE])
    assert (found.outcome, found.value, found.sentence) == (outcome, 3000, words)
    zero = evaluate_relation(relation, [replace(SMALL, value=0.0), LARGE])
    assert zero.value == 3000, "a size without any bandwidth is no reason to leave out the others"
    unproven = evaluate_relation(relation, [replace(SMALL, value=None), LARGE])
    assert (unproven.outcome, unproven.value) == ("not proven", None)


@pytest.mark.parametrize(("value", "words"), [(None, "Clause 'small' has no value."), (0.0, "clause 'small' is 0.")])
def test_a_relation_without_a_value_is_not_proven(value, words):
    found = evaluate_relation(
        Relation("r", "ratio", ("large", "small"), 1.0, None), [replace(SMALL, value=value), LARGE]
    )
    assert (found.outcome, found.value) == ("not proven", None) and words in found.sentence
    assert overall([SMALL, found]) == "not proven"
