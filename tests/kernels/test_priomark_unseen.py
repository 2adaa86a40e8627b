# SPDX-License-Identifier: Apache-2.0
"""What the recorder of PRIOMark records besides transfers, and what it only counts: the score of a replay names it."""

import os
import re
import shutil
import sys

import pytest
from kernel_runs import good, run
from priomark_runs import leftovers, records, replay_of, straced
from system_calls import whole_lines
from test_priomark_recorder import record
from test_priomark_trace import FILE, HEAD, built_reader, measurement, own_name, replay

from coffeecup.postprocess.benchmarks.scoring import score_log


def lines_of(traces):
    """The lines of all traces without times and threads, and without those of the head."""
    lines = [line for path in sorted(traces.iterdir()) for line in path.read_text().splitlines()]
    return [re.sub(r"^at \d+ \d+ \d+ ", "", line) for line in lines if line.startswith(("at ", "unseen "))]


def python(recorder, folder, script, **options):
    folder.mkdir(exist_ok=True)
    good(record(recorder, [sys.executable, "-c", script], folder, folder.parent / "traces", text=True, **options))
    return lines_of(folder.parent / "traces")


CHANGES = """
import os
file = os.open("a", os.O_RDWR | os.O_CREAT)
os.posix_fallocate(file, 1000, 500)
os.truncate("a", 800)
os.rename("a", "b")
os.replace("b", "c")
os.remove("c")
os.write(file, b"x" * 10)
open("plain", "w").close()
os.unlink("plain")
"""


def test_calls_that_change_files_by_name_are_recorded_and_replayed(recorder, openmpi, tmp_path):
    """By hand: 1500 bytes after the allocation, 800 after the cut."""
    folder = tmp_path / "work"
    lines = python(recorder, folder, CHANGES)
    wanted = [
        "fallocate 1 0 1000 500",
        f"truncate 1500 800 {folder}/a",
        f"rename 800 {folder}/a {folder}/b",
        f"rename 800 {folder}/b {folder}/c",
        f"unlink 800 {folder}/c",
        "write 1 0 10 10",
    ]
    assert [line for line in lines if line.split()[0] in ("fallocate", "truncate", "rename", "unlink", "write")] == [
        *wanted,
        f"unlink 0 {folder}/plain",
    ]
    assert not [line for line in lines if line.startswith("unseen")]
    [recording] = (tmp_path / "traces").iterdir()
    traced = straced(openmpi, tmp_path, replay_of(recording), 1, "-e", "trace=fallocate,truncate,rename,unlink")
    a, b, c, plain = (own_name(folder / name) for name in ("a", "b", "c", "plain"))
    seen = re.sub(r'"[^"]*/([^"/]*)"', r'"\1"', "\n".join(whole_lines("\n".join(traced))))
    calls = re.findall(r"^\d+ +((?:fallocate|truncate|rename|unlink)\(.*)\) = 0", seen, re.MULTILINE)
    calls = [re.sub(r"\(\d+<.*>", "(N", call) for call in calls if "trace-" in call]
    assert calls[:6] == [
        "fallocate(N, 0, 1000, 500",
        f'truncate("{a}", 800',
        f'rename("{a}", "{b}"',
        f'rename("{b}", "{c}"',
        f'unlink("{c}"',
        f'unlink("{plain}"',
    ]
    assert measurement(records(tmp_path))["values"]["differing_results"] == [0] and leftovers(tmp_path) == []


COUNTED = {
    "mmap": "import mmap; f = open('input', 'r+b'); [mmap.mmap(f.fileno(), 0).close() for _ in range(3)]",
    "splice": "import os; r, w = os.pipe(); f = os.open('input', os.O_RDONLY); os.splice(f, w, 100)",
    "copy": "import os; r, w = os.pipe(); f = os.open('input', os.O_RDONLY); os.sendfile(w, f, 0, 100)",
    "link": "import os; os.link('input', 'linked')",
    "rename": "import os; os.mkdir('folder'); os.rename('folder', 'moved'); os.rename('input', '../left')",
    "program": "import os, subprocess; subprocess.run(['./static']); subprocess.run(['env', '-i', 'true']); "
    "os.system('./static'); os.spawnve(os.P_WAIT, '/bin/true', ['true'], {})",
    "aio": None,
    "io_uring": None,
}
TIMES = {"mmap": 3, "rename": 2, "program": 4, "aio": 3}
AIO = """
#include <aio.h>
#include <fcntl.h>
int main(void)
{
    static char data[100];
    const int file = open("input", O_RDWR);
    struct aiocb read = {.aio_fildes = file, .aio_buf = data, .aio_nbytes = 100, .aio_lio_opcode = LIO_READ};
    struct aiocb write = read;
    const struct aiocb *const both[] = {&read};
    struct aiocb *const list[] = {&write};
    if (aio_read(&read) != 0 || aio_suspend(both, 1, 0) != 0 || aio_write(&write) != 0)
        return 1;
    while (aio_error(&write) == 115)
        ;
    return lio_listio(LIO_WAIT, list, 1, 0);
}
"""
RING = """
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>
int main(void)
{
    char parameters[512];
    memset(parameters, 0, sizeof parameters);
    return syscall(SYS_io_uring_setup, 1, parameters) < 0;
}
"""
STATIC = "int main(void) { return 0; }"


