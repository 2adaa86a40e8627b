# SPDX-License-Identifier: Apache-2.0
"""Slow nodes from real sessions of ReFrame on a real Slurm: b_eff on nodes whose links have a known bandwidth
(links.py), a test that --distribute runs on every node, and the command that drains a node."""

import json
import shlex

import pandas as pd
import pytest
import slurm_made
from builds import OPEN_MPI
from commands import run
from conftest import REFRAME, Reframe
from links import links, parameters
from sessions_made import case, session, write

from coffeecup.site_configs.common.frame import MODES

NODES, CORES = 6, 2
RATE, BURST = 10e6, 16 * 1024  # byte/s of a link, and byte that pass at once: an eighth of a message of L_max
MEMORY, EAGER = "16MiB", 2**20  # L_max is 128 KiB
SESSIONS, BEGIN, SLOW, SHARE = 20, 9, "n3", 0.5  # from the tenth session on the node has half the bandwidth
SHORT = ["--first-loop-length", "1", "--longest-loop", "20", "--matchings", "10"]
STORED = "\nsite_configuration['storage'] = [{'enable': True}]\n"


def nodes(*arguments):
    """What `coffeecup nodes` prints, and its exit code."""
    done = run("nodes", *arguments)
    assert done.exit_code in (0, 1), done.output
    return done.stdout, done.exit_code


def by_node(*arguments):
    return {row["node"]: row for row in json.loads(nodes(*arguments, "--json")[0])["nodes"]}


@pytest.fixture
def sweep(openmpi, tmp_path, tmp_path_factory):
    """Slurm on nodes with links of RATE: a function that runs ReFrame in the mode `nodes`, with its session in
    results.db of the test's folder, and the links."""
    if reason := slurm_made.missing():
        pytest.skip(reason)
    folder = tmp_path_factory.mktemp("linked")
    with (
        links(NODES + 1, RATE, BURST) as linked,
        slurm_made.slurm(folder, NODES, CORES, machines=slurm_made.LINKED, linked=linked) as slurm,
    ):
        variables = OPEN_MPI | slurm.environment
        variables |= {f"OMPI_MCA_{name}": value for name, value in parameters(EAGER).items()}
        listed = [list(variable) for variable in variables.items()]
        config = tmp_path / "linked.py"
        config.write_text(
            slurm_made.SETTINGS.format(variables=listed, nodes=NODES, scheduler="squeue")
            + "for partition in site_configuration['systems'][0]['partitions']:\n"
            + f"    partition['extras']['kernel_options'] = {{'b_eff': {SHORT!r}}}\n"
            + STORED
        )
        words = ["-r", "--system=toy:mpirun", "-S", "builder=prebuilt", "-S", f"prebuilt_directory={openmpi.bin}"]
        words += ["-S", f"b_eff.memory_per_process={MEMORY}"]
        words += [word for option in MODES["nodes"] for word in option.split(" ")]

        def start():
            done = Reframe(tmp_path)(*words, config=config, env=slurm.environment, command=[*slurm.within, *REFRAME])
            assert done.returncode == 0, done.output
            return done

        yield start, linked


@pytest.mark.prove
@pytest.mark.alone
def test_a_node_that_is_slow_from_the_tenth_session_on_is_named_and_dated(sweep, tmp_path):
    start, linked = sweep
    begins = []
    for number in range(SESSIONS):
        if number == BEGIN:
            text, code = nodes(tmp_path / "results.db")
            assert code == 0, text
            linked.shape(int(SLOW[1:]) - 1, SHARE * RATE)
        done = start()
        [swept] = done.cases
        assert (swept["num_processes"], swept["num_hosts"]) == (NODES, NODES)
        begins.append(done.report["session_info"]["time_start_unix"])
        print(number, swept["node_effects"])
    text, code = nodes(tmp_path / "results.db", "--all")
    print(text)
    assert code == 1
    found = by_node(tmp_path / "results.db")
    assert set(found) == {f"n{number + 1}" for number in range(NODES)}
    slow = found.pop(SLOW)
    assert pd.Timestamp(slow["since"]).timestamp() == pytest.approx(begins[BEGIN], abs=0.01)
    assert slow["slow"] and slow["confirmed_now"] and slow["suspected"] == SESSIONS - BEGIN
    assert slow["ratio"] == pytest.approx(SHARE, rel=0.1)
    assert not any(row["slow"] or row["since"] or row["confirmed"] for row in found.values())
    drains, _ = nodes(tmp_path / "results.db", "--format", "slurm")
    assert drains.startswith(f"scontrol update nodename={SLOW} state=drain") and drains.count("\n") == 1


