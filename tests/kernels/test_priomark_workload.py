# SPDX-License-Identifier: Apache-2.0
"""Workloads of PRIOMark that cannot be understood or done: each is refused with its file and line, and nothing is
created."""

import re

import kernel_runs
import pytest
from builds import SANITIZERS
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from kernel_runs import error, good
from priomark_runs import leftovers, run

GOOD = """# a workload
seed = 3;
single_file = {
    process_size = { from = "64KiB"; to = "256KiB"; factor = 2; };
    block_size = ["4KiB", "16KiB"];
    read_write = ["1:2", "123456789:987654321"];
    patterns = "read-write";
};
raw = ( { process_size = "64KiB"; block_size = "4KiB"; }, { process_size = "8KiB"; block_size = "8KiB"; } );
async = { process_size = ["64KiB"]; methods = "posix-aio"; };
"""


def test_good_workload_is_measured_under_the_sanitizers(serial_sanitized, tmp_path):
    good(run(serial_sanitized, tmp_path, "check = true; " + GOOD))


NO_KEY = "single_file has no key 'process_siz'; valid are process_size, block_size"
SIZE = "a size is a text with B, KiB, MiB, GiB or TiB"
PATTERNS = "valid in this build are write, read-write"
RANGE = "single_file = {{ process_size = {{{}}}; }};"
DIRECT = """single_file = { methods = "posix-direct"; block_size = "1KiB"; process_size = "1MiB"; };

raw = { block_size = "100B";
    process_size = "100KiB"; };
"""


@pytest.mark.parametrize(
    "text, line, said",
    [
        ('single_file = {\n process_siz = "1MiB"; };', 2, NO_KEY),
        ("\nsingle_files = { };", 2, "'single_files' is neither a key"),
        ("sed = 1;\nsingle_file = { };", 1, "'sed' is neither a key"),
        ('single_file = {\n\n block_size = "16kB"; };', 3, f"'16kB' is not a size; {SIZE}"),
        ('single_file = { block_size = "4 KiB"; };', 1, "is not a size"),
        ("single_file = { block_size = 4096; };", 1, "block_size: a size is a text"),
        ('single_file = { block_size = "-4KiB"; };', 1, "is not a size"),
        ('single_file = { block_size = "0KiB"; };', 1, "is not from 1 to"),
        ('single_file = { block_size = "2GiB"; };', 1, "is not from 1 to 1073741824 bytes"),
        ('single_file = { block_size = "99999999999999TiB"; };', 1, "is not a size"),
        (
            'raw = {\n process_size = "64KiB";\n block_size = "128KiB"; };',
            3,
            "larger than the 65536 bytes of a process",
        ),
        (
            'single_file = {\n process_size = ["1MiB","64KiB"]; block_size = "48KiB"; };',
            2,
            "not a multiple of 1 block(s) of 49152 bytes",
        ),
        ("single_file = { block_size = []; };", 1, "block_size must not be an empty list"),
        ('single_file = { block_size = ["4KiB",\n "4KiB"]; };', 2, "block_size has a value twice"),
        ('single_file = { process_size = {\n from = "2MiB"; to = "1MiB"; factor = 2; }; };', 1, "is larger than to"),
        (RANGE.format('\n from = "1MiB"; to = "2MiB"; factor = 1;'), 2, "factor must be a whole number from 2"),
        ('single_file = { process_size = { from = "1MiB"; to = "2MiB"; }; };', 1, "either a factor or a step"),
        ('single_file = { process_size = { from = "1MiB"; to = "2MiB"; step = "0B"; }; };', 1, "is not from 1 to"),
        ('single_file = { process_size = { from = "1MiB"; factor = 2; }; };', 1, "a range is {"),
        ('single_file = { process_size = { from = "1MiB"; to = "2MiB"; factor = 2;\n by = 2; }; };', 2, "not 'by'"),
        ('single_file = { process_size = { from = "1B"; to = "1MiB"; step = "1B"; }; };', 1, "more than 64 sizes"),
        ('single_file = { read_write = "1"; };', 1, "reads to writes"),
        ('single_file = { read_write = "0:0"; };', 1, "reads to writes"),
        ('single_file = { read_write = "-1:2"; };', 1, "reads to writes"),
        ("single_file = { read_write = 0.5; };", 1, "reads to writes"),
        ('single_file = { read_write = "1000000000:1"; };', 1, "both have at most 9 digits"),
        ('single_file = { read_write = "1:1000000000"; };', 1, "both have at most 9 digits"),
        ('single_file = { patterns = ["write",\n "sideways"]; };', 2, f"'sideways' is not known; {PATTERNS}"),
        (DIRECT, 3, "direct I/O requires a multiple of 512 bytes"),
        ("single_file = 3;", 1, "takes a group"),
        ("single_file = ( );", 1, "takes a group"),
        ("single_file = ( { },\n 3 );", 2, "takes a group"),
        (f"single_file = ({'{ },' * 64}\n {{ }});", 2, "more than 64 groups"),
        ("single_file = { };\nsingle_file = { };", 2, "duplicate setting name"),
        ('single_file = {\n process_size = "1MiB"', 2, "syntax error"),
        ("seed = -1; single_file = { };", 1, "seed must be a whole number from 0"),
        ("repetitions = 1.5; single_file = { };", 1, "repetitions must be a whole number"),
        ("check = 1;\nsingle_file = { };", 1, "check must be true or false"),
        ('\n\nevict = "no"; single_file = { };', 3, "evict must be true or false"),
        ("description = 1; single_file = { };", 1, "description must be a non-empty text"),
        ('\n@include "other.cfg"\nsingle_file = { };', 2, "cannot include"),
        ('async = { process_size = "2GiB"; };', 1, "is not from 1 to 1073741824"),
        ('raw = { device = ""; };', 1, "device must be a non-empty text in quotes"),
        ('raw = { device = ["/dev/null"]; };', 1, "device must be a single value"),
    ],
)
def test_wrong_workload_is_refused_with_file_and_line_before_anything_is_made(
    serial_sanitized, tmp_path, text, line, said
):
    done = run(serial_sanitized, tmp_path, text)
    assert done.returncode == 2, done.stderr + done.stdout
    assert re.match(rf"priomark: error: .*\.cfg:{line}: ", error(done)), error(done)
    assert said in error(done)
    assert leftovers(tmp_path) == [] and not (tmp_path / "log.jsonl").exists()


