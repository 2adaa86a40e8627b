# SPDX-License-Identifier: Apache-2.0
"""The sub-benchmark trace of PRIOMark: a replay asks for what the recorded program asked for, and no trace can harm
it."""

import random
import re
import shutil
import subprocess

import pytest
from builds import PATIENCE, ROOT, compiled
from file_systems import memory
from kernel_runs import good
from priomark_runs import SOURCES, leftovers, records, replay_of, run
from priomark_runs import command as priomark
from system_calls import traced
from test_priomark_recorder import command, folder_with_input, record, without_closes

from coffeecup.postprocess.benchmarks.scoring import score_log

HEAD = "priomark-trace 1\ncommand test\nprocess 1 of 0\nstart 1000\n"
FILE = "at 10 5 1 open 1 O_RDWR|O_CREAT 0 /f\n"


def replay(mpi, folder, recording, ranks=1, **keys):
    """Runs a replay in `folder`; the process, and the records of its log."""
    done = run(mpi, folder, replay_of(recording, **keys), ranks)
    assert leftovers(folder) == []
    return done, records(folder)


def measurement(records):
    [found] = [record for record in records if record["record"] == "measurement"]
    return found


def own_name(path):
    """FNV-1a of the recorded path, by its definition."""
    value = 14695981039346656037
    for byte in str(path).encode():
        value = (value ^ byte) * 1099511628211 % 2**64
    return f"trace-000000-{value:016x}"


def requests_of_replay(openmpi, folder, recording, names):
    """What strace sees of a replay, with the recorded names of its files."""
    launched = priomark(openmpi, folder, replay_of(recording, sync="false"), 1)
    done, threads = traced(launched, folder / "disk", folder / "strace", env=openmpi.environment)
    good(done)
    back = {own_name(path): name for name, path in names.items()}
    rename = lambda value: back.get(value.split("/")[-1], value) if isinstance(value, str) else value  # noqa: E731
    seen = [thread for thread in threads if any("trace-" in str(request[1]) for request in thread)]
    return [tuple(map(rename, request)) for thread in seen for request in thread]


@pytest.mark.parametrize("name", ["cp", "dd", "dd-direct", "numpy", "threads", "every-call"])
def test_replay_makes_the_requests_that_strace_sees_of_the_program(openmpi, recorder, programs, tmp_path, name):
    if not shutil.which("strace"):
        pytest.skip("no strace on this machine")
    plain, beside = folder_with_input(tmp_path / "plain"), folder_with_input(tmp_path / "beside")
    _, threads = traced(command(name, programs), plain, tmp_path / "strace-program")
    record(recorder, command(name, programs), beside, tmp_path / "traces")
    traces = sorted((tmp_path / "traces").iterdir(), key=lambda path: path.stat().st_size)
    for small in traces[:-1]:  # the program's children
        small.unlink()
    calls = without_closes(threads)
    expected = max(calls, key=len) if name == "every-call" else [request for thread in calls for request in thread]
    names = {path.name: path for path in beside.iterdir()}
    found = requests_of_replay(openmpi, tmp_path, tmp_path / "traces", names)
    # The child moved the pointer of `shared`; `temporary` was opened where nobody saw it.
    expected = [request for request in expected if request[1] not in ("temporary", "shared")]
    names.pop("shared", None)
    found = [
        request
        for request in found
        if request[0] != "close" and (request[1] in names or (len(request) > 3 and request[3] in names))
    ][-len(expected) :]
    if name == "threads":
        expected, found = sorted(expected), sorted(found)
    assert found == expected


