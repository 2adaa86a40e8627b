# SPDX-License-Identifier: Apache-2.0
"""Processes that read logs for another one."""

import signal
import subprocess
import sys
from pathlib import Path

import pytest
from kernel_runs import wait_until

PROGRAM = """import os, time
from multiprocessing import active_children
from coffeecup.postprocess.logs.workers import workers

pool = workers(2)  # without the name, it would end at once
pool.submit(os.getpid).result()
print(*(child.pid for child in active_children()), flush=True)
time.sleep(60)
"""


def runs(process):
    try:
        return Path(f"/proc/{process}/cmdline").read_bytes() != b""
    except OSError:
        return False


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
def test_workers_end_with_the_process_that_started_them(tmp_path, number):
    (tmp_path / "program.py").write_text(PROGRAM)
    with subprocess.Popen(
        [sys.executable, tmp_path / "program.py"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    ) as program:
        both = [int(worker) for worker in program.stdout.readline().split()]
        assert len(both) == 2 and all(map(runs, both))
        program.send_signal(number)
    wait_until(lambda: not any(map(runs, both)))
