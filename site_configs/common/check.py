# SPDX-License-Identifier: Apache-2.0
"""`coffeecup site check`: checks a site before the first job is queued. Each part is a function of the site that yields
findings; parts that inspect the machine are skipped on another one."""

import re
import shutil
import socket
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from coffeecup.postprocess import reframe_version
from coffeecup.reframe_checks.vocabulary import Feature

from . import dry_run, machine_check, probe_jobs, words
from .tree import SiteError, find_tree, read_configuration, settings_of

OK, NOTE, REFUSED = "ok", "note", "refused"


@dataclass(frozen=True)
class Finding:
    """`what` is the finding at `place`; a problem has a remedy."""

    level: str
    place: str
    what: str
    remedy: str = ""

    def __str__(self):
        return f"{self.place}: {self.what}" + (f"; {self.remedy}" if self.remedy else "")


@dataclass(frozen=True)
class Site:
    """A site's configuration, and how to run ReFrame with it."""

    tree: Path
    name: str
    settings: Path
    systems: list
    environments: dict
    reframe: str

    @property
    def shown(self):
        """The path of its settings as messages name it."""
        return self.settings.relative_to(self.tree) if self.settings.is_relative_to(self.tree) else self.settings

    def partitions(self):
        """(full name, partition) of all that can be computed on."""
        return [
            (f"{system['name']}:{partition['name']}", partition)
            for system in self.systems
            for partition in system["partitions"]
            if Feature.LOGIN not in partition.get("features", ())
        ]


def check_site(name, elsewhere=False, require_references=False, with_jobs=False) -> Iterator[Finding]:
    """All findings on a site, in the order of the parts; the last one runs jobs, if wanted. A problem ends the check
    after its part, because later parts would repeat it; a problem of partitions does so for these."""
    try:
        tree = find_tree()
        settings = settings_of(tree, name)
        reframe, version = reframe_here()
        yield Finding(OK, "ReFrame", f"{version} ({reframe})")
        configuration = read_configuration(settings)
    except SiteError as error:
        yield Finding(REFUSED, f"site {name}", str(error))
        return
    environments = {environment["name"]: environment for environment in configuration["environments"]}
    site = Site(tree, name, settings, configuration["systems"], environments, reframe)
    yield Finding(OK, str(site.shown), "valid for ReFrame")
    parts = [words.findings]
    here = is_here(site) and not elsewhere
    if not here:
        yield Finding(
            NOTE,
            f"site {name}",
            f"this machine ({socket.gethostname()}) is not part of it: skipped the checks of compilers, scheduler and "
            "file systems",
        )
    else:
        parts.append(machine_check.findings)
    parts.append(lambda site: dry_run.findings(site, here, require_references))
    if with_jobs and not here:
        yield Finding(REFUSED, f"site {name}", "--submit needs the site itself", "run it on a login node of the site")
        return
    if with_jobs:
        parts.append(probe_jobs.findings)
    for part in parts:
        refused = []
        for level, place, what, *remedy in part(site):
            refused += [place] if level == REFUSED else []
            yield Finding(level, place, what, *remedy)
        site = without(site, refused)
        if not site.partitions() or (refused and part is words.findings):
            return


def without(site, refused):
    """The site without the partitions whose full names end the places that were refused; with nothing where another
    place was refused."""
    names = {name for name, _ in site.partitions()}
    spoiled = {place.rpartition(" ")[2] for place in refused}
    if not spoiled <= names:
        spoiled = names
    systems = [
        system | {"partitions": [p for p in system["partitions"] if f"{system['name']}:{p['name']}" not in spoiled]}
        for system in site.systems
    ]
    return replace(site, systems=systems)


def is_here(site):
    """Whether the host name of this machine matches a system of the site."""
    host = socket.gethostname()
    return any(re.match(pattern, host) for system in site.systems for pattern in system["hostnames"])


def reframe_here():
    """(command, version) of the ReFrame on PATH, otherwise of the one that belongs to this Python."""
    beside = Path(sys.executable).with_name("reframe")
    command = shutil.which("reframe") or (str(beside) if beside.exists() else None)
    if command is None:
        raise SiteError(
            "reframe is not on PATH; install it with `pip install reframe-hpc`, or load the centre's module"
        )
    said = subprocess.run([command, "--version"], capture_output=True, text=True, check=False).stdout.strip()
    if refused := reframe_version.refusal(said):
        raise SiteError(f"{command}: {refused}")
    return command, said
