# SPDX-License-Identifier: Apache-2.0
"""Tables of measurements, a row per record, with the columns and types of a benchmark's schema."""

from collections.abc import Iterable
from typing import Any

import pandas as pd
import pandera.pandas as pa

from coffeecup.postprocess.logs.records import Record


def fields_of(record: Record, schema: pa.DataFrameSchema) -> dict[str, Any]:
    """The fields of a record that are columns of the schema, under the same names."""
    return {name: getattr(record, name) for name in record.__struct_fields__ if name in schema.columns}


def table_of(rows: Iterable[dict[str, Any]], schema: pa.DataFrameSchema) -> pd.DataFrame:
    """A valid table of rows that have a value for each column."""
    types = {name: column.dtype.type for name, column in schema.columns.items()}
    return schema.validate(pd.DataFrame(rows, columns=list(types)).astype(types))
