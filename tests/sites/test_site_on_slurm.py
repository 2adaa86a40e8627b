# SPDX-License-Identifier: Apache-2.0
"""`coffeecup site` on a Slurm as Debian ships it, as a normal user with modules: no MpiDefault, slurmdbd with enforced
associations and QOS, unequal nodes, limits and generic resources. All tests share one Slurm."""

import json
import re
import shutil
from types import SimpleNamespace

import pytest
import slurm_made
from conftest import REFRAME
from modules_made import LIBRARIES
from site_clusters import cluster_of, partitions

from coffeecup.postprocess.benchmarks.registry import benchmarks
from coffeecup.site_configs.common.probe_jobs import same_library


@pytest.fixture(scope="module")
def cluster():
    with cluster_of(slurm_made.UNEQUAL, slurm_made.ACCOUNTS) as made:
        yield made


# A new site


@pytest.fixture(scope="module", params=LIBRARIES)
def made(request, cluster):
    """A new site of the user who has loaded this library's module."""
    created = cluster.site("new", f"with_{request.param}", module=request.param)
    assert created.code == 0, created.text
    return SimpleNamespace(library=request.param, name=f"with_{request.param}", out=created.out)


def test_new_site_has_launcher_and_modules_of_the_loaded_library(cluster, made):
    """The plug-in is that of the library: `srun --mpi=list` of Debian has Cray's too."""
    system, parts, environment = partitions(cluster, made.name)
    assert {partition["launcher"] for partition in parts.values()} == {"srun"}
    assert environment["env_vars"] == [["SLURM_MPI_TYPE", {"openmpi": "pmix", "mpich": "pmi2"}[made.library]]]
    assert environment["modules"] == [f"{made.library}/1.0"]
    assert system["modules_system"] == "lmod"
    assert LIBRARIES[made.library] in system["descr"]


def test_new_site_has_what_slurm_grants_the_user(cluster, made):
    """Against slurm.conf and the accounts of slurm_made: the thin node of phat has one core, too few for MPI; QOS and
    generic resource belong to wide alone."""
    _, parts, _ = partitions(cluster, made.name)
    kinds = re.compile("nodes|_per_|max")
    facts = {name: {k: v for k, v in part["extras"].items() if kinds.search(k)} for name, part in parts.items()}
    assert facts == {
        "debug": {"cores_per_node": 2, "num_nodes": 2, "max_minutes": 20},
        "phat_thick": {"cores_per_node": 2, "num_nodes": 3, "max_nodes": 2, "max_minutes": 60},
        "wide": {"cores_per_node": 2, "num_nodes": 1, "max_minutes": 60},
    }
    assert {name: partition["access"] for name, partition in parts.items()} == {
        "debug": ["--partition=debug", "--mem=0"],
        "phat_thick": ["--partition=phat", "--mem=0", "--constraint=thick"],
        "wide": ["--partition=wide", "--mem=0", "--qos=wide", "--gres=widget:1"],
    }
    assert "look: nodes thin of partition phat are left out: they have one core" in made.out
    assert "jobs are charged to physics; COFFEECUP_ACCOUNT chooses another one of physics, chemistry" in made.out


def test_partition_that_runs_nothing_of_the_user_is_left_out(cluster):
    with (
        cluster.updated("PartitionName=debug", AllowAccounts=("root", "ALL")),
        cluster.updated("PartitionName=phat", AllowAccounts=("chemistry", "ALL")),
    ):
        created = cluster.site("new", "without_debug")
    assert "partition debug is left out: it accepts none of your accounts (physics, chemistry)" in created.out
    assert "partition phat needs an account: export COFFEECUP_ACCOUNT=chemistry" in created.out
    assert sorted(partitions(cluster, "without_debug")[1]) == ["phat_thick", "wide"]


@pytest.fixture
def closed(cluster):
    """Partitions with the nodes of debug that take no job of the user, each with the reason."""
    settings = {
        "members": ("AllowGroups=daemon", "it accepts the groups daemon only, you are in nogroup"),
        "hidden": ("Hidden=YES", "its administrators hide it"),
        "drained": ("State=DRAIN", "it is DRAIN"),
        "roots": ("RootOnly=YES", "only root may submit to it"),
    }
    for name, (setting, _) in settings.items():
        cluster.slurm("scontrol", "create", f"PartitionName={name}", "Nodes=n[1-2]", "MaxTime=20", setting)
    yield {name: reason for name, (_, reason) in settings.items()}
    for name in settings:
        cluster.slurm("scontrol", "delete", f"PartitionName={name}")


