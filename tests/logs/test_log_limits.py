# SPDX-License-Identifier: Apache-2.0
"""What a log may cost: sizes of logs and lines are limited, and no number that a log merely states determines memory or
time."""

import resource
import subprocess
import sys

import logs_made
import pytest
from logs_made_b_eff import averaged_log
from logs_made_b_eff_io import b_eff_io_log
from logs_made_ftio import ftio_log
from logs_made_priomark import priomark_log

from coffeecup.postprocess.benchmarks.scoring import score_log
from coffeecup.postprocess.logs import reader
from coffeecup.postprocess.logs.reader import LogError

MIB = 2**20


def refusal(path):
    with pytest.raises(LogError) as caught:
        score_log(path)
    assert len(str(caught.value).splitlines()) == 1 and len(str(caught.value)) < 500
    return str(caught.value)


@pytest.mark.parametrize(("more", "refused"), [(0, False), (1, True)])
def test_longest_line(tmp_path, monkeypatch, more, refused):
    """A line of so many bytes is read, and refused by its content; one byte more is refused by its length."""
    monkeypatch.setattr(reader, "LONGEST_LINE", 1000)
    path = logs_made.write(tmp_path / "log.jsonl", b'{"record": "run", "x": "' + b"x" * (1000 - 26 + more) + b'"}\n\n')
    assert ("line 1: longer than any record, 1000 byte" in refusal(path)) is refused


@pytest.mark.parametrize(("more", "refused"), [(0, False), (1, True)])
def test_largest_log(tmp_path, monkeypatch, more, refused):
    records = averaged_log(ranks=2, nodes=1)
    monkeypatch.setattr(reader, "LARGEST_LOG", len(logs_made.text(records)) - more)
    path = logs_made.write(tmp_path / "log.jsonl", records)
    if refused:
        assert "larger than any log" in refusal(path) and refusal(path).endswith("[size]")
    else:
        assert score_log(path).metrics


def test_a_log_beyond_all_memory_is_refused_unread(tmp_path):
    path = tmp_path / "log.jsonl"
    with path.open("wb") as file:
        file.truncate(2**42)
    assert "larger than any log, 1 GiB" in refusal(path)


@pytest.mark.parametrize(
    ("name", "records", "fields"),
    [
        ("b_eff", averaged_log(ranks=2, nodes=1), {"repetitions": 10_000, "longest_loop_length": 10**9}),
        ("b_eff_io", b_eff_io_log(ranks=4, partitions=(4,)), {"alignment_bytes": 2**62, "space_limit_bytes": 2**62}),
        ("ftio", ftio_log(), {"repetitions": 100_000, "exchange_buffer_bytes": 2**62}),
        ("priomark", priomark_log(), {"repetitions": 100_000}),
        ("core_sets", averaged_log(ranks=2, nodes=1), None),
    ],
)
def test_a_number_of_a_plan_needs_no_memory(tmp_path, name, records, fields):
    """Beside Python and pandas, 200 MiB are plenty for a small log whatever it plans."""
    if fields is None:
        records[0]["hosts"][0]["core_sets"] = [f"0-{10**15}", "0"]
    else:
        records[1].update(fields)
    path = logs_made.write(tmp_path / f"{name}.jsonl", records)
    program = f"""
import resource
import coffeecup.postprocess.benchmarks.scoring as scoring
scoring.score_logs(["none"])
for name in scoring.benchmarks(): scoring.part(name, "rules"), scoring.part(name, "reduction")
used = int(open("/proc/self/statm").read().split()[0]) * {resource.getpagesize()}
resource.setrlimit(resource.RLIMIT_AS, (used + {200 * MIB},) * 2)
print(scoring.score_logs([{str(path)!r}]))
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert "LogError" in done.stdout and "defect" not in done.stdout, done.stdout
