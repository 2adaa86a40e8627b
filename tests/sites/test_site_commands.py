# SPDX-License-Identifier: Apache-2.0
"""`coffeecup site new` and `coffeecup site check` as a person runs them, in a copy of the tree, on two of the machine's
cores at most: what a check needs of a file system grows with the fourth power of the processes."""

import json
import os
import re
import shutil
import signal
import socket
import sys
from types import SimpleNamespace

import pytest
from conftest import CORES
from file_systems import disk, frozen, memory, needs
from foreign_made import NODES, QUEUES
from kernel_runs import PATIENCE, started

from coffeecup.site_configs.common import job_scripts

MPI = {"name": "mpi", "cc": "mpicc"}


def site(tree, *partitions, name="made", host=None):
    """Writes a site of these partitions, p, p2, ..., that claims this machine."""
    folder = tree.folder / "site_configs" / name
    folder.mkdir(exist_ok=True)
    (folder / "__init__.py").write_text("")
    base = {"scheduler": "local", "launcher": "mpirun", "environs": ["mpi"], "extras": {"cores_per_node": 2}}
    made = [{"name": f"p{n if n > 1 else ''}"} | base | partition for n, partition in enumerate(partitions, 1)]
    system = {"name": "made", "hostnames": [re.escape(host or socket.gethostname())], "partitions": made}
    (folder / "settings.py").write_text(
        "from ..common.frame import configuration\n"
        f"site_configuration = configuration(folder='made', systems=[{system!r}], environments={[MPI]!r})\n"
    )
    return name


# A new site


def test_new_site_of_this_machine_passes_its_check_and_runs(tree):
    for command in ("sinfo", "pbsnodes", "qstat"):  # the test's machine may have a scheduler
        path = tree.stub(command, "exit 1")
    made = tree.run("new", "here", path=path)
    assert made.code == 0, made.text
    text = (tree.folder / "site_configs" / "here" / "settings.py").read_text()
    assert f'"cores_per_node": {len(CORES)},  # the cores this process may use' in text
    assert '"cc": "mpicc"' in text
    checked = tree.run("check", "here")
    assert checked.code == 0, checked.text
    assert "ok      b_eff on here" in checked.out
    assert "this machine" not in checked.out  # it was looked at


def test_the_next_command_can_be_copied_if_the_folder_has_blanks(tree):
    folder = tree.scratch / "our sites" / "here"
    made = tree.run("new", "here", "--directory", str(folder))
    assert made.code == 0 and made.out.splitlines()[-1] == f"next: coffeecup site check '{folder}'", made.text


def test_new_site_marks_what_it_does_not_know(tree):
    """Without MPI: the compiler is a guess and says so, and the check refuses it with the remedy."""
    bare = tree.scratch / "bare"
    bare.mkdir()
    for command in ("env", "sh", "bash", "uname", "stat", "python3"):
        (bare / command).symlink_to(shutil.which(command))
    made = tree.run("new", "here", path=str(bare))
    assert made.code == 0, made.text
    text = (tree.folder / "site_configs" / "here" / "settings.py").read_text()
    assert "LOOK: there is no mpicc on PATH" in text
    assert "look: no MPI compiler was found" in made.out
    checked = tree.run("check", "here", path=str(bare))
    assert checked.code == 1
    assert "the MPI compiler 'mpicc' is not on PATH; install MPI" in checked.err


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("local", "already exists"),
        ("Big Machine", "is not a valid site name"),
        ("../x", "is not a valid site name"),
        ("generic", "is a name in ReFrame's own configuration"),
    ],
)
def test_new_site_refuses_a_name_that_does_not_do(tree, name, says):
    made = tree.run("new", name)
    assert made.code == 2
    assert says in " ".join(made.err.replace("│", " ").split())


def test_new_site_under_pbs_has_its_queues_and_nodes(tree):
    tree.stub("sinfo", "exit 1")
    tree.stub(
        "pbsnodes", f"case $* in *--version*) echo 'pbs_version = 2022.1.1';; *) echo '{json.dumps(NODES)}';; esac"
    )
    path = tree.stub("qstat", f"echo '{json.dumps(QUEUES)}'")
    made = tree.run("new", "centre", path=path)
    assert made.code == 0, made.text
    text = (tree.folder / "site_configs" / "centre" / "settings.py").read_text()
    assert text.count('"scheduler": "pbspro"') == 1
    for fact in ('"-q workq", "-l place=scatter:excl"', '"num_nodes": 3,', '"cores_per_node": 128,', '": 1440,'):
        assert fact in text
    checked = tree.run("check", "centre", "--elsewhere")
    assert checked.code == 0, checked.text


