# SPDX-License-Identifier: Apache-2.0
"""The counters of real network devices against the bytes that b_eff states: two hosts that are network namespaces, each
with a cable (links.py).

A packet that a device counts has 66 byte of headers: 14 of Ethernet, 20 of IP, 20 of TCP and 12 of its time stamps
(links.py). How long it is depends on whether the system cuts messages into segments before the device or behind it, so
the payload is what was counted minus 66 byte for each packet; acknowledgements are such packets without payload. MPI
adds headers to messages and has messages of its own.
"""

import os
import subprocess

import pytest
from builds import OPEN_MPI, PATIENCE
from links import across, links
from raw_log import read_log
from test_counters_kernel import values

RATE, BURST = 1e9 / 8, 256 * 1024
HEADERS, WITHIN = 66, 0.02
MESSAGES = ["--memory-per-process", "512MiB", "--patterns", "ring,ping_pong", "--methods", "nonblocking,blocking"]
SHORT = ["--repetitions", "1", "--matchings", "0", "--first-loop-length", "1", "--longest-loop", "4"]


@pytest.mark.rate
def test_devices_received_the_bytes_of_the_messages(openmpi, tmp_path):
    log = tmp_path / "log.jsonl"
    with links(2, RATE, BURST) as two:
        command = across(two, openmpi.mpirun, tmp_path, 2**23, openmpi.bin / "b_eff", "--log", log, *MESSAGES, *SHORT)
        subprocess.run(command, env=os.environ | OPEN_MPI, capture_output=True, timeout=PATIENCE, check=True)
    read = read_log(log)
    [record] = read.records["counters"]
    [check] = read.records["data_check"]
    counted = [
        {
            name: value[1] - value[0]
            for (name, device), value in values(record, host).items()
            if device == "eth" and isinstance(value, list)
        }
        for host in (0, 1)
    ]
    for direction in ("receive", "transmit"):
        counted_bytes, packets = (
            sum(own[f"network_{direction}_{unit}"] for own in counted) for unit in ("bytes", "packets")
        )
        assert 1 <= (counted_bytes - HEADERS * packets) / check["received_bytes"] < 1 + WITHIN
    assert counted[0]["network_transmit_bytes"] == pytest.approx(counted[1]["network_receive_bytes"], rel=WITHIN)
