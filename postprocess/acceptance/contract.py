# SPDX-License-Identifier: Apache-2.0
"""Contracts: what a system must reach to be accepted, as a file that both sides agree on before anything runs.

A contract is YAML and validated by contract_schema.json. Anything ambiguous is refused: an unknown or repeated key, a
metric that no kernel has, a wrong unit.
"""

import hashlib
import json
import math
import re
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Any, NoReturn

import jsonschema_rs
import yaml

from coffeecup.postprocess.acceptance.relations import Relation, problem_of, relation_of
from coffeecup.postprocess.acceptance.terms import Terms, terms_of
from coffeecup.postprocess.benchmarks.benchmark import VARIANT
from coffeecup.postprocess.benchmarks.registry import benchmarks
from coffeecup.postprocess.logs import paths, trees
from coffeecup.postprocess.logs.trees import TreeError, parsed
from coffeecup.postprocess.show.words import printable

LOG, SESSION = "log", "session"
NEED_ALL_RUNS = ("variation", "every_run", "at_least")  # keys of clauses


class ContractError(ValueError):
    """A contract that cannot be evaluated; the message is one printable line with the file, the line and the key."""

    def __init__(self, path: Path, problem: str, line: int | None = None, place: str = ""):
        where = [str(path), *([f"line {line}"] if line else []), *([place] if place else [])]
        super().__init__(f"{printable(', '.join(where))}: {printable(problem)}")


@dataclass(frozen=True, kw_only=True)
class Clause:
    """What one metric must reach. `floor` and `ceiling` are in `unit`, None if there is no such bound. `variation` is
    the largest coefficient of variation, `least_of_median` and `most_of_median` are bounds of every run; all three in
    percent. `forbidden` are keys of qualifications, `workload_sha256` is the hash of a workload's text,
    `interface_sha256` are those of the files of loaded interfaces. `evidence` says where a value comes from: a LOG, or
    a SESSION alone for tests of other suites. `parameters` select tests of others by theirs, and runs with a log by
    their VARIANT. `guard_band` is how far beyond its bounds a value still passes, in percent of the bound. `at_least`
    is the part of the accepted value of the contract's baseline that has to be reached, None if nothing is compared
    with it. A `sequential` clause is decided by its first runs, as soon as the others up to `repetitions` cannot change
    the verdict."""

    name: str
    benchmark: str
    metric: str
    unit: str
    system: str
    partition: str
    processes: int
    hosts: int | None
    directory: str | None
    filesystem: str | None
    floor: float | None = None
    ceiling: float | None = None
    official: bool
    repetitions: int
    statistic: str
    excluded_nodes: dict[str, str]  # host name to reason
    variation: float | None = None
    least_of_median: float | None = None
    most_of_median: float | None = None
    forbidden: tuple[str, ...] = ()
    workload_sha256: str | None = None
    interface_sha256: tuple[str, ...] = ()
    evidence: str = LOG
    parameters: Mapping[str, str] = field(default_factory=dict)
    guard_band: float = 0.0
    at_least: float | None = None
    sequential: bool = False

    @property
    def limits(self) -> tuple[float | None, float | None]:
        """The least and the most value that passes: the bounds less and plus the guard band."""
        sides = ((self.floor, -1), (self.ceiling, 1))
        least, most = (
            None if bound is None else bound + side * abs(bound) * self.guard_band / 100 for bound, side in sides
        )
        return least, most


@dataclass(frozen=True)
class Baseline:
    """The result of an earlier acceptance, with the hash that the contract states. `allow` names what may have changed:
    kernel, options, size."""

    file: Path
    allow: tuple[str, ...]


@dataclass(frozen=True)
class Contract:
    """`signers` is an allowed-signers file of OpenSSH with the hash that the contract states, None if nobody has to
    sign. `refused_runs` is how many runs may be refused or missing."""

    path: Path
    sha256: str
    text: str
    title: str
    terms: Terms
    parties: tuple[str, ...]
    clauses: tuple[Clause, ...]
    signers: Path | None = None
    relations: tuple[Relation, ...] = ()
    refused_runs: int = 0
    baseline: Baseline | None = None


class Loader(yaml.SafeLoader):
    """Keeps as text what YAML 1.1 would read as something else than is written: dates, 10:00 as 600, 0170 as 120."""


UNUSUAL = ("tag:yaml.org,2002:timestamp", "tag:yaml.org,2002:int", "tag:yaml.org,2002:float")
Loader.yaml_implicit_resolvers = {
    first: [(tag, form) for tag, form in resolvers if tag not in UNUSUAL]
    for first, resolvers in yaml.SafeLoader.yaml_implicit_resolvers.items()
}
INTEGER = re.compile(r"[-+]?(0|[1-9][0-9_]*)$")
Loader.add_implicit_resolver(UNUSUAL[1], INTEGER, list("-+0123456789"))
FLOAT = re.compile(r"[-+]?([0-9][0-9_]*\.[0-9_]*|\.[0-9][0-9_]*)([eE][-+][0-9]+)?$")
Loader.add_implicit_resolver(UNUSUAL[2], FLOAT, list("-+.0123456789"))


