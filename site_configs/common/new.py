# SPDX-License-Identifier: Apache-2.0
"""`coffeecup site new`: writes a directory in site_configs/ with the facts of this machine; guesses are marked LOOK."""

import datetime
import re
import socket
from pathlib import Path

import jinja2

from . import machine, spack_site
from .tree import SiteError, find_tree, names

NAME = re.compile(r"[a-z][a-z0-9_-]{0,39}")
ALLOWED_TO_ROOT = [["OMPI_ALLOW_RUN_AS_ROOT", "1"], ["OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1"]]
OVERCOMMITTING = [
    ["OMPI_MCA_rmaps_base_oversubscribe", "1"],
    ["PRTE_MCA_rmaps_default_mapping_policy", ":oversubscribe"],
]


def new_site(name):
    """(paths of the written files, uncertain facts). Raises SiteError if the name is invalid or taken."""
    tree = find_tree()
    if not NAME.fullmatch(name):
        raise SiteError(
            f"{name!r} is not a valid site name: use lowercase letters, digits, - and _, starting with a letter"
        )
    folder = tree / "site_configs" / name
    if folder.exists():
        raise SiteError(
            f"{folder} already exists: choose another name, or remove it (sites are {', '.join(names(tree))})"
        )
    facts = look(name)
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(Path(__file__).with_name("templates")),
        undefined=jinja2.StrictUndefined,
        keep_trailing_newline=True,
        autoescape=False,
    )
    texts = {
        "__init__.py": f'"""The site {name}."""\n',
        "settings.py": environment.get_template("settings.py.j2").render(facts),
        "spack.yaml": environment.get_template("spack.yaml.j2").render(facts),
    }
    try:
        folder.mkdir()
        for file, text in texts.items():
            (folder / file).write_text(text, encoding="utf-8")
        (folder / "externals.yaml").write_text(spack_site.externals(), encoding="utf-8")
    except OSError as error:
        raise SiteError(f"cannot write {folder}: {error.strerror}") from None
    return [folder / file for file in (*texts, "externals.yaml")], facts["uncertain"]


def look(name):
    """All values that the templates use."""
    kind, kind_source = machine.scheduler()
    found = machine.partitions(kind)
    if not found:
        raise SiteError(f"{kind} answers, but lists no partition or queue that accepts jobs: check sinfo or qstat -Qf")
    batch = kind != "local"
    launcher, variables, launcher_source = machine.launcher(kind)
    compiler, library, compiler_source = machine.mpi_compiler()
    systems = [
        {
            "name": name_of(entry.directory, place),
            "directory": entry.directory,
            "kind": entry.kind,
            "free": gigabytes(entry.free_bytes),
            "total": gigabytes(entry.total_bytes),
        }
        for place, entry in enumerate(machine.file_systems())
    ]
    host = socket.gethostname()
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
        "nodes_source": {"pbspro": "pbsnodes and qstat", "local": "the cores this process may use"}.get(kind, "sinfo"),
        "memory_source": {"pbspro": "pbsnodes", "local": "/proc/meminfo"}.get(kind, "sinfo"),
        "variables": [*variables, *(ALLOWED_TO_ROOT + OVERCOMMITTING if not batch else [])],
        "file_systems": systems,
        "compiler": compiler or "mpicc",
        "compiler_source": f"{library}: {compiler_source}" if compiler else f"LOOK: {compiler_source}",
        "target": spack_site.target(),
        "uncertain": uncertain(found, systems, compiler, batch),
    }


def uncertain(found, systems, compiler, batch):
    """What the user has to decide."""
    open_points = []
    if not compiler:
        open_points.append(
            "no MPI compiler was found: load its module and run this command again, or name it at the end"
        )
    if batch:
        open_points.append("each partition uses all of its nodes: set max_nodes to the number that you may use")
        open_points.append("compute nodes may differ from this host: file systems and the compiler were seen here")
        open_points.append("COFFEECUP_ACCOUNT must name the project to charge, if the scheduler requires one")
    if any(partition.several_kinds for partition in found):
        open_points.append("partitions with several kinds of nodes: cores are those of the smallest")
    if not systems:
        open_points.append("no file system to measure was found: I/O checks use ReFrame's stage directory")
    elif len(systems) > 1:
        open_points.append("I/O checks measure each of the file systems: remove those that are of no interest")
    return open_points


def name_of(directory, place):
    """A short name for a file system: the first word of its path."""
    words = [part for part in Path(directory).parts if part != "/"]
    return re.sub(r"\W+", "_", words[0]) + (
        f"_{place}" if len(words) > 1 and words[0] in ("mnt", "media", "srv", "tmp") else ""
    )


def gigabytes(number):
    return f"{number / 1e9:.3g} GByte"
