# SPDX-License-Identifier: Apache-2.0
"""The example centre: docs/write_example.py runs the commands that it lists, here in a short form without measurements,
and its page leads to files that state what is known of their data."""

import csv
import importlib.util
import json
import re
import sys
from itertools import pairwise

import pytest
from builds import ROOT, run
from pages import Page, needs_browser, violations
from PIL import Image


def written(folder, *parts):
    done = run([sys.executable, ROOT / "docs" / "write_example.py", folder, "--kernels", folder, "--parts", *parts])
    assert done.returncode == 0, done.stdout + done.stderr
    return folder


@pytest.fixture(scope="module")
def centre(tmp_path_factory):
    return written(tmp_path_factory.mktemp("centre"), "nodes", "prediction")


def test_page_leads_to_every_file(centre):
    page = Page((centre / "index.html").read_text())
    linked = [link["href"] for link in page.named("a") if not link["href"].startswith("#")]
    assert len(linked) == len(set(linked)) > 8 and all((centre / link).stat().st_size for link in linked)
    drawn = [picture["src"] for picture in page.named("img")]
    terminals = [name for name in drawn if name.endswith(".svg")]
    assert len(terminals) == 2 and len(drawn) == 5 and all(picture["alt"] for picture in page.named("img"))
    texts = [(centre / name).read_text() for name in terminals]
    assert not [text for text in texts if "http" in re.sub("xmlns=.*?>|<!--.*?-->", "", text)]


def test_lines_of_a_recorded_terminal_appear_in_their_order(centre):
    svg = (centre / "prediction" / "terminal.svg").read_text()
    delays = re.findall(r'^\[clip-path\$="-line-(\d+)\)"\] \{ animation: hide 0s ([\d.]+)s', svg, re.MULTILINE)
    assert [int(row) for row, _ in delays] == list(range(len(delays)))
    drawn = {int(row) for row in re.findall(r'<text [^>]*-line-(\d+)\)"', svg)}
    assert len(delays) > 10 and drawn <= set(range(len(delays))), "no line is left out"
    seconds = [float(delay) for _, delay in delays]
    assert seconds[0] == 0 and all(0 <= after - before <= 1.1 for before, after in pairwise(seconds))


def program(name):
    """A program of docs as a module."""
    spec = importlib.util.spec_from_file_location(name, ROOT / "docs" / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_a_recorded_terminal_shows_what_progress_bars_leave():
    """As rich writes them: a bar, then a line above it; two bars, of which the first is above the cursor."""
    example = program("write_example")
    erase, above = "\r\x1b[2K", "\x1b[1A\x1b[2K"
    written = [
        "\x1b[?25lfirst",
        f"{erase}b_eff  0 %{erase}b_eff 10 %{erase}second",
        f"{erase}b_eff 20 %",
        f"ftio  0 %{erase}{above}b_eff 30 %",
        f"ftio 10 %{erase}{above}third",
        f"{erase}\x1b[?25h",
    ]
    assert [line for _, line in example.left([(0.0, line) for line in written])] == ["first", "second", "third", ""]


@needs_browser
def test_axe_finds_nothing_wrong(centre, tmp_path):
    pages = [centre / "index.html", centre / "nodes" / "site.html", centre / "nodes" / "report.html"]
    assert [violations(page, tmp_path) for page in pages] == [[], [], []]


@needs_browser
def test_pictures_show_the_top_of_pages_of_the_example(centre, tmp_path):
    """Those of the tutorial, of whose parts the example has all."""
    images = program("write_images")
    images.take(centre / "nodes" / "site.html", 700, tmp_path / "site.png")
    with Image.open(tmp_path / "site.png") as picture:
        assert picture.size == (images.WIDTH, 700) and len(picture.getcolors()) > 16
    assert {page.partition("/")[0] for page, _ in images.PICTURES.values()} <= {*program("write_example").PARTS}
    assert all((ROOT / "docs" / "images" / name).exists() for name in images.PICTURES)


@pytest.mark.prove
def test_history_is_that_of_the_year(tmp_path):
    """Reads of one file lost 85 to 87 % from 2017-07-16 on (docs/a-real-year.md), and 334 days have a value."""
    centre = written(tmp_path, "year")
    changes = json.loads((centre / "year" / "changes.json").read_text())
    assert "2017-07-16" in json.dumps(changes)
    assert "-85.3% to -86.9% since 2017-07-16" in (centre / "year" / "message.txt").read_text()
    with (centre / "year" / "history.csv").open() as file:
        assert len({row["session"] for row in csv.DictReader(file)}) == 334


def test_the_slow_node_of_the_made_sessions_is_drained(centre):
    assert re.findall(r"^scontrol .*nodename=(\S+)", (centre / "nodes" / "drain.txt").read_text(), re.MULTILINE) == [
        "x7"
    ]


def test_the_page_of_the_site_begins_with_the_slow_node(centre):
    assert (
        "✗ slow 1 node, confirmed: x7" in Page((centre / "nodes" / "site.html").read_text()).words.split("Overview")[1]
    )


def test_a_command_with_another_exit_code_ends_the_program(tmp_path):
    folder = tmp_path / "centre"
    done = run([sys.executable, ROOT / "docs" / "write_example.py", folder, "--parts", "run", "--kernels", tmp_path])
    assert done.returncode == 1 and "exit code" in done.stderr and not (folder / "index.html").exists()