@cache
def validator() -> jsonschema_rs.Draft202012Validator:
    return jsonschema_rs.Draft202012Validator(
        json.loads(
            resources.files("coffeecup.postprocess.acceptance").joinpath("contract_schema.json").read_text("utf-8")
        )
    )


def read_contract(path) -> Contract:
    """The contract in a file. Raises ContractError if the file is not a valid contract."""
    path = Path(path)
    try:
        data = paths.content(path, trees.LARGEST_FILE)
        text = data.decode("utf-8")
    except UnicodeDecodeError:
        raise ContractError(path, "not UTF-8; a contract is a text file, YAML") from None
    except (OSError, ValueError) as error:
        raise ContractError(path, f"cannot be read: {getattr(error, 'strerror', None) or error}") from None
    content, root = parse(path, text)
    try:
        error = next(validator().iter_errors(content), None)
    except ValueError as unfit:  # nested too deeply, for example in itself
        raise ContractError(path, f"not valid YAML for a contract: {unfit}") from None
    if error:
        refuse(path, root, error.instance_path, f"{error.message:.300}; docs/contract.md says what a contract holds")
    for number, clause in enumerate(content["clauses"]):
        check_clause(path, root, number, clause, [other["clause"] for other in content["clauses"][:number]])
    check_relations(path, root, content)
    try:
        terms = terms_of(content)
    except ValueError as error:
        refuse(path, root, ["period"], f"no period: {error}")
    units = {clause["clause"]: clause["unit"] for clause in content["clauses"]}
    return Contract(
        path,
        hashlib.sha256(data).hexdigest(),
        text,
        content["contract"],
        terms,
        tuple(content.get("parties", ("for the site", "for the supplier"))),
        tuple(clause_of(clause, content.get("baseline", {}).get("at_least")) for clause in content["clauses"]),
        hashed_file(path, root, content, "signers"),
        tuple(relation_of(relation, units) for relation in content.get("relations", ())),
        int(content.get("refused_runs", 0)),
        baseline_of(path, root, content),
    )


def check_relations(path: Path, root: yaml.Node, content: dict) -> None:
    clauses, names = {clause["clause"]: clause for clause in content["clauses"]}, set()
    for number, relation in enumerate(content.get("relations", ())):
        check_bounds(path, root, ["relations", number], relation)
        if relation["relation"] in names | clauses.keys():
            name = relation["relation"]
            refuse(path, root, ["relations", number, "relation"], f"a second clause or relation {name!r:.80}")
        names.add(relation["relation"])
        if problem := problem_of(relation, clauses):
            refuse(path, root, ["relations", number, problem[0]], problem[1])


def hashed_file(path: Path, root: yaml.Node, content: dict, key: str) -> Path | None:
    """The file that a contract names with its hash, beside it unless its path is absolute; in a package of evidence,
    all are beside the contract."""
    if key not in content:
        return None
    file = path.parent / content[key]["file"]
    file = file if file.exists() else path.parent / file.name
    try:
        found = hashlib.sha256(paths.content(file, trees.LARGEST_FILE)).hexdigest()
    except (OSError, ValueError) as error:
        refuse(path, root, [key, "file"], f"cannot be read: {getattr(error, 'strerror', None) or error}")
    if found != content[key]["sha256"]:
        refuse(path, root, [key, "sha256"], f"the SHA-256 of {file} is {found}: one of the two was altered")
    return file


def baseline_of(path: Path, root: yaml.Node, content: dict) -> Baseline | None:
    for number, clause in enumerate(content["clauses"]):
        if "at_least" in clause and "baseline" not in content:
            refuse(path, root, ["clauses", number, "at_least"], "of what? The contract names no baseline")
        if clause.get("sequential") and "at_least" in content.get("baseline", {}):
            refuse(path, root, ["clauses", number, "sequential"], "the comparison with the baseline needs all runs")
    file = hashed_file(path, root, content, "baseline")
    return file and Baseline(file, tuple(content["baseline"].get("allow", ())))


def parse(path: Path, text: str) -> tuple[Any, yaml.Node]:
    try:
        content, root = parsed(text, Loader)
    except TreeError as error:
        raise ContractError(path, error.problem, error.line) from None
    if root is None:
        raise ContractError(path, "the file is empty; docs/contract.md says what a contract holds")
    return content, root


def refuse(path: Path, root: yaml.Node, place: list, problem: str) -> NoReturn:
    """Raises ContractError with the line and the name of a place in the contract."""
    key = ".".join(str(part + 1) if isinstance(part, int) else part for part in place)
    raise ContractError(path, problem, line_of(root, place), key)


