# SPDX-License-Identifier: Apache-2.0
"""Reading logs: what is sound is read, whatever is not is refused with one line that names the file and the remedy."""

import json
import os
import re
from pathlib import Path

import logs_made
import msgspec
import orjson
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from logs_made_b_eff import budget
from logs_made_b_eff_io import b_eff_io_log
from logs_made_ftio import ftio_log
from logs_made_priomark import priomark_log
from small_log import SMALL, SMALL_TEXT, changed, place_of, refusal

from coffeecup.postprocess.benchmarks.b_eff.records import Measurement
from coffeecup.postprocess.benchmarks.registry import log_formats
from coffeecup.postprocess.benchmarks.scoring import read_log
from coffeecup.postprocess.logs.growing import GrowingLog
from coffeecup.postprocess.logs.reader import LogError

SMALL_LINES = SMALL_TEXT.splitlines(keepends=True)


@pytest.fixture(scope="module")
def scratch(tmp_path_factory):
    return tmp_path_factory.mktemp("logs") / "log.jsonl"


def as_json(record):
    return msgspec.to_builtins(record)


def course_of(path):
    log = GrowingLog(path, log_formats())
    log.read_on()
    return log.course


def test_whole_log_is_read_with_its_records_by_kind(scratch):
    log = read_log(logs_made.write(scratch, SMALL))
    assert as_json(log.plan) == SMALL[1] | {
        "memory": None,  # as without --memory
        "patterns": [pattern | {"memory": None} for pattern in SMALL[1]["patterns"]],
    }
    assert list(map(as_json, log.all(Measurement))) == [r for r in SMALL if r["record"] == "measurement"]
    assert as_json(log.end).items() >= SMALL[-1].items() and log.run.options == SMALL[0]["options"]
    assert sum(map(len, log.by_class.values())) == len(SMALL) - 2
    assert log.brief().all(Measurement) == [] and log.brief().end == log.end


def test_hash_is_that_of_sha256sum(scratch):
    path = logs_made.write(scratch, SMALL)
    assert read_log(path).sha256 == os.popen(f"sha256sum {path}").read().split()[0]


RUN = b'{"record": "run", "sequence": 0, "schema_version": %d, "benchmark": "%s"}\n'


@pytest.mark.parametrize(
    ("data", "says"),
    [
        (b"", "empty"),
        (b"\x89PNG\r\n\x1a\n\0\0", "not UTF-8"),
        (b"Hello, world\n", "line 1: not JSON"),
        (b"[1, 2]\n", "line 1: not a record"),
        (b"{}\n", "line 1: not a record"),
        (b'{"record": "measurement", "sequence": 0}\n', "first record is not 'run'"),
        (RUN % (1, b"b_eff"), "schema_version 1, and this coffeecup reads 2 only"),
        (RUN % (2, b"b_eff"), "run record"),
        (RUN % (3, b"b_eff"), "schema_version 3, and this coffeecup reads 2 only"),
        (RUN % (2, b"linpack"), "unknown benchmark 'linpack'"),
        (SMALL_LINES[0][:50], "cut off in its first record"),
        (SMALL_TEXT[:-1], "cut off in its last byte"),
        (SMALL_TEXT + b"\n", "data after the end record|an empty line"),
        (SMALL_TEXT + b"tail", "data after the end record"),
        (SMALL_TEXT + SMALL_TEXT, f"line {len(SMALL) + 1}: sequence 0 where"),
        (SMALL_TEXT.replace(b"nonblocking", b"non\xffblocking", 3), "not UTF-8"),
        (SMALL_TEXT.replace(b'"wrong_bytes": 0', b'"wrong_bytes": NaN'), "not JSON"),
        (SMALL_TEXT.replace(b'"wrong_bytes": 0', b'"wrong_bytes": 1e999'), "wrong_bytes: number out of range"),
        (SMALL_TEXT.replace(b'"wrong_bytes": 0', b'"wrong_bytes": ' + b"9" * 30), "wrong_bytes"),
        (SMALL_TEXT.replace(b'"wrong_bytes": 0', b'"wrong_bytes": 0, "wrong_bytes": 0'), "'wrong_bytes' occurs twice"),
        (
            SMALL_TEXT.replace(b'"message_bytes": 64,', b'"message_bytes" : 64, "message_bytes" : 64,', 1),
            "'message_bytes' occurs twice",
        ),
        (SMALL_TEXT.replace(b'"ranks": 2,', b'"ranks": true,'), "ranks"),
        (SMALL_TEXT.replace(b'"cores": 128', b'"cores": "128"', 1), "hosts.0.cores"),
    ],
)
def test_refusal_says_what_is_wrong(scratch, data, says):
    assert re.search(says, refusal(scratch, data))


