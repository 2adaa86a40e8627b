# SPDX-License-Identifier: Apache-2.0
"""The order in which PRIOMark replays a recording: threads beside each other, processes one after the other where they
ran so, think times in sum."""

import re

import pytest
from builds import compiled
from kernel_runs import good
from priomark_runs import SOURCES, records, replay_of, run, straced
from scores import keys
from system_calls import most_in_flight, whole_lines
from test_priomark_recorder import record
from test_priomark_trace import HEAD, measurement, own_name, replay

from coffeecup.postprocess.benchmarks.scoring import score_log

THREADS = 8
CREATED = (0, 1, 1, "open 1 O_RDWR|O_CREAT 0 /f")


@pytest.fixture(scope="module")
def eight(tmp_path_factory):
    return compiled(tmp_path_factory.mktemp("eight") / "eight", SOURCES / "eight.c", flags=["-pthread"])


def test_program_with_eight_threads_has_eight_requests_in_flight_when_it_is_replayed(serial, recorder, eight, tmp_path):
    """strace makes every pread last half a second: that is enough for all threads to get there."""
    (tmp_path / "work").mkdir()
    (tmp_path / "work" / "data").write_bytes(bytes(THREADS * 8192))
    good(record(recorder, [str(eight)], tmp_path / "work", tmp_path / "traces"))
    slow = ("-e", "trace=pread64", "-e", "inject=pread64:delay_enter=500000")
    lines = straced(serial, tmp_path, replay_of(tmp_path / "traces"), 1, *slow)
    assert most_in_flight(lines, "pread64", "trace-") == THREADS
    found = measurement(records(tmp_path))
    assert found["values"]["threads"] == [THREADS + 1]  # the main thread opens and closes the file
    assert found["read_calls"] == 2 * THREADS and found["values"]["differing_results"] == [0]


def trace_of(*requests):
    """Lines of a trace from (begin, end, thread, words), in ms; the lines are in the order of the ends."""
    ordered = sorted(requests, key=lambda request: request[1])
    return HEAD + "".join(f"at {b * 10**6} {(e - b) * 10**6} {t} {w}\n" for b, e, t, w in ordered)


def order_of_replay(serial, folder, text):
    """The calls of a replay on its files as strace sees them end, without the preparation: (name, offset or path)."""
    (folder / "one.trace").write_text(text)
    calls = "trace=openat,pread64,pwrite64,write,close,ftruncate"
    lines = straced(serial, folder, replay_of(folder / "one.trace", sync="false"), 1, "-e", calls)
    return [line for line in whole_lines("\n".join(lines)) if "trace-" in line]


def test_threads_wait_for_each_other_only_where_they_depend_on_each_other(serial, tmp_path):
    """Thread 2 uses the handle that thread 1 opened and closes; the file is cut after it was written and before it is
    read; the end is read after it has been written. Written down with thread 2 far behind: without waiting, its
    requests would come too early or too late."""
    text = trace_of(
        CREATED,
        (2, 3, 1, "pwrite 1 0 1000 1000"),
        (4, 5, 2, "pwrite 1 1000 1000 1000"),
        (6, 7, 1, "pread 1 1000 1000 1000"),
        (8, 9, 2, "ftruncate 1 500"),
        (10, 11, 1, "pread 1 0 1000 500"),
        (12, 13, 2, "pread 1 0 100 100"),
        (14, 15, 1, "close 1"),
        (16, 17, 2, "open 2 O_RDONLY 500 /f"),
        (18, 19, 2, "close 2"),
        (18, 20, 1, "open 3 O_RDONLY 500 /f"),
    )
    lines = order_of_replay(serial, tmp_path, text)
    kinds = [re.search(r"\d+ +(\w+)\(", line)[1] for line in lines]
    wanted = ["openat", "pwrite64", "pwrite64", "pread64", "ftruncate"]
    assert kinds[:5] == wanted
    assert sorted(kinds[5:]) == ["close"] * 3 + ["openat"] * 2 + ["pread64"] * 2
    first, second = (line.split()[0] for line in (lines[0], lines[4]))  # the threads: one opened, the other one cut
    own = lambda thread, kind: [n for n, line in enumerate(lines) if line.split()[0] == thread and f" {kind}(" in line]  # noqa: E731
    assert own(second, "pread64")[0] < own(first, "close")[0]  # of the handle by which both read
    found = measurement(records(tmp_path))
    assert found["values"]["threads"] == [2] and found["values"]["differing_results"] == [0]
    assert len({line.split()[0] for line in lines}) == 2


def test_threads_that_never_ran_at_the_same_time_share_a_thread(serial, tmp_path):
    writes = ((2 + 2 * n, 3 + 2 * n, n + 2, f"pwrite 1 {n} 1 1") for n in range(50))
    lines = order_of_replay(serial, tmp_path, trace_of(CREATED, *writes))
    assert len({line.split()[0] for line in lines}) == 1
    offsets = [int(re.search(r", (\d+)\) = 1", line)[1]) for line in lines if "pwrite64" in line]
    assert offsets == list(range(50))


def test_requests_by_one_file_pointer_keep_their_order(serial, tmp_path):
    """Two threads write 100 times each by the pointer of one handle, in turns; the offsets fit this order only."""
    writes = [(2 + n, 4 + n, 1 + n % 2, f"write 1 {n * (n - 1) // 2} {n} {n}") for n in range(1, 101)]
    lines = order_of_replay(serial, tmp_path, trace_of(CREATED, *writes))
    written = [line for line in lines if re.search(r"^\d+ +write\(", line)]
    sizes = [int(re.search(r", (\d+)\) = \d+$", line)[1]) for line in written]
    assert sizes == list(range(1, 101))
    found = measurement(records(tmp_path))
    assert found["values"]["repositioned"] == [0]


