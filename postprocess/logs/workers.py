# SPDX-License-Identifier: Apache-2.0
"""Processes that work for this one: how they end with it."""

import os
import signal
import sys
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context, parent_process
from threading import Thread


def workers(count: int) -> ProcessPoolExecutor:
    """A pool of processes, copies of this one. They end when this process ends in any way, also by a signal; otherwise,
    they would wait for work forever."""
    return ProcessPoolExecutor(count, get_context("fork"), initializer=begin)


def begin() -> None:
    Thread(target=end_after_parent, daemon=True).start()


def end_after_parent() -> None:
    if parent := parent_process():
        parent.join()
        os._exit(1)


def end_by_exception() -> None:
    """From now on, SIGTERM and SIGHUP raise SystemExit, so that whoever started a process can end it."""
    for number in (signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(number) == signal.SIG_DFL:  # nohup ignores one
            signal.signal(number, lambda number, _: sys.exit(128 + number))