def test_refusal_names_line_field_and_value(scratch):
    place = place_of("measurement")
    message = refusal(scratch, changed(SMALL, place, loop_length=0))
    assert f"line {place + 1}: measurement record, loop_length: expected int >= 1, found 0; " in message


def test_line_that_is_missing_repeated_or_moved_is_named(scratch):
    lines = SMALL_LINES
    for changed_lines, says in (
        (lines[:10] + lines[11:], "line 11: sequence 11 where 10 belongs"),
        (lines[:11] + lines[10:], "line 12: sequence 10 where 11 belongs"),
        ([*lines[:10], lines[11], lines[10], *lines[12:]], "line 11: sequence 11 where 10 belongs"),
    ):
        assert says in refusal(scratch, b"".join(changed_lines))


def test_records_left_out_with_their_numbers_closed_up_are_missed(scratch):
    shortened = logs_made.numbered(SMALL[:10] + SMALL[11:])
    shortened[-1]["records"] += 1
    assert f"counts {len(SMALL)} records, the log has {len(SMALL) - 1}" in refusal(scratch, shortened)


def test_cut_off_log_tells_how_far_the_run_came(scratch):
    place = SMALL.index(logs_made.first(SMALL, record="measurement", pattern="ring-4"))
    message = refusal(scratch, b"".join(SMALL_LINES[: place + 1]) + SMALL_LINES[place + 1][:20])
    done = sum(record["record"] == "measurement" for record in SMALL[: place + 1])
    assert (
        f"{done} of the {37 * 21} planned measurements were done, the last one: repetition 1, pattern ring-4, method "
        "nonblocking, message_bytes 1, loop_length 300"
    ) in message
    course = course_of(scratch)
    assert (course.status, course.planned, course.done) == ("running or cut off", 37 * 21, done)
    assert as_json(course.last) == SMALL[place]


@pytest.mark.parametrize("lines", [1, 2, 3])
def test_run_that_measured_nothing_yet_has_a_state(scratch, lines):
    logs_made.write(scratch, b"".join(SMALL_LINES[:lines]))
    assert course_of(scratch).done == 0
    assert "none of the" in refusal(scratch, b"".join(SMALL_LINES[:lines]))


@pytest.mark.parametrize(
    ("status", "reason", "says"),
    [
        ("interrupted", "signal 15 (Terminated)", "the run was interrupted: signal 15 (Terminated)"),
        ("interrupted", "SIGTERM", "the failure of another process, which the output of the run shows"),
        ("failed", "1 wrong byte in ring-2", "the run failed: 1 wrong byte in ring-2"),
        ("failed", None, "the kernel gave no reason"),
        ("failed", "evil \u001b[2J\nsecond line", r"evil \x1b[2J\nsecond line"),
    ],
)
def test_run_that_did_not_complete_yields_the_kernels_reason(scratch, status, reason, says):
    records = changed(SMALL, len(SMALL) - 1, status=status, reason=reason)
    assert says in refusal(scratch, records)
    assert course_of(scratch).status == status


def test_run_that_failed_before_its_plan_yields_the_kernels_reason(scratch):
    records = logs_made.numbered([SMALL[0], {**SMALL[-1], "status": "failed", "reason": "out of memory"}])
    assert "the run failed: out of memory" in refusal(scratch, records)


def test_what_is_no_readable_file_is_refused(tmp_path):
    reasons = {tmp_path: "^[^ ]*: a directory", tmp_path / "none.jsonl": "no such file", tmp_path / "\0": "cannot be"}
    for path, says in (reasons | {Path("/dev/null"): "^/dev/null: not a regular file"}).items():
        with pytest.raises(LogError, match=says):
            read_log(path)


def test_permission_error_is_a_refusal(scratch, monkeypatch):
    def forbidden(self):
        raise PermissionError(13, "Permission denied")

    logs_made.write(scratch, SMALL)
    monkeypatch.setattr(Path, "read_bytes", forbidden)
    with pytest.raises(LogError, match="ask its owner"):
        read_log(scratch)


FUZZ = settings(max_examples=80, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])


@FUZZ
@given(cut=st.integers(0, len(SMALL_TEXT) - 1))
def test_log_truncated_at_any_byte_yields_no_score(scratch, cut):
    refusal(scratch, SMALL_TEXT[:cut])


@FUZZ
@given(data=st.data())
def test_log_with_lines_deleted_repeated_or_swapped_yields_no_score(scratch, data):
    line = st.integers(0, len(SMALL_LINES) - 1)
    first, second = sorted(data.draw(st.tuples(line, line).filter(lambda pair: pair[0] != pair[1])))
    lines = list(SMALL_LINES)
    match data.draw(st.sampled_from(["delete", "repeat", "swap", "move"])):
        case "delete":
            del lines[first:second]
        case "repeat":
            lines[second:second] = lines[first:second]
        case "swap":
            lines[first], lines[second] = lines[second], lines[first]
        case "move":
            lines.insert(first, lines.pop(second))
    refusal(scratch, b"".join(lines))


