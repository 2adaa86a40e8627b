# SPDX-License-Identifier: Apache-2.0
"""Numbers with a unit, as offers state them: 25GB/s, 200Gbit/s, 1.5us, 2GiB."""

import re

_PREFIXES = {"": 1, "k": 1e3, "M": 1e6, "G": 1e9, "T": 1e12, "Ki": 2**10, "Mi": 2**20, "Gi": 2**30, "Ti": 2**40}
_BANDWIDTHS = {
    f"{prefix}{unit}/s": factor * byte
    for prefix, factor in _PREFIXES.items()
    for unit, byte in (("B", 1), ("byte", 1), ("Byte", 1), ("bit", 1 / 8))
}
_SIZES = {f"{prefix}{unit}": factor for prefix, factor in _PREFIXES.items() for unit in ("B", "byte", "Byte")}
_TIMES = {"s": 1.0, "ms": 1e-3, "us": 1e-6, "µs": 1e-6, "ns": 1e-9}


class QuantityError(ValueError):
    """A text that is not a number with a suitable unit; the message is one line with an example."""


def bandwidth(text: str) -> float:
    """byte/s. Raises QuantityError."""
    return _quantity(text, _BANDWIDTHS, "a bandwidth such as 25GB/s or 200Gbit/s")


def duration(text: str) -> float:
    """Seconds; 0 is allowed. Raises QuantityError."""
    return 0.0 if text.strip() == "0" else _quantity(text, _TIMES, "a time such as 1.5us", least=0)


def memory(text: str) -> int:
    """byte. Raises QuantityError."""
    return round(_quantity(text, _SIZES, "a size such as 2GiB"))


def _quantity(text: str, units: dict[str, float], example: str, least: float | None = None) -> float:
    parts = re.fullmatch(r"\s*([0-9]+(?:\.[0-9]*)?(?:[eE][-+]?[0-9]+)?)\s*(\S+)\s*", text)
    if not parts or parts[2] not in units:
        raise QuantityError(f"{text!r} is not {example}")
    value = float(parts[1]) * units[parts[2]]
    if not value < float("inf") or (value < least if least is not None else value <= 0):
        raise QuantityError(f"{text!r} is out of range: state {example}")
    return value