def line_of(node: yaml.Node, place: list) -> int:
    """The line of the entry that `place` leads to (keys and indices from the top), or of its nearest existing
    parent."""
    for part in place:
        if isinstance(node, yaml.SequenceNode):
            node = node.value[part]
            continue
        inside = [value for key, value in node.value if key.value == part]
        if not inside:
            break
        node = inside[0]
    return node.start_mark.line + 1


def check_clause(path: Path, root: yaml.Node, number: int, clause: dict, earlier: list[str]) -> None:
    """Checks that a JSON Schema cannot express."""

    def wrong(key: str, problem: str):
        refuse(path, root, ["clauses", number, key], problem)

    if clause["clause"] in earlier:
        wrong("clause", f"a second clause {clause['clause']!r:.80}; the verdict calls clauses by name")
    check_bounds(path, root, ["clauses", number], clause)
    if clause.get("sequential") and (unfit := [key for key in NEED_ALL_RUNS if key in clause]):
        wrong(unfit[0], "it needs all runs: leave it out, or `sequential`")
    if clause.get("sequential") and clause["statistic"] == "mean":
        wrong(
            "statistic",
            "later runs can always change a mean: write median, minimum or maximum, or leave out `sequential`",
        )
    if clause.get("evidence") == SESSION:
        for key, problem in unfit_for_session(clause):
            wrong(key, problem)
        return
    if others := clause.get("parameters", {}).keys() - {VARIANT}:
        wrong(
            "parameters", f"{min(others)!r:.80}: runs with a log have only {VARIANT}; others need `evidence: {SESSION}`"
        )
    if clause["benchmark"] not in benchmarks():
        wrong(
            "benchmark",
            f"unknown benchmark {clause['benchmark']!r:.80}; valid are {', '.join(benchmarks())}, and tests of other "
            f"suites with `evidence: {SESSION}`",
        )
    benchmark = benchmarks()[clause["benchmark"]]
    units, listed = {metric.name: metric.unit for metric in benchmark.every_metric}, ", ".join(benchmark.units)
    if clause["metric"] not in units:
        wrong("metric", f"{clause['benchmark']} has no metric {clause['metric']!r:.80}; valid are {listed}")
    if clause["unit"] != units[clause["metric"]]:
        wrong("unit", f"{clause['metric']} is in {units[clause['metric']]!r}, not in {clause['unit']!r:.80}")
    if clause["official"] and not benchmark.has_official:
        wrong("official", f"no run of {clause['benchmark']} is official: false is expected")


def unfit_for_session(clause: dict) -> Iterator[tuple[str, str]]:
    """The keys of a clause on a test of another suite that only a log can prove, each with the problem."""
    if clause["benchmark"] in benchmarks():
        yield "evidence", f"{clause['benchmark']} writes a log, which is stronger evidence: leave out this key"
    if clause["official"]:
        yield "official", "only a log can prove that a run is official: false is expected"
    for key in ("file_system", "forbidden", "workload_sha256", "interface_sha256"):
        if key in clause:
            yield key, f"only a log can prove this: leave it out of a clause with `evidence: {SESSION}`"


def check_bounds(path: Path, root: yaml.Node, place: list, content: dict) -> None:
    """Refuses bounds of a clause or relation that no value can meet."""
    for key in ("floor", "ceiling", "variation"):
        if not abs(content.get(key, 0)) <= sys.float_info.max:
            refuse(path, root, [*place, key], "a finite number is expected")
    if content.get("floor", -math.inf) > content.get("ceiling", math.inf):
        refuse(path, root, [*place, "floor"], "the floor is above the ceiling: no value can pass")


def clause_of(content: dict, at_least: float | None) -> Clause:
    """The clause of a valid entry; most keys are fields."""
    size, files, every = (content.get(key, {}) for key in ("size", "file_system", "every_run"))
    fields: dict[str, Any] = {key: value for key, value in content.items() if key in Clause.__dataclass_fields__}
    fields |= {key: tuple(value) for key, value in fields.items() if isinstance(value, list)}
    hosts = int(size["hosts"]) if "hosts" in size else None  # for the schema, 2.0 is an integer, too
    fields |= {"name": content["clause"], "hosts": hosts, "processes": int(size["processes"])}
    fields["repetitions"] = int(content["repetitions"])
    fields |= {"directory": files.get("directory"), "filesystem": files.get("type")}
    fields |= {"least_of_median": every.get("least"), "most_of_median": every.get("most")}
    fields["at_least"] = content.get("at_least", at_least)
    fields["parameters"] = {name: str(value) for name, value in content.get("parameters", {}).items()}
    fields["excluded_nodes"] = {each["node"]: each["reason"] for each in content.get("excluded_nodes", [])}
    return Clause(**fields)
