# SPDX-License-Identifier: Apache-2.0
"""Contracts are read strictly: what is wrong with one is told with file, line and place."""

import json
import os
from datetime import date

import pytest
from builds import ROOT
from commands import run
from logs_made import sha256

from coffeecup.postprocess.acceptance.contract import Clause, ContractError, read_contract
from coffeecup.postprocess.acceptance.terms import Terms
from coffeecup.postprocess.benchmarks.registry import benchmarks

SHA = "a" * 64
GOOD = """\
contract: Acceptance of phase 1
version: 1
clauses:
  - clause: network
    benchmark: b_eff
    metric: b_eff
    unit: MByte/s
    system: local
    partition: default
    size: {processes: 2}
    floor: 1000
    official: true
    repetitions: 3
    statistic: median
"""


def read(folder, text):
    (folder / "c.yaml").write_text(text)
    return read_contract(folder / "c.yaml")


def refusal(folder, text):
    """The message with which a contract is refused, without the path at its beginning."""
    with pytest.raises(ContractError) as error:
        read(folder, text)
    assert str(error.value).startswith(f"{folder}/c.yaml") and "\n" not in str(error.value)
    return str(error.value).removeprefix(f"{folder}/c.yaml")


def explained(folder, text):
    read(folder, text)
    return run("accept", "--explain", folder / "c.yaml").stdout


def test_a_contract_is_read_with_its_hash(tmp_path):
    agreed = read(tmp_path, GOOD + "    excluded_nodes: [{node: 2026-01-01, reason: no date}]\n")
    assert agreed.sha256 == sha256(tmp_path / "c.yaml")
    [one] = agreed.clauses
    assert (one.floor, one.ceiling, one.processes, one.hosts) == (1000, None, 2, None)
    assert one.excluded_nodes == {"2026-01-01": "no date"}
    assert (agreed.parties, agreed.terms) == (("for the site", "for the supplier"), Terms())


COMPLETE = """\
contract: Acceptance of phase 2
version: 1
parties: [Centre, Supplier]
kernel_version: 0.1.0
period: {from: 2026-12-01, until: 2026-12-31}
software:
  {git_revision: 0123abc, source_sha256: SHA, mpi_library: Open MPI v4.1, compiler: GNU 12, programs: {ftio: SHA}}
clauses:
  - clause: files
    benchmark: priomark
    metric: METRIC
    unit: MByte/s
    system: local
    partition: default
    size: {processes: 8, hosts: 2}
    file_system: {directory: /scratch, type: lustre}
    ceiling: 5000
    variation: 5
    every_run: {least: 90, most: 120}
    forbidden: [overcommitted]
    workload_sha256: SHA
    interface_sha256: [SHA]
    official: false
    repetitions: 5
    statistic: mean
  - clause: of another suite
    evidence: session
    benchmark: OSU
    metric: bandwidth
    unit: MB/s
    system: local
    partition: default
    size: {processes: 2}
    parameters: {size: 4194304}
    floor: 1000
    official: false
    repetitions: 3
    statistic: minimum
"""


def test_everything_that_a_contract_states_is_demanded(tmp_path):
    """Field by field, as a reader would copy it from the contract."""
    metric = next(metric.name for metric in benchmarks()["priomark"].metrics if metric.unit == "MByte/s")
    agreed = read(tmp_path, COMPLETE.replace("SHA", SHA).replace("METRIC", metric))
    assert agreed.parties == ("Centre", "Supplier")
    terms = {"kernel_version": "0.1.0", "git_revision": "0123abc", "source_sha256": SHA, "programs": {"ftio": SHA}}
    period = {"first_day": date(2026, 12, 1), "last_day": date(2026, 12, 31)}
    assert agreed.terms == Terms(**terms, **period, mpi_library="Open MPI v4.1", compiler="GNU 12")
    common = {"system": "local", "partition": "default", "official": False, "excluded_nodes": {}}
    files = {"name": "files", "benchmark": "priomark", "metric": metric, "unit": "MByte/s", "processes": 8, "hosts": 2}
    files |= {"directory": "/scratch", "filesystem": "lustre", "floor": None, "ceiling": 5000, "variation": 5}
    files |= {"least_of_median": 90, "most_of_median": 120, "forbidden": ("overcommitted",), "workload_sha256": SHA}
    files |= {"interface_sha256": (SHA,), "repetitions": 5, "statistic": "mean"}
    other = {"name": "of another suite", "evidence": "session", "benchmark": "OSU", "metric": "bandwidth"}
    other |= {"unit": "MB/s", "processes": 2, "hosts": None, "directory": None, "filesystem": None, "floor": 1000}
    other |= {"ceiling": None, "repetitions": 3, "statistic": "minimum", "parameters": {"size": "4194304"}}
    assert agreed.clauses == (Clause(**common, **files), Clause(**common, **other))


