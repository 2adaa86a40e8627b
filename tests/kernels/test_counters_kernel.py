# SPDX-License-Identifier: Apache-2.0
"""What kernels read of the counters of nodes that are trees of made-up files, one for each node: values that change
during the run, and everything that files of counters should not contain. Known answers are the files themselves."""

import json
import os
import random
import signal
from pathlib import Path

import counters_made as made
import msgspec
import pytest
from builds import PATIENCE
from kernel_runs import good, of_kind, on_nodes, rank_processes, records, run, started
from test_made_up_machine import WORKLOAD

from coffeecup.postprocess.logs.counter_records import Counters

KERNEL = "b_eff"
SHORT = ["--memory-per-process", "1MiB", "--repetitions", "1", "--matchings", "0"]
SHORTEST = [*SHORT, "--patterns", "ping_pong", "--first-loop-length", "1", "--longest-loop", "1"]
LONGER = [*SHORT, "--patterns", "ping_pong", "--methods", "blocking"]


def command(mpi, log, roots, *options):
    """A process on each node; every node has its tree."""
    nodes = [(f"x{number}", 1, {"COFFEECUP_COUNTERS_ROOT": root}) for number, root in enumerate(roots)]
    return on_nodes(mpi, nodes, KERNEL, f"--log {log}", *options)


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
    own = record["hosts"][host]
    sources = [record["sources"][number] for number in own.get("has", range(len(record["sources"])))]
    pairs = zip(sources, own["values"], strict=True)
    return {(source["counter"], source["instance"]): value for source, value in pairs}


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
    assert second[("rapl_energy", "0 package-0")] == [65_000_000_000, 20, 1]
    assert second[("network_transmit_bytes", "eth0")] == [2, "absent"]
    assert second[("network_transmit_bytes", "eth1")] == 4
    assert ("infiniband_symbol_error", port) not in second
    largest = {source["largest"] for source in record["sources"] if source["counter"] == "rapl_energy"}
    assert largest == {made.LARGEST, 65_532_610_987}
    assert "cray_cpu_energy" in record["absent"] and "rapl_energy" not in record["absent"]
    assert not any(instance == "lo" for _, instance in first)


SNMP = """Ip: Forwarding DefaultTTL
Ip: 1 64
Tcp: RtoAlgorithm RtoMin RtoMax MaxConn ActiveOpens PassiveOpens AttemptFails EstabResets CurrEstab InSegs OutSegs
Tcp: 1 200 120000 -1 5 6 7 8 9 10 4711 42 0
Udp: InDatagrams"""
MOUNTS = """device proc mounted on /proc with fstype proc
device server:/home mounted on /home with fstype nfs4 statvers=1.1
\topts:\trw,vers=4.2
\tbytes:\t1 2 3 4 500 600 7 8
device other:/scratch mounted on /scratch with fstype nfs statvers=1.1
\tbytes:\t1 2 3 4 garbage 60 7 8
device cgroup mounted on /sys/fs/cgroup with fstype cgroup2
\tbytes:\t1 2 3 4 5 6 7 8"""
LLITE = """snapshot_time             1301585789.189183 secs.usecs
dirty_pages_hits          276 samples [regs]
read_bytes                449131 samples [bytes] 1 23553884 101262334767
write_bytes               201770 samples [bytes] 1 20971520 236938468092"""
CXI = "sys/class/cxi/cxi0/device/telemetry"
PROCESSOR = "sys/devices/system/cpu"
FILES = {
    "proc/net/snmp": SNMP,
    "proc/self/mountstats": MOUNTS,
    "proc/net/rpc/nfs": "net 0 0 0 0\nrpc 1234 5 1239\nproc4 2 1 1",
    "proc/vmstat": "nr_free_pages 7\npgpgin 600682196\npgpgout 12\npswpin_x 3\npswpout 4",
    "proc/fs/lustre/llite/scratch-ffff81019a4eb000/stats": LLITE,
    f"{CXI}/hni_pcs_uncorrected_cw": "90049@1675489372.701036980",
    f"{CXI}/hni_pkts_sent_by_tc_0": "10@1.5",
    f"{CXI}/hni_pkts_sent_by_tc_7": "32@1.5",
    "sys/devices/system/edac/mc/mc1/ce_count": "3",
    f"{PROCESSOR}/cpu0/thermal_throttle/core_throttle_count": "5",
    f"{PROCESSOR}/cpu1/thermal_throttle/core_throttle_count": "6",
    f"{PROCESSOR}/cpu0/thermal_throttle/package_throttle_count": "-6",
    f"{PROCESSOR}/cpu1/thermal_throttle/package_throttle_count": "5",
    f"{PROCESSOR}/cpufreq/policy0/scaling_max_freq": "3500000",
    f"{PROCESSOR}/cpufreq/policy1/scaling_max_freq": "2100000",
    f"{PROCESSOR}/cpufreq/policy2/scaling_max_freq": "2200000",
    "sys/class/hwmon/hwmon0/temp1_input": "41000",
    "sys/class/hwmon/hwmon0/temp2_input": "-128000",
    "sys/class/hwmon/hwmon1/temp1_input": "67000",
    "sys/class/hwmon/hwmon1/temp2_input": "65000",
}