# Refusals


def extras(**more):
    return {"extras": {"cores_per_node": 2} | more}


def on(*directories):
    return extras(file_systems=[{"name": "s", "directory": directory} for directory in directories])


# Each list is one site: its partitions, and what is said of each.
WRONG = {
    "words": [
        ({"features": ["overcomit"]}, "unknown feature 'overcomit'; did you mean 'overcommit'?"),
        ({"extras": {"cores_per_nodes": 2}}, "unknown extra 'cores_per_nodes'; did you mean 'cores_per_node'?"),
        (
            extras(cores_per_node=0),
            "extra 'cores_per_node': 0 is less than the minimum of 1; the extra is: processes that fill a node",
        ),
        (extras(cores_per_node="2"), 'is not of type "integer"'),
        (extras(num_nodes=4, max_nodes=8), "max_nodes is 8, but the partition has 4 nodes; lower it"),
        (extras(sizes=[2, 64]), "size 64 does not fit on 1 node of 2 cores"),
        (extras(num_nodes=4, max_nodes=2, sizes=[2, 8]), "size 8 does not fit on 2 nodes of 2 cores"),
        (extras(kernels=["beff"]), "unknown kernel 'beff'; kernels are b_eff, "),
        (extras(file_systems=[{"name": "s"}]), "extra 'file_systems'[0]: \"directory\" is a required property"),
        (on("/tmp", "/tmp"), "two file systems have the name 's'"),
        ({"environs": ["intel"]}, "unknown environment 'intel'; defined are mpi"),
        ({"environs": []}, "no environment; name one with an MPI compiler"),
    ],
    "this machine": [
        (on("/no/such"), "directory /no/such does not exist; create it with `mkdir -p /no/such`"),
        (on("/proc"), "cannot write to /proc"),
        ({"scheduler": "lsf", "launcher": "lrun"}, "bsub is not on PATH; correct `scheduler`"),
    ],
}


@pytest.mark.parametrize("wrong", WRONG.values(), ids=WRONG)
def test_wrong_configuration_is_refused_with_place_and_remedy(tree, wrong):
    checked = tree.run("check", site(tree, *(partition for partition, _ in wrong)))
    assert checked.code == 1, checked.text
    for number, (_, complaint) in enumerate(wrong, 1):
        place = f"made:p{number if number > 1 else ''}"
        assert re.search(rf"^.*{place}\b.*{re.escape(complaint)}", checked.err, re.MULTILINE), f"{place}: {complaint}"
    assert "site_configs/made/settings.py" in checked.text
    assert "Traceback" not in checked.text


@pytest.mark.parametrize(
    ("partition", "complaint"),
    [
        ({"scheduler": "slum"}, "made"),
        ({"partition": "x"}, "$.systems[0].partitions[0]: Additional properties are not allowed ('partition' was"),
    ],
    ids=["scheduler", "property"],
)
def test_configuration_that_reframe_does_not_take_is_refused(tree, partition, complaint):
    checked = tree.run("check", site(tree, partition))
    assert checked.code == 1 and complaint in checked.err, checked.text
    assert "site_configs/made/settings.py" in checked.text and "Traceback" not in checked.text


def test_file_system_that_is_too_small_is_refused(tree):
    """The tests' sizes: ftio of 64 MiB and more, on 1 MiB of tmpfs."""
    with memory(tree.scratch / "small", "size=1m") as small:
        checked = tree.run("check", site(tree, on(str(small))))
        elsewhere = tree.run("check", "made", "--elsewhere")
    assert checked.code == 1
    told = r"ftio.* on made:p: needs 0\.\d+ GByte in \S+small, which has 0\.00\d+ GByte of free space"
    assert re.search(told, checked.err)
    assert elsewhere.code == 0, elsewhere.text


def test_file_system_that_does_not_answer_is_named(tree):
    """Whoever creates a file in it waits in the kernel and cannot be ended."""
    needs("a file system that stops", "fsfreeze")
    with disk(tree.scratch, 1) as directory, frozen(directory):
        made = tree.run("new", "silent")
        checked = tree.run("check", site(tree, on(str(directory))))
    assert made.code == 0 and f"the file system at {directory} does not answer and was left out" in made.text
    assert checked.code == 1 and f"made:p: directory {directory} does not answer within 10 s" in checked.err


