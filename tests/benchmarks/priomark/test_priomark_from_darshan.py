# SPDX-License-Identifier: Apache-2.0
"""Workloads from Darshan logs: PRIOMark makes the requests that the logs of PyDarshan's package count. The counts here
are sums over the records of the logs, by hand."""

import json
from pathlib import Path

import pandas as pd
import pytest
from commands import run, said
from kernel_runs import good, records
from priomark_runs import run as measured

from coffeecup.postprocess.benchmarks.priomark.darshan import logs, replay, requests, workload
from coffeecup.postprocess.benchmarks.priomark.darshan.logs import LARGEST, DarshanLog

PACKAGE = pytest.importorskip("darshan", reason="PyDarshan has wheels for Python 3.11 and 3.12 on x86-64 only")
LOGS = Path(PACKAGE.__file__).parent / "examples" / "example_logs"
RECORDED = Path(__file__).parents[2] / "kernel_logs"
IOR, MACSIO = "ior_hdf5_example", "shane_macsio_id29959_5-22-32552-7035573431850780836_1590156158"


def converted(folder, *paths, code=0):
    """The JSON document of the command, which writes workload.cfg in the folder."""
    done = run("workload", "from-darshan", *paths, "-o", folder / "workload.cfg", "--json")
    assert done.exit_code == code, done.output
    return json.loads(done.stdout)


# Processes, and the log's reads, writes, bytes read and bytes written above MPI-IO or, without it, POSIX.
COUNTED = {
    IOR: (4, (36, 23, 4_202_504, 4_195_800)),
    MACSIO: (16, (0, 7759 + 117, 0, 13_286_360 + 158_124)),
    "dxt": (1, (6126, 1497, 22_517_726, 13_021_781)),
}


@pytest.mark.parametrize("name", COUNTED, ids=lambda name: name[:10])
def test_the_kernel_makes_the_requests_of_a_log(openmpi, tmp_path, name):
    processes, counted = COUNTED[name]
    stated = converted(tmp_path, LOGS / f"{name}.darshan")
    assert stated["processes"] == processes
    assert tuple(each["logs"] for each in stated["amounts"].values()) == counted
    good(measured(openmpi, tmp_path, (tmp_path / "workload.cfg").read_text(), processes))
    found = [record for record in records(tmp_path / "log.jsonl") if record["record"] == "measurement"]
    fields = ("read_calls", "write_calls", "read_bytes", "written_bytes")
    made = tuple(sum(record[field] for record in found) for field in fields)
    assert made == tuple(each["workload"] for each in stated["amounts"].values())
    for kernel, log in zip(made[:2], counted[:2]):
        assert abs(kernel - log) <= processes / 2
    assert made[2:] == pytest.approx(counted[2:], rel=0.001)
    assert run("score", tmp_path / "log.jsonl").exit_code == 0


def test_kinds_of_requests_are_those_of_the_program(tmp_path):
    """MACSio wrote 64 parts of a shared file collectively, in turn with the other processes."""
    groups = converted(tmp_path, LOGS / f"{MACSIO}.darshan")["groups"]
    first = {"benchmark": "strided", "pattern": "write", "method": "individual-collective", "block_bytes": 184_512}
    assert {key: groups[0][key] for key in first} == first and groups[0]["writes"] == 64
    assert groups[1]["method"] == "individual" and groups[1]["block_bytes"] == 192


def log_of(processes=4, files=1, rank=-1, path="/scratch/file", command="program", **counters):
    """A log of POSIX in which each file has these counters, others are 0."""
    names = [f"SIZE_{way}_{name}" for way in requests.DIRECTIONS for name in requests.BINS]
    names += [f"ACCESS{i}_{what}" for i in range(1, 5) for what in ("ACCESS", "COUNT")]
    names += ["OPENS", "STATS", "FSYNCS", "FDSYNCS", "FILE_NOT_ALIGNED", "RW_SWITCHES", *requests.DIRECTIONS.values()]
    names += [f"{kind}{way}S" for kind in ("", "SEQ_", "CONSEC_") for way in requests.DIRECTIONS]
    own = {"rank": rank, "path": path}
    rows = [dict.fromkeys(names, 0) | {"id": number} | own | counters for number in range(files)]
    return DarshanLog("made.darshan", processes, [], {"POSIX": pd.DataFrame(rows)}, command)


def groups_of(log):
    return workload.workload([log], requests.files(log)).groups


READS = {"READS": 100, "SIZE_READ_1K_10K": 100, "BYTES_READ": 100 * 4096, "ACCESS1_ACCESS": 4096, "ACCESS1_COUNT": 100}


@pytest.mark.parametrize(("behind", "pattern"), [(45, "read-write"), (44, "random-read-write")])
def test_half_of_the_requests_after_opens_decide_on_the_order(behind, pattern):
    [group] = groups_of(log_of(**READS, SEQ_READS=behind, OPENS=10))
    assert (group.pattern, group.benchmark, group.read_write) == (pattern, "common_file", "25:0")


