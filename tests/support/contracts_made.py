# SPDX-License-Identifier: Apache-2.0
"""Contracts made for tests, and the sessions that they are evaluated against. The sessions are ReFrame's own: in one
the kernel is b_eff itself, in short runs; in the others a few lines of shell leave official logs whose scores the test
knows. These state nobody's nonce and an old time; bind() makes a copy of them that belongs to an acceptance."""

import getpass
import json
import re
import shutil
import time
from datetime import UTC, datetime

import logs_made
import logs_made_b_eff_io
import pytest
import yaml
from commands import run
from conftest import WHO, Reframe
from logs_made import sha256
from logs_made_b_eff import AVERAGED, averaged_log

MBYTE = 1e6
NONCE = "COFFEECUP_ACCEPTANCE"
FREE = "f" * 64  # where the nonce belongs
START = "2026-11-20T14:00:00Z"


def utc(seconds):
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def provable(records, files=(logs_made.PROGRAM,)):
    """Of this user's acceptance."""
    run, plan, overhead, ran, *others = records
    run = {**run, "provenance": {**run["provenance"], "nonce": FREE, "user": getpass.getuser()}}
    return [run, plan, overhead, {**ran, "files": list(files)}, *others]


def level(mbyte_per_second, **run):
    """An official b_eff log on two processes of which every measurement, and so b_eff itself, is this bandwidth."""
    records = averaged_log(
        methods=AVERAGED, repetitions=3, ranks=2, nodes=1, bandwidth=lambda *_: mbyte_per_second * MBYTE
    )
    records[0] |= run
    return logs_made.text(provable(records))


def io(mbyte_per_second, **options):
    records = logs_made_b_eff_io.b_eff_io_log(
        lambda *_: mbyte_per_second * MBYTE, partitions=(2,), ranks=2, nodes=1, **options
    )
    return logs_made.text(provable(records))


class Kernels:
    """Kernels of shell that leave one given log after the other."""

    def __init__(self, folder):
        self.bin = folder / "bin"
        self.bin.mkdir()

    def leave(self, benchmark, logs):
        for number, log in enumerate(logs):
            (self.bin / f"{benchmark}-{number}.jsonl").write_bytes(log)
        next_file = self.bin / f"{benchmark}-next"
        next_file.write_text("0")
        copied = f'n=$(cat {next_file}); echo $((n + 1)) > {next_file}; cp {self.bin}/{benchmark}-$n.jsonl "$2"'
        hashed = 'echo "SHA-256 of the log $2: $(sha256sum < "$2" | cut -c-64)"'
        self.write(benchmark, f"{copied}\n{hashed}", "first")

    def write(self, benchmark, script, ranks):
        kernel = self.bin / benchmark
        kernel.write_text(f'#!/bin/bash\n[ "$1" = --version ] && exit\n{WHO[ranks]}\n{script}\n')
        kernel.chmod(0o755)


@pytest.fixture(scope="module")
def sessions(tmp_path_factory):
    """A folder of sessions: `made`, official logs of which one is altered by a byte afterwards, one truncated, one of
    another kernel version; `disk`, of b_eff_io. The folder holds all logs."""
    folder = tmp_path_factory.mktemp("acceptance")
    kernels = Kernels(folder)
    older = level(2000, kernel_version="0.0.9")
    made = [level(1000), level(1010), level(1060), older, level(3000), level(4000)]
    logs = {"made": ("b_eff", made), "disk": ("b_eff_io", [io(100, cache=2**20), io(500)])}
    for name, (benchmark, left) in logs.items():
        kernels.leave(benchmark, left)
        measure(folder / name, benchmark, len(left), kernels)
    tamper(folder / "made", left=made)
    return folder


@pytest.fixture(scope="module")
def real(tmp_path_factory, openmpi):
    """A folder with a contract of three clauses, and a session of it: three short runs of b_eff."""
    folder = tmp_path_factory.mktemp("real")
    kernels = Kernels(folder)
    few = "--methods sendrecv,blocking --patterns ring,random,ping_pong --random-patterns 1 --longest-loop 1"
    kernels.write("b_eff", f'exec {openmpi.bin}/b_eff "$@" {few}', "all")
    easy = clause(clause="any run", official=False, floor=0.001, ceiling=1e9)
    early = easy | {"clause": "the first runs", "sequential": True}
    agreed = write_contract(folder, contract(easy, clause(clause="official run", floor=0.001), early))
    short = ("-S", "b_eff.time_budget=2", "-S", "b_eff.memory_per_process=1MiB")
    measure(folder / "session", "b_eff", 3, kernels, *short, env={NONCE: begin(agreed)})
    return folder


def measure(folder, benchmark, repeat, kernels, *options, env=None):
    folder.mkdir()
    chosen = ["-r", "-n", f"^{benchmark}%.*num_processes=2", f"--repeat={repeat}"]
    built = ["-S", "builder=prebuilt", "-S", f"prebuilt_directory={kernels.bin}"]
    done = Reframe(folder)(*chosen, *built, *options, env=env)
    assert done.returncode == 0, done.output
    assert len(done.cases) == repeat


