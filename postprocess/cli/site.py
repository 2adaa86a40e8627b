# SPDX-License-Identifier: Apache-2.0
"""`coffeecup site`: creates and checks the configuration of a machine."""

from dataclasses import asdict
from pathlib import Path
from shlex import quote
from typing import Annotated

import typer

from coffeecup.postprocess.cli import options
from coffeecup.postprocess.cli.common import as_usage, exit_codes, print_json


@exit_codes({0: "written", 2: "wrong usage, or a site of this name exists"})
def new(
    name: Annotated[str, typer.Argument(metavar="NAME", help="Name of the new directory in site_configs/.")],
    directory: Annotated[
        Path | None, typer.Option(metavar="DIR", help="New directory to write instead; required outside a checkout.")
    ] = None,
) -> None:
    """Inspect this machine and write site_configs/NAME. Every fact states its source; guesses are marked LOOK."""
    from coffeecup.site_configs.common.new import new_site
    from coffeecup.site_configs.common.tree import SiteError

    with as_usage(SiteError):
        written, uncertain = new_site(name, directory)
    for path in written:
        typer.echo(f"wrote {path}")
    for line in uncertain:
        typer.echo(f"look: {line}")
    typer.echo(f"next: coffeecup site check {quote(str(directory or name))}")


@exit_codes({0: "written", 2: "wrong usage, or the configuration cannot be read"})
def overlay(
    configuration: Annotated[Path, typer.Argument(metavar="CONFIG", help="A ReFrame configuration.", exists=True)],
    system: Annotated[str, typer.Option("--system", help="A system in it.")],
) -> None:
    """Write SYSTEM.coffeecup.yaml beside a ReFrame configuration: what the checks need and it does not state. The
    configuration itself is not changed; guesses are marked LOOK."""
    from coffeecup.site_configs.common.overlay import make_overlay
    from coffeecup.site_configs.common.tree import SiteError

    with as_usage(SiteError):
        path, uncertain, missing = make_overlay(configuration, system)
    typer.echo(f"wrote {path}")
    for line in uncertain:
        typer.echo(f"look: {line}")
    if missing:
        typer.echo(f"missing: {', '.join(missing)}: no check runs without it; add it to this file")
    else:
        typer.echo(f"next: reframe -C {quote(str(configuration))} --system={quote(system)} -c reframe_checks -L")


@exit_codes({0: "no problem", 1: "a problem", 2: "wrong usage"})
def check(
    name: Annotated[
        str, typer.Argument(metavar="NAME", help="A directory in site_configs/, or the path of another one.")
    ],
    elsewhere: Annotated[
        bool,
        typer.Option("--elsewhere", help="Skip the checks that inspect this machine, even if its host name matches."),
    ] = False,
    require_references: Annotated[
        bool, typer.Option("--require-references", help="Fail if a test case has no reference.")
    ] = False,
    submit: Annotated[
        bool,
        typer.Option(
            "--submit",
            help="Also run one small MPI job for each partition, environment and file system, and check what its log "
            "says about the compute nodes.",
        ),
    ] = False,
    as_json: options.AsJson = False,
) -> None:
    """Check a site: configuration, vocabulary, machine, checks, job scripts, references; with --submit also jobs."""
    from coffeecup.site_configs.common.check import REFUSED, check_site

    findings = []
    for finding in check_site(name, elsewhere, require_references, submit):
        findings.append(finding)
        if not as_json:
            typer.echo(f"{finding.level:8}{finding}", err=finding.level == REFUSED)
    refused = sum(finding.level == REFUSED for finding in findings)
    if as_json:
        print_json({"problems": refused, "findings": list(map(asdict, findings))})
    raise typer.Exit(1 if refused else 0)


@exit_codes({0: "written", 1: "something could not be collected", 2: "wrong usage"})
def bundle(
    folder: Annotated[Path, typer.Argument(metavar="FOLDER", help="A new directory.")],
    site: Annotated[str, typer.Option("--site", help="Site whose Spack environment is included.")] = "local",
    with_spack: Annotated[
        bool, typer.Option("--spack/--no-spack", help="Include Spack, if available, and the sources that it builds.")
    ] = True,
) -> None:
    """Collect sources, Python wheels and Spack for a machine without a network. FOLDER/install installs them."""
    from coffeecup.site_configs.common.bundle import make_bundle
    from coffeecup.site_configs.common.tree import SiteError

    try:
        for line in make_bundle(folder, site, with_spack):
            typer.echo(line)
    except SiteError as error:
        typer.echo(f"coffeecup: {error}", err=True)
        raise typer.Exit(1) from None
