# SPDX-License-Identifier: Apache-2.0
"""The documentation builds without warnings, loads nothing from the network, and its worked examples work."""

import importlib.util
import re
import subprocess
import sys
from difflib import unified_diff
from pathlib import Path

import documented
import pytest
from builds import OPEN_MPI, ROOT, copy_parts, run
from markdown_it import MarkdownIt
from pages import browse, needs_browser, violations
from test_layers import LAYERS

from coffeecup import __version__
from coffeecup.postprocess.benchmarks.registry import benchmarks
from coffeecup.postprocess.designs.design import Design, read_machines

DOCS = ROOT / "docs"


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """The built pages."""
    if not importlib.util.find_spec("sphinx"):
        pytest.skip("Sphinx is not installed: site_configs/local/setup docs")
    folder = tmp_path_factory.mktemp("docs")
    done = run([sys.executable, "-m", "sphinx", "--fail-on-warning", "--keep-going", DOCS, folder])
    assert done.returncode == 0, done.stderr
    return folder


def test_pages_load_nothing_from_the_network(site):
    pages = sorted(site.rglob("*.html"))
    assert {page.stem for page in DOCS.rglob("*.md")} <= {page.stem for page in pages}
    loaded = [
        (page.name, address)
        for page in pages
        for tag in re.findall(r"<(?:script|img|link|iframe|source)\b[^>]*>", page.read_text())
        for address in re.findall(r'(?:src|href)="([^"]*)"', tag)
    ]
    assert loaded
    assert [(page, address) for page, address in loaded if re.match(r"(\w+:)?//", address)] == []
    styles = [
        address
        for path in site.rglob("*.css")
        for address in re.findall(r"url\(['\"]?((?:\w+:)?//[^)]*)", path.read_text())
    ]
    assert styles == []


@needs_browser
def test_browser_shows_all_formulas_without_a_network(site, tmp_path):
    formulas = {page: page.read_text().count('class="math ') for page in site.rglob("*.html")}
    assert {page.stem for page, number in formulas.items() if number} >= {"b_eff", "b_eff_io", "ftio", "priomark"}
    for page, number in formulas.items():
        if number:
            shown, _, _ = browse(page, tmp_path, "--dump-dom", "--virtual-time-budget=60000")
            assert (shown.count("<mjx-container"), shown.count("<mjx-merror")) == (number, 0), page.name


@needs_browser
@pytest.mark.parametrize("options", [[], ["--blink-settings=preferredColorScheme=0"]], ids=["light", "dark"])
@pytest.mark.parametrize("name", ["index", "b_eff", "questions"])
def test_axe_finds_nothing_wrong_on_the_pages(site, tmp_path, name, options):
    assert violations(site / f"{name}.html", tmp_path, *options) == []


def test_options_are_those_that_the_programs_print(openmpi, tmp_path):
    """`make docs` writes the page anew."""
    text = (DOCS / "options.md").read_text()
    for name in benchmarks():
        section = text.partition(f"\n### {name}\n")[2].partition("\n### ")[0]
        assert f"mpirun -n PROCESSES {name} " in section
        known = {*benchmarks()[name].log_format.options.split(), "help", "version"}
        own, _, others = section.partition("```")[2].partition("```")[0].partition("\nExplained above: ")
        assert {*re.findall(r"^  --([\w-]+)", own, re.MULTILINE), *re.findall(r"--([\w-]+)", others)} == known
    for command in ("score", "site check", "references propose", "accept evaluate", "accept begin"):
        assert f"Usage: coffeecup {command} [OPTIONS]" in text
    several = text.partition("\n### Several commands\n")[2].partition("\n### ")[0]
    assert "\n  --json\n        Print one JSON document" in several and text.count("Print one JSON document") == 1
    written = tmp_path / "options.md"
    subprocess.run([sys.executable, DOCS / "write_options.py", openmpi.bin, written], check=True)
    assert written.read_text() == text


def test_log_format_is_that_of_the_records_and_rules(tmp_path):
    """`make docs` writes the tables anew. Without them, the page is shorter."""
    text = (DOCS / "log.md").read_text()
    written = tmp_path / "log.md"
    written.write_text(re.sub(r"(<!-- \w+ of \w+ -->).*?(<!-- end -->)", r"\1\n\2", text, flags=re.DOTALL))
    assert len(written.read_text()) < len(text) - 10_000
    subprocess.run([sys.executable, DOCS / "write_log.py", written], check=True)
    assert written.read_text() == text


