# SPDX-License-Identifier: Apache-2.0
"""What kernels read of the counters of nodes that are trees of made-up files, one for each node: values that change
during the run, and everything that files of counters should not contain. Known answers are the files themselves."""

import os
import signal
import subprocess
from pathlib import Path

import counters_made as made
import pytest
from builds import PATIENCE
from kernel_runs import of_kind, rank_processes, records, started

KERNEL = "b_eff"
SHORT = ["--memory-per-process", "1MiB", "--repetitions", "1", "--matchings", "0"]
SHORTEST = [*SHORT, "--patterns", "ping_pong", "--first-loop-length", "1", "--longest-loop", "1"]
LONGER = [*SHORT, "--patterns", "ping_pong", "--methods", "blocking"]


def command(mpi, log, roots, *options):
    """A process on each node; every node has its tree."""
    parts = [
        mpi.command(
            1,
            KERNEL,
            "--log",
            log,
            *options,
            env={"SLURMD_NODENAME": f"x{number}", "COFFEECUP_COUNTERS_ROOT": str(root)},
        )[1:]
        for number, root in enumerate(roots)
    ]
    return [mpi.mpirun, *[word for part in parts for word in (":", *part)][1:]]


def counted(mpi, log, roots, change):
    """The records `counters` of a run during which `change()` changes files. The processes stop meanwhile, so that the
    change comes after the first reading and before the last one, however slow the machine is."""
    with started(command(mpi, log, roots, *LONGER), lambda: of_kind(log, "probe"), env=mpi.environment) as process:
        stopped = rank_processes(KERNEL, log).values()
        for number in stopped:
            os.kill(number, signal.SIGSTOP)
        assert not of_kind(log, "end")
        change()
        for number in stopped:
            os.kill(number, signal.SIGCONT)
        assert process.wait(PATIENCE) == 0, process.communicate()
    return {record["phase"]: record for record in of_kind(log, "counters")}


def values(record, host):
    """Of a host: (counter, instance) to its value, of all that it has."""
    pairs = zip(record["sources"], record["hosts"][host]["values"], strict=True)
    return {(source["counter"], source["instance"]): value for source, value in pairs if value != "absent"}


@pytest.fixture(params=["openmpi", "mpich"])
def mpi(request):
    return request.getfixturevalue(request.param)


def test_readings_before_and_after_are_those_of_each_nodes_files(mpi, tmp_path):
    """Two nodes, of which the second has no port, and whose packages have other ranges."""
    one, two = tmp_path / "one", tmp_path / "two"
    made.zone(one, "0", "package-0", 100)
    made.zone(one, "0:0", "dram", 7)
    made.zone(two, "0", "package-0", 65_000_000_000, largest=65_532_610_987)
    made.port(one, symbol_error=0, port_xmit_data=5, link_downed="N/A (no PMA)")
    made.put(one, f"{made.PM_COUNTERS}/energy", "4000 J 1600000000 us")
    made.put(one, "sys/class/hwmon/hwmon3/energy1_input", 2**63)
    made.put(one, "sys/class/hwmon/hwmon3/name", "amd_energy")
    made.devices(one, eth0=(1000, 0, 2000, 1))
    made.devices(two, eth0=(1, 0, 2, 0), eth1=(3, 0, 4, 0))

    def change():
        made.zone(one, "0", "package-0", 350)
        made.zone(one, "0:0", "dram", "garbage")
        made.zone(two, "0", "package-0", 20, largest=65_532_610_987)
        made.port(one, symbol_error=3, port_xmit_data=5, link_downed=2)
        made.put(one, f"{made.PM_COUNTERS}/energy", "4100 J 1600009000 us")
        made.devices(one, eth0=(1500, 0, 2600, 1))
        made.devices(two, eth1=(3, 0, 4, 0))

    found = counted(mpi, tmp_path / "log.jsonl", [one, two], change)
    assert list(found) == ["run"]
    record = found["run"]
    first, second = values(record, 0), values(record, 1)
    assert [host["root"] for host in record["hosts"]] == [str(one), str(two)]
    port = "mlx5_0/1"
    assert first == {
        ("rapl_energy", "0 package-0"): [100, 350],
        ("rapl_energy", "0:0 dram"): [7, "unreadable"],
        ("cray_energy", ""): [4000, 4100],
        ("hwmon_energy", "3/1 amd_energy"): "unreadable",
        ("infiniband_port_xmit_data", port): 5,
        ("infiniband_symbol_error", port): [0, 3],
        ("infiniband_link_downed", port): ["unreadable", 2],
        ("network_receive_bytes", "eth0"): [1000, 1500],
        ("network_receive_packets", "eth0"): 11,
        ("network_receive_errors", "eth0"): 0,
        ("network_receive_dropped", "eth0"): 2,
        ("network_transmit_bytes", "eth0"): [2000, 2600],
        ("network_transmit_packets", "eth0"): 12,
        ("network_transmit_errors", "eth0"): 1,
        ("network_transmit_dropped", "eth0"): 3,
    }
    assert second[("rapl_energy", "0 package-0")] == [65_000_000_000, 20]
    assert second[("network_transmit_bytes", "eth0")] == [2, "absent"]
    assert second[("network_transmit_bytes", "eth1")] == 4
    assert ("infiniband_symbol_error", port) not in second
    largest = {source["largest"] for source in record["sources"] if source["counter"] == "rapl_energy"}
    assert largest == {made.LARGEST, 65_532_610_987}
    assert "cray_cpu_energy" in record["absent"] and "rapl_energy" not in record["absent"]
    assert not any(instance == "lo" for _, instance in first)


