# SPDX-License-Identifier: Apache-2.0
"""Job scripts of every shipped site: what a person there would submit. scripts/SITE.sh is the script as it was read and
agreed, with a name for what differs between partitions, sizes and checks. Every script of every mode has to be that
text with the values that arithmetic and the tables below give. On one site every mode is tried, on the others one for
each form of a script. Nothing here asks for a scheduler: ReFrame writes job scripts without one.
"""

import os
import re
import time
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from pathlib import Path
from string import Template
from typing import NamedTuple

import pytest
from builds import ROOT, run
from conftest import Reframe

from coffeecup.site_configs.common.dry_run import SKIPPED, checks
from coffeecup.site_configs.common.frame import ACCOUNT, MODES
from coffeecup.site_configs.common.tree import names, read_configuration

SCRIPTS = Path(__file__).with_name("scripts")
SITES = [site for site in names(ROOT) if site != "simulated"]  # which test_simulated_references.py runs
CHECKS = [check for check in checks(ROOT) if not check.endswith("_load")]  # no shipped site has the feature `load`
BATCH = [site for site in SITES if site != "local"]  # what that starts depends on the machine at hand


class Job(NamedTuple):
    """What tells the jobs of a site apart."""

    partition: str
    check: str
    parameters: str  # of the check, but for the number of processes
    processes: int

    @property
    def file_system(self):
        """Empty where none is measured."""
        found = re.search(r"%file_system=(\S+)", self.parameters)
        return found[1] if found else ""


def dry_run(folder, site, *options):
    """A dry run of all checks on a site with warnings as errors: {Job: job script, or the reason why there is none}."""
    folder.mkdir()
    words = ["--dry-run", "--warn-as-error", f"--system={site}", *options]
    config = ROOT / "site_configs" / site / "settings.py"
    session = Reframe(folder)(*words, env={ACCOUNT: "project"}, config=config)
    assert session.returncode == 0, f"{site} {options}\n{session.output}"
    found = SKIPPED.findall(session.output)
    reasons = {(re.sub(r" %\.repeat_no=\d+", "", case), where): reason for case, where, reason in found}
    scripts = {}
    for case in session.cases:
        check, *parameters = case["name"].split(" ")
        kept = [parameter for parameter in parameters if not parameter.startswith("%num_processes=")]
        job = Job(case["partition"], check, " ".join(kept), case["num_processes"])
        if case["result"] == "skip":
            text = f"skipped: {reasons[case['name'], '{}:{}'.format(site, case['partition'])]}"
        else:
            text = plain(Path(case["stagedir"], "rfm_job.sh").read_text(), folder)
        assert scripts.setdefault(job, text) == text, "a repetition differs"
    return scripts


def plain(script, folder):
    """A job script without what differs from run to run and from tree to tree: folders, hashes."""
    script = script.replace(str(folder), "$PREFIX").replace(str(ROOT), "$TREE")
    script = re.sub(r"((?:\w+_build|rfm_\w+?|/\w+?)_)[0-9a-f]{8}\b", r"\1HASH", script)
    return re.sub(r"(#PBS -N rfm_\w+?)_[0-9a-f]{1,8}$", r"\1_HASH", script, flags=re.MULTILINE)


# Nodes of the sizes of a partition, by hand from the tables of docs/sites.md ("Modes", "Sizes") and the sites' headers.
POWERS = {64: (1, 2, 4, 8, 16, 32, 64), 16: (1, 2, 4, 8, 16), 8: (1, 2, 4, 8), 4: (1, 2, 4)}
LARGEST = {"archer2": {"standard": 64, "highmem": 16, "short": 4}, "crux": {"debug": 8, "workq": 64}}
EVERY_MODE = "crux"  # the site that is tried with every mode, and whose repetitions are compared
SWEEP, SWEEPING = "nodes", {"b_eff"}  # the mode with a process on each node, and the checks that it has
FORMS = ("acceptance", SWEEP)  # of a whole run and of one of all nodes


def of_each_node(mode, check, cores):
    """Processes."""
    if mode in ("acceptance", "maintenance") and check == "ftio":
        return 8
    return 1 if mode == SWEEP else cores


