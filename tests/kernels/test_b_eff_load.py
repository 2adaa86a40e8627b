# SPDX-License-Identifier: Apache-2.0
"""b_eff_load: on simulated machines of which every link is known, the factors by which the load slows down the
victims are those of arithmetic. SimGrid shares a link equally among the messages on it."""

import json
import math
from itertools import product

import logs_made
import networks_made
import pandas as pd
import pytest
from builds import faulty
from conftest import NOT_COMPLETE
from kernel_runs import good, of_kind, on_nodes, rank_processes, records, refused, run, wait_until
from mutator import kernel_log
from networks_made import CABLE, Network, crossbar, fat_tree
from simulations import SHORT

from coffeecup.postprocess.benchmarks.b_eff_load import IMPACTS
from coffeecup.postprocess.benchmarks.b_eff_load.records import Load
from coffeecup.postprocess.benchmarks.b_eff_load.reduction import factors, of_busiest_node, of_groups
from coffeecup.postprocess.benchmarks.load_rules import victims_of
from coffeecup.postprocess.benchmarks.scoring import read_log, score_log
from coffeecup.postprocess.logs.reader import LogError
from coffeecup.postprocess.reports.page import html, items

KINDS = "incast,alltoall,broadcast"
SENDS_AT_ONCE = 2
BLOCK_OF_EIGHT, ACROSS_LEAVES = 13, 3  # seeds: the victims are nodes 0 to 3 of 8; nodes 0 and 3 of 4
PATTERNS = 6 + 2


@pytest.fixture(scope="module")
def loaded(simulate, tmp_path_factory):
    """A function of a network and a seed: the log of a run."""
    folder, known = tmp_path_factory.mktemp("networks"), {}

    def simulated(network, seed):
        request = network.name, network.nodes, seed
        if request not in known:
            platform, _ = networks_made.write(folder, network, {})
            options = ["--kinds", KINDS, *SHORT, "--random-patterns", "2", "--seed", str(seed)]
            known[request] = simulate(platform, network.nodes, *options, again=True, kernel="b_eff_load")
        return read_log(known[request])

    return simulated


def bus(nodes, bandwidth):
    """A shared switch: all messages cross the same backplane."""
    return Network("shared switch", nodes, {"backplane": bandwidth}, lambda source, target: ["backplane"])


def test_victims_are_a_random_share_of_the_nodes():
    assert victims_of(8, 50, BLOCK_OF_EIGHT) == [0, 1, 2, 3]
    assert victims_of(4, 50, ACROSS_LEAVES) == [0, 3]
    assert [len(victims_of(5, percent, 1)) for percent in (30, 49, 50)] == [2, 2, 3], "half a node counts as one"
    chosen = [victims_of(100, 30, seed) for seed in range(400)]
    assert {len(victims) for victims in chosen} == {30}
    times = [sum(node in victims for victims in chosen) for node in range(100)]
    assert times[0] == 400, "the first node writes the log"
    assert min(times[1:]) > 75 and max(times[1:]) < 165  # 117 +- 9


@pytest.mark.parametrize("kind", KINDS.split(","))
@pytest.mark.parametrize(
    ("network", "seed"), [(crossbar(8), 1), (fat_tree(8, 4, 2, False), BLOCK_OF_EIGHT)], ids=["crossbar", "leaf"]
)
def test_load_that_shares_no_link_with_the_victims_costs_nothing(loaded, network, seed, kind):
    """And it is there: the busiest cable of the load carries what it can."""
    log = loaded(network, seed)
    found = factors(log, kind)
    assert len(found) == PATTERNS
    assert found[list(IMPACTS)].to_numpy() == pytest.approx(1, abs=0.01)
    phases = [record for record in log.all(Load) if record.load == kind]
    assert [of_busiest_node(log, record) / 1e6 / CABLE for record in phases] == pytest.approx([1] * PATTERNS, abs=0.15)
    metrics = score_log(log.path).metrics
    for name, end in product(IMPACTS, ("", "_low", "_high")):
        assert metrics[f"{name}_{kind}{end}"].value == pytest.approx(1, abs=0.01)