@pytest.mark.parametrize(("switches", "mixes"), [(20, ["25:25"]), (19, ["0:25", "25:0"])])
def test_reads_and_writes_in_turn_are_a_mix(switches, mixes):
    both = READS | {"WRITES": 100, "SIZE_WRITE_1K_10K": 100, "BYTES_WRITTEN": 100 * 4096, "ACCESS1_COUNT": 200}
    groups = groups_of(log_of(**both, SEQ_READS=100, SEQ_WRITES=100, RW_SWITCHES=switches))
    assert sorted(group.read_write for group in groups) == mixes


@pytest.mark.parametrize(("noted", "size"), [(90, 4096), (89, 5000)])
def test_a_common_size_stands_for_all(noted, size):
    """Otherwise, it is the mean."""
    [group] = groups_of(log_of(**READS | {"ACCESS1_COUNT": noted, "BYTES_READ": 500_000}))
    assert group.block_bytes == size


@pytest.mark.parametrize(("processes", "blocks"), [(200, 1), (201, 0)])
def test_requests_that_half_of_the_processes_make_count(processes, blocks):
    log = log_of(processes, **READS)
    made = workload.workload([log], requests.files(log))
    assert [group.reads // processes for group in made.groups] == [blocks] * blocks
    left = [(entry.operations, entry.bytes) for entry in made.missing if "less than one" in entry.what]
    assert left == [(100, 409_600)] * (not blocks)


@pytest.mark.parametrize(("rank", "name"), [(-1, "common_file"), (0, "single_file")])
def test_a_file_of_one_process_is_its_own(rank, name):
    assert groups_of(log_of(rank=rank, **READS))[0].benchmark == name


def test_logs_together_run_on_the_processes_of_the_largest(tmp_path):
    """Those of 16 and of 4 processes."""
    stated = converted(tmp_path, LOGS / f"{MACSIO}.darshan", LOGS / f"{IOR}.darshan")
    assert stated["processes"] == 16 and len(stated["logs"]) == 2
    assert stated["amounts"]["write_operations"]["logs"] == 7876 + 23


def bad_logs(folder):
    whole = (LOGS / f"{IOR}.darshan").read_bytes()
    (folder / "foreign.darshan").write_text("hello")
    (folder / "damaged.darshan").write_bytes(whole[: len(whole) // 2])
    aborts = bytearray(whole)
    aborts[384], aborts[1934], aborts[3230] = 249, 194, 107  # an assertion of libdarshan-util
    (folder / "aborts.darshan").write_bytes(aborts)
    for name, size in (("largest", LARGEST), ("huge", LARGEST + 1)):
        with (folder / f"{name}.darshan").open("wb") as file:
            file.truncate(size)
    return {
        "foreign": "not a complete Darshan log",
        "damaged": "not a complete Darshan log",
        "aborts": "not a complete Darshan log (PyDarshan ended)",
        "largest": "not a complete Darshan log",
        "huge": "larger than 1 GiB",
        "none": "No such file",
    }


def test_a_log_that_cannot_be_used_costs_itself_only(tmp_path):
    said_of = bad_logs(tmp_path)
    paths = [tmp_path / f"{name}.darshan" for name in said_of]
    done = run("workload", "from-darshan", *paths, LOGS / "noposix.darshan", "-o", tmp_path / "none.cfg")
    lines = done.stderr.splitlines()
    assert done.exit_code == 1 and len(lines) == 7 and not (tmp_path / "none.cfg").exists()
    for name, message in said_of.items():
        [line] = [line for line in lines if f"{name}.darshan" in line]
        assert message in line
    assert "no reads or writes by POSIX or MPI-IO" in said(done)
    converted(tmp_path, paths[0], LOGS / f"{IOR}.darshan", code=1)
    assert (tmp_path / "workload.cfg").read_text().startswith("# Made from 1 Darshan log(s); run it on 4 processes.")


@pytest.mark.parametrize(("processes", "errors"), [(200, 0), (201, 1)])
def test_a_log_without_a_request_for_each_two_processes_is_refused(monkeypatch, processes, errors):
    monkeypatch.setattr(logs, "read", lambda paths: [log_of(processes, **READS)])
    made, found = workload.from_darshan([])
    assert (made is None, len(found)) == (errors == 1, errors)


def test_without_pydarshan_the_message_names_it(tmp_path, monkeypatch):
    monkeypatch.setattr("coffeecup.postprocess.cli.workload.find_spec", lambda name: None)
    done = run("workload", "from-darshan", LOGS, "-o", tmp_path / "w.cfg")
    assert done.exit_code == 2 and "install coffeecup[darshan]" in said(done)


MEASURED = {"path": "/scratch/priomark-abc123/common", "command": "/opt/bin/priomark --workload w.cfg"}


def compared(tmp_path, monkeypatch, original, run_of_it, code):
    """Rows of the command, by name, for two logs; only the first and what differs is given."""
    for name in ("original", "run"):
        (tmp_path / name).touch()
    monkeypatch.setattr(logs, "read", lambda paths: [original, run_of_it])
    monkeypatch.setattr("coffeecup.postprocess.cli.workload.find_spec", lambda name: True)
    done = run("workload", "compare", tmp_path / "original", tmp_path / "run", "--json")
    assert done.exit_code == code, done.output
    found = json.loads(done.stdout)
    assert found["holds"] == (code == 0)
    return {row["what"]: (row["original"], row["run"], row["reproduced"]) for row in found["rows"]}


@pytest.mark.parametrize(
    ("changed", "row"),
    [
        ({"READS": 105}, ("reads", 100, 105, True)),
        ({"READS": 106}, ("reads", 100, 106, False)),
        ({"BYTES_READ": 430_080}, ("bytes of reads", 409_600, 430_080, True)),
        ({"BYTES_READ": 430_081}, ("bytes of reads", 409_600, 430_081, False)),
        ({"SIZE_READ_0_100": 2}, ("reads of 0 to 100 byte", 0, 2, True)),  # half of four processes
        ({"SIZE_READ_0_100": 3}, ("reads of 0 to 100 byte", 0, 3, False)),
        ({"SEQ_READS": 10}, ("share of reads behind the one before", 0, 0.1, True)),
        ({"SEQ_READS": 11}, ("share of reads behind the one before", 0, 0.11, False)),
        ({"CONSEC_READS": 11}, ("share of reads directly behind it", 0, 0.11, False)),
        ({"rank": 0}, ("share of reads in shared files", 1, 0, False)),
        ({"processes": 5}, ("processes", 4, 5, False)),
        ({"OPENS": 500}, ("opens", 0, 500, None)),
    ],
)
def test_a_run_reproduces_a_log_within_the_tolerances(tmp_path, monkeypatch, changed, row):
    what, *values = row
    rows = compared(tmp_path, monkeypatch, log_of(**READS), log_of(**READS | MEASURED | changed), int(row[3] is False))
    assert rows.pop(what) == tuple(values)
    others = {"files": (1, 1, None)}
    assert {name: row for name, row in rows.items() if row[0] != row[1] or row[2] is None} == others


@pytest.mark.parametrize(
    ("name", "recorded", "others"),
    [
        (MACSIO, "macsio", set()),
        (
            IOR,
            "ior",
            {
                "share of reads behind the one before",
                "share of reads directly behind it",
                "share of writes behind the one before",
            },
        ),
    ],
    ids=["macsio", "ior"],
)
def test_real_runs_reproduce_their_logs_but_for_the_order_in_ior(name, recorded, others):
    """Darshan 3.5 recorded PRIOMark with the workloads of these logs (tests/kernel_logs/README.md)."""
    own = RECORDED / f"priomark-{recorded}.darshan"
    done = run("workload", "compare", LOGS / f"{name}.darshan", own, "--json")
    rows = json.loads(done.stdout)["rows"]
    assert {row["what"] for row in rows if row["reproduced"] is False} == others
    assert done.exit_code == (1 if others else 0)
    shown = run("workload", "compare", LOGS / f"{name}.darshan", own).stdout
    assert shown.count("NOT REPRODUCED") == len(others)


def test_files_beside_the_measured_ones_do_not_count(tmp_path, monkeypatch):
    log = log_of(**READS | MEASURED)
    beside = log_of(**READS | MEASURED | {"path": "/scratch/priomark.jsonl"}).tables["POSIX"]
    log.tables["POSIX"] = pd.concat([log.tables["POSIX"], beside.assign(id=7)], ignore_index=True)
    assert compared(tmp_path, monkeypatch, log_of(**READS), log, 0)["reads"] == (100, 100, True)


def test_logs_that_cannot_be_compared_are_refused_in_a_line_each(tmp_path):
    said_of = bad_logs(tmp_path) | {"folder": "cannot be read: Is a directory"}
    (tmp_path / "folder.darshan").mkdir()
    good_log = LOGS / f"{IOR}.darshan"
    for name, message in said_of.items():
        for pair in ((tmp_path / f"{name}.darshan", good_log), (good_log, tmp_path / f"{name}.darshan")):
            done = run("workload", "compare", *pair)
            lines = [line for line in done.stderr.splitlines() if f"{name}.darshan" in line]
            assert (done.exit_code, len(lines)) == (1, 1) and message in lines[0] and not done.stdout
    done = run("workload", "compare", good_log, good_log)
    assert done.exit_code == 1 and "a log of 'ior', not of priomark" in done.stderr


def test_traces_are_stated_as_unused(tmp_path):
    missing = {entry["what"]: entry["operations"] for entry in converted(tmp_path, LOGS / "dxt.darshan")["missing"]}
    assert missing["logs with a trace of each request (DXT): see `coffeecup workload replay`"] == 1
    assert not any("DXT" in entry["what"] for entry in converted(tmp_path, LOGS / f"{MACSIO}.darshan")["missing"])


@pytest.mark.parametrize("name", [IOR, "dxt"], ids=lambda name: name[:3])
def test_the_kernel_replays_the_requests_of_a_trace(openmpi, tmp_path, name):
    """All of them, with the results that they had: as many bytes."""
    processes, counted = COUNTED[name]
    done = run("workload", "replay", LOGS / f"{name}.darshan", "-o", tmp_path / "folder")
    assert done.exit_code == 0 and f"Replay for {processes} process" in done.stdout, done.output
    good(measured(openmpi, tmp_path, (tmp_path / "folder" / "replay.cfg").read_text(), processes))
    [found] = [record for record in records(tmp_path / "log.jsonl") if record["record"] == "measurement"]
    assert tuple(found[key] for key in ("read_calls", "write_calls", "read_bytes", "written_bytes")) == counted
    score = json.loads(run("score", tmp_path / "log.jsonl", "--json").stdout)
    assert "differing" not in json.dumps(score)


def test_names_of_logs_and_folders_may_be_any_bytes(tmp_path):
    log, folder = tmp_path / "ü\udcff.darshan", tmp_path / "ö\udcff"
    log.write_bytes((LOGS / f"{IOR}.darshan").read_bytes())
    assert run("workload", "replay", log, "-o", folder).exit_code == 0
    text = (folder / "replay.cfg").read_text(errors="surrogateescape")
    assert f"trace of {log.name}" in text and f'recording = "{folder}"' in text
    assert converted(tmp_path, tmp_path)["processes"] == 4


def traced(*rows, **counters):
    """A log with these requests: process, path, whether it writes, offset, bytes, begin and end."""
    columns = ["process", "path", "writes", "offset", "bytes", "begin", "end"]
    log = log_of(**counters)
    log.tables[logs.TRACE] = pd.DataFrame(rows, columns=columns)
    return log


def test_a_trace_opens_files_as_the_requests_need_them(monkeypatch):
    """A file exists as far as its process read what it had not written; two requests at the same time are those of two
    threads, and Darshan notes them by file and direction, not in their order."""
    log = traced(
        (0, "/a b", True, 50, 50, 200, 300),
        (0, "/a b", False, 0, 60, 100, 150),
        (0, "/a b", False, 60, 40, 300, 310),
        (0, "/new", True, 0, 10, 250, 350),
        (1, "/a b", False, 0, 100, 0, 5),
        (2, "/none", False, 0, 0, 0, 5),  # the end of an empty file: PRIOMark leaves out who moves nothing
        READS=3,
    )
    monkeypatch.setattr(logs, "read", lambda paths, traced: [log])
    made = replay.replay(Path("made.darshan"))
    head = "priomark-trace 1\ncommand program\nstart 0\n"
    assert made.traces == {
        "process-000000.trace": head
        + "at 100 0 1 open 3 O_RDWR|O_CREAT 60 /a%20b\nat 100 50 1 pread 3 0 60 60\nat 200 100 1 pwrite 3 50 50 50\n"
        "at 250 0 2 open 4 O_WRONLY|O_CREAT 0 /new\nat 250 100 2 pwrite 4 0 10 10\n"
        "at 300 10 1 pread 3 60 40 40\nat 350 0 1 close 3\nat 350 0 1 close 4\n",
        "process-000001.trace": head
        + "at 0 0 1 open 3 O_RDONLY 100 /a%20b\nat 0 5 1 pread 3 0 100 100\nat 5 0 1 close 3\n",
    }
    assert made.amounts["read_operations"] == workload.Amount(3, 4)


def test_a_replay_is_written_whole_or_not_at_all(tmp_path):
    folder = tmp_path / "folder"
    for log, message in ((MACSIO, "no trace of reads or writes"), ("none", "No such file")):
        done = run("workload", "replay", LOGS / f"{log}.darshan", "-o", folder)
        assert done.exit_code == 1 and message in said(done) and not list(tmp_path.iterdir())
    (tmp_path / "file").touch()
    for taken in (tmp_path, tmp_path / "file", tmp_path / "file" / "below"):
        done = run("workload", "replay", LOGS / f"{IOR}.darshan", "-o", taken)
        assert done.exit_code == 2 and ("exists" in said(done) or "cannot write" in said(done))
    assert [path.name for path in tmp_path.iterdir()] == ["file"]
