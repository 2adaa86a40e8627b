# SPDX-License-Identifier: Apache-2.0
"""Processes that read logs for another one."""

import signal
import subprocess
import sys
from pathlib import Path

import pytest
from kernel_runs import wait_until

PROGRAM = """import os, time
from coffeecup.postprocess.logs.workers import workers

if __name__ == "__main__":
    pool = workers(1)  # without the name, it would end at once
    print(pool.submit(os.getpid).result(), flush=True)
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
        worker = int(program.stdout.readline())
        assert runs(worker)
        program.send_signal(number)
    wait_until(lambda: not runs(worker))