@pytest.fixture(scope="module")
def all_runs(tmp_path_factory):
    """{site: {mode: dry run}} of every shipped site, and the seconds of the whole matrix: all sites, checks and sizes,
    which on sites with jobs is the mode acceptance. As many at a time as there are cores."""
    folder = tmp_path_factory.mktemp("scripts")

    def runs(wanted):
        with ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool:
            done = pool.map(lambda run: dry_run(folder / "-".join(run), run[0], f"--mode={run[1]}"), wanted)
            return dict(zip(wanted, done, strict=True))

    started = time.monotonic()
    done = runs([(site, "acceptance") for site in SITES])
    seconds = time.monotonic() - started
    every = [mode for mode in MODES if mode != "rolling"]  # whose jobs are those of a plan
    modes = {site: every if site == EVERY_MODE else FORMS for site in BATCH}
    done |= runs([(site, mode) for site in BATCH for mode in modes[site] if mode != "acceptance"])
    found = {site: {mode: done[site, mode] for mode in MODES if (site, mode) in done} for site in SITES}
    return found, seconds


# Where the queue of a partition has another name, and the nodes of partitions of which checks may take a part only.
QUEUES = {"archer2": {"short": "standard"}, "crux": {"workq": "workq-route"}}
NODES = {"archer2": {"standard": 5860, "highmem": 584, "short": 5860}, "crux": {"workq": 184}}
ENVIRONMENTS = {"archer2": "cray", "crux": "cray", "roihu": "gnu"}

# The words of a kernel after its directory, in the short, the regular and the whole form, and the minutes of the job.
WORDS = {
    "b_eff": {
        "smoke": "--log b_eff.jsonl --time-budget 30",
        SWEEP: "--log b_eff.jsonl --time-budget 60 --patterns ring,random,ping_pong --random-patterns 1 "
        "--repetitions 1 --methods nonblocking,blocking",
        "": "--log b_eff.jsonl",
    },
    "b_eff_io": {
        "whole": "--log b_eff_io.jsonl --partitions all --directory {directory}",
        "": "--log b_eff_io.jsonl --partitions all --quick --directory {directory}",
    },
    "ftio": {
        "smoke": "--directory {directory} --log ftio.jsonl --input 16MiB --repeat 1 --storage posix",
        "whole": "--directory {directory} --log ftio.jsonl --input 1GiB --repeat 3 --storage posix --direct",
        "": "--directory {directory} --log ftio.jsonl --input 64MiB --repeat 3 --storage posix",
    },
    "priomark": {
        "smoke": "--directory {directory} --log priomark.jsonl --workload short",
        "": "--directory {directory} --log priomark.jsonl --workload default",
    },
}
MINUTES = {
    "b_eff": {"smoke": 6, SWEEP: 7, "": 13},
    "b_eff_io": {"whole": 55, "": 13},
    "priomark": {"smoke": 10, "": 30},
}


def form(table, mode):
    """What a table has for a mode."""
    return table.get(mode, table.get("whole", table[""]) if mode in ("acceptance", "maintenance") else table[""])


@cache
def stated_scheduler(kind):
    """Where one is installed and answers."""
    try:
        done = run([{"pbs": "qstat", "slurm": "sinfo"}[kind], "--version"])
    except OSError:
        return ""
    return f",scheduler={kind}-{re.search('[0-9.]+', done.stdout)[0]}" if done.returncode == 0 else ""


def expected(site, mode, job, offered, time):
    """The job script of a site."""
    per_node = of_each_node(mode, job.check, offered["cores_per_node"])
    asked = f"processes_per_node={per_node},exclusive=yes,partition={site}:{job.partition}"
    if job.check == "b_eff":
        asked += f",partition_nodes={NODES.get(site, {}).get(job.partition, offered['num_nodes'])}"
    asked += stated_scheduler("pbs" if site in ("crux", "pbs-generic") else "slurm")
    words, of_file_system = form(WORDS[job.check], mode), []
    if job.file_system:
        [chosen] = [system for system in offered["file_systems"] if system["name"] == job.file_system]
        words = words.format(directory=chosen["directory"].replace(f"${ACCOUNT}", "project"))
        of_file_system = chosen.get("options", ())
    stage = f"$PREFIX/stage/{site}/{job.partition}/{ENVIRONMENTS.get(site, 'mpi')}/{job.check}"
    return Template((SCRIPTS / f"{site}.sh").read_text()).substitute(
        check=job.check,
        partition=job.partition,
        queue=QUEUES.get(site, {}).get(job.partition, job.partition),
        processes=job.processes,
        per_node=per_node,
        nodes=job.processes // per_node,
        time=time,
        of_file_system="".join(f"#SBATCH {option}\n" for option in of_file_system),
        asked=asked,
        folder=f"{stage}_HASH",
        kernel=f"{stage}_build_HASH/install/bin/{job.check} {words}",
    )


