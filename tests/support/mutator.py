# SPDX-License-Identifier: Apache-2.0
"""Changes logs of kernels in small ways and compares what coffeecup makes of them with docs/log.md: every change has to
be refused, except of fields that a log alone cannot prove. These may be accepted, but cause no defect either.

A change is one of those that a person or a damaged disk makes: a value becomes another one, a flag its opposite, a
member of a list or a record is left out, repeated or swapped with its neighbour, a key is left out or added.
"""

import copy
import json
import lzma
import random
import re
import signal
from collections import Counter
from contextlib import contextmanager
from pathlib import Path

from coffeecup.postprocess.benchmarks.scoring import score_logs
from coffeecup.postprocess.logs.reader import LogError

KERNEL_LOGS = Path(__file__).resolve().parents[1] / "kernel_logs"
LOGS = tuple(sorted(path.name.removesuffix(".jsonl.xz") for path in KERNEL_LOGS.glob("*.xz")))
PATIENCE = 120  # seconds for one log
DOCS = Path(__file__).resolve().parents[2] / "docs" / "log.md"
PROVES_NOTHING = "## What a log alone cannot prove"
FEW_NODES = 4  # have fewer matchings than requested
# Records that the system or the run may lack.
MAY_LACK = {"activity", "layout", "overlap"}
OPTIONAL = {"root", "topology", "processor", "system"}  # of hosts: keys that are written only if they have a value
WORDS = {
    "ended_by": ("time", "count", "space", "overrun"),
    "form": ("standard", "quick", "top-clusters"),
    "check": ("sample", "all"),
    "termination": ("geometric", "per-access"),
    "file_pointers": ("shared", "individual"),
    "memory_source": ("physical", "cgroup", "option"),
    "storage": ("posix", "mpiio"),
    "build": ("full", "mpi", "serial"),
    "target": ("directory", "file", "device"),
    "loops": ("bandwidth", "latency", "one_per_node", "all", "patterns"),
    "processes": ("one_per_node", "all"),
    "scope": ("all", "within", "across"),
    "direction": ("both", "up", "down"),
    "resolution": ("process", "node"),
    "phase": ("idle", "run"),
    "status": ("complete", "interrupted", "failed", "hung"),
    "operation": ("read", "write"),
}


def free_fields(benchmark: str) -> set[str]:
    """The fields that the page lists for every log and for those of a benchmark: a record, or record.field."""
    table = DOCS.read_text(encoding="utf-8").split(PROVES_NOTHING)[1]
    rows = re.findall(r"^\| ([\w, ]+) \| (`.*?) \|", table, re.MULTILINE)
    here = [names for logs, names in rows if {"every", benchmark} & {*logs.split(", ")}]
    return {one for names in here for name in re.findall(r"`([^`]+)`", names) for one in expanded(name)}


def expanded(name: str) -> list[str]:
    """What a name with braces stands for, as in a shell."""
    head, _, rest = name.partition("{")
    inside, brace, tail = rest.partition("}")
    return [one for word in inside.split(",") for one in expanded(f"{head}{word}{tail}")] if brace else [name]


def is_free(path: tuple[str, ...], free: set[str]) -> bool:
    return any(".".join(path[:length]) in free for length in range(1, len(path) + 1))


def places(value, path=()):
    """(container, key, path of names) of everything in a record; members of a list have the path of their list."""
    entries = value.items() if isinstance(value, dict) else enumerate(value)
    for key, inner in list(entries):
        inside = (*path, key) if isinstance(value, dict) else path
        yield value, key, inside
        if isinstance(inner, dict | list):
            yield from places(inner, inside)


