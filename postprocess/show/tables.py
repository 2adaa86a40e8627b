# SPDX-License-Identifier: Apache-2.0
"""Rows of tables for loops."""

from collections.abc import Iterable
from typing import Any

import pandas as pd


def each_row(table: pd.DataFrame) -> Iterable[Any]:
    """Named tuples with a field per column. `Any`, because no type checker knows what a column holds."""
    return table.itertuples()