def test_old_reframe_and_an_unknown_site_are_refused(tree):
    checked = tree.run("check", "local", path=tree.stub("reframe", "echo 4.6.1"))
    assert checked.code == 1 and "ReFrame 4.6.1 is not supported: coffeecup needs at least 4.9 " in checked.err
    checked = tree.run("check", "lokal")
    assert checked.code == 1 and "there is no site 'lokal' (did you mean 'local'?)" in checked.err


def test_settings_that_raise_are_refused_with_their_error(tree):
    site(tree, {})
    settings = tree.folder / "site_configs" / "made" / "settings.py"
    settings.write_text("import os\nsite_configuration = os.environ['NOT_SET']\n")
    checked = tree.run("check", "made")
    assert checked.code == 1
    assert "settings.py: KeyError: 'NOT_SET'" in checked.err


@pytest.mark.parametrize("where", ["here", "elsewhere"])
@pytest.mark.parametrize(("system", "features"), [("made", ["login"]), ("generic", [])])
def test_site_on_which_no_check_runs_is_refused(tree, where, system, features):
    """Of login nodes alone, or hidden by ReFrame's system of the same name."""
    name = site(tree, {"features": features})
    settings = tree.folder / "site_configs" / name / "settings.py"
    settings.write_text(settings.read_text().replace("'name': 'made'", f"'name': '{system}'"))
    checked = tree.run("check", name, *["--elsewhere"] * (where == "elsewhere"))
    assert checked.code == 1 and "settings.py: checks run on none of its partitions; add one" in checked.err, (
        checked.text
    )


def test_too_little_time_is_said_and_missing_references_refuse_only_where_they_are_required(tree):
    name = site(tree, extras(max_minutes=20))
    checked = tree.run("check", name)
    assert checked.code == 0, checked.text
    told = "note    b_eff_io on made:p: no case: made:p accepts jobs of up to 20 minutes, but this one may need 55"
    assert told in checked.out
    checked = tree.run("check", name, "--require-references")
    assert checked.code == 1
    assert "references of made" in checked.err


def test_schedulers_whose_job_scripts_cannot_be_tried_are_named():
    """Slurm's can be; the local machine has none."""
    made = {"made:a": "lsf", "made:b": "local", "made:c": "slurm", "other:d": "sge"}
    site = SimpleNamespace(partitions=lambda: [(name, {"scheduler": made[name]}) for name in made])
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(job_scripts.slurm, "partition_of", lambda partition: (None, None))
        [(level, place, what)] = job_scripts.findings(site, "made", [])
    assert (level, place) == ("note", "partition made:a") and "not tried: lsf has no command" in what


def test_a_scheduler_that_does_not_answer_is_a_problem_and_no_others_are_asked(tmp_path, monkeypatch):
    """sbatch waits for a controller that is down."""
    (tmp_path / "sbatch").write_text('#!/bin/sh\ntouch "asked-$2"\nexec sleep 60\n')
    (tmp_path / "sbatch").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    monkeypatch.setattr(job_scripts.slurm, "SECONDS", 0.5)
    scripts = [(case, tmp_path / f"{case}.sh") for case in ("first", "second")]
    [(level, place, what, remedy)] = job_scripts.of_sbatch("made:p", scripts)
    assert (level, place) == ("refused", "first on made:p")
    assert "does not answer within" in what and "sinfo" in remedy
    assert [path.name for path in tmp_path.glob("asked-*")] == ["asked-first.sh"]


def test_another_machine_is_not_looked_at_and_the_check_says_so(tree):
    checked = tree.run("check", site(tree, on("/no/such"), host="another"))
    assert checked.code == 0, checked.text
    assert "this machine" in checked.out and "is not part of it" in checked.out


REFRAME = """#!/bin/sh
trap 'touch cancelled; exit 1' TERM
sleep 1  # until its parent waits for it
touch started
while :; do sleep 0.1; done
"""
RUNS = """
import sys
from pathlib import Path
from types import SimpleNamespace
from coffeecup.site_configs.common.dry_run import reframe
here = Path(sys.argv[1])
reframe(SimpleNamespace(reframe=here / "reframe", settings=here, tree=here), "made", here, "--run")
"""


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_a_signal_ends_reframe_first_which_cancels_its_jobs(tmp_path, number):
    (tmp_path / "reframe").write_text(REFRAME)
    (tmp_path / "reframe").chmod(0o755)
    not_ignored = ["env", "--default-signal"]  # also where nohup started the tests
    with started([*not_ignored, sys.executable, "-c", RUNS, tmp_path], (tmp_path / "started").exists) as process:
        process.send_signal(number)
        process.communicate(timeout=PATIENCE)
    assert (tmp_path / "cancelled").exists()