def test_partitions_that_take_no_job_of_the_user_are_left_out_with_the_reason(cluster, closed):
    created = cluster.site("new", "open_ones")
    for name, reason in closed.items():
        assert f"partition {name} is left out: {reason}" in created.out, created.text
    assert sorted(partitions(cluster, "open_ones")[1]) == ["debug", "phat_thick", "wide"]


def test_what_sbatch_refuses_is_left_out_in_its_words(cluster):
    """A partition for reservations only: no setting that is read tells it."""
    with cluster.updated("PartitionName=phat", ReqResv=("YES", "NO")):
        created = cluster.site("new", "untold")
    told = r"partition phat is left out: `sbatch --test-only` refuses a job there: .*permission denied"
    assert re.search(told, created.out), created.text
    assert sorted(partitions(cluster, "untold")[1]) == ["debug", "wide"]


def test_partition_for_jobs_of_several_nodes_has_no_smaller_sizes(cluster):
    """Jobs of two of its three nodes, which are all that a job may take, with two cores each."""
    with cluster.updated("PartitionName=phat", MinNodes=(2, 1)):
        assert cluster.site("new", "large_jobs").code == 0
        assert partitions(cluster, "large_jobs")[1]["phat_thick"]["extras"]["sizes"] == [4]
        checked = cluster.site("check", "large_jobs")
    assert re.search(r"^ok +partition large_jobs:phat_thick: sbatch", checked.out, re.MULTILINE), checked.text


def test_kinds_of_nodes_without_a_feature_of_their_own_are_one_partition_of_the_smallest(cluster):
    thick = ("thick", "thin")
    with cluster.updated("NodeName=n3", AvailableFeatures=thick, ActiveFeatures=thick):
        created = cluster.site("new", "mixed")
    extras = partitions(cluster, "mixed")[1]["phat"]["extras"]
    assert (extras["cores_per_node"], extras["num_nodes"], extras["max_nodes"]) == (1, 4, 2)
    assert re.search("look: partitions with several kinds of nodes: cores are those of the smallest", created.out)


# The check of a site


@pytest.fixture
def changed(cluster):
    """`changed(old, new, ...)` is the name of a site with these texts of a new one replaced, each once."""

    def make(*texts, library="openmpi", only=None):
        name = f"with_{library}"
        if not cluster.settings(name).exists():
            assert cluster.site("new", name, module=library).code == 0
        text = cluster.settings(name).read_text().replace(f"/{name}/", "/changed/").replace(f'"{name}"', '"changed"')
        for old, new in zip(texts[::2], texts[1::2], strict=True):
            assert old in text
            text = text.replace(old, new, 1)
        if only:
            text += "\n[system] = site_configuration['systems']\n"
            text += f"system['partitions'] = [part for part in system['partitions'] if part['name'] == {only!r}]\n"
        folder = cluster.settings("changed").parent
        shutil.rmtree(folder, ignore_errors=True)
        shutil.copytree(cluster.settings(name).parent, folder)
        cluster.settings("changed").write_text(text)
        return "changed"

    return make


def test_new_site_passes_its_check(cluster, changed):
    """And a check that a partition is too short for is named, on that partition."""
    checked = cluster.site("check", changed("--partition=phat", "-p phat"))
    assert checked.code == 0, checked.text
    for partition in ("debug", "phat_thick", "wide"):
        told = rf"ok      partition changed:{partition}: sbatch --test-only accepts \d+ job scripts"
        assert re.search(told, checked.out)
    told = "note    b_eff_io on changed:debug: no case: changed:debug accepts jobs of up to 20 minutes, but this one"
    assert f"{told} may need 55" in checked.out


def test_a_hidden_partition_that_a_site_names_is_accepted(cluster, changed):
    """Slurm runs jobs there; only its lists leave it out."""
    name = changed(only="wide")
    with cluster.updated("PartitionName=wide", Hidden=("YES", "NO")):
        checked = cluster.site("check", name)
    assert checked.code == 0, checked.text