def test_what_must_not_be_read_is_stated_as_such(openmpi, tmp_path):
    """As powercap's energy on most systems: a file for root only, and a directory that nobody else may list."""
    if os.geteuid() != 0:
        pytest.skip("only root can run the kernel as another user")
    made.zone(tmp_path, "0", "package-0", 100)
    (tmp_path / made.POWERCAP / "intel-rapl:0" / "energy_uj").chmod(0o400)
    made.port(tmp_path, symbol_error=0)
    (tmp_path / "sys/class/infiniband").chmod(0o700)
    made.devices(tmp_path, eth0=(1, 0, 2, 0))
    log = tmp_path / "log.jsonl"
    tmp_path.chmod(0o777)
    for folder in tmp_path.parents:
        if not folder.stat().st_mode & 0o001:
            folder.chmod(folder.stat().st_mode | 0o001)
    plain = command(openmpi, log, [tmp_path, tmp_path], *SHORTEST)
    done = subprocess.run(
        ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "--", *map(str, plain)],
        env=openmpi.environment | {"TMPDIR": str(tmp_path), "HOME": str(tmp_path)},
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    [record] = of_kind(log, "counters")
    for host in (0, 1):
        own = values(record, host)
        assert own[("rapl_energy", "0 package-0")] == "forbidden"
        assert own[("infiniband_symbol_error", "")] == "forbidden"
        assert own[("network_receive_bytes", "eth0")] == 1


def test_idle_time_is_before_the_run_and_no_time_of_it(openmpi, tmp_path):
    made.zone(tmp_path, "0", "package-0", 100)
    log = tmp_path / "log.jsonl"
    done = subprocess.run(
        command(openmpi, log, [tmp_path, tmp_path], *SHORTEST, "--idle-power", "1.5"),
        env=openmpi.environment,
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    idle, run = of_kind(log, "counters")
    everything = {record["record"]: record for record in records(log)}
    assert (idle["phase"], run["phase"]) == ("idle", "run")
    assert {source["counter"] for source in idle["sources"]} == {"rapl_energy"}
    assert idle["elapsed_seconds"] >= 1.5
    took = everything["end"]["elapsed_seconds"]
    assert everything["clocks"]["mpi_seconds"] <= took - 1.5
    assert run["elapsed_seconds"] <= took - 1.5


def test_a_real_node_has_network_devices_and_no_root(openmpi, tmp_path):
    """The files of this machine: its own devices, as /proc/net/dev lists them."""
    log = tmp_path / "log.jsonl"
    done = openmpi.run(2, KERNEL, "--log", log, *SHORTEST)
    assert done.returncode == 0, done.stderr
    [record] = of_kind(log, "counters")
    [host] = record["hosts"]
    assert "root" not in host
    listed = [
        line.split(":")[0].strip()
        for line in Path("/proc/net/dev").read_text(encoding="utf-8").splitlines()
        if ":" in line
    ]
    found = [instance for counter, instance in values(record, 0) if counter == "network_receive_bytes"]
    assert sorted(found) == sorted(set(listed) - {"lo"})
