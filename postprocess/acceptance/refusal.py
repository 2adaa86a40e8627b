# SPDX-License-Identifier: Apache-2.0
"""Why a run does not count."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Refusal:
    """Why a run does not count: a key for programs, a sentence for people."""

    key: str
    text: str