def compiled(folder, name, text, *options):
    (folder / f"{name}.c").write_text(text)
    if run(["cc", "-o", folder / name, folder / f"{name}.c", *options]).returncode != 0:
        pytest.skip(f"cannot build a program with {' '.join(options) or 'aio'} on this machine")
    return str(folder / name)


@pytest.mark.parametrize("kind", COUNTED)
def test_what_is_not_recorded_is_counted(recorder, tmp_path, kind):
    """Also after a child that shares the memory of the program (vfork) has closed all its files, as by subprocess."""
    folder = tmp_path / "work"
    folder.mkdir()
    (folder / "input").write_bytes(bytes(1000))
    compiled(folder, "static", STATIC, "-static")
    command = [sys.executable, "-c", COUNTED[kind]]
    if COUNTED[kind] is None:
        command = [compiled(tmp_path, kind, {"aio": AIO, "io_uring": RING}[kind])]
    done = record(recorder, command, folder, tmp_path / "traces")
    if kind == "io_uring" and done.returncode != 0:
        pytest.skip("no io_uring on this machine")
    good(done)
    unseen = [line.split()[1] for line in lines_of(tmp_path / "traces") if line.startswith("unseen")]
    assert unseen == [kind] * TIMES.get(kind, 1)


def test_files_elsewhere_are_not_counted(recorder, tmp_path):
    (tmp_path / "other").write_bytes(bytes(1000))
    script = "import mmap, os; f = open('../other', 'r+b'); mmap.mmap(f.fileno(), 0); os.rename('../other', '../new')"
    assert python(recorder, tmp_path / "work", script) == []


@pytest.mark.parametrize("shell", ["sh", "bash"])
def test_children_are_recorded_after_a_change_of_directory(recorder, tmp_path, shell):
    """With everything given by relative paths; bash has a setenv() of its own."""
    (tmp_path / "data").mkdir()
    (tmp_path / "traces").mkdir()
    (tmp_path / "data" / "input").write_bytes(bytes(1000))
    relative = {"LD_PRELOAD": os.path.relpath(recorder, tmp_path / "data"), "PRIOMARK_TRACE": "../traces"}
    script = f"cd / && cat {tmp_path}/data/input > /dev/null && cat {tmp_path}/data/input"
    settings = os.environ | relative | {"PRIOMARK_TRACE_BELOW": "."}
    done = run([shell, "-c", script], cwd=tmp_path / "data", env=settings)
    assert (done.returncode, done.stderr, len(done.stdout)) == (0, "", 1000)
    reads = [line for line in lines_of(tmp_path / "traces") if line.startswith("read") and line.endswith(" 1000")]
    assert len(reads) == 2


# --- the score --------------------------------------------------------------------------------------------------------


def named_in_score(openmpi, tmp_path):
    """The qualification of a replay with as many processes as were recorded."""
    done, _ = replay(openmpi, tmp_path, tmp_path / "traces", ranks=1)
    if wanted := re.search(r"(\d+) processes were recorded", done.stderr):
        (tmp_path / "log.jsonl").unlink(missing_ok=True)
        done, _ = replay(openmpi, tmp_path, tmp_path / "traces", ranks=int(wanted[1]))
    assert done.returncode == 0, done.stderr
    return {q.key: q.text for q in score_log(tmp_path / "log.jsonl").qualifications}


