# SPDX-License-Identifier: Apache-2.0
"""Logs that were altered at random, for hypothesis."""

import copy

from hypothesis import strategies as st

NUMBERS = (st.integers(-1, 2**63), st.floats(allow_nan=False, allow_infinity=False))
VALUES = st.one_of(st.none(), st.booleans(), *NUMBERS, st.text(max_size=5), st.lists(st.floats(0, 10), max_size=5))


def altered(data, records):
    """A copy in which one to three values of the records after the first, or of objects in them, are others."""
    records = copy.deepcopy(records)
    for _ in range(data.draw(st.integers(1, 3))):
        record = data.draw(st.sampled_from(records[1:]))
        inner = [value for value in record.values() if isinstance(value, dict)]
        inner += [
            entry for value in record.values() if isinstance(value, list) for entry in value if isinstance(entry, dict)
        ]
        target = data.draw(st.sampled_from([target for target in (record, *inner) if target]))
        key = data.draw(st.sampled_from(sorted(target)))
        others = [value for value in record.values() if not isinstance(value, dict)]
        # a copy: a list is not to hold itself
        target[key] = copy.deepcopy(data.draw(st.one_of(VALUES, st.sampled_from(others))))
    return records
