# SPDX-License-Identifier: Apache-2.0
"""YAML that people write: contracts, designs, references and a site's files. A few lines of aliases can stand for
billions of entries, and YAML silently uses the last of two equal keys: both are refused."""

from pathlib import Path
from typing import Any

import yaml

from coffeecup.postprocess.logs import paths

LARGEST_FILE = 2**20  # byte; a contract of 1000 clauses has less than half of it
LARGEST = 1_000_000  # entries; a contract of 1000 clauses has less than 50 000


class TreeError(ValueError):
    """A text that is not YAML or may not be read. The message begins with the `line`, unless that is not known."""

    def __init__(self, problem: str, line: int | None = None):
        super().__init__(f"line {line}: {problem}" if line else problem)
        self.problem, self.line = problem, line


def read(path: Path, largest: int | None = None) -> tuple[Any, yaml.Node | None]:
    """What parsed() gives of a file of at most `largest` byte, else LARGEST_FILE. Raises TreeError also for a file that
    cannot be read."""
    try:
        return parsed(paths.content(path, largest or LARGEST_FILE).decode("utf-8"))
    except (OSError, UnicodeDecodeError) as error:
        raise TreeError(f"cannot be read: {getattr(error, 'strerror', None) or error}") from None


def parsed(text: str | bytes, loader: type[yaml.SafeLoader] = yaml.SafeLoader) -> tuple[Any, yaml.Node | None]:
    """The content of a YAML text, and its tree of nodes, which has the line numbers; None twice without any. Raises
    TreeError."""
    try:
        reader = loader(text)
        root = reader.get_single_node()
        if root is None:
            return None, None
        refuse_repeated_keys(root, set())
        content = reader.construct_document(root)
        refuse_too_large(content)
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        problem = getattr(error, "problem", None) or str(error)
        raise TreeError(f"not YAML: {problem}", mark and mark.line + 1) from None
    except TreeError:
        raise
    except RecursionError:  # libyaml's loader would crash
        raise TreeError("nested too deeply") from None
    except (ValueError, TypeError) as error:
        raise TreeError(f"not valid YAML: {error}") from None
    return content, root


def refuse_repeated_keys(node: yaml.Node, seen: set[int]) -> None:
    """`seen` are nodes that were looked at, to which aliases lead again. Raises TreeError."""
    if id(node) in seen:
        return
    seen.add(id(node))
    if isinstance(node, yaml.MappingNode):
        names = set()
        for key, _ in node.value:
            if isinstance(key, yaml.ScalarNode) and key.value in names and key.value != "<<":
                raise TreeError(f"the key {key.value!r:.80} occurs twice", key.start_mark.line + 1)
            names.add(key.value if isinstance(key, yaml.ScalarNode) else key)
    for child in node.value if isinstance(node, yaml.CollectionNode) else ():
        for part in child if isinstance(child, tuple) else (child,):
            refuse_repeated_keys(part, seen)


def refuse_too_large(tree) -> None:
    """Raises ValueError if a tree of dictionaries and lists has too many entries, each counted wherever it is used, or
    contains itself."""
    if entries(tree, {}, frozenset()) > LARGEST:
        raise ValueError(f"more than {LARGEST} entries, aliases included")


def entries(tree, known: dict[int, int], above: frozenset[int]) -> int:
    """The number of entries of a tree, with those of its parts. Raises ValueError if an entry contains itself."""
    if id(tree) in above:
        raise ValueError("an entry contains itself")
    if id(tree) not in known:
        inside = tree.values() if isinstance(tree, dict) else tree if isinstance(tree, list) else ()
        known[id(tree)] = 1 + sum(entries(inner, known, above | {id(tree)}) for inner in inside)
    return known[id(tree)]
