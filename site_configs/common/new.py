# SPDX-License-Identifier: Apache-2.0
"""`coffeecup site new`: writes a directory in site_configs/ with the facts of this machine; guesses are marked LOOK."""

import datetime
import re
import socket
from pathlib import Path

import jinja2

from . import machine, slurm, spack_site
from .frame import OVERCOMMITTING
from .tree import NAME, OF_REFRAME, SiteError, find_tree, is_checkout, names, new_folder

SOURCES = {"pbspro": "pbsnodes and qstat", "local": "the cores this process may use"}
OPTION_SOURCES = {
    "--qos": "the partition's AllowQos",
    "--constraint": "the partition has several kinds of nodes, with features in `scontrol show node`",
    "--gres": "its QOS requires generic resources; these are all of a node",
}


def new_site(name, directory=None):
    """(paths of the written files, uncertain facts). The site is a directory of the checkout, or the one that is named.
    Raises SiteError if the name is invalid or taken."""
    if not NAME.fullmatch(name):
        raise SiteError(
            f"{name!r} is not a valid site name: use lowercase letters, digits, - and _, starting with a letter"
        )
    if name in OF_REFRAME:
        raise SiteError(f"{name!r} is a name in ReFrame's own configuration: choose another one")
    folder = Path(directory).resolve() if directory else in_checkout(name)
    try:
        taken = folder.exists()
    except OSError as error:
        raise SiteError(f"cannot write {folder}: {error.strerror}") from None
    if taken:
        raise SiteError(f"{folder} already exists: choose another name, or remove it")
    facts = {**look(name), "folder": str(folder) if directory else "", "settings": shown(folder)}
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(Path(__file__).with_name("templates")),
        undefined=jinja2.StrictUndefined,
        keep_trailing_newline=True,
        autoescape=False,
    )
    environment.filters["gigabytes"] = gigabytes
    environment.policies["json.dumps_kwargs"] = {"ensure_ascii": False}
    texts = {
        "settings.py": environment.get_template("settings.py.j2").render(facts),
        "spack.yaml": environment.get_template("spack.yaml.j2").render(facts),
    }
    if not directory:
        texts = {"__init__.py": f'"""The site {name}."""\n', **texts}
    texts["externals.yaml"] = spack_site.externals()
    try:
        with new_folder(folder):
            for file, text in texts.items():
                (folder / file).write_text(text, encoding="utf-8")
    except OSError as error:
        raise SiteError(f"cannot write {folder}: {error.strerror}") from None
    return [folder / file for file in texts], facts["uncertain"]


def in_checkout(name):
    """The directory of a site in the checkout."""
    tree = find_tree()
    if not is_checkout(tree):
        raise SiteError(f"{tree} is an installation, not a checkout: name a directory of your own with --directory")
    if name in names(tree):
        raise SiteError(
            f"{name} already exists: choose another name, or remove it (sites are {', '.join(names(tree))})"
        )
    return tree / "site_configs" / name


def shown(folder):
    """The path of a new site's settings as a person would type it."""
    path = folder / "settings.py"
    return path.relative_to(Path.cwd()) if path.is_relative_to(Path.cwd()) else path


def look(name):
    """All values that the templates use."""
    kind, kind_source = machine.scheduler()
    found, open_points = partitions(kind)
    if not found:
        raise SiteError(
            f"{kind} answers, but lists no partition or queue that accepts your jobs: check sinfo or qstat -Qf"
            + "".join(f"; {point}" for point in open_points)
        )
    batch = kind != "local"
    launcher, variables, launcher_source = machine.launcher(kind)
    compiler, library, compiler_source = machine.mpi_compiler()
    systems, silent = machine.file_systems()
    host = socket.gethostname()
    modules = machine.loaded_modules() if machine.modules_system() else []
    return {
        "name": name,
        "descr": f"{'cluster under ' + {'pbspro': 'PBS'}.get(kind, 'Slurm') if batch else 'a single machine'}, "
        f"{library or 'no MPI found'}",
        "host": host,
        "hostnames": re.sub(r"\\?\d+", "[0-9]+", re.escape(host)) if batch else re.escape(host),
        "date": datetime.date.today().isoformat(),  # noqa: DTZ011
        "batch": batch,
        "scheduler": kind,
        "scheduler_source": kind_source,
        "launcher": launcher,
        "launcher_source": launcher_source,
        "partitions": found,
        "nodes_source": SOURCES.get(kind, "scontrol show partition and node"),
        "limits_source": SOURCES.get(
            kind, "scontrol show partition and reservation, sacctmgr show association and qos"
        ),
        "option_sources": OPTION_SOURCES,
        "memory_source": {"pbspro": "pbsnodes", "local": "/proc/meminfo"}.get(kind, "scontrol show node"),
        "modules_system": machine.modules_system() if modules else "",
        "modules": modules,
        "variables": variables,
        "local_variables": [] if batch else OVERCOMMITTING,
        "file_systems": systems,
        "compiler": compiler or "mpicc",
        "compiler_source": f"{library}: {compiler_source}" if compiler else f"LOOK: {compiler_source}",
        "target": spack_site.target(),
        "uncertain": [*open_points, *silent, *uncertain(found, systems, compiler, batch), *accounts(kind)],
    }


def partitions(kind):
    """(all partitions that accept this user's jobs, points to decide)."""
    if kind in ("slurm", "squeue"):
        return slurm.of_this_user()
    return (machine.pbs_queues() if kind == "pbspro" else machine.this_machine()), []


def accounts(kind):
    """Which projects jobs can be charged to."""
    if kind == "local":
        return []
    names = list(dict.fromkeys(row["Account"] for row in slurm.associations())) if kind == "slurm" else []
    if names:
        return [f"jobs are charged to {names[0]}; COFFEECUP_ACCOUNT chooses another one of {', '.join(names)}"]
    return ["COFFEECUP_ACCOUNT must name the project to charge, if the scheduler requires one"]


def uncertain(found, systems, compiler, batch):
    """What the user has to decide."""
    open_points = []
    if not compiler:
        open_points.append(
            "no MPI compiler was found: load its module and run this command again, or name it at the end"
        )
    if batch:
        open_points.append("each partition uses all nodes that a job may take: lower max_nodes to spare your budget")
        open_points.append("compute nodes may differ from this host: file systems and the compiler were seen here")
    if any(partition.several_kinds for partition in found):
        open_points.append("partitions with several kinds of nodes: cores are those of the smallest")
    if not systems:
        open_points.append("no file system to measure was found: I/O checks use ReFrame's stage directory")
    elif len(systems) > 1:
        open_points.append("I/O checks measure each of the file systems: remove those that are of no interest")
    return open_points


def gigabytes(number):
    return f"{number / 1e9:.3g} GByte"
