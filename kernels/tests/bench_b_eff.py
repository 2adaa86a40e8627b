#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""b_eff beside plain loops of the same MPI calls, and beside hpcc, on two processes.

Bare loops (bench_b_eff.c): every loop that b_eff timed, in the same order, with the same method, message length and
number of exchanges, through buffers of the same size. If the loops run first in a pair, they repeat b_eff's run before.
A case is a method and a message length; its speed is that of the fastest loop, which is what b_eff scores.

hpcc: latency of its ping-pong of 8 byte, the fastest loop of both. Its longer messages stay in one buffer and come from
the cache; its ring exchanges two messages at a time each way, b_eff's ring of two processes one: these are not the same
work.
"""

import re
import sys
import tempfile
from pathlib import Path

import comparison
from comparison import Comparison, ComparisonError, cache_bytes, program_on_path, start_mpi

from coffeecup.postprocess.benchmarks.b_eff.records import Latency, Measurement, Trial
from coffeecup.postprocess.benchmarks.b_eff.reduction import measurement_table
from coffeecup.postprocess.benchmarks.scoring import read_log

HPCC_BYTES = 8
L_MAX_SHARE = 128  # of the memory per process, in b_eff
BUFFER_MESSAGES = 8  # messages of L_max in each of the two buffers of a process
SHORTEST_L_MAX = 4 << 20
# A machine changes its state in the course of seconds (docs/evidence/b_eff.md). Many short runs of a single ring meet
# it in the same state on both sides; on two processes all rings are alike.
RING = ["--patterns", "random,ping_pong", "--random-patterns", 1, "--repetitions", 1]
ROUNDS = 5
HPCC_INPUT = """HPLinpack benchmark input file
as small as it can be: only the ring and the ping-pong matter
HPL.out      output file name (if any)
8            device out (6=stdout,7=stderr,file)
1            # of problems sizes (N)
100          Ns
1            # of NBs
16           NBs
0            PMAP process mapping (0=Row-,1=Column-major)
1            # of process grids (P x Q)
1            Ps
2            Qs
16.0         threshold
1            # of panel fact
2            PFACTs (0=left, 1=Crout, 2=Right)
1            # of recursive stopping criterium
4            NBMINs (>= 1)
1            # of panels in recursion
2            NDIVs
1            # of recursive panel fact.
1            RFACTs (0=left, 1=Crout, 2=Right)
1            # of broadcast
1            BCASTs (0=1rg,1=1rM,2=2rg,3=2rM,4=Lng,5=LnM)
1            # of lookahead depth
1            DEPTHs (>=0)
2            SWAP (0=bin-exch,1=long,2=mix)
64           swapping threshold
0            L1 in (0=transposed,1=no-transposed) form
0            U  in (0=transposed,1=no-transposed) form
1            Equilibration (0=no,1=yes)
8            memory alignment in double (> 0)
##### separator ######
0            Number of additional problem sizes for PTRANS
1200         values of N
0            number of additional blocking sizes for PTRANS
40           values of NB
"""


def main():
    options = comparison.options_of(__doc__)
    with tempfile.TemporaryDirectory() as folder:
        return comparison.compare("b_eff", [bare_loops(options, Path(folder)), hpcc(options, Path(folder))], options)


def run_b_eff(options, path, *arguments):
    """The log of a run."""
    path.unlink(missing_ok=True)
    start_mpi(options, options.build / "b_eff" / "b_eff", "--log", path, *arguments)
    return read_log(path)


def fastest(table):
    """MByte/s by case."""
    found = table.groupby(["method", "message_bytes"], observed=True, sort=False)["bandwidth"].max()
    return {f"{method} {size} byte": rate for (method, size), rate in found.items()}


def every_loop(log):
    """Also those that b_eff does not score: they leave messages in the buffers and in the caches, too."""
    loops = [loop for kind in (Trial, Measurement, Latency) for loop in log.all(kind)]
    return sorted(loops, key=lambda loop: loop.sequence)


def bare_loops(options, folder):
    # Each of the four buffers is as large as the last-level cache.
    least = -(-cache_bytes(options) // BUFFER_MESSAGES)
    l_max = -(-max(SHORTEST_L_MAX, least) // 4096) * 4096
    measured = {}

    def run_kernel(_):
        arguments = ["--memory-per-process", L_MAX_SHARE * l_max, *RING]
        arguments += ["--methods", "sendrecv,alltoallv,nonblocking,blocking"]
        measured["log"] = run_b_eff(options, folder / "b_eff.jsonl", *arguments)
        return fastest(measurement_table([measured["log"]]))

    def run_peer(_):
        loops = every_loop(measured["log"])
        plan = folder / "plan"
        plan.write_text("".join(f"{loop.method} {loop.message_bytes} {loop.loop_length}\n" for loop in loops))
        program, size = options.build / "tests" / "bench_b_eff", BUFFER_MESSAGES * l_max
        seconds = comparison.json_output(start_mpi(options, program, size, plan))
        if len(seconds) != len(loops):
            raise ComparisonError(f"bench_b_eff reported {len(seconds)} of {len(loops)} loops")
        timed = [elapsed for loop, elapsed in zip(loops, seconds) if isinstance(loop, Measurement)]
        table = measurement_table([measured["log"]])
        return fastest(table.assign(bandwidth=table["bandwidth"] * table["elapsed_seconds"] / timed))

    return Comparison("bare loops", run_kernel, run_peer, rounds=ROUNDS)


def hpcc(options, folder):
    case = f"ping-pong of {HPCC_BYTES} byte"

    def run_kernel(_):
        log = run_b_eff(options, folder / "ping_pong.jsonl", "--patterns", "ping_pong", "--methods", "blocking")
        return {case: fastest(measurement_table([log]))[f"blocking {HPCC_BYTES} byte"]}

    def run_peer(_):
        (folder / "hpccinf.txt").write_text(HPCC_INPUT)
        output = folder / "hpccoutf.txt"
        output.unlink(missing_ok=True)
        start_mpi(options, program_on_path("hpcc", "apt-get install hpcc"), folder=folder)
        latency = re.search(r"^MinPingPongLatency_usec=(\S+)$", output.read_text(), re.MULTILINE)
        return {case: HPCC_BYTES / float(latency[1])}  # byte per us are MByte/s

    return Comparison("hpcc", run_kernel, run_peer)


if __name__ == "__main__":
    sys.exit(main())