def test_links_of_the_pages_outside_the_site_lead_somewhere():
    """GitHub shows these pages as they are."""
    pages = [*ROOT.glob("*.md"), ROOT / "site_configs" / "README.md"]
    links = [
        (page, link) for page in pages for link in re.findall(r"\]\(([^)\s]+)\)", page.read_text()) if "://" not in link
    ]
    assert links
    assert [(page.name, link) for page, link in links if not (page.parent / link.split("#")[0]).exists()] == []


PAGES = [*sorted(ROOT.glob("*.md")), *sorted(DOCS.rglob("*.md"))]
LINE = 120


def long_lines(text):
    """The numbers of lines of running text that are too long; tables, code and images cannot be broken."""
    lines = text.splitlines()
    paragraphs = [token.map for token in MarkdownIt("commonmark").enable("table").parse(text) if token.type == "inline"]
    rows = {line for start, end in paragraphs for line in range(start, end) if not lines[line].startswith(("|", "!["))}
    return [line + 1 for line in sorted(rows) if len(lines[line]) > LINE]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_lines_of_text_have_at_most_120_columns(page):
    assert long_lines(page.read_text()) == []


def test_long_lines_are_found():
    long = "word " * 24 + "end"
    assert long_lines(f"    {long}\n\n{long[3:]}\n\n{long}\n\n- x\n  {long}\n") == [5, 8]
    assert long_lines(f"```\n{long}\n```\n\n| a |\n|---|\n| {long} |\n") == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_tables_have_all_their_rows(page):
    """A line whose first character is | is a row of a rendered table, with as many cells as the head of its table."""
    lines = page.read_text().splitlines()
    tokens = MarkdownIt("commonmark").enable("table").parse(page.read_text())
    literal = {line for token in tokens if token.type in ("fence", "code_block") for line in range(*token.map)}
    rows = {line for line, text in enumerate(lines) if text.lstrip().startswith("|") and line not in literal}
    tables = [range(*token.map) for token in tokens if token.type == "table_open"]
    assert rows == {line for table in tables for line in table}
    for table in tables:
        cells = {len(re.findall(r"(?<!\\)\|", lines[line])) for line in table}
        assert len(cells) == 1, f"rows {table.start + 1} to {table.stop}"


def test_architecture_names_files_and_functions_that_exist():
    text = "".join((DOCS / page).read_text() for page in ("architecture.md", "inside-a-benchmark.md"))
    names = [
        (path.replace("NAME", benchmark), function)
        for path, function in re.findall(r"`([\w./]+/[\w./]*)`(?:, `(\w+)\(\)`)?", text)
        for benchmark in (benchmarks() if "NAME" in path else ("",))
        if (ROOT / path.partition("/")[0]).exists()  # others are relative to a folder that the text names
    ]
    assert len(names) > 50 and sum(function != "" for _, function in names) > 20
    for path, function in names:
        assert (ROOT / path).exists(), path
        assert not function or re.search(
            rf"^\S.*\b{function}\(|^{function} = ", (ROOT / path).read_text(), re.MULTILINE
        ), function


def test_architecture_has_the_layers_that_are_enforced():
    table = (DOCS / "architecture.md").read_text().partition("\n## Layers\n")[2].partition("\n## ")[0]
    rows = [set(re.findall(r"`([\w/]+)/`", row)) for row in re.findall(r"^\| (`[^|]*)\|", table, re.MULTILINE)]
    folders = [{package.removeprefix("coffeecup.").replace(".", "/") for package in layer} for layer in LAYERS]
    assert rows == folders[:-2]  # without what they are all below


def test_add_a_site_works_as_described(tree):
    page = DOCS / "add-a-site.md"
    assert len(documented.steps(page)) > 5
    documented.follow(page, tree.folder, documented.environment())


def test_by_hand_works_as_described(tree):
    """With mpirun; the job script for Slurm is shown only."""
    page = DOCS / "by-hand.md"
    commands = [step.text.split()[0] for step in documented.steps(page)]
    assert commands == [*3 * ["cmake"], "mpirun", "sha256sum", "coffeecup", "coffeecup"]
    documented.follow(page, tree.folder, documented.environment(HOME=str(tree.scratch), **OPEN_MPI))
    assert (tree.folder / "report.html").stat().st_size > 10000