def test_floor_and_ceiling_and_the_days_of_a_period_may_be_the_same(tmp_path):
    same = GOOD.replace("    floor: 1000", "    floor: 1000\n    ceiling: 1000")
    agreed = read(tmp_path, same + "period: {from: 2026-03-01, until: 2026-03-01}\n")
    assert (agreed.clauses[0].floor, agreed.clauses[0].ceiling) == (1000, 1000)
    assert agreed.terms == Terms(first_day=date(2026, 3, 1), last_day=date(2026, 3, 1))


def test_a_contract_may_be_about_memory_of_accelerators(tmp_path):
    text = GOOD.replace("metric: b_eff", "metric: ring_latency_cuda").replace("MByte/s", "us")
    assert [(clause.metric, clause.unit) for clause in read(tmp_path, text).clauses] == [("ring_latency_cuda", "us")]


AT_FLOOR = "    floor: 1000"


def official(benchmark, metric):
    """The change of a contract to a benchmark that has no official runs, and what is told."""
    new = f"benchmark: {benchmark}\n    metric: {metric}\n"
    told = f"line 12, clauses.1.official: no run of {benchmark} is official: false is expected"
    return "benchmark: b_eff\n    metric: b_eff\n", new, told


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        ("version: 1", "version: 2", "line 2, version: 1 was expected"),
        (AT_FLOOR, "    floor: fast", "line 11, clauses.1.floor: "),
        (f"{AT_FLOOR}\n", "", "line 4, clauses.1: "),
        (AT_FLOOR, "    flor: 1000", "line 4, clauses.1: "),
        (AT_FLOOR, f"{AT_FLOOR}\n    ceiling: 900", "line 11, clauses.1.floor: the floor is above the ceiling"),
        (AT_FLOOR, "    floor: .nan", "line 11, clauses.1.floor: "),
        (AT_FLOOR, "    ceiling: 10:00", 'line 11, clauses.1.ceiling: "10:00" is not of type'),  # YAML 1.1: 600
        (AT_FLOOR, "    floor: 0170", 'line 11, clauses.1.floor: "0170" is not of type'),  # YAML 1.1: 120
        (AT_FLOOR, "    floor: 1:30.5", 'line 11, clauses.1.floor: "1:30.5" is not of type'),
        (AT_FLOOR, f"{AT_FLOOR}\n    floor: 10", "line 12: the key 'floor' occurs twice"),
        ("median", "best", "line 14, clauses.1.statistic: "),
        ("repetitions: 3", "repetitions: 0", "line 13, clauses.1.repetitions: "),
        ("official: true", "official: yep", "line 12, clauses.1.official: "),
        ("{processes: 2}", "{nodes: 2}", "line 10, clauses.1.size: "),
        ("metric: b_eff", "metric: b_effi", "line 6, clauses.1.metric: b_eff has no metric 'b_effi'; valid are b_e"),
        ("benchmark: b_eff", "benchmark: hpl", "line 5, clauses.1.benchmark: unknown benchmark 'hpl'; valid are b_eff"),
        official("b_eff_load", "load_bandwidth_incast"),
        official("b_eff_io_load", "load_bandwidth_read"),
        ("unit: MByte/s", "unit: GByte/s", "line 7, clauses.1.unit: b_eff is in 'MByte/s', not in 'GByte/s'"),
        (AT_FLOOR, f"{AT_FLOOR}\n    variation: 0", "line 12, clauses.1.variation: "),
        (AT_FLOOR, f"{AT_FLOOR}\n    variation: .inf", "line 12, clauses.1.variation: "),
        (AT_FLOOR, "    ceiling: .inf", "line 11, clauses.1.ceiling: "),
        (AT_FLOOR, "    floor: -.inf", "line 11, clauses.1.floor: "),
        ("    benchmark: b_eff", "    evidence: session\n    benchmark: b_eff", "line 5, clauses.1.evidence: "),
        (AT_FLOOR, f"{AT_FLOOR}\n    every_run: {{least: 101}}", "line 12, clauses.1.every_run.least: "),
        (AT_FLOOR, f"{AT_FLOOR}\n    every_run: {{most: 99}}", "line 12, clauses.1.every_run.most: "),
        (AT_FLOOR, f"{AT_FLOOR}\n    forbidden: [overloaded]", "line 12, clauses.1.forbidden.1: "),
        ("version: 1", "version: 1\nperiod: {from: 2026-02-30, until: 2026-03-01}", "line 3, period: no period: "),
        ("version: 1", "version: 1\nperiod: {from: 2026-03-02, until: 2026-03-01}", "line 3, period: "),
        ("version: 1", "version: 1\nsoftware: {source_sha256: abc}", "line 3, software.source_sha256: "),
        ("version: 1", f"version: 1\nsigners: {{file: none, sha256: {SHA}}}", "line 3, signers.file: cannot be"),
        ("clauses:\n", "clauses: [\n", "line "),
        (GOOD, "", ": the file is empty"),
        (GOOD, "- a", "line 1"),
        (GOOD, "? [a]\n: 1", "line 1"),
        (GOOD, "!!python/object:os.system {}", "line 1"),
        (GOOD, GOOD + GOOD[GOOD.index("  - clause") :], "line 15, clauses.2.clause: a second clause 'network'"),
    ],
)
def test_what_is_wrong_with_a_contract_is_told_with_file_line_and_place(tmp_path, old, new, told):
    assert told in refusal(tmp_path, GOOD.replace(old, new, 1))


