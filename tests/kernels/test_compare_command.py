# SPDX-License-Identifier: Apache-2.0
"""`coffeecup compare` with a real kernel and launcher on a network that is a formula (faults/network.c), so that every
difference is known."""

import json
import shutil
from dataclasses import replace

import pytest
from builds import OPEN_MPI, executable, faulty, words
from commands import run, said

SHORT = "--memory-per-process 4MiB --patterns ring,random --methods sendrecv --first-loop-length 1 --longest-loop 2"
FEWEST = "--repetitions 1 --random-patterns 1"
ALL = ["control", "faster", "usual"]


@pytest.fixture
def compared(openmpi, tmp_path, monkeypatch):
    """A function of arms: exit code, JSON and what was said, of b_eff on two processes over a link of 400 MByte/s. The
    command may be wrapped."""
    for name, value in (OPEN_MPI | openmpi.impatient.settings).items():
        monkeypatch.setenv(name, value)

    def compare(*arms, pairs=6, wrapper=()):
        command = openmpi.command(2, "b_eff", SHORT, FEWEST, env=faulty(openmpi, "network", MODEL_LATENCY=0))
        command[3:3] = wrapper
        options = [f"--pairs={pairs}", "-o", tmp_path / "runs", "--json", "--figures", tmp_path]
        done = run("compare", *(f"--arm={arm}" for arm in arms), *options, "--", *command)
        return done, json.loads(done.stdout) if done.stdout else None

    return compare


LINK = "usual=MODEL_BANDWIDTH=4e8"
DELAY = 1.01  # of each message of an arm


def test_a_delay_of_one_per_cent_and_a_variable_that_nothing_reads(compared, tmp_path):
    """The bandwidth is 1 / delay of that of the first arm. An interrupted comparison goes on with its last block."""
    value = LINK.partition("=")[2]
    arms = (LINK, f"late={value} MODEL_FACTOR_Sendrecv={DELAY}", f"ignored={value} NOTHING=1")
    done, found = compared(*arms, pairs=7)
    assert done.exit_code == 0, done.stderr
    by_arm = {each["arm"]: each for each in found["verdicts"]}
    late = [by_arm["late"][name] for name in ("low", "middle", "high")]
    assert late == pytest.approx([1 / DELAY] * 3, rel=1e-4)
    assert (by_arm["late"]["standing"], by_arm["ignored"]["standing"]) == ("worse", "same")
    assert found["control"][0]["middle"] == pytest.approx(1, rel=1e-4)
    unset = dict.fromkeys(("usual", "control", "late", "ignored"), "")
    assert {each["fact"]: each["values"] for each in found["differences"]} == {
        "environment MODEL_FACTOR_Sendrecv": unset | {"late": str(DELAY)},
        "environment NOTHING": unset | {"ignored": "1"},
    }
    assert found["changes"] == []
    assert (tmp_path / "comparison-ratio.csv").exists()

    kept = (tmp_path / "runs" / "runs.jsonl").read_bytes()
    cut = kept[: len(kept) - 40]  # in the last block, as if the machine had stopped
    (tmp_path / "runs" / "runs.jsonl").write_bytes(cut)
    again, found_again = compared(*arms, pairs=7)
    assert again.exit_code == 0 and again.stderr.count("block 7 of at most 7") == len(arms) + 1
    assert "block 6" not in again.stderr
    assert len((tmp_path / "runs" / "runs.jsonl").read_bytes().splitlines()) == 7 * (len(arms) + 1)
    assert found_again["verdicts"] == found["verdicts"]

    other, _ = compared(LINK, "faster=MODEL_BANDWIDTH=4.8e8", pairs=7)
    assert other.exit_code == 2 and "holds another comparison" in said(other)


ONLY_FIRST = ["sh", "-c", '[ "$OMPI_COMM_WORLD_RANK" = 0 ] || unset NOTHING; exec "$@"', "sh"]


@pytest.mark.parametrize(
    ("wrapper", "lost"),
    [(["env", "-u", "NOTHING"], "was not set in its processes"), (ONLY_FIRST, "has another value in some of its")],
)
def test_a_variable_that_does_not_reach_the_processes_is_no_comparison(compared, wrapper, lost):
    done, found = compared(LINK, "lost=MODEL_BANDWIDTH=4e8 NOTHING=1", wrapper=wrapper)
    assert done.exit_code == 1
    assert f"variable NOTHING of arm lost {lost}" in said(done)
    assert not found["verdicts"]


def test_arms_that_differ_in_what_the_plan_does_not_name(compared, tmp_path):
    """A wrapper that reads the variable of an arm and changes an option of the kernel."""
    wrapper = tmp_path / "wrapper"
    wrapper.write_text('#!/bin/sh\nif [ "$MODEL_BANDWIDTH" = 4.4e8 ]; then exec "$@" --seed 2; fi\nexec "$@"\n')
    wrapper.chmod(0o755)
    done, found = compared(LINK, "faster=MODEL_BANDWIDTH=4.4e8", wrapper=[wrapper])
    assert done.exit_code == 1
    assert found["obstacles"] == [
        "the arms differ in option seed, which the plan does not name: usual has 1, control has 1, faster has 2"
    ]
    assert found["runs"] == 9  # it ends after three blocks


def test_a_comparison_that_goes_on_with_another_library_or_program_states_it(openmpi, mpich, tmp_path, monkeypatch):
    """After three blocks, the command starts the kernel of another MPI library; or the same one, to whose program a
    byte was added, which changes nothing but its hash."""
    for name, value in (OPEN_MPI | openmpi.impatient.settings).items():
        monkeypatch.setenv(name, value)
    program = tmp_path / "b_eff"
    usual, faster = (f"{name}=MODEL_BANDWIDTH={rate}" for name, rate in (("usual", "4e8"), ("faster", "4.4e8")))

    def compared(folder, mpi, more=b""):
        program.write_bytes((mpi.bin / "b_eff").read_bytes() + more)
        program.chmod(0o755)
        model = faulty(mpi, "network", MODEL_LATENCY=0)
        started = replace(mpi, bin=tmp_path).command(2, "b_eff", env=model)
        start = executable(tmp_path / "start", f'exec {" ".join(started)} "$@"')
        command = ["compare", f"--arm={usual}", f"--arm={faster}", "--pairs=6", "-o", folder, "--json", "--", start]
        return json.loads(run(*command, *words([SHORT, FEWEST])).stdout)

    first = compared(tmp_path / "first", openmpi)
    assert first["holds"] and first["changes"] == []
    kept = (tmp_path / "first" / "runs.jsonl").read_text().splitlines(keepends=True)
    shutil.copytree(tmp_path / "first", tmp_path / "second")
    for folder in ("first", "second"):
        (tmp_path / folder / "runs.jsonl").write_text("".join(kept[:9]))
    again = compared(tmp_path / "first", openmpi, b"\0")
    [changed] = again["changes"]
    assert again["holds"] and again["runs"] == 18
    assert (changed["fact"], changed["arms"], [*changed["values"]]) == ("program and libraries", ALL, ["1", "4"])
    other = compared(tmp_path / "second", mpich)
    assert other["runs"] == 12 and not other["holds"]  # it ends after the first block of the other library
    [values] = [each["values"] for each in other["changes"] if each["fact"] == "MPI library" and each["arms"] == ALL]
    assert values["1"].startswith("Open MPI v") and values["4"].startswith("MPICH")
    assert f"MPI library of {', '.join(ALL)} changed: Open MPI v" in " ".join(other["obstacles"])
