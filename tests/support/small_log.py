# SPDX-License-Identifier: Apache-2.0
"""A small log of b_eff, and how changes of it are refused."""

import logs_made
import pytest
from logs_made_b_eff import averaged_log

from coffeecup.postprocess.benchmarks.scoring import score_log
from coffeecup.postprocess.logs.reader import LogError

SMALL = logs_made.stated(averaged_log(ranks=2, nodes=2))
SMALL_TEXT = logs_made.text(SMALL)


def refusal(path, data) -> str:
    """The message with which reading and scoring refuse `data`; fails if they do not."""
    logs_made.write(path, data)
    with pytest.raises(LogError) as caught:
        score_log(path)
    message = str(caught.value)
    assert message.startswith(f"{path}: ") and len(message.splitlines()) == 1 and message.isprintable()
    return message


def changed(records, place, /, **fields):
    return [{**record, **fields} if number == place else record for number, record in enumerate(records)]


def place_of(kind):
    return next(number for number, record in enumerate(SMALL) if record["record"] == kind)
