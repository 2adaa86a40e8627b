# SPDX-License-Identifier: Apache-2.0
"""The result of an acceptance as plain values, for JSON and for the page; result_schema.json is its JSON Schema."""

from datetime import UTC, datetime

from coffeecup import __version__
from coffeecup.postprocess.acceptance.evaluation import EvaluatedRun, RelationVerdict, Verdict
from coffeecup.postprocess.acceptance.ledger import file_sha256
from coffeecup.postprocess.acceptance.result import Acceptance
from coffeecup.postprocess.acceptance.sentences import compared
from coffeecup.postprocess.benchmarks.score import Score
from coffeecup.postprocess.logs.records import Files
from coffeecup.postprocess.sessions.files import SessionReport
from coffeecup.postprocess.show.words import printable

VERSION = 1  # of the form of the result
# What the result states of a clause.
STATED = (
    "statistic unit floor ceiling guard_band benchmark evidence parameters metric system partition processes hosts "
    "directory filesystem official repetitions sequential variation least_of_median most_of_median forbidden "
    "workload_sha256 interface_sha256 excluded_nodes"
).split()


def as_object(acceptance: Acceptance, software_bill: dict | None = None) -> dict:
    """The result as plain values. `software_bill` states the file of the software bill of materials."""
    contract = acceptance.contract
    return {
        "version": VERSION,
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
        "notices": [printable(notice) for notice in acceptance.notices],
        "refused": {
            "runs": acceptance.refused,
            "abandoned_sessions": acceptance.abandoned,
            "allowed": contract.refused_runs,
        },
        "gaps": [printable(gap) for gap in acceptance.gaps],
        "begun": [
            {"number": entry.number, "nonce": entry.nonce, "issued": utc(entry.issued), "abandoned": entry.abandoned}
            for entry in acceptance.entries
        ],
        "sessions": [session_object(acceptance, report) for report in acceptance.sessions],
        "clauses": [clause_object(verdict) for verdict in acceptance.verdicts],
        "relations": [relation_object(verdict) for verdict in acceptance.relations],
        "logs": [log_object(score) for score in acceptance.scores],
        "software_bill": software_bill,
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
        **{key: getattr(clause, key) for key in STATED},
        "counted": len(verdict.counting),
        "runs": [run_object(evaluated) for evaluated in verdict.runs],
    }


def relation_object(verdict: RelationVerdict) -> dict:
    fields = {"relation": verdict.relation.name, "result": verdict.outcome, "sentence": verdict.sentence}
    kept = {key: getattr(verdict.relation, key) for key in ("kind", "unit", "floor", "ceiling")}
    names = {"compares": compared(verdict.relation), "clauses": list(verdict.relation.clauses)}
    return fields | {"value": verdict.value} | kept | names


def run_object(evaluated: EvaluatedRun) -> dict:
    run = evaluated.run
    return {
        "counts": evaluated.counts,
        "value": evaluated.value,
        "refusals": [{"key": refusal.key, "text": printable(refusal.text)} for refusal in evaluated.refusals],
        "session": run.session,
        "case": printable(run.case),
        "time": utc(run.time),
        "hosts": [printable(host) for host in run.hosts],
        "filesystem": {"directory": run.filesystem.directory, "type": run.filesystem.type} if run.filesystem else None,
        "kernel_version": run.kernel_version,
        "git_revision": run.git_revision,
        "log": run.log and printable(str(run.log)),
        "sha256_recorded": run.sha256_recorded,
        "sha256_now": run.sha256_now,
    }


def log_object(score: Score) -> dict:
    """What a log states about scores, settings and versions. Clauses refer to it by its hash."""
    log, build = score.log, score.log.run.build
    return {
        "sha256": log.sha256,
        "benchmark": log.benchmark,
        "start": log.run.start_time,
        "official": score.official,
        "metrics": {name: {"value": metric.value, "unit": metric.unit} for name, metric in score.metrics.items()},
        "qualifications": [printable(qualification.text) for qualification in score.qualifications],
        "command": [printable(word) for word in log.run.command],
        "options": plain(log.run.options),
        "environment": plain(log.run.environment),
        "kernel_version": printable(log.run.kernel_version),
        "git_revision": text_or_none(build.git_revision),
        "source_sha256": build.source_sha256,
        "spack_hash": text_or_none(build.spack_hash),
        "compiler": text_or_none(build.compiler),
        "flags": text_or_none(build.flags),
        "mpi_library": printable(log.run.mpi.library),
        "files": [
            {"role": file.role, "path": printable(file.path), "sha256": file.sha256}
            for record in log.all(Files)
            for file in record.files
        ],
    }


def text_or_none(text: str | None) -> str | None:
    return text and printable(text)


def plain(value):
    """A value of a log with printable text, and integers that every reader of JSON understands."""
    if isinstance(value, dict):
        return {printable(str(key)): plain(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return [plain(inner) for inner in value]
    if isinstance(value, str):
        return printable(value)
    return float(value) if isinstance(value, int) and abs(value) >= 2**63 else value