def test_replay_counts_what_the_program_moved_and_differs_nowhere(openmpi, recorder, tmp_path):
    folder = folder_with_input(tmp_path / "work")
    record(recorder, ["dd", "if=input", "of=output", "bs=1000", "count=50"], folder, tmp_path / "traces")
    done, records = replay(openmpi, tmp_path, tmp_path / "traces", ranks=2)
    good(done)
    found = measurement(records)
    assert [found["read_calls"], found["write_calls"]] == [100, 100]
    assert [found["read_bytes"], found["written_bytes"]] == [100_000, 100_000]
    assert found["values"]["differing_results"] == [0, 0] and found["values"]["repositioned"] == [0, 0]
    assert score_log(tmp_path / "log.jsonl").metrics["trace"].value > 0


def test_processes_of_a_pipeline_are_replayed_side_by_side(openmpi, recorder, tmp_path):
    folder = folder_with_input(tmp_path / "work")
    script = "cat input | sort > sorted; head -c 500 sorted | cat > first"
    record(recorder, ["bash", "-c", script], folder, tmp_path / "traces [1]*")
    done, _ = replay(openmpi, tmp_path, tmp_path / "traces [1]*", ranks=2)
    assert done.returncode == 2
    wanted = int(re.search(r"(\d+) processes were recorded: run \d+ or a multiple of it, not 2", done.stderr)[1])
    assert wanted == 4  # cat, sort, head, cat: the shells move nothing
    done, records = replay(openmpi, tmp_path, tmp_path / "traces [1]*", ranks=4)
    assert done.returncode == 0, done.stderr
    assert measurement(records)["read_bytes"] >= 122_000


READ, WRITE = "at 20 5 1 read 1 0 10 10\n", "at 30 5 1 write 1 10 10 10\n"
COPY = (
    "at 10 5 1 open 1 O_RDONLY 10 /f\n" + READ + "at 40 5 1 open 2 O_WRONLY|O_CREAT 0 /g\nat 50 5 1 write 2 0 10 10\n"
)
MOVED = COPY + "at 60 5 1 rename 10 /g /h\nat 70 5 1 open 3 O_RDONLY 10 /h\nat 80 5 1 read 3 0 10 10\n"


@pytest.mark.parametrize(
    ("bodies", "evicted"),
    [
        ([COPY], True),
        ([FILE.replace("O_CREAT 0", "O_CREAT 10") + READ + WRITE], False),
        ([MOVED], False),
        ([FILE + WRITE.replace("10 10 10", "0 10 10"), COPY], False),
        ([FILE.replace("/f", "/other") + WRITE.replace("10 10 10", "0 10 10"), COPY], True),
    ],
    ids=["copy", "own", "renamed", "of another process", "only the second process reads"],
)
def test_what_the_recording_itself_writes_is_not_evicted_before_it_is_read(openmpi, tmp_path, bodies, evicted):
    (tmp_path / "traces").mkdir()
    for number, body in enumerate(bodies):
        start = HEAD.replace("start 1000", f"start {1000 + 1000 * number}")
        (tmp_path / "traces" / f"{number}.trace").write_text(start + body)
    done, found = replay(openmpi, tmp_path, tmp_path / "traces", ranks=len(bodies))
    good(done)
    assert measurement(found)["evicted"] is evicted


def test_think_time_is_kept_where_it_is_wanted(openmpi, tmp_path):
    """Three requests with 0.2 s between them, and half a second before the first: 0.9 s by hand."""
    trace = tmp_path / "one.trace"
    writes = [f"at {at}00000000 100000000 1 write 1 {offset} 1000 1000\n" for at, offset in ((8, 0), (11, 1000))]
    trace.write_text(HEAD + "at 500000000 100000000 1 open 1 O_WRONLY|O_CREAT 0 /f\n" + "".join(writes))
    for wanted in ("false", "true"):
        (tmp_path / "log.jsonl").unlink(missing_ok=True)
        done, records = replay(openmpi, tmp_path, trace, think_time=wanted)
        assert done.returncode == 0, done.stderr
        found = measurement(records)
        assert found["pattern"] == ("replay-think" if wanted == "true" else "replay")
        assert found["values"]["think_seconds"] == pytest.approx([0.9])
        [slept] = found["values"]["slept_seconds"]
        assert slept >= 0.9 if wanted == "true" else slept == 0


