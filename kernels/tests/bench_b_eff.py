#!/usr/bin/env python3
"""b_eff beside other benchmarks of the same machine: ring and ping-pong of two processes as ratios per message size.

Peers are taken where they are on PATH: IMB-MPI1 (Intel MPI Benchmarks), osu_bibw, osu_bw and osu_latency (OSU, 6 or later), hpcc.
They and b_eff run in turn, so that a disturbance strikes all alike; each row is the median of the pairs' ratios with a bootstrap
interval. Only like is compared with like:

- b_eff walks through memory. So does IMB with -off_cache, and OSU with 64 buffers (-b multiple) where these are
  together four times the cache; so many messages under way are no quicker there than one. Buffers that are used again are in
  cache: such figures are compared up to 64 byte, where b_eff's are in cache too (osu_latency, hpcc's latencies), and else only shown.
- IMB and OSU report a mean, hpcc its best loop: beside the former stands the median of b_eff's loops, beside hpcc the best one.
- A ring of two holds one message each way, as IMB's Sendrecv does. IMB's Exchange and hpcc's ring have two each way under way,
  which at short messages is quicker per message: Exchange is compared at long ones, hpcc's ring only shown.
"""

import argparse
import json
import os
import re
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from pathlib import Path

import numpy as np

IN_CACHE_BYTES = 64  # up to here b_eff's messages of one loop fit into a cache
WINDOW_BYTES = 65536  # from here on two messages under way are no quicker than one
L_MAX = 4 * 2**20  # the longest message of IMB
IMB_LOOP = "100000,128"  # so many messages, or 128 MiB of them: a default loop of short ones would stay in cache
SIZES = [int(file.read_text().strip("K\n")) << 10 for file in Path("/sys/devices/system/cpu/cpu0/cache").glob("index*/size")]
CACHE_BYTES = max(SIZES, default=32 * 2**20)
OSU_BYTES = max(WINDOW_BYTES, 4 * CACHE_BYTES // (2 * 64))  # from here on its 64 buffers, each way, are four times the cache
OPEN_MPI = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
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


# Every benchmark returns {what: {message bytes: byte/s}}; `ring` is the sum of both processes, `ping-pong` one direction.


def typical(rates):
    return float(np.median(rates))


def best(rates):
    return max(rates)


def run_b_eff(run, folder, kernel):
    """Such a table for each statistic of the loops; of the methods the best one counts."""
    log = folder / "b_eff.jsonl"
    log.unlink(missing_ok=True)
    run(kernel, "--log", log, "--memory-per-process", 128 * L_MAX, "--patterns", "ring,ping_pong",
        "--methods", "sendrecv,alltoallv,nonblocking,blocking", "--time-budget", 60)
    records = [json.loads(line) for line in log.read_text().splitlines()]
    rates = defaultdict(list)
    for record in (record for record in records if record["record"] == "measurement"):
        what = "ping-pong" if record["pattern"] == "ping-pong" else "ring"
        size = record["message_bytes"]
        # two messages an exchange: one each way, in the ping-pong one after the other
        rates[what, size, record["method"]] += [2 * size * record["loop_length"] / seconds for seconds in record["elapsed_seconds"]]
    found = {typical: defaultdict(dict), best: defaultdict(dict)}
    for (what, size, _), loops in rates.items():
        for statistic, table in found.items():
            table[what][size] = max(table[what].get(size, 0), statistic(loops))
    return found


def run_imb(run, folder, lengths):
    file = folder / "lengths"
    file.write_text("".join(f"{length}\n" for length in lengths))
    found = {"ring": {}, "ping-pong": {}}
    for benchmark, what, column, messages in (("PingPong", "ping-pong", 2, 1), ("Sendrecv", "ring", 4, 2), ("Exchange", "ring", 4, 4)):
        text = run(shutil.which("IMB-MPI1"), benchmark, "-off_cache", f"{max(64, 2 * CACHE_BYTES >> 20)},64", "-msglen", file,
                   "-iter", IMB_LOOP, "-time", "5")
        rows = [line.split() for line in text.splitlines() if re.match(r"\s+\d+\s+\d+\s+[\d.]+", line)]
        rates = {int(row[0]): messages * int(row[0]) / (float(row[column]) * 1e-6) for row in rows if float(row[column]) > 0}
        for size, rate in rates.items():
            if benchmark != "Exchange" or size >= WINDOW_BYTES:
                found[what][size] = max(rate, found[what].get(size, 0))
    return found


def osu_table(text):
    return {int(size): float(value) for size, value in re.findall(r"^(\d+)\s+([\d.]+)", text, re.MULTILINE)}


def run_osu(run, folder, lengths):
    long = ["-b", "multiple", "-m", f"{1 << OSU_BYTES.bit_length() - 1}:{L_MAX}", "-x", "1", "-i", "5"]
    latencies = osu_table(run(shutil.which("osu_latency"), "-m", f"1:{IN_CACHE_BYTES}", "-i", "5000"))
    one_way = {size: size / (microseconds * 1e-6) for size, microseconds in latencies.items()}
    one_way |= {size: rate * 1e6 for size, rate in osu_table(run(shutil.which("osu_bw"), *long)).items()}
    both_ways = {size: rate * 1e6 for size, rate in osu_table(run(shutil.which("osu_bibw"), *long)).items()}
    compared = [length for length in lengths if length <= IN_CACHE_BYTES or length >= OSU_BYTES]
    return {"ping-pong": at(compared, one_way), "ring": at(compared, both_ways)}


def at(lengths, table):
    """A table of powers of two at other lengths, on a doubly logarithmic scale; nothing outside, nothing across its gap."""
    sizes = sorted(table)
    found = {}
    for length in lengths:
        below, above = [size for size in sizes if size <= length], [size for size in sizes if size >= length]
        if below and above and above[0] <= 2 * below[-1]:
            ends = [below[-1], above[0]]
            found[length] = float(np.exp(np.interp(np.log(length), np.log(ends), np.log([table[end] for end in ends]))))
    return found


def run_hpcc(run, folder, lengths):
    (folder / "hpccinf.txt").write_text(HPCC_INPUT)
    output = folder / "hpccoutf.txt"
    output.unlink(missing_ok=True)
    run(shutil.which("hpcc"))
    values = {name: float(value) for name, value in re.findall(r"^(\w+)=([\d.e+-]+)$", output.read_text(), re.MULTILINE)}
    # of its ring hpcc gives the time per message and direction; in both directions 16 byte pass in that time
    return {
        "ping-pong": {8: 8 / (values["MinPingPongLatency_usec"] * 1e-6)},
        "ring": {},
        "shown": {
            "natural ring of 8 byte, two messages each way": 16 / (values["NaturallyOrderedRingLatency_usec"] * 1e-6),
            "ping-pong of 2 MB, in cache": values["MaxPingPongBandwidth_GBytes"] * 1e9,
            "natural ring of 2 MB, in cache": values["NaturallyOrderedRingBandwidth_GBytes"] * 2e9,
            "random ring of 2 MB, in cache": values["RandomlyOrderedRingBandwidth_GBytes"] * 2e9,
        },
    }


# Name: (programs, how to run them, what of b_eff is compared)
PEERS = {
    "IMB": (["IMB-MPI1"], run_imb, typical),
    "OSU": (["osu_bibw", "osu_bw", "osu_latency"], run_osu, typical),
    "hpcc": (["hpcc"], run_hpcc, best),
}


class Launcher:
    """Runs a program on two processes, and notes how many cores others used meanwhile."""

    def __init__(self, mpirun, folder):
        self.mpirun, self.folder, self.others = mpirun, folder, []

    def __call__(self, program, *options):
        busy, own, start = busy_seconds(), own_seconds(), time.monotonic()
        done = subprocess.run([self.mpirun, "-n", "2", program, *map(str, options)], cwd=self.folder, env=os.environ | OPEN_MPI,
                              capture_output=True, text=True, timeout=600, check=False)
        if done.returncode != 0:
            sys.exit(f"{program} ended with {done.returncode}:\n{done.stdout[-2000:]}\n{done.stderr[-2000:]}")
        self.others.append((busy_seconds() - busy - (own_seconds() - own)) / (time.monotonic() - start))
        return done.stdout


def busy_seconds():
    """Of all cores, by all processes."""
    user, nice, system = map(int, Path("/proc/stat").read_text().split("\n")[0].split()[1:4])
    return (user + nice + system) / os.sysconf("SC_CLK_TCK")


def own_seconds():
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def median_with_interval(ratios, generator):
    """The median and its 95 % bootstrap interval."""
    draws = np.median(generator.choice(ratios, (4000, len(ratios))), axis=1)
    return float(np.median(ratios)), *np.quantile(draws, [0.025, 0.975])


def report(what, runs, names):
    """Returns the sizes at which b_eff was slower than a peer, beyond the interval."""
    print(f"\n{what}: b_eff in MByte/s, and b_eff / peer: median [95 % interval]")
    print(f"{'byte':>10} {'b_eff':>10}  " + "  ".join(f"{name:^24}" for name in names))
    generator, slower = np.random.default_rng(1), []
    for size in sorted(runs[0]["b_eff"][typical][what]):
        cells = []
        for name in names:
            ratios = [run["b_eff"][PEERS[name][2]][what][size] / run[name][what][size] for run in runs if size in run[name][what]]
            if not ratios:
                cells.append(f"{'':24}")
                continue
            middle, low, high = median_with_interval(ratios, generator)
            slower += [(what, size, name)] if high < 1 else []
            cells.append(f"{middle:8.3f} [{low:6.3f}, {high:6.3f}]")
        ours = np.median([run["b_eff"][typical][what][size] for run in runs])
        print(f"{size:10d} {ours / 1e6:10.1f}  " + "  ".join(cells))
    return slower


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kernel", type=Path, default=Path("build/kernels/b_eff/b_eff"), help="b_eff, built for the MPI of the peers")
    parser.add_argument("--mpirun", default="mpirun", help="the launcher of that MPI")
    parser.add_argument("--pairs", type=int, default=12, help="how often b_eff and the peers take turns")
    options = parser.parse_args()
    if not options.kernel.exists():
        sys.exit(f"there is no {options.kernel}; build the kernels first: cmake -S kernels -B build/kernels && "
                 "cmake --build build/kernels")
    names = [name for name, (programs, *_) in PEERS.items() if all(map(shutil.which, programs))]
    for name in PEERS.keys() - set(names):
        print(f"{name} is not on PATH ({', '.join(PEERS[name][0])}): not compared")
    if not names:
        sys.exit("no peer on PATH: nothing to compare with")

    with tempfile.TemporaryDirectory() as folder:
        run = Launcher(options.mpirun, Path(folder))
        runs = []
        for pair in range(options.pairs):
            found = {"b_eff": run_b_eff(run, run.folder, options.kernel.resolve())}
            lengths = sorted(found["b_eff"][typical]["ring"])
            for name in names:
                found[name] = PEERS[name][1](run, run.folder, lengths)
            runs.append(found)
            print(f"pair {pair + 1} of {options.pairs}, others used {np.mean(run.others):.2f} cores so far", file=sys.stderr)

    slower = [place for what in ("ring", "ping-pong") for place in report(what, runs, names)]
    for name in names:
        for what in runs[0][name].get("shown", ()):
            print(f"{name}, not compared: {what}: {np.median([run[name]['shown'][what] for run in runs]) / 1e6:.0f} MByte/s")
    others = np.mean(run.others)
    print(f"\nOther processes used {others:.2f} cores on average" + (": too much to rely on these figures." if others > 0.5 else "."))
    for what, size, name in slower:
        print(f"slower than {name}: {what} at {size} byte")
    print("b_eff is nowhere slower than a peer." if not slower else f"b_eff is slower at {len(slower)} places.")


if __name__ == "__main__":
    main()