def test_add_a_benchmark_works_as_described(tree, openmpi):
    """Every file of the page is new: nothing that exists has to change. Newer compilers refuse what GCC 12 warns of."""
    pages = documented.ADD_A_BENCHMARK
    files = [step.path for step in documented.steps(*pages) if isinstance(step, documented.File)]
    assert len(files) > 10
    assert [path for path in files if (ROOT / path).exists()] == []
    copy_parts(("coffeecup", "postprocess"), tree.folder)
    strict = {"CFLAGS": "-Werror", "PYTHONPATH": str(tree.folder)}
    for page in pages:
        documented.follow(page, tree.folder, documented.environment(**strict, **OPEN_MPI))


def lines_of(folder):
    """The lines of each file, without those of builds and runs."""
    return {
        path.relative_to(folder).as_posix(): path.read_text(encoding="utf-8", errors="replace").splitlines()
        for top in ("kernels", "postprocess", "reframe_checks", "reference_values")
        for path in (folder / top).rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }


def test_add_an_optional_part_works_as_described(tree, openmpi):
    """A folder in each layer, and as many lines in existing files as the page says."""
    page = DOCS / "add-an-optional-part.md"
    copy_parts(("coffeecup", "postprocess"), tree.folder)
    before = lines_of(tree.folder)
    environment = documented.environment(PYTHONPATH=str(tree.folder), **OPEN_MPI)
    documented.follow(page, tree.folder, environment)
    after = lines_of(tree.folder)
    folders = {name.rpartition("/")[0] for name in after.keys() - before.keys()}
    assert folders == {"kernels/b_eff/barriers", "postprocess/benchmarks/b_eff/barriers"}
    changes = {name: [*unified_diff(before[name], after[name], n=0)][2:] for name in before}
    changed = {name: [line[0] for line in lines if line[0] != "@"] for name, lines in changes.items() if lines}
    [(total, where)] = re.findall(r"^\| optional part of b_eff .* \| (\d+) \| (.*) \|$", page.read_text(), re.MULTILINE)
    assert {Path(name).name: "+" * int(lines) for name, lines in re.findall(r"`([\w.]+)` \((\d)\)", where)} == {
        Path(name).name: "".join(signs) for name, signs in changed.items()
    }
    assert sum(map(len, changed.values())) == int(total)
    (tree.folder / "postprocess" / "benchmarks" / "b_eff" / "parts.py").write_text(
        "\n".join(before["postprocess/benchmarks/b_eff/parts.py"])
    )
    without = run(["coffeecup", "score", "b_eff.jsonl"], cwd=tree.folder, env=environment)
    assert without.returncode == 1 and "barrier" in without.stderr


def test_predict_works_as_described(tmp_path):
    page = DOCS / "predict.md"
    assert len(documented.steps(page)) == 1
    documented.follow(page, tmp_path, documented.environment(COLUMNS="200"))
    assert (tmp_path / "predicted" / "designs-predicted.png").exists()
    designs = re.search(r"^```yaml\n(.*?)^```", page.read_text(), re.MULTILINE | re.DOTALL)[1]
    (tmp_path / "designs.yaml").write_text(designs)
    assert [machine.name for machine in read_machines(tmp_path / "designs.yaml")] == ["offer A", "offer B"]
    fields = re.findall(r"`(\w+)`", " ".join(re.findall(r"^\| (`[^|]*)\|", page.read_text(), re.MULTILINE)))
    assert set(fields) == set(Design.__struct_fields__)


@pytest.mark.parametrize("output", ["...wrong...", "exit code 0"])
def test_a_page_whose_output_is_wrong_is_not_followed(tmp_path, output):
    (tmp_path / "page.md").write_text(f"```console\n$ echo right; echo exit code 1\n{output}\n```\n")
    with pytest.raises(AssertionError, match="expected"):
        documented.follow(tmp_path / "page.md", tmp_path, documented.environment())


def test_version_is_the_same_everywhere():
    project = (ROOT / "kernels" / "CMakeLists.txt").read_text()
    assert re.search(r"^project\(coffeecup VERSION (\S+) ", project, re.MULTILINE)[1] == __version__
    assert re.search(r"^version: (\S+)$", (ROOT / "CITATION.cff").read_text(), re.MULTILINE)[1] == __version__
    assert re.search(r"^## (\S+) - ", (ROOT / "CHANGELOG.md").read_text(), re.MULTILINE)[1] == __version__
    easyconfig = (ROOT / "site_configs" / "common" / "coffeecup.eb").read_text()
    assert re.search(r'^version = "(\S+)"$', easyconfig, re.MULTILINE)[1] == __version__