def messages_at_once(log, kind):
    """Of the load, on a shared switch."""
    generating = len(log.run.hosts) - len(log.plan.load.victims)
    return SENDS_AT_ONCE * {"incast": generating - 1, "alltoall": generating, "broadcast": 1}[kind]


@pytest.mark.parametrize("kind", KINDS.split(","))
@pytest.mark.parametrize("nodes", [4, 8])
def test_load_on_a_shared_switch_takes_its_messages_share_of_it(loaded, nodes, kind):
    """Of n messages of the victims and m of the load at the same time, each gets 1 / (n + m) of the switch."""
    log = loaded(bus(nodes, CABLE / 100), 1)
    messages = {pattern.name: pattern.messages_per_exchange for pattern in log.plan.patterns}
    found = factors(log, kind).set_index("pattern")
    assert len(found) == PATTERNS
    others = messages_at_once(log, kind)
    for pattern, own in messages.items():
        assert found["b_eff_at_l_max_impact"][pattern] == pytest.approx((own + others) / own, rel=0.02), pattern


@pytest.mark.parametrize("kind", KINDS.split(","))
def test_load_between_leaves_of_a_fat_tree_takes_its_share_of_the_trunk(loaded, kind):
    """Two leaf switches with a victim, a generating node and one cable up each: a message of the victims shares the
    trunk with two of the load. Incast and broadcast take one direction only: half of the exchanges lose nothing."""
    log = loaded(fat_tree(4, 2, 2, False), ACROSS_LEAVES)
    metrics = score_log(log.path).metrics
    factors = {"b_eff_at_l_max_impact": 3, "bandwidth_impact_99": 3, "bandwidth_impact": 3 if kind == "alltoall" else 1}
    for name, factor in factors.items():
        assert metrics[f"{name}_{kind}"].value == pytest.approx(factor, rel=0.02), name


def test_interval_of_a_factor_has_only_the_noise_within_each_group_of_patterns():
    """Both groups weigh the same, however many patterns they have. By arithmetic: the geometric mean of 2 and 8 is 4,
    and with a noise of e^0.1 in each of 25 random patterns the standard error is that of their mean, halved."""
    rings, random = [2.0] * 6, [8.0] * 25

    def of(values):
        return of_groups(pd.DataFrame({"group": ["ring"] * 6 + ["random"] * 25, "impact": values}), "impact")

    assert of(rings + random) == pytest.approx((4, 4, 4))
    noisy = [factor * math.exp(0.1 * (-1) ** number) for number, factor in enumerate(random[1:])]
    value, low, high = of([*rings, *noisy, 8.0])
    assert value == pytest.approx(4)
    half_width = 1.96 * 0.1 * math.sqrt(24) / 25 / 2
    assert [math.log(value / low), math.log(high / value)] == pytest.approx([half_width] * 2, rel=0.1)


def test_there_is_no_b_eff_of_a_run_under_load(loaded):
    score = score_log(loaded(crossbar(4), 1).path)
    assert not score.official
    assert "under_load" in {breach.key for breach in score.breaches}
    assert all("impact" in name or name.startswith("load_bandwidth") for name in score.metrics)


def test_report_has_the_factors_with_their_intervals_and_none_without_load(tmp_path):
    """Of logs of kernels: the sections of a run under load and of one without."""
    logs = {n: logs_made.write(tmp_path / f"{n}.jsonl", kernel_log(n)) for n in ("b_eff_load", "b_eff-nodes")}
    loaded, quiet = (html(items([path])) for path in logs.values())
    metrics = score_log(logs["b_eff_load"]).metrics
    low, high = (metrics[f"latency_impact_incast_{end}"].value for end in ("low", "high"))
    assert f"{low:.2f} to {high:.2f}" in loaded and "2 nodes of 5 with 3 processes" in loaded
    assert "Impact of load" not in quiet and "Compared with published systems" in quiet