@pytest.fixture
def read(serial_sanitized, tmp_path):
    """What a node counts whose files are below a directory, read under the sanitizers, leaks included."""

    def record(root):
        (tmp_path / "workload.cfg").write_text(WORKLOAD)
        log = tmp_path / "log.jsonl"
        log.unlink(missing_ok=True)
        options = ["--log", log, "--workload", tmp_path / "workload.cfg", "--directory", tmp_path]
        done = good(serial_sanitized.run(1, "priomark", *options, env={"COFFEECUP_COUNTERS_ROOT": str(root)}))
        assert "Sanitizer" not in done.stderr and "runtime error" not in done.stderr, done.stderr
        [found] = of_kind(log, "counters")
        return found

    return record


def test_every_form_of_a_file_is_read(read, tmp_path):
    """Numbers, lines, mounts and instances that are added, as their documentation shows them."""
    root = tmp_path / "made up"
    for path, text in FILES.items():
        made.put(root, path, text)
    record = read(root)
    assert values(record, 0) == {
        ("tcp_segments_sent", ""): 4711,
        ("tcp_segments_sent_again", ""): 42,
        ("cxi_hni_pcs_uncorrected_cw", "cxi0"): 90049,
        ("cxi_hni_pkts_sent_by_tc", ""): 42,
        ("nfs_calls", ""): 1234,
        ("nfs_calls_sent_again", ""): 5,
        ("nfs_server_read_bytes", "server:/home"): 500,
        ("nfs_server_read_bytes", "other:/scratch"): "unreadable",
        ("nfs_server_written_bytes", "server:/home"): 600,
        ("nfs_server_written_bytes", "other:/scratch"): 60,
        ("lustre_read_bytes", "scratch"): 101262334767,
        ("lustre_write_bytes", "scratch"): 236938468092,
        ("edac_ce_count", "1"): 3,
        ("memory_pgpgin", ""): 600682196,
        ("memory_pgpgout", ""): 12,
        ("memory_pswpout", ""): 4,
        ("core_throttle_count", ""): 11,
        ("package_throttle_count", ""): "unreadable",
        ("lowest_frequency_limit", ""): 2100000,
        ("highest_temperature", ""): 67000,
    }


PARTS = [b"", b"\n", b"\0", b"\xff\xfe", b" ", b"\t", b":", b"@", b"-1", b"1e5", b"0x10", b"9" * 30]
PARTS += [b"18446744073709551615", b"Tcp:", b"bytes:", b"device d with fstype nfs", b"read_bytes", b"rpc", b"lo:"]
PARTS += [b"eth0:", b"x" * 5000, b"7 " * 99]


def spoil(file, rng):
    """Random pieces of such files, directories in their place, and links that lead to themselves."""
    file.parent.mkdir(parents=True, exist_ok=True)
    kind = rng.random()
    if kind < 0.05:
        file.mkdir()
    elif kind < 0.1:
        file.symlink_to(file.name)
    else:
        file.write_bytes(b"".join(rng.choices(PARTS, k=rng.randrange(9))))


def test_whatever_the_files_contain_the_log_is_valid(read, tmp_path):
    rng = random.Random(20261123)
    zone = f"{made.POWERCAP}/intel-rapl:0"
    beside = [made.DEVICES, f"{made.PORT}/counters/symbol_error", f"{zone}/name", f"{zone}/max_energy_range_uj"]
    for number in range(8):
        root = tmp_path / f"made up {number}"
        made.put(root, f"{zone}/energy_uj", 5)
        for path in [*FILES, *beside]:
            spoil(root / path, rng)
        decoded = msgspec.json.decode(json.dumps(read(root)), type=Counters)
        assert all(reading == "unreadable" or reading >= 0 for _, pair in decoded.of_host(0) for reading in pair)


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
    nobody = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "--", *plain]
    good(run(nobody, env=openmpi.environment | {"TMPDIR": str(tmp_path), "HOME": str(tmp_path)}))
    [record] = of_kind(log, "counters")
    for host in (0, 1):
        own = values(record, host)
        assert own[("rapl_energy", "0 package-0")] == "forbidden"
        assert own[("infiniband_symbol_error", "")] == "forbidden"
        assert own[("network_receive_bytes", "eth0")] == 1


def test_idle_time_is_before_the_run_and_no_time_of_it(openmpi, tmp_path):
    made.zone(tmp_path, "0", "package-0", 100)
    log = tmp_path / "log.jsonl"
    words = command(openmpi, log, [tmp_path, tmp_path], *SHORTEST, "--idle-power 1.5")
    good(run(words, env=openmpi.environment))
    idle, measured = of_kind(log, "counters")
    everything = {record["record"]: record for record in records(log)}
    assert (idle["phase"], measured["phase"]) == ("idle", "run")
    assert {source["counter"] for source in idle["sources"]} == {"rapl_energy"}
    assert idle["elapsed_seconds"] >= 1.5
    took = everything["end"]["elapsed_seconds"]
    assert everything["clocks"]["mpi_seconds"] <= took - 1.5
    assert measured["elapsed_seconds"] <= took - 1.5


def test_a_real_node_has_network_devices_and_no_root(openmpi, tmp_path):
    """The files of this machine: its own devices, as /proc/net/dev lists them."""
    log = tmp_path / "log.jsonl"
    good(openmpi.run(2, KERNEL, f"--log {log}", *SHORTEST))
    [record] = of_kind(log, "counters")
    [host] = record["hosts"]
    assert "root" not in host
    lines = Path("/proc/net/dev").read_text(encoding="utf-8").splitlines()
    listed = [line.split(":")[0].strip() for line in lines if ":" in line]
    found = [instance for counter, instance in values(record, 0) if counter == "network_receive_bytes"]
    assert sorted(found) == sorted(set(listed) - {"lo"})