HUGE = "1" + "0" * 400


def aliases(levels, wide):
    """Each line stands for `wide` times the line before it."""
    lines = ["a0: &a0 [x]", *(f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * wide)}]" for n in range(1, levels))]
    return "\n".join(lines) + "\n"


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (aliases(40, 9), "more than 1000000 entries, aliases included"),
        ("&a [*a]\n", "contains itself"),
        ("a: " + "[" * 300 + "]" * 300, "not valid YAML for a contract"),
        (GOOD.replace("1000", HUGE), ", line 11, clauses.1.floor: a finite number is expected"),
        (GOOD.replace("floor: 1000", f"ceiling: {HUGE}"), ", line 11, clauses.1.ceiling: a finite number is expected"),
        (GOOD.replace("floor: 1000", f"floor: 1\n    variation: {HUGE}"), "clauses.1.variation: a finite number"),
    ],
)
def test_text_that_would_take_all_memory_or_time_is_refused(tmp_path, text, told):
    assert told in refusal(tmp_path, text)


def test_a_contract_that_is_no_text_or_no_file_is_refused(tmp_path):
    binary, pipe = tmp_path / "binary.yaml", tmp_path / "pipe.yaml"
    binary.write_bytes(GOOD.replace("phase", "\xe4").encode("latin-1"))
    os.mkfifo(pipe)
    for path, told in (
        (binary, "not UTF-8; a contract is a text file, YAML"),
        (tmp_path / "none.yaml", "cannot be read: No such file or directory"),
        (pipe, "cannot be read: "),
    ):
        with pytest.raises(ContractError) as error:
            read_contract(path)
        assert str(error.value).startswith(f"{path}: {told}")


