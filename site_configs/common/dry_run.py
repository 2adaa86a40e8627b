# SPDX-License-Identifier: Apache-2.0
"""What ReFrame would run on a site: a dry run of all checks, with warnings as errors, in a temporary directory."""

import json
import math
import os
import re
import shutil
import subprocess
import tempfile
from collections import defaultdict
from pathlib import Path

from coffeecup.postprocess.logs.workers import end_by_exception
from coffeecup.reframe_checks.vocabulary import STAGE, Feature

from . import job_scripts, machine
from .frame import OUTPUT

# Case, partition, reason.
SKIPPED = re.compile(r"^\[ +SKIP \] \( *\d+/\d+\) (.*) /\w+ @(\S+?)\+\S+ \[(.*)\]$", re.MULTILINE)


def dry_run(site, system, folder, *options):
    """(exit code, terminal output, test cases without fixtures) of a dry run of all checks on one system."""
    return reframe(site, system, folder, "--dry-run", "--warn-as-error", *options)


def reframe(site, system, folder, *options):
    """(exit code, terminal output, test cases without fixtures) of ReFrame with all checks on one system. All output
    goes into the folder."""
    report = folder / f"{system}.json"
    report.unlink(missing_ok=True)
    command = [site.reframe, "--nocolor", "-C", str(site.settings), f"--system={system}"]
    command += ["-c", str(site.tree / "reframe_checks"), f"--prefix={folder}", f"--perflogdir={folder}/perflogs"]
    command += [f"--report-file={report}", *options]
    variables = {"COFFEECUP_OUTPUT": str(OUTPUT.resolve()), "RFM_SQLITE_DB_FILE": str(folder / "results.db")}
    code, output = ended(command, folder, os.environ | variables)
    runs = json.loads(report.read_text(encoding="utf-8"))["runs"] if report.exists() else []
    return code, output, [case for run in runs for case in run["testcases"] if not case["fixture"]]


def ended(command, folder, environment):
    """(exit code, terminal output) of ReFrame. A signal that ends this process ends ReFrame first, which cancels its
    jobs."""
    end_by_exception()
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    process = subprocess.Popen(command, cwd=folder, env=environment, start_new_session=True, **pipes)
    try:
        output = "".join(process.communicate())
    except BaseException:
        process.terminate()
        process.communicate()
        raise
    return process.returncode, output


def checks(tree):
    """Names of all checks of the tree: of the modules that make one."""
    return sorted(
        path.stem
        for path in (tree / "reframe_checks").glob("*.py")
        if "@rfm.simple_test" in path.read_text(encoding="utf-8")
    )


def findings(site, here, require_references=False):
    """(level, place, what, remedy) on the cases of each system, their job scripts, their references and, where this
    machine is the site, their space."""
    for system in site.systems:
        with tempfile.TemporaryDirectory(prefix="coffeecup-") as folder:
            name = system["name"]
            code, output, cases = dry_run(site, name, Path(folder))
            if code:
                yield (
                    "refused",
                    f"dry run on {name}",
                    complaint(output),
                    f"see the whole output with: reframe -C {site.settings} --system={name} "
                    f"-c {site.tree / 'reframe_checks'} --dry-run --warn-as-error",
                )
                continue
            yield from of_cases(site, name, cases, dict_of_reasons(output))
            yield from job_scripts.findings(site, name, cases) if here else ()
            yield from of_space(name, cases) if here else ()
            yield from of_references(name, cases, require_references)


def complaint(output):
    """The line in which ReFrame says what is wrong."""
    lines = [line.strip() for line in output.splitlines() if line.strip()]
    telling = [line for line in lines if re.match(r"(ERROR|WARNING|.*[Rr]eason:|\* Reason)", line)]
    return " ".join((telling or lines[-1:] or ["no message"])[:2])


def dict_of_reasons(output):
    """Check to the reasons that its skipped cases gave on each partition."""
    reasons = defaultdict(lambda: defaultdict(set))
    for case, partition, reason in SKIPPED.findall(output):
        reasons[case.split(" ")[0]][partition].add(reason)
    return reasons


def of_cases(site, system, cases, reasons):
    """Each check selects a case, or says why not."""
    for check in checks(site.tree):
        chosen = [case for case in cases if case["name"].split(" ")[0] == check]
        ran = [case for case in chosen if case["result"] != "skip"]
        if ran:
            sizes = sorted({case["num_tasks"] for case in ran})
            scripts = [Path(case["stagedir"], "rfm_job.sh") for case in ran]
            missing = [script for script in scripts if not script.exists()]
            where = ", ".join(sorted({case["partition"] for case in ran}))
            if missing:
                yield (
                    "refused",
                    f"{check} on {system}",
                    f"{len(missing)} of {len(ran)} job scripts were not created",
                    "see ReFrame's log",
                )
            else:
                yield (
                    "ok",
                    f"{check} on {system}",
                    f"{len(ran)} cases with job scripts, {sizes[0]} to {sizes[-1]} processes, on {where}",
                )
        elif not reasons[check] and all(
            check not in partition.get("extras", {}).get("kernels", (check,)) for _, partition in site.partitions()
        ):
            yield "note", f"{check} on {system}", "no case: no partition lists it in the extra 'kernels'"
        elif check.endswith(f"_{Feature.LOAD}") and not any(
            Feature.LOAD in partition.get("features", ()) for _, partition in site.partitions()
        ):
            yield "note", f"{check} on {system}", f"no case: no partition has the feature {str(Feature.LOAD)!r}"
        elif not reasons[check]:
            yield (
                "refused",
                f"{check} on {system}",
                "no case was selected, without a reason",
                "check sizes and environs of its partitions",
            )
        running = {f"{system}:{case['partition']}" for case in ran}
        for partition, why in sorted(reasons[check].items()):
            if partition not in running:
                yield "note", f"{check} on {partition}", f"no case: {'; '.join(sorted(why))}"


def of_space(system, cases):
    """Directories that are here and too small for what a check will put there."""
    needs = {}
    for case in cases:
        if case["result"] != "skip" and case.get("least_bytes") and case["file_system"] != STAGE:
            directory = os.path.expandvars(case["directory"])
            needs[directory] = max(needs.get(directory, (0,)), (case["least_bytes"], case["name"], case["partition"]))
    for directory, (least, check, partition) in needs.items():
        free = machine.answer(free_bytes, directory)
        if free is not None and free < least:
            yield (
                "refused",
                f"{check} on {system}:{partition}",
                f"needs {least / 1e9:.3g} GByte in {directory}, which has {free / 1e9:.3g} GByte of free space",
                "free some space, name another file system first, or lower max_nodes",
            )


def free_bytes(directory):
    """In the file system of a directory; without limit where there is none."""
    return shutil.disk_usage(directory).free if Path(directory).is_dir() else math.inf


def of_references(system, cases, required):
    """How many cases have something to be compared with."""
    ran = [case for case in cases if case["result"] != "skip"]
    without = [case for case in ran if case["reference_status"] == "no reference"]
    if without:
        level = "refused" if required else "note"
        examples = ", ".join(sorted({f"{case['name']} on {case['partition']}" for case in without})[:2])
        yield (
            level,
            f"references of {system}",
            f"{len(without)} of {len(ran)} cases have none ({examples}, ...): their metrics are "
            "reported and cannot fail",
            "add references to reference_values/",
        )
    else:
        yield "ok", f"references of {system}", f"all {len(ran)} cases have references"