class Mutator:
    """`records` are those of a sound log, as JSON; `rng` is a random.Random."""

    def __init__(self, records: list[dict], rng):
        self.records, self.rng = records, rng
        self.free = free_fields(records[0]["benchmark"])
        if len(records[0]["hosts"]) > FEW_NODES:
            self.free.discard("run.options.matchings")
        self.kinds = sorted({record["record"] for record in records})
        self.contents = {id(record): self.content_of(record) for record in records}

    def mutated(self) -> tuple[str, bytes, bool]:
        """What was changed, the log, and whether it must be refused."""
        while True:
            records = copy.copy(self.records)
            change = self.of_records if self.rng.random() < 0.15 else self.of_a_field
            if found := change(records):
                what, refused = found
                return what, "".join(json.dumps(record) + "\n" for record in records).encode(), refused

    # --- whole records

    def of_records(self, records):
        number = self.rng.randrange(len(records))
        kind, how = records[number]["record"], self.rng.choice(("drop", "repeat", "swap", "move"))
        other = min(number + 1, len(records) - 1) if how == "swap" else self.rng.randrange(len(records))
        if how in ("swap", "move") and self.same(records[number], records[other]):
            return None
        if how == "drop":
            del records[number]
        elif how == "repeat":
            records.insert(number, records[number])
        elif how == "swap":
            records[number], records[other] = records[other], records[number]
        else:
            records.insert(other, records.pop(number))
        if [self.content(record) for record in records] == [self.content(record) for record in self.records]:
            return None
        renumber(records)
        return f"{how} {kind} {number} {other}", not (how == "drop" and self.may_lack(self.records[number]))

    def may_lack(self, record):
        """A budget that left out nothing has no effect."""
        return record["record"] in MAY_LACK or (
            record["record"] == "budget" and record["methods"] == self.methods_of(record["pattern"])
        )

    def methods_of(self, pattern):
        return next(entry["methods"] for entry in self.records[1]["patterns"] if entry["name"] == pattern)

    def same(self, a, b):
        return self.content(a) == self.content(b)

    def content(self, record):
        return self.contents[id(record)]

    def content_of(self, record):
        """What a record states without its number and the fields that nothing else determines."""
        kind = record["record"]
        fields = {name: value for name, value in record.items() if not is_free((kind, name), self.free)}
        return json.dumps({**fields, "sequence": 0, "records": 0}, sort_keys=True)

    # --- fields

    def of_a_field(self, records):
        kind = self.rng.choice(self.kinds)
        number = self.rng.choice([n for n, record in enumerate(records) if record["record"] == kind])
        records[number] = record = copy.deepcopy(records[number])
        container, key, path = self.rng.choice(list(places(record, (kind,))))
        old = container[key]
        if path[-1] == "record" or path[1:2] == ("environment",):
            return None
        how = self.rng.choice(("change", "change", "change", "change", "drop", "add", "repeat", "swap"))
        refused = getattr(self, how)(container, key, old, path)
        if refused is None:
            return None
        return f"{how} {'.'.join(path)} in line {number + 1}: {old!r:.60} -> {self.now(container, key)!r:.60}", refused

    def now(self, container, key):
        try:
            return container[key]
        except (LookupError, TypeError):
            return None

    def change(self, container, key, old, path):
        new = self.other(old, path)
        if new is None or (type(new) is type(old) and new == old) or isinstance(old, dict | list):
            return None
        if path[1] == "options" and new == old:
            return None  # a number of an option may have a decimal point
        container[key] = new
        if isinstance(old, int) and isinstance(new, float):
            return True  # an integer is written as an integer
        return not is_free(path, self.free)

    def other(self, old, path):
        """Another value: near, far, or one that the field has elsewhere in the log."""
        rng, elsewhere = self.rng, self.elsewhere(path)
        if isinstance(old, bool):
            return not old
        if isinstance(old, int):
            values = [old + 1, old - 1, old * 2, old * 10, 0, 2**62, float(old), *elsewhere]
        elif isinstance(old, float):
            values = [old * 2, old * 10, old / 10, 0.0, -old, 1e9, *elsewhere]
        elif isinstance(old, str):
            values = [*WORDS.get(path[-1], ()), *elsewhere, "x", old + "x"]
        else:
            values = [*WORDS.get(path[-1], ()), *elsewhere, 1, "x", True]
        return rng.choice(values)

    def elsewhere(self, path):
        record = self.rng.choice([record for record in self.records if record["record"] == path[0]])
        found = [box[key] for box, key, where in places(record, (path[0],)) if where == path]
        return [value for value in found if not isinstance(value, dict | list | type(None))][:5]

    def drop(self, container, key, _old, path):
        if path[1] in ("options", "environment") and isinstance(container, dict):
            return None
        if path[-2:-1] == ("hints",):
            return None
        del container[key]
        return not is_free(path, self.free) or (isinstance(container, dict) and key not in OPTIONAL)

    def add(self, container, _key, _old, path):
        if not isinstance(container, dict) or path[-2:-1] in (("options",), ("hints",), ("environment",), ("values",)):
            return None
        container["surprise"] = 1
        return True

    def repeat(self, container, key, old, path):
        if not isinstance(container, list):
            return None
        container.insert(key, copy.deepcopy(old))
        return not is_free(path, self.free)

    def swap(self, container, key, old, path):
        if not isinstance(container, list) or key == 0 or container[key - 1] == old:
            return None
        container[key - 1], container[key] = old, container[key - 1]
        return not is_free((*path, "order"), self.free)


def renumber(records: list[dict]) -> None:
    """As a forger would."""
    for number, record in enumerate(records):
        records[number] = {**record, "sequence": number}
        if record["record"] == "end":
            records[number]["records"] = len(records)


def kernel_log(name: str) -> list[dict]:
    """The records of a log in tests/kernel_logs."""
    return [json.loads(line) for line in lzma.open(KERNEL_LOGS / f"{name}.jsonl.xz", "rt", encoding="utf-8")]


def tried(name: str, seed: int, count: int, folder: str) -> Counter:
    """Changes a log `count` times; how often coffeecup refused the change or rightly accepted it, and what it wrongly
    accepted, could not handle, or needed too long for: those keys begin with the name of the log."""
    mutator, found = Mutator(kernel_log(name), random.Random(f"{name} {seed}")), Counter()
    path = Path(folder, f"{name}-{seed}.jsonl")
    for _ in range(count):
        what, data, must_be_refused = mutator.mutated()
        path.write_bytes(data)
        with alarm(PATIENCE):
            [score] = score_logs([path])
        if isinstance(score, LogError):
            found[f"{name}: defect: {what}: {score}" if "defect" in str(score) else "refused"] += 1
        else:
            found[f"{name}: accepted: {what}" if must_be_refused else "accepted"] += 1
    path.unlink()
    return found


@contextmanager
def alarm(seconds: int):
    """A change that hangs becomes a defect of coffeecup, by the exception. Only processor time counts, so that a busy
    machine makes none."""

    def late(*_):
        raise TimeoutError(f"a log was not scored in {seconds} s")

    before = signal.signal(signal.SIGPROF, late)
    signal.setitimer(signal.ITIMER_PROF, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)
