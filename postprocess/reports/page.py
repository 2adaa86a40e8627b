# SPDX-License-Identifier: Apache-2.0
"""The report: one HTML file that opens offline and can be printed, filed and handed on.

This module reads the logs and shows what all benchmarks have in common: what ran where, and what it was compared with.
A benchmark's own part comes from its section module and its template. The templates escape all text of a log, so that
none of it becomes markup, and the page's security policy forbids scripts and requests.
"""

import shlex
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from itertools import count
from pathlib import Path

import jinja2

from coffeecup import __version__
from coffeecup.postprocess.benchmarks import node_figures, nodes
from coffeecup.postprocess.benchmarks.predicted import Comparison, Designs
from coffeecup.postprocess.benchmarks.registry import benchmarks, part
from coffeecup.postprocess.benchmarks.score import Score
from coffeecup.postprocess.benchmarks.scoring import UnscoredError, evaluate, read
from coffeecup.postprocess.logs import file_systems
from coffeecup.postprocess.logs.activity import use_of_hosts
from coffeecup.postprocess.logs.reader import Log, LogError
from coffeecup.postprocess.reports import counters
from coffeecup.postprocess.reports.overview import by_size
from coffeecup.postprocess.reports.predictions import beside
from coffeecup.postprocess.sessions import verdicts
from coffeecup.postprocess.show.html import environment
from coffeecup.postprocess.show.plots import Figure
from coffeecup.postprocess.show.words import NARROW_SPACE, counted, printable, ranges, seconds, size


@dataclass(frozen=True)
class Item:
    """A log of the page: its score, or why it has none. `log` is None if the file could not be read. `of_nodes` is a
    figure if a node is suspected."""

    path: Path
    result: Score | LogError
    log: Log | None
    figures: list[Figure]
    section: dict
    of_nodes: Figure | None = None
    comparisons: list[Comparison | LogError] = field(default_factory=list)


def items(paths: Iterable[Path], designs: Designs | None = None) -> list[Item]:
    """Reads, scores and draws one log after the other: their measurements are never all in memory. Each run is compared
    with the designs. Those with a score come first, in the order of the table at the terminal."""
    found = [item(path, designs or Designs([])) for path in paths]
    return sorted(found, key=lambda one: (0, *by_size(one.result)) if isinstance(one.result, Score) else (1,))


def item(path: Path, designs: Designs) -> Item:
    """What the report shows of one log."""
    log = read(path)
    if isinstance(log, LogError):
        return Item(path, log, None, [], {})
    [evaluation] = evaluate([log])
    result, table = evaluation.result, evaluation.table
    if table is None:
        table = part(log.benchmark, "reduction").measurement_table([log])
    examined = result.nodes if isinstance(result, Score | UnscoredError) else None
    own = part(log.benchmark, "section")
    of_score = own.section(log, table, result) if isinstance(result, Score) else {}
    return Item(
        path,
        result,
        log.brief(),
        list(part(log.benchmark, "figures").figures(log, table)),
        {"heading": own.heading(log), "plan": own.plan(log)} | of_score,
        node_figures.figure(examined) if examined and len(examined.named) else None,
        designs.comparisons(log, result) if isinstance(result, Score) else [],
    )


def html(found: list[Item], cases: list[verdicts.Case] | None = None, command: str = "coffeecup report") -> str:
    """The page. `cases` are the test cases of a ReFrame session, None where none was given."""
    scores = [item.result for item in found if isinstance(item.result, Score)]
    titled = zip(found, titles(found), anchors(found))
    first = {}  # the first section of each benchmark with a score: it alone has the table of published systems
    for number, item in enumerate(found, 1):
        if isinstance(item.result, Score):
            first.setdefault(item.result.benchmark, number)
    sections = jinja2.PrefixLoader(
        {name: jinja2.PackageLoader(benchmark.package, "") for name, benchmark in benchmarks().items()}
    )
    return (
        environment(jinja2.PackageLoader("coffeecup.postprocess.reports"), sections)
        .get_template("report.html.j2")
        .render(
            items=found,
            sections=[
                (number, item, common(item, cases) | {"title": title, "anchor": anchor})
                for number, (item, title, anchor) in enumerate(titled, 1)
            ],
            first=first,
            comparisons=[(f"sizes-{benchmark}", figure) for benchmark, figure in comparisons(scores)],
            cases=cases,
            strangers=[case for case in cases or [] if case.log_sha256 not in {score.log.sha256 for score in scores}],
            benchmarks=benchmarks(),
            version=__version__,
            command=command,
            made=datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC"),
        )
    )


def comparisons(scores: list[Score]) -> list[tuple[str, Figure]]:
    """A figure over the sizes for each benchmark that has several runs; those with only variants of its metrics
    are left out."""
    by_benchmark = {
        name: [score for score in scores if score.benchmark == name and score.metrics.keys() & benchmark.units.keys()]
        for name, benchmark in benchmarks().items()
    }
    return [(name, part(name, "figures").over_sizes(alike)) for name, alike in by_benchmark.items() if len(alike) > 1]


def named_figures(found: list[Item]) -> list[tuple[str, Figure]]:
    """Every figure with the beginning of its files' names; logs of the same name are numbered, past the names that
    others have."""
    stems: list[str] = []
    names = [item.path.stem for item in found]
    for name in names:
        numbered = (f"{name}-{number}" for number in count(1))
        stems.append(name if names.count(name) == 1 else next(one for one in numbered if one not in [*names, *stems]))
    own = [
        (stem, figure) for stem, item in zip(stems, found) for figure in (*item.figures, *filter(None, [item.of_nodes]))
    ]
    return own + comparisons([item.result for item in found if isinstance(item.result, Score)])


