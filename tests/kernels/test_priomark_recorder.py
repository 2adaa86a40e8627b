# SPDX-License-Identifier: Apache-2.0
"""The recorder of PRIOMark: the recorded program does not notice it, and what it writes down is what strace sees."""

import os
import random
import resource
import shutil
import subprocess
import sys

import pytest
from kernel_runs import run
from system_calls import recorded, requests_in, traced

NUMPY = """
import numpy as np
values = np.random.default_rng(1).normal(size=(300, 100))
np.save("values.npy", values)
back = np.load("values.npy")
with open("raw", "wb") as file:
    for row in back[::3]:
        row.tofile(file)
with open("raw", "r+b") as file:
    file.seek(4000)
    print(np.fromfile(file, count=10).sum())
    file.seek(80)
    file.write(b"changed")
np.savetxt("text.csv", values[:20], delimiter=",")
print(np.loadtxt("text.csv", delimiter=",").sum(), (back == values).all())
"""
PIPELINE = (
    "(head -c 1000; sort -r < input | sort -u > sorted; wc -c < sorted) < input > counted; tail -c 300 sorted >> "
    "counted; "
    'while read -r line; do echo "$line"; done < counted | tr a-f A-F > shouted; cat counted counted >> sorted; '
    "missing-command"
)
PROGRAMS = {
    "cp": ["cp", "input", "output"],
    "dd": ["dd", "if=input", "of=output", "bs=7000", "seek=3", "skip=1", "conv=notrunc,fsync"],
    "dd-direct": ["dd", "if=input", "of=output", "bs=8192", "oflag=direct"],
    "numpy": [sys.executable, "-c", NUMPY],
    "pipeline": ["bash", "-c", PIPELINE],
    "threads": ["threads"],
    "every-call": ["every_call"],
}


def folder_with_input(path):
    path.mkdir()
    letters = random.Random(1)
    (path / "input").write_text("".join("".join(letters.choices("abcdefgh ", k=60)) + "\n" for _ in range(2000)))
    return path


def command(name, programs):
    first, *others = PROGRAMS[name]
    return [str(programs / first) if (programs / first).exists() else first, *others]


def record(recorder, command, folder, traces, **options):
    traces.mkdir(exist_ok=True)
    settings = {"LD_PRELOAD": str(recorder), "PRIOMARK_TRACE": str(traces), "PRIOMARK_TRACE_BELOW": str(folder)}
    options = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE} | options
    return subprocess.run(command, cwd=folder, env=os.environ | settings, check=False, **options)