def bind(folder, copy, nonce):
    """A copy of a session of made logs as if it had run now, on the hosts of its logs and with this nonce."""
    shutil.copytree(folder, copy)
    hashes, now = {}, time.time()
    for path in [*folder.parent.glob("bin/*.jsonl"), *copy.rglob("*.jsonl")]:
        new = moved(path.read_bytes(), nonce, now)
        hashes[sha256(path)] = sha256(new)
        if path.is_relative_to(copy):
            path.write_bytes(new)
    for path in copy.rglob("session*.json"):
        report = json.loads(path.read_text().replace(str(folder), str(copy)))
        path.write_text(json.dumps(rebound(report, hashes, nonce)))
    return copy


def moved(log, nonce, now):
    """A made log with this nonce, as if its run had begun now."""
    shift = int(now) - int(datetime.fromisoformat(START).timestamp())

    def later(found):
        return found[1] + utc(datetime.fromisoformat(found[2].decode()).timestamp() + shift).encode()

    return re.sub(rb'("(?:start|end)_time": ")([^"]*)', later, log.replace(FREE.encode(), nonce.encode()))


def rebound(report, hashes, nonce):
    """A session whose jobs took the time and the hosts of made logs, beginning now."""
    now = time.time()
    report["session_info"] |= {"time_start_unix": now, "time_end_unix": now + 10**6, "user": getpass.getuser()}
    job = {"job_submit_time": now, "job_completion_time_unix": now + 10**6, "job_nodelist": ["node00", "node01"]}
    for case in report["runs"][0]["testcases"]:
        if not case["fixture"]:
            case |= {**job, "env_vars": {NONCE: nonce}}
            case["log_sha256"] = hashes.get(case["log_sha256"], case["log_sha256"])
    return report


def tamper(folder, left):
    """The log of 3000 MByte/s gets shorter times of a loop, that of 4000 loses its end; both as ReFrame kept them."""
    kept = {path.read_bytes(): path for path in (folder / "output").rglob("b_eff.jsonl")}
    assert sorted(kept) == sorted(left)
    altered, truncated = kept[left[4]], kept[left[5]]
    line = left[4].index(b'"pattern": "ring-1", "method": "sendrecv", "message_bytes": 8388608')
    end = left[4].index(b"\n", line)
    shorter = left[4][line:end].replace(b"0.005592", b"0.005492")  # the time, and that of the slowest message
    altered.write_bytes(left[4][:line] + shorter + left[4][end:])
    truncated.write_bytes(truncated.read_bytes()[:-200])


def clause(**changed):
    made = {"clause": "network", "benchmark": "b_eff", "metric": "b_eff", "unit": "MByte/s"}
    made |= {"system": "local", "partition": "default", "size": {"processes": 2}}
    return made | {"floor": 1000, "official": True, "repetitions": 3, "statistic": "median"} | changed


def contract(*clauses, **changed):
    """Three runs of the session `made` are to be refused, and one of `disk` for official clauses."""
    made = {"contract": "Acceptance of the test system", "version": 1, "kernel_version": "0.1.0", "refused_runs": 4}
    return made | {"clauses": list(clauses)} | changed


def begin(agreed, *options):
    """The nonce of the next session of a contract."""
    done = run("accept", "begin", agreed, *options)
    assert done.exit_code == 0, done.output
    return re.fullmatch(rf"export {NONCE}=([0-9a-f]{{64}})\n", done.stdout)[1]


def write_contract(folder, agreed):
    path = folder / "contract.yaml"
    path.write_text(yaml.safe_dump(agreed, sort_keys=False))
    return path


def bound(folder, agreed, *sessions):
    """Copies of sessions of made logs that belong to a new acceptance of a contract, one after the other."""
    path, copies, after = write_contract(folder, agreed), [], ()
    path.with_suffix(".acceptance.jsonl").unlink(missing_ok=True)
    shutil.rmtree(folder / "bound", ignore_errors=True)
    for number, session in enumerate(sessions):
        copies.append(bind(session, folder / "bound" / f"{number}-{session.name}", begin(path, *after)))
        after = ("--after", copies[-1] / "session.json")
    return copies


def evaluate(folder, *sessions, options=()):
    """The exit code, and the result for machines, of the contract in the folder."""
    done = run("accept", folder / "contract.yaml", *sessions, "-o", folder / "result" / "acceptance.html", *options)
    assert done.exception is None or isinstance(done.exception, SystemExit), done.exception
    written = folder / "result" / "acceptance.json"
    return done, json.loads(written.read_text()) if written.exists() else None


def accept(folder, agreed, *sessions, options=()):
    """The evaluation of a contract against copies of sessions that belong to it."""
    return evaluate(folder, *bound(folder, agreed, *sessions), options=options)
