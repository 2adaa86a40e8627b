# SPDX-License-Identifier: Apache-2.0
"""A session with the log of its only test, and contracts that it passes or fails: for commands whose verdict is not
the question."""

import json
import time

import logs_made
from contracts_made import begin, level, moved, provable, rebound
from logs_made import sha256
from logs_made_b_eff import AVERAGED, averaged_log
from sessions_made import case, session

CONTRACT = """\
contract: Acceptance
version: 1
clauses:
  - {clause: network, benchmark: b_eff, metric: b_eff, unit: MByte/s, system: local, partition: default, official: true,
     size: {processes: 16}, floor: %d, repetitions: 1, statistic: median, forbidden: [stolen],
     excluded_nodes: [{node: x0417, reason: waits for a new adapter}]}
relations:
  - {relation: to itself, ratio: {of: network, to: network}, floor: 1}
"""


def evidence(folder, agreed, *after, files=(logs_made.PROGRAM,), **record):
    """The report of the next session of a contract, whose log is official; `record` changes the log's first record,
    `files` are those that ran."""
    nonce = begin(agreed, *after)
    records = averaged_log(methods=AVERAGED, repetitions=3)
    records[0] |= record
    log = logs_made.write(folder / "b_eff.jsonl", moved(logs_made.text(provable(records, files)), nonce, time.time()))
    made = case({}, processes=16, outputdir=str(folder), log_sha256=sha256(log), official=True)
    report = folder / "session.json"
    report.write_text(json.dumps(rebound(session([made], **record), {}, nonce)))
    return report


def contract(folder, floor):
    path = folder / "contract.yaml"
    path.write_text(CONTRACT % floor)
    return path


def official_session(folder, nonce, mbytes, **run_fields):
    """The report of a session of official b_eff runs on two processes with these values."""
    cases = []
    for number, value in enumerate(mbytes):
        log = folder / f"run-{number}" / "b_eff.jsonl"
        log.parent.mkdir(parents=True)
        log.write_bytes(moved(level(value, **run_fields), nonce, time.time()))
        cases.append(case({}, processes=2, outputdir=str(log.parent), log_sha256=sha256(log), official=True))
    report = folder / "session.json"
    report.write_text(json.dumps(rebound(session(cases, COFFEECUP_ACCEPTANCE=nonce), {}, nonce)))
    return report