@pytest.mark.parametrize(
    "options, said",
    [
        (["--workload", "nothing"], "cannot read the workload 'nothing'"),
        (["--workload", "/dev/zero"], "not a regular file"),
        (["--workload", "."], "cannot read the workload"),
        (["--only", "common"], "--only common"),
        (["--only", "raw,"], "--only raw,"),
        (["--interfaces", ""], "empty"),
        (["--interfaces", "/dev/null"], "'/dev/null' is not a directory"),
    ],
)
def test_impossible_options_are_refused(serial_sanitized, tmp_path, options, said):
    done = run(serial_sanitized, tmp_path, GOOD, 1, *options)
    assert done.returncode == 2 and said in error(done)
    assert leftovers(tmp_path) == [] and not (tmp_path / "log.jsonl").exists()


def test_workload_without_a_sub_benchmark_is_refused(serial_sanitized, tmp_path):
    done = run(serial_sanitized, tmp_path, "seed = 1;")
    assert done.returncode == 2 and "no sub-benchmark" in error(done)


WORDS = """single_file raw async block_size process_size read_write patterns methods from to factor step seed
= ; { } ( ) [ ] , " \\ @include /* # 1 -1 1e999 0x7fffffffffffffff 9223372036854775808L true \xff
"4KiB" "1:2" "write" "TiB" "%s%n" """
PIECES = st.sampled_from([*WORDS.split(), "\n"])


@st.composite
def damaged(draw):
    """The good workload with pieces removed, repeated or replaced by words that mean something, or by anything."""
    text = GOOD
    for _ in range(draw(st.integers(1, 4))):
        start = draw(st.integers(0, len(text)))
        end = min(len(text), start + draw(st.integers(0, 30)))
        piece = draw(st.one_of(PIECES, st.just(text[start:end] * 2), st.just(""), st.text(max_size=5)))
        text = text[:start] + piece + text[end:]
    return text


@settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(damaged())
def test_damaged_workload_is_either_understood_or_refused_with_a_line(serial_sanitized, tmp_path, text):
    """Whatever a file holds: an answer within its kind, no crash, no sanitizer's report, nothing created."""
    path = tmp_path / "w.cfg"
    path.write_bytes(text.encode("utf-8", "surrogatepass"))
    words = [serial_sanitized.bin / "priomark", "--dry-run", "--workload", path, "--directory", tmp_path]
    done = kernel_runs.run(words, cwd=tmp_path, env=SANITIZERS, timeout=30, errors="replace")
    message = done.stderr
    assert done.returncode in (0, 2), message
    if done.returncode == 2:
        assert re.match(r"priomark: error: [^\n]*w\.cfg(:\d+: |: no sub-benchmark|.*not a text)", message), message
    assert [entry.name for entry in tmp_path.iterdir()] == ["w.cfg"]
