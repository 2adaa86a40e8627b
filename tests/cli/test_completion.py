# SPDX-License-Identifier: Apache-2.0
"""Completion of the `coffeecup` command in a real bash on a terminal, installed as docs/options.md shows."""

import os
import pty
import select
import subprocess
import time

import pytest
from builds import PATIENCE
from conftest import COFFEECUP


@pytest.fixture(scope="module")
def environment(tmp_path_factory):
    """A home directory with completion installed."""
    home = tmp_path_factory.mktemp("home")
    clean = {"HOME": str(home), "PATH": f"{COFFEECUP.parent}:{os.environ['PATH']}", "TERM": "dumb"}
    # The second command keeps bash from replacing itself by the first: the command finds its shell as its parent.
    install = ["bash", "-c", "coffeecup --install-completion && :"]
    subprocess.run(install, env=clean, check=True, capture_output=True, timeout=PATIENCE)
    with (home / ".bashrc").open("a") as file:
        file.write("PS1='$ '\n")  # a long line would be wrapped
    return clean


def after_tab(typed, environment, folder, wanted):
    """What an interactive bash in `folder` shows after `typed` and the tab key, as soon as that contains `wanted`."""
    process, terminal = pty.fork()
    if process == 0:
        os.chdir(folder)
        os.execvpe("bash", ["bash", "-i"], environment)
    try:
        os.write(terminal, f"{typed}\t".encode())
        shown, end = "", time.monotonic() + PATIENCE
        while wanted not in shown and time.monotonic() < end:
            if select.select([terminal], [], [], 1)[0]:
                shown += os.read(terminal, 4096).decode(errors="replace")
        return shown
    finally:
        os.close(terminal)  # hangs up, which ends the shell
        os.waitpid(process, 0)


@pytest.mark.parametrize(
    ("typed", "completed"),
    [
        ("coffeecup check-h", "coffeecup check-history "),
        ("coffeecup references prop", "coffeecup references propose "),
        ("coffeecup score --js", "coffeecup score --json "),
        ("coffeecup score b_e", "coffeecup score b_eff.jsonl "),
    ],
)
def test_tab_completes_commands_options_and_files(environment, tmp_path, typed, completed):
    (tmp_path / "b_eff.jsonl").touch()
    assert completed in after_tab(typed, environment, tmp_path, completed)