# --- without a load there is no result --------------------------------------------------------------------------------


@pytest.fixture
def changed(loaded, tmp_path):
    """A function of a change of the `load` records: the keys of the qualifications of such a log."""
    log = loaded(crossbar(4), 1)

    def keys(change):
        lines = [json.loads(line) for line in log.path.read_text().splitlines()]
        for number, record in enumerate(line for line in lines if line["record"] == "load"):
            change(number, record)
        path = tmp_path / "changed.jsonl"
        path.write_text("".join(json.dumps(line) + "\n" for line in lines))
        return {qualification.key for qualification in score_log(path).qualifications}

    return keys


def lasting(share):
    """So long that the load's busiest node moved this share of what a victim's cable carries without load."""

    def change(_, record):
        moved = record["sent_bytes"] if record["load"] == "broadcast" else record["received_bytes"]
        seconds = moved / (2 if record["load"] == "alltoall" else 1) / (share * CABLE * 1e6)
        record.update(elapsed_seconds=seconds, shortest_seconds=seconds)

    return change


@pytest.mark.parametrize(("share", "weak"), [(0.255, False), (0.245, True)])
def test_load_below_a_quarter_of_a_victims_bandwidth_is_weak(changed, share, weak):
    assert ("weak_load" in changed(lasting(share))) is weak


@pytest.mark.parametrize(("share", "unsteady"), [(0.51, False), (0.49, True)])
def test_phase_with_half_of_the_median_load_is_unsteady(changed, share, unsteady):
    def change(number, record):
        lasting(0.9 * (share if number == 0 else 1))(number, record)

    assert ("unsteady_load" in changed(change)) is unsteady


def test_processes_that_sent_nothing_are_said(changed):
    assert "silent_senders" not in changed(lambda number, record: None)
    assert "silent_senders" in changed(lambda number, record: record.update(silent_senders=int(number == 4)))


# --- the kernel on MPI libraries --------------------------------------------------------------------------------------

FOUR = [(name, 1) for name in "abcd"]
BRIEF = ["--memory-per-process", "1MiB", "--repetitions", "1", "--random-patterns", "1", "--longest-loop", "2"]


def started(mpi, nodes, log, *options):
    return run(on_nodes(mpi, nodes, "b_eff_load", f"--log {log}", *options), env=mpi.impatient.environment)


@pytest.mark.parametrize("library", ["openmpi", "mpich"])
def test_every_load_runs_and_ends_with_every_library(request, tmp_path, library):
    mpi, log = request.getfixturevalue(library), tmp_path / "log.jsonl"
    good(started(mpi, FOUR, log, f"--kinds {KINDS}", *BRIEF, "--time-budget 86400"))
    score = score_log(log)
    assert {f"b_eff_impact_{kind}" for kind in KINDS.split(",")} <= score.metrics.keys()
    [check] = of_kind(log, "data_check")
    assert check["checked_bytes"] > 0 and check["wrong_bytes"] == 0
    assert len(of_kind(log, "load")) == 3 * 7


THREE = [("a", 1), ("b", 1), ("c", 2)]
TWO = [("a", 2), ("b", 1)]
NEEDED = "at least 1 node that is measured and 1 that generates load; "