def test_score_of_sqlite_names_what_was_not_recorded(recorder, openmpi, tmp_path):
    """Its write-ahead log has an index in shared memory, a mapped file."""
    if not shutil.which("sqlite3"):
        pytest.skip("no sqlite3 on this machine")
    (tmp_path / "work").mkdir()
    script = (
        "pragma journal_mode=wal; create table t(x); insert into t select randomblob(9000); select count(*) from t;"
    )
    done = record(recorder, ["sqlite3", "db", script], tmp_path / "work", tmp_path / "traces")
    assert done.returncode == 0 and done.stdout.split() == [b"wal", b"1"]
    text = named_in_score(openmpi, tmp_path)["not_recorded"]
    assert re.search(r"\d+ mapped files? \(mmap\)", text)


def test_score_of_git_names_what_was_not_recorded(recorder, openmpi, tmp_path):
    if not shutil.which("git"):
        pytest.skip("no git on this machine")
    (tmp_path / "work").mkdir()
    script = (
        "git init -q && seq 30000 > file && git add file && git -c user.name=a -c user.email=b commit -qm c && "
        "git -c core.createObject=link gc -q && git fsck --full"
    )
    good(record(recorder, ["sh", "-c", script], tmp_path / "work", tmp_path / "traces"))
    text = named_in_score(openmpi, tmp_path)["not_recorded"]
    assert "mmap" in text


def test_score_of_a_program_that_maps_files_names_it(recorder, openmpi, tmp_path):
    script = "import mmap; f = open('x', 'w+b'); f.write(bytes(9999)); f.flush(); mmap.mmap(f.fileno(), 0)[7:9] = b'ab'"
    python(recorder, tmp_path / "work", script)
    found = named_in_score(openmpi, tmp_path)
    assert "1 mapped file (mmap)" in found["not_recorded"] and "differing" not in found


def test_recording_that_only_maps_files_is_refused_and_says_so(recorder, openmpi, tmp_path):
    (tmp_path / "work").mkdir()
    (tmp_path / "work" / "x").write_bytes(bytes(5000))
    python(recorder, tmp_path / "work", "import mmap, os; mmap.mmap(os.open('x', os.O_RDWR), 0)[7:9] = b'ab'")
    done, records = replay(openmpi, tmp_path, tmp_path / "traces")
    assert done.returncode == 2 and not records
    assert "no process of the recording moved any data in a way that is recorded; counted were: 1 mmap" in done.stderr


def test_complete_recording_has_no_such_qualification(openmpi, tmp_path):
    (tmp_path / "traces").mkdir()
    (tmp_path / "traces" / "a.trace").write_text(HEAD + FILE + "at 20 5 1 write 1 0 10 10\n")
    assert not {"not_recorded", "made_concurrent", "differing"} & set(named_in_score(openmpi, tmp_path))


def test_kind_of_a_later_recorder_and_a_difference_are_stated(openmpi, tmp_path):
    """More is read than was, because another process made the file longer when it was recorded; one file is missing."""
    (tmp_path / "traces").mkdir()
    requests = "at 20 5 1 write 1 0 10 10\nunseen teleport\nat 30 5 1 pread 1 0 10 5\n"
    (tmp_path / "traces" / "a.trace").write_text(HEAD + FILE + requests)
    found = named_in_score(openmpi, tmp_path)
    assert "1 other access" in found["not_recorded"] and "1 request" in found["differing"]


# --- reading traces takes linear time ---------------------------------------------------------------------------------


def test_reading_a_trace_takes_instructions_in_proportion_to_its_files(tmp_path):
    """Counted, not timed: by cachegrind, twice the files take twice the instructions."""
    if not shutil.which("valgrind"):
        pytest.skip("no valgrind on this machine")
    reader = built_reader(tmp_path / "read")
    count = ["valgrind", "--tool=cachegrind", "--cache-sim=no", "--cachegrind-out-file=/dev/null", reader]
    found = {}
    for files in (0, 3000, 6000):
        trace = tmp_path / f"{files}.trace"
        one = "at {0} 0 1 open {0} O_RDWR|O_CREAT 0 /folder/file-{0}\nat {0} 0 1 close {0}\n"
        trace.write_text(HEAD + "".join(map(one.format, range(1, files + 1))))
        done = run([*count, trace], check=True)
        assert not done.stdout  # the trace is sound
        found[files] = int(re.search(r"I +refs: +([\d,]+)", done.stderr)[1].replace(",", ""))
    assert 1.8 < (found[6000] - found[0]) / (found[3000] - found[0]) < 2.2