# A test that --distribute runs on every node; the third one is slow.
EACH_NODE = """
import reframe as rfm
import reframe.utility.sanity as sn

@rfm.simple_test
class copy_rate(rfm.RunOnlyRegressionTest):
    valid_systems, valid_prog_environs = ["*"], ["*"]
    executable = '[ "$SLURMD_NODENAME" = n3 ] && echo rate 70 || echo rate 100'

    @sanity_function
    def ends(self):
        return sn.assert_found("rate", self.stdout)

    @performance_function("MByte/s")
    def rate(self):
        return sn.extractsingle(r"rate (\\d+)", self.stdout, 1, float)
"""
EQUAL_NODES = 4


@pytest.fixture(scope="module")
def equal(tmp_path_factory):
    """Slurm on equal nodes."""
    if reason := slurm_made.missing():
        pytest.skip(reason)
    with slurm_made.slurm(tmp_path_factory.mktemp("slurm"), EQUAL_NODES, CORES) as slurm:
        yield slurm


def test_results_of_distribute_are_compared_between_nodes(equal, tmp_path):
    (tmp_path / "each.py").write_text(EACH_NODE)
    config = slurm_made.settings(equal, tmp_path)
    config.write_text(config.read_text().replace('"max_jobs": 1', '"max_jobs": 9').replace("mpirun", "local") + STORED)
    options = ["-r", "--system=toy:local", "--distribute=idle"]
    done = Reframe(tmp_path)(*options, config=config, checks=tmp_path / "each.py", env=equal.environment)
    assert done.returncode == 0, done.output
    found = by_node(tmp_path / "results.db")
    assert {name: (row["ratio"], row["test"].partition(":")[0]) for name, row in found.items()} == {
        f"n{number}": (pytest.approx(0.7 if number == 3 else 1), "rate") for number in range(1, EQUAL_NODES + 1)
    }


def test_the_printed_command_drains_the_confirmed_node_alone(equal, tmp_path):
    def effects(suspect, confirmed):
        values = {name: [1.0, 0.9, 1.1, 0, 16] for name in ("n1.cluster", "n2.cluster", "n4.cluster")}
        named = {"suspects": [suspect], "confirmed": [suspect] * confirmed}
        return {"verdict": "suspects", **named, "values": values | {suspect: [0.5, 0.4, 0.6, 16, 16]}}

    found = effects("n2.cluster", confirmed=True), effects("n4.cluster", confirmed=False)
    made = [
        case({"b_eff": (1.0, "MByte/s")}, processes=2 * n, node_effects=effect) for n, effect in enumerate(found, 1)
    ]
    text, code = nodes(write(tmp_path, [session(made)]), "--format", "slurm")
    assert code == 1
    [command] = [line for line in text.splitlines() if not line.startswith("#")]
    [comment] = [line for line in text.splitlines() if line.startswith("# ")]
    try:
        equal(*shlex.split(command))
        told = equal("sinfo", "--noheader", "--Node", "--format=%N|%t|%E", "--partition=debug").splitlines()
        reason = "coffeecup: 0.50 of its peers, confirmed"
        assert told == ["n1|idle|none", f"n2|drain|{reason}", "n3|idle|none", "n4|idle|none"]
        equal(*shlex.split(comment.removeprefix("# ")))
        assert equal("sinfo", "--noheader", "--nodes=n4", "--format=%t|%E").strip().endswith("suspected only")
    finally:
        equal("scontrol", "update", "NodeName=n2,n4", "State=DRAIN", "Reason=test")
        equal("scontrol", "update", "NodeName=n2,n4", "State=RESUME")