def contents(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def without_closes(threads):
    kept = (tuple(request for request in thread if request[0] != "close") for thread in threads)
    return sorted(thread for thread in kept if thread)


@pytest.mark.parametrize("name", PROGRAMS)
def test_recorded_program_does_the_same_and_its_trace_is_what_strace_sees(recorder, programs, tmp_path, name):
    if not shutil.which("strace"):
        pytest.skip("no strace on this machine")
    plain, beside = folder_with_input(tmp_path / "plain"), folder_with_input(tmp_path / "beside")
    expected, seen = traced(command(name, programs), plain, tmp_path / "strace")
    done = record(recorder, command(name, programs), beside, tmp_path / "traces")
    timeless = lambda text: text.partition(b" copied, ")[0]  # noqa: E731
    assert (done.returncode, done.stdout) == (expected.returncode, expected.stdout)
    assert timeless(done.stderr) == timeless(expected.stderr)
    assert contents(beside) == contents(plain)
    assert sum(map(len, seen)) >= 4
    found = recorded(tmp_path / "traces", beside)
    if name in (
        "pipeline",
        "every-call",
    ):  # descriptors of the parent that a process only closes, those that freopen() makes
        found, seen = without_closes(found), without_closes(seen)
    assert found == seen


def test_strace_is_understood_where_another_thread_came_between():
    """strace tells of one call in two pieces then. By hand: 500 bytes from offset 1100 to where the pointer is, 3."""
    whole = '7 write(4</d/to>, "abc", 3) = 3\n7 sendfile(4</d/to>, 3</d/from>, [1100] => [1600], 500) = 500\n7 close(4</d/to>) = 0\n'  # noqa: E501
    pieces = (
        '7 write(4</d/to>, "abc", 3 <unfinished ...>\n8 close(9</d>) = 0\n7 <... write resumed>) = 3\n'
        "7 sendfile(4</d/to>, 3</d/from>, [1100] <unfinished ...>\n8 close(9</d>) = 0\n7 <... sendfile resumed> => "
        "[1600], 500) = 500\n"
        "7 close(4</d/to> <unfinished ...>\n8 close(9</d>) = 0\n7 <... close resumed>) = 0\n"
    )
    for text in (whole, pieces):
        assert requests_in(text, "/d", {}) == [
            (("write", "to", 0, (3,), 3), ("sendfile", "from", 1100, "to", 3, 500, 500), ("close", "to"))
        ]


def test_each_trace_tells_its_command_and_nothing_outside_the_directory(recorder, tmp_path):
    folder = folder_with_input(tmp_path / "a b")
    (tmp_path / "elsewhere").write_text("x")
    assert record(recorder, ["cat", "input", "../elsewhere"], folder, tmp_path / "traces").returncode == 0
    [trace] = (tmp_path / "traces").iterdir()
    lines = trace.read_text().splitlines()
    assert lines[:2] == ["priomark-trace 1", "command cat input ../elsewhere"]
    assert "%20" in lines[4] and "elsewhere" not in "\n".join(lines[4:])


def test_killed_program_leaves_all_that_it_did(recorder, tmp_path):
    folder = folder_with_input(tmp_path / "work")
    script = "import os\nfor i in range(100): os.write(1, b'x' * i)\nos.kill(os.getpid(), 9)"
    with (folder / "output").open("wb") as output:
        done = record(recorder, [sys.executable, "-c", script], folder, tmp_path / "traces", stdout=output)
    assert done.returncode == -9
    [requests] = recorded(tmp_path / "traces", folder)
    assert [values[1] for call, _, *values in requests if call == "write"] == [(i,) for i in range(100)]


@pytest.mark.parametrize(
    "settings, words",
    [
        ({"PRIOMARK_TRACE": ""}, "set PRIOMARK_TRACE to a directory"),
        ({"PRIOMARK_TRACE": "/does/not/exist"}, "/does/not/exist: No such file or directory"),
        ({"PRIOMARK_TRACE": "/dev/null"}, "/dev/null: Not a directory"),
        ({"PRIOMARK_TRACE": "/", "PRIOMARK_TRACE_BELOW": "/does/not"}, "PRIOMARK_TRACE_BELOW: /does/not"),
    ],
)
def test_recording_that_cannot_begin_is_told_and_the_program_runs(recorder, tmp_path, settings, words):
    done = run(["echo", "result"], env=os.environ | {"LD_PRELOAD": str(recorder)} | settings, cwd=tmp_path)
    assert (done.returncode, done.stdout) == (0, "result\n")
    assert len(done.stderr.splitlines()) == 1
    assert done.stderr.startswith("priomark recorder: ") and words in done.stderr and "not recorded" in done.stderr


def test_trace_that_lost_a_line_says_so_and_the_program_goes_on(recorder, tmp_path):
    folder = folder_with_input(tmp_path / "work")
    limit = lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (3000, 3000))  # noqa: E731
    words = ["dd", "if=input", "of=output", "bs=1", "count=1000"]
    done = record(recorder, words, folder, tmp_path / "traces", preexec_fn=limit)
    assert done.returncode == 0
    assert (folder / "output").stat().st_size == 1000
    assert b"File too large; this process is not recorded" in done.stderr
    [trace] = (tmp_path / "traces").iterdir()
    assert trace.read_text() == "stopped\n"