def test_too_many_threads_at_a_time_are_refused(serial, tmp_path):
    opened = ((0, 2000 + n, n + 1, f"open {n + 1} O_RDWR|O_CREAT 0 /f{n}") for n in range(1025))
    (tmp_path / "many.trace").write_text(trace_of(*opened, (3100, 3101, 1, "write 1 0 5 5")))
    done = run(serial, tmp_path, replay_of(tmp_path / "many.trace"))
    assert done.returncode == 2 and "more than 1024 threads at the same time" in done.stderr


def test_many_short_think_times_keep_their_sum(serial, tmp_path):
    """2000 times 0.1 ms, 0.2 s by hand. Every sleep takes longer than requested: what was too long is made up for, so
    that less than the sum is requested."""
    text = HEAD + "at 0 0 1 open 1 O_RDWR|O_CREAT 0 /f\n"
    text += "".join(f"at {100_000 * n} 0 1 pwrite 1 0 1 1\n" for n in range(1, 2001))
    (tmp_path / "one.trace").write_text(text)
    replayed = replay_of(tmp_path / "one.trace", think_time="true")
    lines = straced(serial, tmp_path, replayed, 1, "-e", "trace=clock_nanosleep")
    found = measurement(records(tmp_path))
    assert found["values"]["think_seconds"] == pytest.approx([0.2])
    assert found["values"]["slept_seconds"][0] >= 0.2 - 1e-4
    requested = [re.search(r"clock_nanosleep\(.*tv_sec=(\d+), tv_nsec=(\d+)", line) for line in lines]
    seconds = [int(sleep[1]) + 1e-9 * int(sleep[2]) for sleep in requested if sleep]
    assert seconds and 0 < sum(seconds) < 0.2 - 1e-9 * len(seconds)  # without that, 0.2 but for what is rounded down


# --- processes --------------------------------------------------------------------------------------------------------


def process(path, start_ms, end_ms, name, writes=50):
    """A trace of a process that writes to a file of its own from the beginning to the end."""
    step = (end_ms - start_ms) * 10**6 // writes
    lines = [f"at {n * step} {step} 1 write 1 {10 * n} 10 10\n" for n in range(1, writes)]
    path.write_text(
        f"priomark-trace 1\ncommand {name}\nprocess 1 of 0\nstart {start_ms * 10**6}\n"
        f"at 0 {step} 1 open 1 O_WRONLY|O_CREAT 0 /{name}\n" + "".join(lines)
    )


def spans(openmpi, folder, ranks, recording):
    """When a replay wrote to each file first and last, in the order in which strace saw it: by file."""
    found = {}
    for number, line in enumerate(
        straced(openmpi, folder, replay_of(recording, sync="false"), ranks, "-e", "trace=write")
    ):
        if name := re.search(r"trace-\d+-[0-9a-f]{16}", line):
            first, _ = found.get(name[0], (number, number))
            found[name[0]] = (first, number)
    return found


def test_processes_keep_the_order_in_which_they_ran(openmpi, tmp_path):
    """a, then b and c at the same time, then d: when they were recorded, and in the replay."""
    (tmp_path / "traces").mkdir()
    for name, begin, end in (("a", 0, 10), ("b", 11, 30), ("c", 20, 25), ("d", 40, 50)):
        process(tmp_path / "traces" / f"{name}.trace", begin, end, name)
    found = spans(openmpi, tmp_path, 8, tmp_path / "traces")
    for copy in (0, 1):
        a, b, c, d = (found[own_name(f"/{name}").replace("000000", f"{copy:06}")] for name in "abcd")
        assert a[1] < min(b[0], c[0]) and max(b[1], c[1]) < d[0]
    log = records(tmp_path)
    assert measurement(log)["values"]["copies"] == [2] * 8
    assert measurement(log)["values"]["overlapped"] == [0, 1, 1, 0] * 2
    [text] = [q.text for q in score_log(tmp_path / "log.jsonl").qualifications if q.key == "made_concurrent"]
    assert "2 copies of the recorded program" in text and "4 of 8 processes" in text


def test_process_that_ran_alone_is_not_said_to_be_made_concurrent(openmpi, tmp_path):
    (tmp_path / "traces").mkdir()
    for name, begin, end in (("a", 0, 10), ("b", 10, 20)):
        process(tmp_path / "traces" / f"{name}.trace", begin, end, name, writes=10)
    good(replay(openmpi, tmp_path, tmp_path / "traces", ranks=2)[0])
    assert "made_concurrent" not in keys(score_log(tmp_path / "log.jsonl"))


def test_think_time_begins_where_the_processes_before_ended(openmpi, tmp_path):
    """b began 0.3 s after a ended; its own requests follow each other at once."""
    (tmp_path / "traces").mkdir()
    process(tmp_path / "traces" / "a.trace", 0, 10, "a", writes=10)
    process(tmp_path / "traces" / "b.trace", 310, 320, "b", writes=10)
    done, found = replay(openmpi, tmp_path, tmp_path / "traces", ranks=2, think_time="true")
    good(done)
    assert measurement(found)["values"]["think_seconds"] == pytest.approx([0, 0.3], abs=1e-6)
