# SPDX-License-Identifier: Apache-2.0
"""Trees of YAML, in which a few lines of aliases can stand for billions of entries."""

LARGEST = 1_000_000  # entries; a contract of 1000 clauses has less than 50 000


def refuse_too_large(tree) -> None:
    """Raises ValueError if a tree of dictionaries and lists has too many entries, each counted wherever it is used, or
    contains itself."""
    if entries(tree, {}, frozenset()) > LARGEST:
        raise ValueError(f"more than {LARGEST} entries, aliases included")


def entries(tree, known: dict[int, int], above: frozenset[int]) -> int:
    if id(tree) in above:
        raise ValueError("an entry contains itself")
    if id(tree) not in known:
        inside = tree.values() if isinstance(tree, dict) else tree if isinstance(tree, list) else ()
        known[id(tree)] = 1 + sum(entries(inner, known, above | {id(tree)}) for inner in inside)
    return known[id(tree)]
