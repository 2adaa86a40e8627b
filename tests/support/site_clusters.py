# SPDX-License-Identifier: Apache-2.0
"""A cluster that a normal user works on: Slurm with accounts as Debian ships it, modules, and the user's own tree."""

import json
import os
import pwd
import shutil
import sys
import tempfile
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace

import builds
import modules_made
import pytest
import slurm_made
from conftest import COFFEECUP, CORES, PARTS_OF_SITES, PATIENCE, without_spack


@dataclass(frozen=True)
class Cluster:
    """A cluster that a normal user works on: Slurm, modules, and a tree that belongs to the user."""

    slurm: slurm_made.Slurm
    tree: Path
    modules: Path

    def site(self, *arguments, module="openmpi", **environment):
        return self.run(COFFEECUP, "site", *arguments, module=module, **environment)

    def run(self, *command, module="openmpi", timeout=PATIENCE, **environment):
        """A command in a login shell of the user, who has loaded a module. The user may read what root may, such as a
        Python below /root."""
        uid = pwd.getpwnam(slurm_made.USER).pw_uid
        drop = ["setpriv", f"--reuid={uid}", f"--regid={uid}", "--clear-groups"]
        drop += ["--inh-caps=+dac_read_search", "--ambient-caps=+dac_read_search"]
        home = {"HOME": str(self.tree.parent), "USER": slurm_made.USER, "LOGNAME": slurm_made.USER}
        home["PATH"] = without_spack(os.environ["PATH"])
        quicker = {name: value for name, value in os.environ.items() if name.startswith(("CCACHE_", "CMAKE_"))}
        quicker["CCACHE_DIR"] = str(self.tree.parent / "ccache")
        done = builds.run(
            [*drop, *modules_made.shell(self.modules, module), *command],
            cwd=self.tree,
            env=home | quicker | self.slurm.environment | environment,
            timeout=timeout,
            preexec_fn=lambda: os.sched_setaffinity(0, CORES),
        )
        assert "Traceback" not in done.stdout + done.stderr
        return SimpleNamespace(code=done.returncode, out=done.stdout, err=done.stderr, text=done.stdout + done.stderr)

    def settings(self, name):
        return self.tree / "site_configs" / name / "settings.py"

    @contextmanager
    def updated(self, what, **values):
        """Slurm with other values of a partition or node; `values` are (for the moment, as before)."""
        update = lambda turn: self.slurm("scontrol", "update", what, *(f"{k}={v[turn]}" for k, v in values.items()))  # noqa: E731
        update(0)
        try:
            yield
        finally:
            update(1)


READ = "import json, sys; from coffeecup.site_configs.common.tree import read_configuration as read; "


def partitions(cluster, name):
    """The system, partition name to its settings, and the environment, as ReFrame reads them in a process of its own:
    it reads each file once."""
    program = READ + "print(json.dumps(read(sys.argv[1])))"
    configuration = json.loads(builds.run([sys.executable, "-c", program, cluster.settings(name)], check=True).stdout)
    [system], [environment] = configuration["systems"], configuration["environments"]
    return system, {partition["name"]: partition for partition in system["partitions"]}, environment


@contextmanager
def cluster_of(machines, accounts, files=None, nodes=4):
    """A cluster of these nodes and partitions (slurm_made), with these files beside slurm.conf. It is in a folder that
    every user can reach; those of pytest are root's alone."""
    if reason := slurm_made.missing(accounting=True):
        pytest.skip(reason)
    with tempfile.TemporaryDirectory(prefix="coffeecup-") as name:
        folder = Path(name)
        folder.chmod(0o755)
        modules = modules_made.write_modules(folder)
        home = folder / "home"
        builds.copy_parts(PARTS_OF_SITES, home / "tree")
        for path in (home, *home.rglob("*")):
            shutil.chown(path, slurm_made.USER)
        (folder / "slurm").mkdir()
        for file, text in (files or {}).items():
            (folder / "slurm" / file).write_text(text)
        with slurm_made.slurm(
            folder / "slurm", nodes=nodes, accounting=True, machines=machines, accounts=accounts
        ) as slurm:
            yield Cluster(slurm, home / "tree", modules)
