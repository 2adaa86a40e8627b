# SPDX-License-Identifier: Apache-2.0
"""A log as plain JSON: tests of kernels look at what was written, whatever postprocess makes of it."""

import json
from collections import defaultdict
from pathlib import Path
from types import SimpleNamespace

from coffeecup.postprocess.benchmarks import scoring


def checked_bytes(log) -> int:
    """What the kernel read, all of which it checked."""
    [check] = log.records["data_check"]
    assert check["checked_bytes"] == check["read_bytes"] > 0
    return check["read_bytes"]


def read_log(path) -> SimpleNamespace:
    """The records of a log, as dictionaries, after postprocess accepted it. Raises LogError if it does not."""
    scoring.read_log(path)
    records = [json.loads(line) for line in Path(path).read_text().splitlines()]
    kinds = defaultdict(list)
    for record in records:
        kinds[record["record"]].append(record)
    return SimpleNamespace(path=Path(path), run=records[0], plan=records[1], end=records[-1], records=dict(kinds))
