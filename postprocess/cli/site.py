# SPDX-License-Identifier: Apache-2.0
"""`coffeecup site`: a machine gets a configuration, and the configuration is proved before a job is queued."""

from pathlib import Path
from typing import Annotated

import typer

app = typer.Typer(help="Add this machine as a site, and prove a site's configuration.", no_args_is_help=True)


@app.command("new")
def new(name: Annotated[str, typer.Argument(metavar="NAME", help="The new folder below site_configs/.")]) -> None:
    """Look at this machine and write site_configs/NAME: each fact with its source, each guess marked LOOK."""
    from site_configs.common.new import new_site
    from site_configs.common.tree import SiteError

    try:
        written, uncertain = new_site(name)
    except SiteError as error:
        raise typer.BadParameter(str(error)) from None
    for path in written:
        typer.echo(f"wrote {path}")
    for line in uncertain:
        typer.echo(f"look: {line}")
    typer.echo(f"next: coffeecup site check {name}")


@app.command("check")
def check(
    name: Annotated[str, typer.Argument(metavar="NAME", help="A folder below site_configs/.")],
    elsewhere: Annotated[
        bool,
        typer.Option("--elsewhere", help="Skip the checks that inspect this machine, even if its host name matches."),
    ] = False,
    require_references: Annotated[
        bool, typer.Option("--require-references", help="Fail if a test case has no reference.")
    ] = False,
) -> None:
    """Prove a site: configuration, vocabulary, machine, checks, job scripts, references. Exit code 1 where something is
    refused."""
    from site_configs.common.check import REFUSED, check_site

    refused = 0
    for finding in check_site(name, elsewhere, require_references):
        refused += finding.level == REFUSED
        typer.echo(f"{finding.level:8}{finding}", err=finding.level == REFUSED)
    raise typer.Exit(1 if refused else 0)


@app.command("bundle")
def bundle(
    folder: Annotated[Path, typer.Argument(metavar="FOLDER", help="A new folder.")],
    site: Annotated[str, typer.Option("--site", help="Whose Spack environment is to be installed.")] = "local",
    with_spack: Annotated[
        bool, typer.Option("--spack/--no-spack", help="Spack, where it is found, and the sources of what it builds.")
    ] = True,
) -> None:
    """Collect sources, Python wheels and Spack for a machine without a network: FOLDER/install installs from them."""
    from site_configs.common.bundle import make_bundle
    from site_configs.common.tree import SiteError

    try:
        for line in make_bundle(folder, site, with_spack):
            typer.echo(line)
    except SiteError as error:
        typer.echo(f"coffeecup: {error}", err=True)
        raise typer.Exit(1) from None
