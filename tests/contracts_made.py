# SPDX-License-Identifier: Apache-2.0
"""Contracts made for tests, and the sessions that they are evaluated against. The sessions are ReFrame's own: in one
the kernel is b_eff itself, in short runs; in the others a few lines of shell leave official logs whose scores the test
knows."""

import json

import logs_made
import logs_made_b_eff_io
import pytest
import yaml
from commands import run
from conftest import WHO, Reframe
from logs_made_b_eff import b_eff_log

MBYTE = 1e6


def level(mbyte_per_second, **run):
    """An official b_eff log on two processes of which every measurement, and so b_eff itself, is this bandwidth."""
    records = b_eff_log(ranks=2, nodes=1, bandwidth=lambda *_: mbyte_per_second * MBYTE)
    records[0] |= run
    return logs_made.text(records)


def io(mbyte_per_second, **options):
    return logs_made.text(
        logs_made_b_eff_io.b_eff_io_log(
            lambda *_: mbyte_per_second * MBYTE, partitions=(2,), ranks=2, nodes=1, **options
        )
    )


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
        self.write(
            benchmark,
            f'n=$(cat {next_file}); echo $((n + 1)) > {next_file}; cp {self.bin}/{benchmark}-$n.jsonl "$2"',
            "first",
        )

    def write(self, benchmark, script, ranks):
        kernel = self.bin / benchmark
        kernel.write_text(f'#!/bin/bash\n[ "$1" = --version ] && exit\n{WHO[ranks]}\n{script}\n')
        kernel.chmod(0o755)


@pytest.fixture(scope="module")
def sessions(tmp_path_factory, openmpi):
    """A folder of sessions: `made`, official logs of which one is altered by a byte afterwards, one truncated, one of
    another kernel version; `disk`, of b_eff_io; `real`, short runs of the kernel b_eff. The folder holds all logs."""
    folder = tmp_path_factory.mktemp("acceptance")
    kernels = Kernels(folder)
    logs = {
        "made": (
            "b_eff",
            [level(1000), level(1010), level(1060), level(2000, kernel_version="0.0.9"), level(3000), level(4000)],
        ),
        "disk": ("b_eff_io", [io(100, cache=2**20), io(500)]),
    }
    for name, (benchmark, left) in logs.items():
        kernels.leave(benchmark, left)
        measure(folder / name, benchmark, len(left), kernels)
    kernels.write(
        "b_eff", f'exec {openmpi.bin}/b_eff "$@" --methods sendrecv,blocking --patterns ring,random,ping_pong', "all"
    )
    measure(folder / "real", "b_eff", 3, kernels, "-S", "b_eff.time_budget=5", "-S", "b_eff.memory_per_process=1MiB")
    tamper(folder / "made", left=logs["made"][1])
    return folder


def measure(folder, benchmark, repeat, kernels, *options):
    folder.mkdir()
    done = Reframe(folder)(
        "-r",
        "-n",
        f"^{benchmark}%.*num_processes=2",
        f"--repeat={repeat}",
        "-S",
        "builder=prebuilt",
        "-S",
        f"prebuilt_directory={kernels.bin}",
        *options,
    )
    assert done.returncode == 0, done.output
    assert len(done.cases) == repeat


def tamper(folder, left):
    """The log of 3000 MByte/s gets another digit, the one of 4000 loses its end; both as ReFrame kept them."""
    kept = {path.read_bytes(): path for path in (folder / "output").rglob("b_eff.jsonl")}
    assert sorted(kept) == sorted(left)
    altered, truncated = kept[left[4]], kept[left[5]]
    line = left[4].index(b'"pattern": "ring-1", "method": "sendrecv", "message_bytes": 8388608')
    place = left[4].index(b'"elapsed_seconds": 0.005592', line) + len(b'"elapsed_seconds": 0.005')
    altered.write_bytes(left[4][:place] + b"4" + left[4][place + 1 :])  # a shorter time
    truncated.write_bytes(truncated.read_bytes()[:-200])


def clause(**changed):
    return {
        "clause": "network",
        "benchmark": "b_eff",
        "metric": "b_eff",
        "unit": "MByte/s",
        "system": "local",
        "partition": "default",
        "size": {"processes": 2},
        "floor": 1000,
        "official": True,
        "repetitions": 3,
        "statistic": "median",
    } | changed


def contract(*clauses, **changed):
    return {
        "contract": "Acceptance of the test system",
        "version": 1,
        "kernel_version": "0.1.0",
        "clauses": list(clauses),
    } | changed


def accept(tmp_path, agreed, *sessions, options=()):
    """The exit code, and the result for machines."""
    (tmp_path / "contract.yaml").write_text(yaml.safe_dump(agreed, sort_keys=False))
    done = run("accept", tmp_path / "contract.yaml", *sessions, "-o", tmp_path / "result" / "acceptance.html", *options)
    assert done.exception is None or isinstance(done.exception, SystemExit), done.exception
    written = tmp_path / "result" / "acceptance.json"
    return done, json.loads(written.read_text()) if written.exists() else None
