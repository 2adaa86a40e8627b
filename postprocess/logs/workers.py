# SPDX-License-Identifier: Apache-2.0
"""Processes that work for this one."""

import os
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context, parent_process
from threading import Thread


def workers(count: int, first: Callable[[], None] | None = None) -> ProcessPoolExecutor:
    """A pool of new processes, each of which calls `first`. They end when this process ends in any way, also by a
    signal; otherwise, they would wait for work forever."""
    return ProcessPoolExecutor(count, get_context("spawn"), initializer=begin, initargs=(first,))


def begin(first: Callable[[], None] | None) -> None:
    Thread(target=end_with_parent, daemon=True).start()
    if first:
        first()


def end_with_parent() -> None:
    if parent := parent_process():
        parent.join()
        os._exit(1)
