# SPDX-License-Identifier: Apache-2.0
"""Changes of the records of a log, written as text: one or more of these, separated by " ; ".

    RECORD.field = 2                              a field of the first record of this kind gets a JSON value
    RECORD{pattern=3}.field *= 1.5                the same of the first one with these fields, multiplied; += adds
    RECORD.field := 0.5 * other                   a field gets a multiple of another one beside it
    RECORD.list[-1].field, RECORD.list[name=x]    a member by its place, or the first one with this field
    del P, reverse P, repeat P                    a record, a field or a member is left out, reversed, there twice
    append P = 2                                  a member more at the end of a list
    insert P = {"record": "stop"}                 a record or a member more, before this one
    move P to Q                                   a record, or a member of a list, comes right before another one
    swap P with Q                                 two records, or two members of a list, change places

A path that begins with "." or "[" goes on where the path of the change before it ended, one step less deep.
"""

import copy
import json
import re
from collections.abc import Callable

from logs_made import first

EDIT = re.compile(
    r"(?:(?P<verb>del|reverse|repeat|append|insert|move|swap) )?(?P<path>\S+?)"
    r"(?: (?:with|to) (?P<other>\S+)| (?P<sign>[*+:]?=) (?P<value>.*))?"
)
STEP = re.compile(r"\{(?P<of>[^}]*)\}|\.(?P<key>[\w-]+)|\[(?P<place>-?\d+)\]|\[(?P<name>\w+)=(?P<value>[^]]*)\]")


def value_of(text):
    try:
        return json.loads(text)
    except json.JSONDecodeError:
        return text


def found(records, path):
    """Where a path leads: a list or an object, and the place or the key in it."""
    kind = re.match(r"\w+", path)[0]
    steps = list(STEP.finditer(path, len(kind)))
    if "".join(step[0] for step in steps) != path[len(kind) :]:
        raise ValueError(f"no path of a log: {path}")
    of = dict(part.split("=") for part in steps.pop(0)["of"].split(",")) if steps and steps[0]["of"] else {}
    fields = {"record": kind} | {name: value_of(value) for name, value in of.items()}
    inside, at = records, place_with(records, fields)
    for step in steps:
        inside = inside[at]
        if step["key"]:
            at = step["key"]
        else:
            at = int(step["place"]) if step["place"] else place_with(inside, {step["name"]: value_of(step["value"])})
    return inside, at


def place_with(members, fields):
    """Of the first member that has these fields."""
    return next(n for n, member in enumerate(members) if fields.items() <= member.items())


def once(records, parts, path):
    inside, at = found(records, path)
    match parts["verb"], parts["sign"]:
        case "del", None:
            del inside[at]
        case "reverse", None:
            inside[at].reverse()
        case "repeat", None:
            inside.insert(at, copy.deepcopy(inside[at]))
        case "append", "=":
            inside[at].append(value_of(parts["value"]))
        case "insert", "=":
            inside.insert(at, value_of(parts["value"]))
        case "move", None:
            member = inside.pop(at)
            other, place = found(records, parts["other"])
            other.insert(place, member)
        case "swap", None:
            other, place = found(records, parts["other"])
            inside[at], other[place] = other[place], inside[at]
        case None, "=":
            inside[at] = value_of(parts["value"])
        case None, ":=":
            factor, _, other = parts["value"].partition(" * ")
            inside[at] = json.loads(factor) * inside[other]
        case None, "*=":
            inside[at] *= json.loads(parts["value"])
        case None, "+=":
            inside[at] += json.loads(parts["value"])
        case _:
            raise ValueError(f"no change of a log: {parts[0]}")


def edit(text: str) -> Callable[[list[dict]], None]:
    """A function that changes the records of a log in place, as `text` says."""

    def change(records):
        path = ""
        for each in text.split(" ; "):
            parts = EDIT.fullmatch(each)
            last = list(STEP.finditer(path))[-1:]
            before = path[: last[0].start()] if last else path
            path = before + parts["path"] if parts["path"][0] in ".[" else parts["path"]
            once(records, parts, path)

    return change


# --- the same as functions, where values are computed -----------------------------------------------------------------


def put(kind, **fields):
    """Sets fields of the first record of a kind."""
    return lambda r: first(r, record=kind).update(fields)


def where(kind, fields, **match):
    return lambda r: first(r, record=kind, **match).update(fields)


def option(**options):
    return lambda r: r[0]["options"].update({name.replace("_", "-"): value for name, value in options.items()})