@pytest.mark.parametrize(
    "text, line, words",
    [
        ("", 1, "the file is empty"),
        ("something else\n", 1, "a trace begins with"),
        ("stopped\n", 1, "the recording stopped"),
        (HEAD + FILE + "at 20 5 1 write 1 0 10 10", 6, "cut off"),
        (HEAD + "nonsense\n", 5, "neither a request"),
        (HEAD + FILE + "at 20 5 1 write 2 0 10 10\n", 6, "handle 2 is not open"),
        (HEAD + FILE + "at 20 5 1 write 1 0 10 11\n", 6, "'11' is not a number from 0 to 10"),
        (HEAD + FILE + "at 20 5 1 write 1 -1 10 10\n", 6, "'-1' is not a number"),
        (HEAD + FILE + "at 20 5 1 write 1 0 99999999999999999999 10\n", 6, "is not a number"),
        (HEAD + FILE + "at 20 5 1 write 1 9223372036854775807 10 10\n", 6, "beyond the maximum size of a file"),
        (HEAD + FILE + "at 20 5 1 write 1 0 10\n", 6, "8 fields where 9 belong"),
        (HEAD + FILE + "at 20 5 1 erase 1 0 10 10\n", 6, "'erase' is not an operation"),
        (HEAD + FILE + "at 20 5 1 open 1 O_RDONLY 0 /g\n", 6, "open already"),
        (HEAD + FILE + "at 20 5 1 open 2 O_EVERYTHING 0 /g\n", 6, "not a way to open"),
        (HEAD + FILE + "at 20 5 1 open 999999 O_RDONLY 0 /g\n", 6, "not a number from 1 to"),
        (HEAD + FILE + "at 20 5 1 open 2 O_RDONLY 0 /%0\n", 6, "not a path"),
        (HEAD + FILE + "at 20 5 1 close 1\nat 30 5 1 close 1\n", 7, "handle 1 is not open"),
        (HEAD + "at 1 1 1 open 1 O_RDONLY 100 /f\nat 2 1 1 write 1 0 5 5\n", 6, "not opened for writing"),
        (HEAD + FILE + "at 20 5 1 lseek 1 0 SEEK_FAR 0\n", 6, "not a way to seek"),
        (HEAD + FILE + "at 20 5 1 writev 1 0 10 4 5\n", 6, "10 byte were moved of 9"),
        (HEAD + FILE + "at 20 5 1 fallocate 1 0 9223372036854775807 1\n", 6, "'1' is not a number from 1 to 0"),
        (HEAD + FILE + "at 20 5 1 fallocate 1 256 0 1\n", 6, "'256' is not a number from 0 to 255"),
        (HEAD + FILE + "at 20 5 1 truncate 5 -1 /f\n", 6, "'-1' is not a number"),
        (HEAD + FILE + "at 20 5 1 rename 5 /f\n", 6, "7 fields where 8 belong"),
        (HEAD + FILE + "at 20 5 1 unlink 5 /%\n", 6, "not a path"),
    ],
)
def test_bad_trace_is_refused_with_file_and_line_before_anything_is_made(serial, tmp_path, text, line, words):
    trace = tmp_path / "bad.trace"
    trace.write_text(text)
    done, records = replay(serial, tmp_path, trace)
    assert done.returncode == 2 and not records
    [said] = [line for line in done.stderr.splitlines() if "error: " in line]
    assert f"{trace}:{line}: " in said and words in said and "record the program again" in said
    assert "workload.cfg:1" in said


@pytest.mark.parametrize(
    "name, said",
    [
        ("empty.trace", "no process of the recording moved any data"),
        ("none", "contains no *.trace"),
        ("nowhere", "does not exist"),
    ],
)
def test_recording_without_data_is_refused(serial, tmp_path, name, said):
    (tmp_path / "empty.trace").write_text(HEAD + FILE)
    (tmp_path / "none").mkdir()
    done, records = replay(serial, tmp_path, tmp_path / name)
    assert done.returncode == 2 and not records and said in done.stderr