THICK, WIDE, PHAT = '"--constraint=thick"', '"--qos=wide",', "--partition=phat"
THREE, OF_DEBUG = '"num_nodes": 3,', '"max_minutes": 20,'
# What is wrong in a configuration (texts and their replacements), the complaint and the remedy.
LAUNCHER = ['"launcher": "srun"', '"launcher": "aprun"'], "ReFrame has no launcher 'aprun'", "write 'alps'"
PARTITION = [PHAT, "-p phatt"], "Slurm has no partition 'phatt'", "put one of debug, phat, wide into `access`"
QOS = [WIDE, ""], "Slurm's partition 'wide' does not accept your default QOS", "add --qos=wide to `access`"
CONSTRAINT = (
    *([THICK, '"--constraint=thikc"'], "cores_per_node is 2, but Slurm's partition 'phat with thikc' has 0 cores"),
    "correct cores_per_node",
)
WIDGET = (
    *(['"--gres=widget:1",', ""], "Slurm's partition 'wide' requires gres/widget of each job"),
    "add --gres=widget:NUMBER to `access`",
)
MODULES = (
    ['"modules_system": "lmod",', ""],
    "no job loads its modules (openmpi/1.0), because system 'changed' names no `modules_system`",
    'add "modules_system": "lmod" to the system',
)
LARGER = (
    ['"max_nodes": 2,', '"max_nodes": 3,'],
    "checks take up to 3 nodes, but a job in Slurm's partition 'phat' may take 2",
    "set max_nodes to 2",
)
LONGER = (
    [OF_DEBUG, '"max_minutes": 21,'],
    "max_minutes is 21, but Slurm's partition 'debug' ends jobs after 20 minutes",
    "set max_minutes to 20",
)
KINDS = (
    [f"{THICK},", "", THREE, '"num_nodes": 4,'],
    "num_nodes is 4, but only 3 nodes of Slurm's partition 'phat' have 2 cores",
    "lower num_nodes to 3, or choose nodes of one kind with --constraint in `access`",
)
NUMBER = (
    *([THREE, '"num_nodes": 4,'], "num_nodes is 4, but Slurm's partition 'phat with thick' has 3 nodes"),
    "correct num_nodes",
)
# What is looked for when no fact is wrong.
REFUSED = (
    [f'"{PHAT}",', f'"{PHAT}", "--qos=nope",'],
    "job scripts: allocation failure: Invalid qos specification",
    "put a QOS of yours into `access` as --qos=NAME: normal, wide",
)
TOO_LONG = (
    [OF_DEBUG, ""],
    "b_eff_io on changed:debug: asks for 55 minutes, 35 more than Slurm's partition 'debug' grants (20)",
    "set max_minutes to 20, so that the check is skipped there",
)
# Each list is one configuration.
WRONG = [
    *([LAUNCHER], [PARTITION, QOS], [CONSTRAINT, WIDGET], [MODULES, LARGER, LONGER], [KINDS], [NUMBER]),
    [REFUSED, TOO_LONG],
]


@pytest.mark.parametrize("wrong", WRONG, ids=lambda wrong: wrong[0][1][:30])
def test_wrong_fact_is_refused_with_its_remedy(cluster, changed, wrong):
    checked = cluster.site("check", changed(*(text for texts, *_ in wrong for text in texts)))
    assert checked.code == 1, checked.text
    for _, complaint, remedy in wrong:
        lines = [line for line in checked.err.splitlines() if complaint in line]
        assert lines, checked.text
        assert all(remedy in line for line in lines)


def test_unknown_account_is_refused_with_those_of_the_user(cluster, changed):
    checked = cluster.site("check", changed(), COFFEECUP_ACCOUNT="biology")
    assert checked.code == 1
    assert "Invalid account" in checked.err
    assert "set COFFEECUP_ACCOUNT to an account of yours: physics, chemistry" in checked.err


def proven(checked, library, partitions):
    """One job per partition: on two nodes where there are two, four processes, two on each."""
    job = r"^ok +job on changed:(\w+), environment mpi, file system \w+: job \d+ on (.*)$"
    jobs = dict(re.findall(job, checked.out, re.MULTILINE))
    nodes = {"debug": "n1, n2: 4", "phat_thick": r"n\d, n\d: 4", "wide": "n4: 2"}
    assert sorted(jobs) == partitions, checked.text
    for partition, told in jobs.items():
        assert re.match(
            nodes[partition] + r" processes, each may run on \d of \d+ cores; .*, as compiled, built with cmake; "
            r"/tmp: \w+, [\d.]+ GByte free",
            told,
        )
        assert LIBRARIES[library] in told


