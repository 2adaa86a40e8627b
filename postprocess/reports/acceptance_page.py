# SPDX-License-Identifier: Apache-2.0
"""The results of an acceptance: a page to sign, JSON for programs, and a summary for the terminal. All three contain
the same."""

import hashlib
import io
from datetime import UTC, datetime
from pathlib import Path

import jinja2
import orjson
from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from postprocess import __version__
from postprocess.acceptance.evaluation import EvaluatedRun, RelationVerdict, Verdict
from postprocess.acceptance.ledger import file_sha256
from postprocess.acceptance.result import Acceptance
from postprocess.acceptance.sentences import demand
from postprocess.sessions.files import SessionReport
from postprocess.show.html import environment
from postprocess.show.pdf import print_page
from postprocess.show.words import printable


def write(acceptance: Acceptance, page: Path, pdf: bool) -> list[Path]:
    """Writes the page, the result as JSON beside it, and the PDF if requested; returns their paths. Raises OSError if a
    file cannot be written, PdfError if the page cannot be printed."""
    result = json_text(acceptance)
    files = [page, page.with_suffix(".json")]
    page.parent.mkdir(parents=True, exist_ok=True)
    files[1].write_text(result, encoding="utf-8")
    page.write_text(html(acceptance, files[1].name, hashlib.sha256(result.encode()).hexdigest()), encoding="utf-8")
    if pdf:
        files.append(page.with_suffix(".pdf"))
        print_page(page, files[2])
    return files


def as_object(acceptance: Acceptance) -> dict:
    """The result as plain values, for JSON and for the page."""
    contract = acceptance.contract
    return {
        "result": acceptance.outcome,
        "made": utc(acceptance.made),
        "coffeecup": __version__,
        "command": acceptance.command,
        "contract": {
            "title": contract.title,
            "file": printable(contract.path.name),
            "sha256": contract.sha256,
            "kernel_version": contract.terms.kernel_version,
        },
        "weaker": acceptance.weaker,
        "gaps": [printable(gap) for gap in acceptance.gaps],
        "begun": [
            {"number": entry.number, "nonce": entry.nonce, "issued": utc(entry.issued), "abandoned": entry.abandoned}
            for entry in acceptance.entries
        ],
        "sessions": [session_object(acceptance, report) for report in acceptance.sessions],
        "clauses": [clause_object(verdict) for verdict in acceptance.verdicts],
        "relations": [relation_object(verdict) for verdict in acceptance.relations],
    }


def utc(time: datetime) -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%SZ")


def session_object(acceptance: Acceptance, report: SessionReport) -> dict:
    signature = acceptance.signatures.get(report.source)
    return {
        "session": report.info["uuid"],
        "file": printable(str(report.source)),
        "file_sha256": file_sha256(report.source),
        "start": utc(datetime.fromtimestamp(report.info["time_start_unix"], UTC)),
        "user": printable(str(report.info.get("user") or "")),
        "signer": signature and signature.signer and printable(signature.signer),
    }


def clause_object(verdict: Verdict) -> dict:
    clause = verdict.clause
    return {
        "clause": clause.name,
        "result": verdict.outcome,
        "sentence": verdict.sentence,
        "value": verdict.value,
        **{
            key: getattr(clause, key)
            for key in (
                "statistic",
                "unit",
                "floor",
                "ceiling",
                "benchmark",
                "evidence",
                "parameters",
                "metric",
                "system",
                "partition",
                "processes",
                "hosts",
                "directory",
                "filesystem",
                "official",
                "repetitions",
                "variation",
                "least_of_median",
                "most_of_median",
                "forbidden",
                "workload_sha256",
                "excluded_nodes",
            )
        },
        "counted": len(verdict.counting),
        "runs": [run_object(evaluated) for evaluated in verdict.runs],
    }


def relation_object(verdict: RelationVerdict) -> dict:
    fields = {"relation": verdict.relation.name, "result": verdict.outcome, "sentence": verdict.sentence}
    kept = {key: getattr(verdict.relation, key) for key in ("kind", "of", "to", "floor", "ceiling")}
    return fields | {"value": verdict.value} | kept


def run_object(evaluated: EvaluatedRun) -> dict:
    run = evaluated.run
    return {
        "counts": evaluated.counts,
        "value": evaluated.value,
        "refusals": [{"key": refusal.key, "text": printable(refusal.text)} for refusal in evaluated.refusals],
        "session": run.session,
        "case": printable(run.case),
        "time": run.time.strftime("%Y-%m-%dT%H:%M:%SZ"),
        "hosts": [printable(host) for host in run.hosts],
        "filesystem": {"directory": run.filesystem.directory, "type": run.filesystem.type} if run.filesystem else None,
        "kernel_version": run.kernel_version,
        "git_revision": run.git_revision,
        "log": run.log and printable(str(run.log)),
        "sha256_recorded": run.sha256_recorded,
        "sha256_now": run.sha256_now,
    }


def json_text(acceptance: Acceptance) -> str:
    return orjson.dumps(as_object(acceptance), option=orjson.OPT_INDENT_2).decode() + "\n"


def html(acceptance: Acceptance, json_name: str, json_sha256: str) -> str:
    """The page to sign. It contains the hash of the JSON result, so that a signature covers both."""
    return (
        environment(jinja2.PackageLoader("postprocess.reports"))
        .get_template("acceptance.html.j2")
        .render(
            result=as_object(acceptance),
            text=acceptance.contract.text,
            parties=acceptance.contract.parties,
            version=__version__,
            json_name=json_name,
            json_sha256=json_sha256,
            demand=demand,
            clauses=acceptance.contract.clauses,
        )
    )


def terminal_text(acceptance: Acceptance) -> str:
    """A table of the clauses, followed by the reasons why runs were refused; 80 columns."""
    text = io.StringIO()
    console = Console(file=text, force_terminal=Console().is_terminal, width=max(80, Console().width))
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    table.add_column("clause", overflow="fold")
    table.add_column("result")
    table.add_column("why", overflow="fold")
    for verdict in acceptance.verdicts:
        table.add_row(Text(printable(verdict.clause.name)), verdict.outcome, Text(verdict.sentence))
    for relation in acceptance.relations:
        table.add_row(Text(printable(relation.relation.name)), relation.outcome, Text(printable(relation.sentence)))
    console.print(Text(printable(f"{acceptance.contract.title}: {acceptance.outcome}"), style="bold"), table)
    for notice in filter(None, [acceptance.weaker, *acceptance.gaps]):
        console.print(Text(printable(notice)))
    for verdict in acceptance.verdicts:
        for evaluated in verdict.runs:
            if not evaluated.counts:
                console.print(
                    Text(
                        printable(
                            f"- {verdict.clause.name}, {evaluated.run.case} of {evaluated.run.time:%Y-%m-%d %H:%M:%S}: "
                            + "; ".join(refusal.text for refusal in evaluated.refusals)
                        )
                    )
                )
    return text.getvalue()