def test_workload_without_its_recording_is_refused(serial, tmp_path):
    done = run(serial, tmp_path, "trace = { think_time = true; };", 1)
    assert done.returncode == 2 and "workload.cfg:1: trace: the key 'recording' is missing" in done.stderr


def built_reader(program, *flags):
    """The kernel's reader of traces alone, which prints what is wrong with them."""
    kernels = ROOT / "kernels"
    includes = [f"-I{kernels / name}" for name in ("priomark", "priomark/trace", "common", "serial")]
    sources = [f"priomark/trace/trace_{part}.c" for part in ("read", "fields", "requests", "order")]
    sources = [kernels / name for name in (*sources, "common/memory.c", "common/input_file.c")]
    flags = ["-std=c11", "-D_GNU_SOURCE", "-O1", *includes, *flags]
    return compiled(program, SOURCES / "read_traces.c", *sources, "-ljansson", flags=flags)


def altered(text, chance):
    """A trace with a few bytes, words or lines changed."""
    lines = text.splitlines(keepends=True)
    for _ in range(chance.randint(1, 3)):
        place = chance.randrange(len(lines))
        words = lines[place].split(" ")
        change = chance.randrange(5)
        if change == 0:
            odd = ["-1", "9223372036854775807", "", "at", "1e9", "%", "O_RDWR", "\0", "7" * 400]
            words[chance.randrange(len(words))] = chance.choice(odd)
            lines[place] = " ".join(words)
        elif change == 1:
            lines[place] = lines[place][: chance.randrange(len(lines[place]) + 1)]
        elif change == 2:
            lines.insert(place, chance.choice(lines))
        elif change == 3 and len(lines) > 1:
            del lines[place]
        else:
            lines[place] = "".join(chr(chance.randrange(1, 256)) if chance.random() < 0.1 else c for c in lines[place])
    return "".join(lines)


def test_reader_survives_altered_traces_under_the_sanitizers(recorder, programs, tmp_path):
    folder = folder_with_input(tmp_path / "work")
    record(recorder, command("every-call", programs), folder, tmp_path / "traces")
    text = max((path.read_text() for path in (tmp_path / "traces").iterdir()), key=len)
    reader = built_reader(tmp_path / "reader", "-g", "-fsanitize=address,undefined", "-fno-sanitize-recover=all")
    chance, made = random.Random(7), []
    for number in range(1500):
        made.append(tmp_path / f"{number}.trace")
        made[-1].write_bytes(altered(text, chance).encode("latin-1"))
    done = good(subprocess.run([reader, *made], capture_output=True, timeout=PATIENCE, check=False))
    said = done.stdout.decode("latin-1").splitlines()
    assert len(said) > 700
    assert all(re.search(r"\.trace:\d+: .*; record the program again$", line) for line in said)


@pytest.mark.parametrize(
    "line",
    [
        "at 20 5 1 pwrite 1 0 4398046511104 10",
        "at 20 5 1 pwritev 1 0 10 4398046511104",
        "at 20 5 1 pwrite 1 4398046511104 4096 10\n" * 2**20,
    ],
)
def test_space_is_checked_for_what_a_replay_may_write_not_for_what_the_program_got_written(serial, tmp_path, line):
    """A write that was cut short when it was recorded may succeed in full here: 2 GiB, what Linux takes at once, or 4
    GiB of a million."""
    (tmp_path / "short.trace").write_text(HEAD + FILE + line.rstrip() + "\n")
    with memory(tmp_path / "disk", "size=64m"):
        done, records = replay(serial, tmp_path, tmp_path / "short.trace")
    assert done.returncode == 2 and "the run needs" in done.stderr
    assert not records