def test_signers_are_those_of_the_hash(tmp_path):
    (tmp_path / "signers").write_text("a")
    good, other = (sha256(text) for text in (b"a", b"b"))
    assert read(tmp_path, GOOD + f"signers: {{file: signers, sha256: {good}}}\n").signers == tmp_path / "signers"
    told = f", line 15, signers.sha256: the SHA-256 of {tmp_path / 'signers'} is {good}: one of the two was altered"
    assert refusal(tmp_path, GOOD + f"signers: {{file: signers, sha256: {other}}}\n") == told


def test_aliases_that_stand_for_few_entries_are_read(tmp_path):
    size = GOOD.replace("size: {processes: 2}", "size: &size {processes: 2}")
    second = size.partition("clauses:\n")[2].replace("&size {processes: 2}", "*size").replace("network", "again")
    assert [clause.processes for clause in read(tmp_path, size + second).clauses] == [2, 2]


@pytest.mark.parametrize("path", sorted((ROOT / "docs" / "contracts").glob("*.yaml")), ids=lambda path: path.stem)
def test_a_template_is_a_contract_that_can_be_explained(path):
    agreed = read_contract(path)
    done = run("accept", "--explain", path)
    assert done.exit_code == 0 and done.stdout.splitlines()[0].startswith(agreed.title)
    for clause in agreed.clauses:
        [line] = [line for line in done.stdout.splitlines() if line.startswith(f"{clause.name}: ")]
        assert clause.metric in line and all(key in line for key in clause.forbidden)
    assert f"from {agreed.terms.first_day} to {agreed.terms.last_day}" in done.stdout


def test_a_count_with_a_decimal_point_is_a_count(tmp_path):
    text = GOOD.replace("repetitions: 3", "repetitions: 3.0\n    sequential: true") + "refused_runs: 1.0\n"
    (tmp_path / "c.yaml").write_text(text)
    agreed = read_contract(tmp_path / "c.yaml")
    assert [repr(agreed.refused_runs), repr(agreed.clauses[0].repetitions)] == ["1", "3"]
    done = run("accept", "--dry-run", tmp_path / "c.yaml")
    assert done.exit_code == 0 and "2 runs are missing" in done.stdout


def test_qualifications_that_a_contract_can_forbid_exist():
    """A key with a typing error would forbid nothing."""
    schema = json.loads((ROOT / "postprocess" / "acceptance" / "contract_schema.json").read_text())
    keys = schema["$defs"]["clause"]["properties"]["forbidden"]["items"]["enum"]
    sources = [*ROOT.glob("postprocess/logs/*.py"), *ROOT.glob("postprocess/benchmarks/*/qualifications.py")]
    text = "".join(path.read_text() for path in sources)
    assert keys == sorted(keys) and [key for key in keys if f'"{key}"' not in text] == []


def test_a_dry_run_names_the_runs_that_are_missing_with_their_command(tmp_path):
    """Two clauses lack the same runs. Two commands in one session, or in one folder, would prove nothing."""
    path = tmp_path / "contract.yaml"
    path.write_text(GOOD + SECOND + SECOND.replace("rack", "blade"))
    done = run("accept", "--dry-run", path)
    command = (
        "reframe -c reframe_checks -r --system=local:default --mode=acceptance -n '^b_eff%' -P b_eff.num_processes"
    )
    assert (done.exit_code, done.stdout.splitlines()) == (
        0,
        [
            f"network: 3 runs are missing: {command}=2 --repeat=3",
            f"rack, blade: 3 runs are missing: {command}=1 --repeat=3",
        ],
    )
    assert "a session for each command" in done.stderr and "its own --prefix and --report-file" in done.stderr
    assert run("accept", path).exit_code == 2  # no sessions
    assert not list(tmp_path.glob("*.html"))


SECOND = GOOD[GOOD.index("  - clause") :].replace("network", "rack").replace("processes: 2", "processes: 1")