def titles(found: list[Item]) -> list[str]:
    """A title for each log that no other log of the page has: its section's heading, and as much of what follows as
    distinguishes it: when it started, the path."""
    named = [item.section.get("heading") or printable(item.path.name) for item in found]
    for more in (lambda item: f"started {item.log.run.start_time}" if item.log else "", lambda item: str(item.path)):
        extra = [printable(more(item)) for item in found]
        named = [f"{title}, {text}" if named.count(title) > 1 and text else title for title, text in zip(named, extra)]
    return named


def anchors(found: list[Item]) -> list[str]:
    """What a link to a log's section names: `sha256-` and the log's hash; empty where an earlier section has it."""
    hashes = [f"sha256-{item.log.sha256}" if item.log else "" for item in found]
    return [name if name not in hashes[:place] else "" for place, name in enumerate(hashes)]


def common(item: Item, cases: list[verdicts.Case] | None) -> dict:
    """What the page shows of any log: how it was obtained, and the session's verdict."""
    shown = {"file": printable(item.path.name), "scored": isinstance(item.result, Score)}
    if isinstance(item.result, Score | UnscoredError) and (found := item.result.nodes):
        remarks = [f"{remark}." for remark in (*found.remarks, *found.other_remarks)]
        shown["nodes"] = {"sentences": [nodes.sentence(found), *remarks], "named": nodes.listed(found.named)}
    if item.log is not None:
        shown["counters"] = counters.section(item.log)
        shown["file_system"] = file_systems.rows(item.log)
        shown |= {"obtained": obtained(item.log), "hosts": hosts(item.log), "commands": commands(item.log, item.path)}
        shown["comparisons"] = [
            {"problem": each.problem} if isinstance(each, LogError) else beside(each, NARROW_SPACE)
            for each in item.comparisons
        ]
    if isinstance(item.result, Score) and cases is not None:
        case = verdicts.case_of(item.result, cases)
        shown |= {
            "case": case,
            "statement": verdicts.statement(case)
            if case
            else "The session contains no test case for this log: nothing was compared.",
            "differing": verdicts.differing(item.result, case.values) if case else [],
        }
        if case and case.slurm_energy:
            steps = (f"{joules} J in the step {step}" for step, joules in case.slurm_energy.items())
            shown["obtained"] += [("Energy, by Slurm", f"{', '.join(steps)} of the job (ConsumedEnergyRaw of sacct)")]
    return shown


def obtained(log: Log) -> list[tuple[str, str]]:
    """How the result was obtained, as pairs of a label and plain text."""
    run, build, mpi = log.run, log.run.build, log.run.mpi
    bound = (mpi.binding_cores_min, mpi.binding_cores_max)
    sources = {
        "physical": "the machine's physical memory",
        "cgroup": "the limit of the job's cgroup",
        "option": "an option",
    }
    return [
        ("Log", f"{printable(str(log.path.name))}, SHA-256 {log.sha256}"),
        ("Run", f"started {run.start_time}, took {seconds(log.end.elapsed_seconds)}, {log.end.records} records"),
        (
            "Kernel",
            f"{run.benchmark} {run.kernel_version}; source revision {build.git_revision or 'unknown'}, "
            f"Spack hash {build.spack_hash or 'none'}",
        ),
        ("Compiler", f"{build.compiler or 'unknown'}, flags {build.flags or 'unknown'}"),
        (
            "MPI",
            f"{mpi.library}; compiled with {build.mpi_library or 'an unknown one'}; standard {mpi.standard}; "
            f"single copy: {mpi.single_copy or 'not reported by the library'}",
        ),
        (
            "Binding",
            f"each process may run on {counted(bound[0], 'core')}"
            if bound[0] == bound[1]
            else f"a process may run on {bound[0]} to {bound[1]} cores",
        ),
        ("Processes", f"{run.ranks} on {counted(len(run.hosts), 'host')}"),
        ("Memory per process", f"{size(run.memory_per_process_bytes)}, from {sources[run.memory_source]}"),
        ("Options", "; ".join(f"{name} = {option(value)}" for name, value in run.options.items()) or "none"),
        ("MPI environment", "; ".join(f"{name}={value}" for name, value in run.environment.items()) or "nothing set"),
        *([("Simulated", "yes: no real machine was measured")] if run.simulated else []),
    ]


def option(value) -> str:
    """The value of an option in words."""
    if isinstance(value, list):
        return "[" + ", ".join(map(option, value)) + "]"
    words = {None: "not set", True: "yes", False: "no"}
    return words[value] if value is None or isinstance(value, bool) else str(value)


def hosts(log: Log) -> list[dict]:
    """The hosts of the run, with the cores that others used; None where the log does not tell."""
    uses = use_of_hosts(log)
    return [
        {"host": host, "ranks": ranges(host.ranks), "used": uses[number][1:] if uses else (None, None)}
        for number, host in enumerate(log.run.hosts)
    ]


def commands(log: Log, path: Path) -> list[tuple[str, str]]:
    """The commands that repeat the run and its evaluation."""
    return [
        (
            "The run (mpiexec stands for the site's launcher)",
            f"mpiexec -n {log.run.ranks} {shlex.join(log.run.command)}",
        ),
        ("Its score", f"coffeecup score {shlex.quote(path.name)}"),
        ("Its hash", f"sha256sum {shlex.quote(path.name)}"),
    ]