@pytest.mark.parametrize("site", BATCH)
def test_every_script_is_the_agreed_one_with_its_own_values(all_runs, site):
    """Line by line; and of each job that is left out, the reason."""
    systems = read_configuration(ROOT / "site_configs" / site / "settings.py")["systems"]
    extras = {p["name"]: p["extras"] for system in systems for p in system["partitions"]}
    compared = 0
    for mode, scripts in all_runs[0][site].items():
        for job, script in scripts.items():
            offered = extras[job.partition]
            if skipped := re.fullmatch(r"skipped: (.*)", script):
                assert accounted(skipped[1], f"{site}:{job.partition}", job, offered), script
                continue
            assert job.processes // of_each_node(mode, job.check, offered["cores_per_node"]) <= offered["num_nodes"]
            hours, minutes, seconds = map(int, re.search(r"time=(\d+):(\d+):(\d+)\n", script).groups())
            assert 5 <= hours * 60 + minutes <= offered["max_minutes"]
            if job.check in MINUTES:
                usual = min(form(MINUTES[job.check], mode), offered["max_minutes"])
                assert (hours, minutes, seconds) == (0, usual, 0), (mode, job)
            assert script.rstrip() == expected(site, mode, job, offered, f"{hours}:{minutes}:{seconds}").rstrip()
            compared += 1
    assert compared


def accounted(reason, partition, job, offered):
    """Whether a partition's limits, as the site states them, agree with the reason for which no job was made."""
    if found := re.fullmatch(r"(.*) accepts jobs of up to (\d+) minutes, but this one may need (\d+)", reason):
        return found[1] == partition and int(found[2]) == offered["max_minutes"] < int(found[3])
    if found := re.fullmatch(r"requires at least 3 nodes, this size has (\d+)", reason):
        return int(found[1]) < 3 and job.processes == int(found[1]) * offered["cores_per_node"]
    found = re.fullmatch(r"the smallest matrix of (\d+) processes has (\d+) GiB, more than the 128 GiB that .*", reason)
    return job.check == "ftio" and int(found[1]) == job.processes and int(found[2]) > 128


FILE_SYSTEMS = {"archer2": 2, "crux": 1}
OF_MODE = {
    "smoke": lambda nodes: nodes <= 2,
    "nightly": lambda nodes: nodes <= 4,
    "scaling": lambda nodes: True,
    "acceptance": lambda nodes: True,
}


@pytest.mark.parametrize(("site", "partition"), [(site, name) for site, names in LARGEST.items() for name in names])
def test_each_mode_runs_its_sizes_on_each_partition(all_runs, site, partition):
    """Each check once at each size of the mode, skipped or not; I/O checks on each of the site's file systems."""
    largest = LARGEST[site][partition]
    for mode, scripts in all_runs[0][site].items():
        wanted = OF_MODE.get(mode, lambda nodes: nodes in (1, largest))  # maintenance
        for check in SWEEPING if mode == SWEEP else CHECKS:
            per_node = of_each_node(mode, check, 128)
            sizes = [per_node * nodes for nodes in POWERS[largest] if mode != SWEEP and wanted(nodes)] or [largest]
            found = sorted(job.processes for job in scripts if (job.partition, job.check) == (partition, check))
            times = 1 if check == "b_eff" else FILE_SYSTEMS[site]
            assert found == sorted(sizes * times), (mode, check)


@pytest.mark.parametrize("site", BATCH)
def test_every_check_is_in_every_mode_or_says_why_not(all_runs, site):
    for mode, scripts in all_runs[0][site].items():
        assert {job.check for job in scripts} == (SWEEPING if mode == SWEEP else set(CHECKS)), mode


def test_whole_matrix(all_runs):
    """All sites, checks and sizes, warnings as errors. The time is shown, not asserted: it depends on who else is on
    the machine."""
    runs, seconds = all_runs
    cases = sum(len(modes["acceptance"]) for modes in runs.values())
    print(f"{cases} cases of {len(SITES)} sites in {seconds:.0f} s")
    assert {job.check for modes in runs.values() for job in modes["acceptance"]} == set(CHECKS)
    assert all(modes["acceptance"] for modes in runs.values())