@pytest.mark.prove  # Open MPI crashes beside other tests: see test_slurm.py
def test_jobs_prove_a_site_from_its_compute_nodes(cluster, changed):
    checked = cluster.site("check", changed(), "--submit")
    assert checked.code == 0, checked.text
    proven(checked, "openmpi", ["debug", "phat_thick", "wide"])


def test_jobs_prove_the_partitions_without_a_problem(cluster, changed):
    """A partition that was closed since the site was made costs its own jobs only, and the exit code."""
    name = changed(library="mpich")
    with cluster.updated("PartitionName=debug", AllowGroups=("daemon", "ALL")):
        checked = cluster.site("check", name, "--submit", module="mpich")
    assert checked.code == 1
    assert "does not run your jobs: it accepts the groups daemon only" in checked.err
    proven(checked, "mpich", ["phat_thick", "wide"])


@pytest.mark.prove
def test_every_benchmark_passes_in_smoke_mode_on_a_new_site(cluster, made):
    """With no edit. Debian has FFTW for Open MPI alone."""
    without = {name for name in benchmarks() if name.endswith("_load")}  # no partition has this feature
    without |= {"ftio"} if made.library == "mpich" else set()
    report = cluster.tree / f"{made.library}.json"
    words = ["-C", cluster.settings(made.name), f"--system={made.name}", "-c", "reframe_checks", "-r", "--mode=smoke"]
    words += [f"--report-file={report}", *(word for name in without for word in ("-x", name))]
    session = cluster.run(*REFRAME, *words, module=made.library, timeout=3600)
    assert session.code == 0, session.text
    [run] = json.loads(report.read_text())["runs"]
    nodes, skipped = {}, set()
    for case in run["testcases"]:
        if not case["fixture"]:
            place = case["partition"], case["name"].split()[0]
            if case["result"] == "skip":
                skipped.add(place)
            else:
                assert case["result"] == "pass" and case["scheduler"] == "slurm"
                nodes.setdefault(place, set()).add(len(case["job_nodelist"]))
    sizes = {"debug": {1, 2}, "phat_thick": {1, 2}, "wide": {1}}
    expected = {(partition, name): sizes[partition] for partition in sizes for name in benchmarks().keys() - without}
    assert nodes == {place: expected[place] for place in expected.keys() - skipped}
    assert not skipped, "each asks for less than the 20 minutes of debug"
    assert {name for _, name in nodes} == benchmarks().keys() - without


@pytest.mark.prove
def test_library_that_the_launcher_does_not_start_is_refused(cluster, changed):
    """Slurm's own default: srun starts processes that know nothing of each other."""
    without = changed('"SLURM_MPI_TYPE", "pmix"', '"SLURM_MPI_TYPE", "none"', only="phat_thick")
    checked = cluster.site("check", without, "--submit")
    assert checked.code == 1, checked.text
    assert "job on changed:phat_thick, environment mpi" in checked.err
    assert "compare `srun --mpi=list` with SLURM_MPI_TYPE" in checked.err


@pytest.mark.parametrize(
    ("compiled", "running", "same"),
    [
        ("Open MPI 4.1.4", "Open MPI v4.1.4, package: Debian, ident: 4.1.4, repo rev: v4.1.4, May 26, 2022", True),
        ("Open MPI 4.1.5", "Open MPI v4.1.4, package: Debian, ident: 4.1.4, repo rev: v4.1.4, May 26, 2022", False),
        ("MPICH 4.0.2", "MPICH Version:\t4.0.2", True),
        ("MPICH 4.0.2", "Open MPI v4.0.2, package: x", False),
        ("MPICH 3.4a2", "MPI VERSION    : CRAY MPICH version 8.1.23.11 (ANL base 3.4a2)", None),
    ],
)
def test_library_of_the_build_is_compared_with_the_one_that_runs(compiled, running, same):
    assert same_library(compiled, running) is same
