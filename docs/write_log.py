# SPDX-License-Identifier: Apache-2.0
"""Writes what is between the lines `<!-- records of NAME -->` and `<!-- end -->` in docs/log.md from the classes of the
records, and after `<!-- invariants of NAME -->` from invariants.py. `make docs` runs it:

python docs/write_log.py docs/log.md
"""

import re
import sys
import textwrap
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from typing import get_origin

from msgspec.inspect import DictType, Field, ListType, Metadata, StructType, Type, UnionType, type_info

from coffeecup.postprocess.benchmarks.load_records import LoadRecord, PlannedVictims
from coffeecup.postprocess.benchmarks.registry import benchmarks, log_formats, part
from coffeecup.postprocess.logs import invariants
from coffeecup.postprocess.logs.format import COMMON
from coffeecup.postprocess.logs.histograms import Histogram
from coffeecup.postprocess.logs.io_records import DataCheck, FileServers, MemoryFill, MpiIo, Striping
from coffeecup.postprocess.logs.records import Filesystem, Record, kind_of

BLOCK = re.compile(r"(<!-- (records|fields|invariants) of (\w+) -->\n).*?(<!-- end -->)", re.DOTALL)
SHARED = {"every": COMMON, "io": (MpiIo, MemoryFill, DataCheck)}
INVARIANTS = {"every": invariants.EVERY, "io": invariants.IO}
# Explained once for all benchmarks: whole objects, and classes whose fields other classes have as well.
OBJECTS = (Filesystem, Striping, Histogram)
BASES = {
    Histogram: "as in [histograms](#histograms)",
    FileServers: "as in [servers of files](#servers-of-files)",
    PlannedVictims: "as in [load](#load)",
    LoadRecord: "as in [load](#load)",
}
PARTS = {part.__name__: part for part in (*OBJECTS, *BASES)}
KEYS = ("which", "from 1")  # meanings of fields that state what a record is about
MISSING = "?"  # marks a field that a record may lack


def page(text: str) -> str:
    """The text with new tables."""
    write = {"records": records_of, "fields": lambda name: fields_table(PARTS[name], ""), "invariants": invariants_of}
    return BLOCK.sub(lambda block: f"{block[1]}\n{write[block[2]](block[3])}\n{block[4]}", text)


def records_of(name: str) -> str:
    """A paragraph and a table for each record that a benchmark has for itself, or that several share."""
    texts, kind, before = [], "", []
    for record in SHARED.get(name) or own_records(name):
        fields = [*fields_of(type_info(record), name)]
        more = f" It has the fields of `{kind}`." if fields == before else ""
        kind = kind if more else kind_of(record)
        texts.append(record_text(record, more, [] if more else fields))
        before = fields
    return "\n".join(texts)


def own_records(name: str) -> list[type[Record]]:
    """The records of a benchmark whose classes are in its own folder."""
    return [record for record in log_formats()[name].own if owner(record) == name]


def owner(described: type) -> str:
    """The benchmark in whose folder a class is; empty if several share it."""
    packages = {name: benchmark.package for name, benchmark in benchmarks().items()}
    return next((name for name, package in packages.items() if described.__module__.startswith(f"{package}.")), "")


def invariants_of(name: str) -> str:
    """The table of what has to agree in the logs of a benchmark, or of several."""
    stated = INVARIANTS[name] if name in INVARIANTS else part(name, "invariants").INVARIANTS
    return table("invariant", "what has to agree", stated.items())


def record_text(record: type[Record], more: str, fields: list[tuple[str, str]]) -> str:
    """The fields that state what the record is about follow its kind, the others are in a table."""
    keys = [name for name, text in fields if text in KEYS and "." not in name]
    by = f", by {', '.join(f'`{key}`' for key in keys)}" if keys else ""
    paragraph = textwrap.fill(f"`{kind_of(record)}`{by}: {inline(record)}.{more}", 120, break_on_hyphens=False)
    rows = [row for row in fields if row[0] not in keys]
    return f"{paragraph}\n" + (f"\n{table('field', 'meaning', rows)}" if rows else "")


def fields_table(described: type, benchmark: str) -> str:
    return table("field", "meaning", fields_of(type_info(described), benchmark))


def inline(described: type | None) -> str:
    """What a class is for, as part of a sentence."""
    text = " ".join(((described and (get_origin(described) or described).__doc__) or "").split()).removesuffix(".")
    word = text.partition(" ")[0]
    return text[:1].lower() + text[1:] if word.isalpha() and word[1:] == word[1:].lower() else text


def table(name: str, meaning: str, rows) -> str:
    """Neighbours with the same meaning share a row."""
    lines = [f"| {name} | {meaning} |\n|---|---|\n"]
    for text, group in groupby(rows, key=itemgetter(1)):
        lines.append(f"| {joined([first for first, _ in group])} | {text} |\n")
    return "".join(lines)


def joined(names: list[str]) -> str:
    """`a`, `b.c`, `b.d` as `a`, `b.{c,d}`."""
    texts = []
    for above, group in groupby(names, key=lambda name: name.rpartition(".")[0]):
        inner = [*group]
        if above and inner[1:]:
            inner = [f"{above}.{{{','.join(name.rpartition('.')[2] for name in inner)}}}"]
        texts += inner
    return ", ".join(f"`{text}`" for text in texts)


def fields_of(record: StructType, benchmark: str, above: str = ""):
    """Name and meaning of each field, those of objects inside it behind their own, with the names of both. What is a
    class of another benchmark, or one of BASES, is explained there."""
    for field in record.fields:
        if field.name == "sequence":
            continue
        name = f"{above}{field.encode_name}"
        described = get_origin(record.cls) or record.cls
        stating = next(one for one in described.__mro__ if field.name in getattr(one, "__annotations__", ()))
        if stating in BASES and (above or stating is not described):
            yield name, BASES[stating]
            continue
        other = owner(stating)
        if other not in ("", benchmark):
            yield name, f"as in [{other}](#{other.replace('_', '-')})"
            continue
        yield name + ("" if field.required else MISSING), description(field, name)
        inner = struct_in(field.type)
        if inner and inner.cls not in OBJECTS and owner(inner.cls) in ("", benchmark):
            yield from fields_of(inner, benchmark, f"{name}.")


def description(field: Field, name: str) -> str:
    """What Meta(description) says; otherwise what the class of the object says. Raises ValueError if neither does, or
    if the description does not say when a value is null."""
    inner = struct_in(field.type)
    stated = (field.type.extra_json_schema or {}).get("description") if isinstance(field.type, Metadata) else None
    text = stated or inline(inner and inner.cls)
    if not text:
        raise ValueError(f"{name} has no description")
    if field.required and may_be_null(field.type) and "null" not in text:
        raise ValueError(f"{name}: the description does not say when it is null")
    return text


def plain(kind: Type) -> Type:
    return plain(kind.type) if isinstance(kind, Metadata) else kind


def may_be_null(kind: Type) -> bool:
    kind = plain(kind)
    return isinstance(kind, UnionType) and kind.includes_none


def struct_in(kind: Type) -> StructType | None:
    """The object that a field is, or of which it is a list or a dictionary."""
    kind = plain(kind)
    if isinstance(kind, StructType):
        return kind
    if isinstance(kind, ListType):
        return struct_in(kind.item_type)
    if isinstance(kind, DictType):
        return struct_in(kind.value_type)
    if isinstance(kind, UnionType):
        return next(filter(None, map(struct_in, kind.types)), None)
    return None


if __name__ == "__main__":
    path = Path(sys.argv[1])
    path.write_text(page(path.read_text(encoding="utf-8")), encoding="utf-8")