@pytest.mark.parametrize(
    ("kernel", "nodes", "options", "reason"),
    [
        ("b_eff_load", [("a", 4)], "--kinds incast", "this run has 1 and 0 of 1 nodes"),
        ("b_eff_load", THREE, "--kinds incast", "this run has 2 and 1 of 3 nodes: use more nodes"),
        ("b_eff_load", FOUR, "--kinds incast --victims 80%", "this run has 3 and 1 of 4 nodes"),
        ("b_eff_load", FOUR, "--kinds incast --victims 30%", "this run has 1 and 3 of 4 nodes"),
        ("b_eff_load", FOUR, "--kinds incast --patterns ring", "unknown option '--patterns'"),
        ("b_eff_load", FOUR, "--kinds incast,io", "name their directory with --directory"),
        ("b_eff_load", FOUR, "--kinds incast --directory .", "add io to --kinds or omit --directory"),
        ("b_eff_load", FOUR, "--directory .", "add io to --kinds or omit --directory"),
        ("b_eff_load", FOUR, "--kinds io --directory nowhere", "No such file or directory; choose one that exists"),
        ("b_eff_io_load", [("a", 3)], "--directory .", f"{NEEDED}this run has 1 and 0 of 1 nodes"),
        ("b_eff_io_load", TWO, "--directory . --victims 80%", "this run has 2 and 0 of 2 nodes"),
        ("b_eff_io_load", TWO, "--directory . --load-file 1500KiB", "--load-file: not a multiple of 1 MiB"),
        ("b_eff_io_load", TWO, "--directory . --space-limit 3MiB", "a larger --space-limit, or choose a smaller"),
    ],
)
def test_load_that_cannot_be_generated_is_refused(openmpi, tmp_path, kernel, nodes, options, reason):
    words = on_nodes(openmpi, nodes, kernel, "--log log.jsonl", options)
    refused(run(words, env=openmpi.impatient.environment, cwd=tmp_path), reason)
    assert not list(tmp_path.iterdir())


# Victims of four nodes, and the length of the messages that are damaged.
SEED, VICTIMS, L_MAX = 3, [0, 3], 8192
RARE = [
    pytest.param(*case, marks=pytest.mark.prove)
    for case in product(VICTIMS, ["incast", "alltoall", "broadcast"], ["flip", "drop"])
    if case != (3, "alltoall", "flip")
]


@pytest.mark.parametrize(("rank", "load", "kind"), [(3, "alltoall", "flip"), *RARE])
def test_damaged_message_under_load_fails_the_run_and_is_named(mpi, tmp_path, rank, load, kind):
    """A loop is an exchange that is not timed and one that is, in each of which a victim receives a message: so the
    fourth message of a length belongs to the phase with the load. Its record is not written."""
    log = tmp_path / "log.jsonl"
    fault = {"FAULT_KIND": kind, "FAULT_CALL": "Waitall", "FAULT_BYTES": L_MAX, "FAULT_RANK": rank, "FAULT_NUMBER": 3}
    assert victims_of(len(FOUR), 50, SEED) == VICTIMS
    loops = "--random-patterns 1 --first-loop-length 1 --longest-loop 1 --repetitions 1 --time-budget 86400"
    options = f"--log {log} --kinds {load} --memory-per-process 1MiB --seed {SEED}", loops
    environment = faulty(mpi, "network", FAULT_OFFSET=0 if kind == "drop" else L_MAX - 3, **fault)
    done = run(on_nodes(mpi, FOUR, "b_eff_load", *options, env=environment), env=mpi.environment)
    assert done.returncode != 0
    other = sum(VICTIMS) - rank
    said = f"pattern ring-1, method nonblocking, message length {L_MAX} byte: rank {rank} received a wrong byte from "
    assert f"{said}rank {other} at offset" in done.stderr
    wait_until(lambda: not rank_processes("b_eff_load", log) and records(log)[-1]["record"] == "end")
    wait_until(lambda: list(tmp_path.iterdir()) == [log])  # keepers of other nodes withdraw their notes after the end
    last = of_kind(log, "loaded")[-1]
    assert (last["phase"], last["load"]) == (1, load) and last["message_bytes"] < L_MAX
    assert records(log)[-1]["status"] in NOT_COMPLETE
    with pytest.raises(LogError):
        score_log(log)