def with_relation(kind="scaling_efficiency", of="network", to="rack", bound="floor: 0.8", second=SECOND):
    return f"{GOOD}{second}relations:\n  - {{relation: r, {kind}: {{of: {of}, to: {to}}}, {bound}}}\n"


def largest(names="[network, rack]", second=SECOND):
    return f"{GOOD}{second}relations:\n  - {{relation: the system, largest: {names}, floor: 900}}\n"


@pytest.mark.parametrize(
    ("text", "kind", "unit", "bounds", "sentence"),
    [
        (
            with_relation(),
            "scaling_efficiency",
            "1",
            (0.8, None),
            "r: ratio of the values per process of 'network' to 'rack', at least 0.8.\n",
        ),
        (with_relation("ratio", bound="floor: 0.8, ceiling: 1.5"), "ratio", "1", (0.8, 1.5), "r: "),
        (
            largest(),
            "largest",
            "MByte/s",
            (900, None),
            "the system: largest value of 'network', 'rack', at least 900 MByte/s.\n",
        ),
    ],
)
def test_a_relation_of_clauses_is_read_and_explained(tmp_path, text, kind, unit, bounds, sentence):
    [relation] = read(tmp_path, text).relations
    assert (relation.kind, relation.unit, relation.clauses) == (kind, unit, ("network", "rack"))
    assert (relation.floor, relation.ceiling) == bounds
    assert sentence in explained(tmp_path, text) and sentence.startswith(f"{relation.name}: ")


@pytest.mark.parametrize(
    ("variant", "options"),
    [
        ("placement=block processes_per_node=1", " -S b_eff.placement=block -S b_eff.processes_per_node=1"),
        ("standard", ""),
    ],
)
def test_a_clause_states_the_variant_of_its_runs_and_the_command_requests_it(tmp_path, variant, options):
    text = GOOD.replace("    official:", f"    parameters: {{variant: {variant}}}\n    official:")
    assert read(tmp_path, text).clauses[0].parameters == {"variant": variant}
    done = run("accept", "--dry-run", tmp_path / "c.yaml")
    assert done.stdout.endswith(f" -P b_eff.num_processes=2{options} --repeat=3\n")


OTHER_METRIC = SECOND.replace("metric: b_eff\n", "metric: b_eff_at_l_max\n")
LATENCY = SECOND.replace("metric: b_eff\n    unit: MByte/s", "metric: ping_pong_latency\n    unit: us")
TWICE = "  - {relation: r, ratio: {of: network, to: rack}, floor: 1}\n"


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (largest("[network]"), "relations.1.largest: "),
        (largest("[network, network]"), "relations.1.largest: "),
        (largest("[network, elsewhere]"), "relations.1.largest: there is no clause 'elsewhere'"),
        (largest(second=OTHER_METRIC), "on different metrics"),
        (
            GOOD.replace("    official:", "    parameters: {placement: block}\n    official:"),
            "clauses.1.parameters: 'placement': runs with a log have only variant; others need",
        ),
        (with_relation(of="elsewhere"), "relations.1.scaling_efficiency: there is no clause 'elsewhere'"),
        (with_relation(of="rack", to="network"), "`of` has to be the clause with more processes"),
        (with_relation(of="rack"), "`of` has to be the clause with more processes"),
        (with_relation("relation_of"), "relations.1: "),
        (with_relation(bound="floor: 2, ceiling: 1"), "the floor is above the ceiling"),
        (with_relation(bound="official: true"), "relations.1: "),
        (with_relation().replace("relation: r,", "relation: rack,"), "a second clause or relation 'rack'"),
        (with_relation() + TWICE, "a second clause or relation 'r'"),
        (with_relation().replace("metric: b_eff\n", "metric: b_eff_per_process\n"), "write ratio"),
        (with_relation(second=OTHER_METRIC), "on different metrics"),
        (with_relation("ratio", second=LATENCY), "different units, 'MByte/s' and 'us'"),
    ],
)
def test_a_relation_that_cannot_be_evaluated_is_refused(tmp_path, text, told):
    found = refusal(tmp_path, text)
    assert told in found and found.startswith(", line ")