STRUCTURE = st.sampled_from([match.start() for match in re.finditer(rb'[{}\[\]":,]|[a-z_](?=[a-z_]*": )', SMALL_TEXT)])


@FUZZ
@given(data=st.data())
def test_line_with_a_broken_structure_yields_no_score(scratch, data):
    """A byte of the structure (braces, brackets, quotes, colons, commas, letters of a key) becomes another
    character."""
    place = data.draw(STRUCTURE)
    other = data.draw(st.integers(0, 255).filter(lambda byte: byte != SMALL_TEXT[place] and byte not in b" \n"))
    broken = SMALL_TEXT[:place] + bytes([other]) + SMALL_TEXT[place + 1 :]
    assume(not same_up_to_free_text(broken))
    refusal(scratch, broken)


def same_up_to_free_text(data) -> bool:
    """Whether only text that steers nothing was changed (a host's name, an option, the compiler): such a log is still
    sound."""
    try:
        records = [json.loads(line) for line in data.splitlines()]
    except ValueError:
        return False
    free = ("options", "environment", "build", "command", "kernel_version", "mpi", "hosts")
    return len(records) == len(SMALL) and all(
        {k: v for k, v in new.items() if k not in free} == {k: v for k, v in old.items() if k not in free}
        for new, old in zip(records, SMALL)
        if isinstance(new, dict)
    )


@FUZZ
@given(data=st.binary(max_size=300))
def test_random_bytes_yield_no_score(scratch, data):
    refusal(scratch, data)


JSON_VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-10, 10)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=4,
)


@FUZZ
@given(data=st.data())
def test_field_of_another_type_yields_no_score(scratch, data):
    place = data.draw(st.sampled_from([0, 1, 2, place_of("measurement"), len(SMALL) - 2, len(SMALL) - 1]))
    field = data.draw(st.sampled_from(sorted(SMALL[place].keys() - {"options", "environment", "filesystem", "reason"})))
    old = SMALL[place][field]
    new = data.draw(JSON_VALUES.filter(lambda value: kind_of(value) != kind_of(old)))
    refusal(scratch, orjson_lines(changed(SMALL, place, **{field: new})))


@FUZZ
@given(data=st.data())
def test_missing_or_unknown_field_yields_no_score(scratch, data):
    place = data.draw(st.integers(0, len(SMALL) - 1))
    field = data.draw(st.sampled_from(sorted(SMALL[place])))
    without = {name: value for name, value in SMALL[place].items() if name != field}
    other = data.draw(st.text(max_size=8).filter(lambda name: name not in SMALL[place]))
    record = data.draw(st.sampled_from([without, without | {other: SMALL[place][field]}]))
    refusal(scratch, orjson_lines([*SMALL[:place], record, *SMALL[place + 1 :]]))


def kind_of(value):
    return float if type(value) is int else type(value)


def orjson_lines(records) -> bytes:
    return b"".join(orjson.dumps(record) + b"\n" for record in records)


# Progress


@pytest.mark.parametrize(
    ("name", "records", "steps"),
    [
        ("b_eff", SMALL, 37 * 21),
        ("b_eff_io", b_eff_io_log(ranks=4, partitions=(4,)), 3 * 43),  # access methods, patterns
        ("ftio", ftio_log(ranks=4), 3 * 6),  # repetitions, stages
        # patterns and methods of three sub-benchmarks
        ("priomark", priomark_log(ranks=4, repetitions=2), 2 * (3 * 5 + 2 * 1 + 2 * 3)),
    ],
)
def test_the_progress_of_a_run_goes_from_nothing_to_its_whole_plan(tmp_path, name, records, steps):
    log, seen = GrowingLog(tmp_path / "log.jsonl", log_formats()), []
    with log.path.open("wb") as file:
        for line in logs_made.text(records).splitlines(keepends=True):
            file.write(line)
            file.flush()
            log.read_on()
            seen.append((log.course.planned, log.course.done))
    assert log.title == f"{name} on {records[0]['ranks']} processes"
    assert seen[1] == (steps, 0) and seen[-1] == (steps, steps) and seen == sorted(seen)
    assert log.course.summary() == f"{steps} of {steps} measurements, complete"


def test_what_the_time_budget_leaves_out_is_not_waited_for(tmp_path):
    plan = SMALL[1]
    pattern = next(pattern for pattern in plan["patterns"] if pattern["methods"])
    left_out = logs_made.numbered([*SMALL[:2], budget(pattern["name"], 1, "averaged_methods", [])])
    course = course_of(logs_made.write(tmp_path / "log.jsonl", left_out))
    assert (course.planned, course.done) == (37 * 21 - len(pattern["methods"]), 0)
