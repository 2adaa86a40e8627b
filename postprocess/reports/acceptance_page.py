# SPDX-License-Identifier: Apache-2.0
"""The results of an acceptance: a page to sign, JSON for programs, and a summary for the terminal. All three contain
the same."""

import hashlib
from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path

import jinja2
import orjson
from rich.text import Text

from coffeecup import __version__
from coffeecup.postprocess.acceptance.result import Acceptance
from coffeecup.postprocess.acceptance.sentences import demand
from coffeecup.postprocess.logs.paths import replace_text, replaced
from coffeecup.postprocess.reports.acceptance_object import as_object
from coffeecup.postprocess.reports.software_bill import counts, software_bill
from coffeecup.postprocess.show.html import environment
from coffeecup.postprocess.show.pdf import print_page
from coffeecup.postprocess.show.terminal import rendered, simple_table
from coffeecup.postprocess.show.words import printable

MOST_GAPS, MOST_RUNS = 4, 8  # of all gaps on the first page, and of a clause's runs beside its verdict
VERSIONS = tuple("kernel_version git_revision source_sha256 spack_hash compiler flags mpi_library files".split())


@dataclass(frozen=True)
class Written:
    """The files that were written, and the result as plain values."""

    files: list[Path]
    result: dict


def write(acceptance: Acceptance, page: Path, pdf: bool, bill: bool) -> Written:
    """Writes the page and the result as JSON beside it; if requested, also the software bill of materials and the PDF.
    Raises OSError if a file cannot be written, PdfError if the page cannot be printed."""
    page.parent.mkdir(parents=True, exist_ok=True)
    files, stated = [page, page.with_suffix(".json")], None
    if bill:
        files.append(page.with_suffix(".cdx.json"))
        stated = write_bill(software_bill(acceptance), files[-1])
    result = as_object(acceptance, stated)
    text = json_text(result)
    replace_text(files[1], text)
    replace_text(page, html(acceptance, result, files[1].name, hashlib.sha256(text.encode()).hexdigest()))
    if pdf:
        files.append(page.with_suffix(".pdf"))
        with replaced(files[-1]) as file:
            print_page(page, file)
    return Written(files, result)


def write_bill(bill: dict, path: Path) -> dict:
    """Writes a software bill of materials; what the result states about it."""
    text = json_text(bill)
    replace_text(path, text)
    return {"file": printable(path.name), "sha256": hashlib.sha256(text.encode()).hexdigest(), **counts(bill)}


def json_text(content: dict) -> str:
    """A result or a bill as it is written to its file."""
    return orjson.dumps(content, option=orjson.OPT_INDENT_2).decode() + "\n"


def html(acceptance: Acceptance, result: dict, json_name: str, json_sha256: str) -> str:
    """The page to sign. It contains the hash of the JSON result, so that a signature covers both."""
    logs = [
        {"number": number, **log, "files": sorted(log["files"], key=lambda file: (file["role"], file["path"]))}
        for number, log in enumerate(result["logs"], 1)
    ]
    return (
        environment(jinja2.PackageLoader("coffeecup.postprocess.reports"))
        .get_template("acceptance.html.j2")
        .render(
            result=result,
            command=result["command"],
            left_out=acceptance.left_out,
            text=acceptance.contract.text,
            parties=acceptance.contract.parties,
            version=__version__,
            json_name=json_name,
            json_sha256=json_sha256,
            demand=demand,
            clauses=acceptance.contract.clauses,
            MOST_GAPS=MOST_GAPS,
            MOST_RUNS=MOST_RUNS,
            log_numbers=defaultdict(str, {log["sha256"]: log["number"] for log in logs}),
            logs=logs,
            units=units,
            settings=alike(logs, ("command", "options", "environment")),
            versions=alike(logs, VERSIONS),
        )
    )


def units(logs: list[dict]) -> dict[str, str]:
    """The unit of each metric that one of the logs has."""
    return {name: metric["unit"] for log in logs for name, metric in log["metrics"].items()}


def alike(logs: list[dict], keys: tuple[str, ...]) -> list[tuple[list[int], dict]]:
    """The different values of these keys, each with the numbers of the logs that have them, from 1."""
    groups: list[tuple[list[int], dict]] = []
    for number, log in enumerate(logs, 1):
        values = {key: log[key] for key in keys}
        same = next((numbers for numbers, known in groups if known == values), None)
        if same:
            same.append(number)
        else:
            groups.append(([number], values))
    return groups


def terminal_text(acceptance: Acceptance) -> str:
    """A table of the clauses, followed by the reasons why runs were refused; 80 columns."""
    table = simple_table()
    table.add_column("clause", overflow="fold")
    table.add_column("result")
    table.add_column("why", overflow="fold")
    for verdict in acceptance.verdicts:
        table.add_row(Text(printable(verdict.clause.name)), verdict.outcome, Text(verdict.sentence))
    for relation in acceptance.relations:
        table.add_row(Text(printable(relation.relation.name)), relation.outcome, Text(printable(relation.sentence)))
    headline = f"{acceptance.contract.title}: {acceptance.outcome}; {acceptance.left_out}"
    notices = [*acceptance.gaps, *acceptance.notices]
    notices += [f"- {'; '.join(dict.fromkeys(runs))}: {reasons}" for reasons, runs in refused(acceptance).items()]
    return rendered(Text(printable(headline), style="bold"), table, *(Text(printable(notice)) for notice in notices))


def refused(acceptance: Acceptance) -> dict[str, list[str]]:
    """The runs that do not count for a clause, by the reasons, each of which is said once."""
    found = defaultdict(list)
    for verdict in acceptance.verdicts:
        for entry in verdict.runs:
            if not entry.counts:
                reasons = "; ".join(refusal.text for refusal in entry.refusals)
                run = f"{entry.run.case} of {entry.run.time:%Y-%m-%d %H:%M:%S}"
                found[reasons].append(f"{verdict.clause.name}, {run}")
    return found
