# SPDX-License-Identifier: Apache-2.0
"""The pages as people meet them: on a phone, in the dark, printed on A4, with the fonts of a small installation, and by
a link from the site's page. Measured in a real browser."""

import html
import itertools
import re

import logs_made
import pytest
from commands import run, said
from logs_made_b_eff import b_eff_log
from logs_made_b_eff_io import b_eff_io_log
from logs_made_ftio import ftio_log
from logs_made_priomark import priomark_log
from pages import Page, measured, needs_browser, violations
from pypdf import PdfReader
from sessions_made import case, database, each_night, steady

from coffeecup.postprocess.reports import page as report
from coffeecup.postprocess.show import plots
from coffeecup.postprocess.show.pdf import print_page

A4 = (210 * 72 / 25.4, 297 * 72 / 25.4)  # points
PHONES = (360, 390)
SCHEMES = {"light": [], "dark": ["--blink-settings=preferredColorScheme=0"]}  # Chromium's number of the dark one
KINDS = {
    "b_eff": lambda ranks: b_eff_log(ranks=ranks, methods=("sendrecv",)),
    "b_eff_io": lambda ranks: b_eff_io_log(ranks=ranks, partitions=(ranks,)),
    "ftio": lambda ranks: ftio_log(ranks=ranks),
    "priomark": lambda ranks: priomark_log(ranks=ranks),
}


@pytest.fixture(scope="module")
def logs(tmp_path_factory):
    """Eight logs in the folders of a ReFrame session: each of the four benchmarks at two sizes."""
    folder = tmp_path_factory.mktemp("logs")
    written = []
    for name, made in KINDS.items():
        for ranks in (2, 16):
            log = folder / f"{name}_{ranks}" / f"{name}.jsonl"
            log.parent.mkdir()
            written.append(logs_made.write(log, made(ranks)))
    return written


@pytest.fixture(scope="module")
def written(logs, tmp_path_factory):
    """The report on the logs, and beside it the page of a site whose last session left the first of them."""
    folder = tmp_path_factory.mktemp("pages")
    done = run("report", *logs, "-o", folder / "report.html")
    assert done.exit_code in (0, 1), done.output
    noise = [*steady(20, 1000.0, 0.01), *steady(6, 800.0, 0.01, seed=2)]
    shown = re.search(r'id="sha256-([0-9a-f]{64})"', (folder / "report.html").read_text())[1]
    place = {"system": "a-system-with-a-long-name", "partition": "a_partition_with_a_long_name"}

    def cases(number):
        for size in (2, 4, 8):
            values = {"b_eff": (noise[number] * size, 900 * size, -0.1, None, "MByte/s", "pass")}
            hash_ = shown if size == 4 and number == len(noise) - 1 else "0" * 64
            yield case(values | {"ping_pong_latency": (2.0, "us")}, processes=size, log_sha256=hash_, **place)

    stored = database(folder / "results.db", each_night(len(noise), cases))
    done = run("site", "report", stored, "-o", folder / "site.html")
    assert done.exit_code == 0, done.output
    return folder


# --- in a browser -----------------------------------------------------------------------------------------------------


def luminance(colour):
    linear = [part / 12.92 if part <= 0.03928 else ((part + 0.055) / 1.055) ** 2.4 for part in colour]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one, other):
    """Contrast ratio of two colours (red, green, blue; 0 to 1) by WCAG 2."""
    light, dark = sorted((luminance(one), luminance(other)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


def from_text(colour):
    return [int(colour[place : place + 2], 16) / 255 for place in (1, 3, 5)]


def test_contrast_is_that_of_wcag():
    """The ratios of black and of #777777, the best-known failing grey, on white."""
    assert contrast((0, 0, 0), (1, 1, 1)) == pytest.approx(21)
    assert contrast(from_text("#777777"), (1, 1, 1)) == pytest.approx(4.48, abs=0.005)


@needs_browser
def test_nothing_leaves_the_screen_of_a_phone(written, tmp_path):
    shown = [((written / f"{name}.html").read_text(), width) for name in ("report", "site") for width in PHONES]
    for (_, width), found in zip(shown, measured(tmp_path, shown), strict=True):
        assert (found["width"], found["beyond"]) == (width, [])


@needs_browser
def test_the_test_of_a_phone_notices_what_leaves_it(tmp_path):
    page = """<body style="margin: 0"><p class="wide" style="width: 400px">far</p>
        <div class="scroll" style="overflow: auto"><p style="width: 900px">scrolled</p></div>"""
    [found] = measured(tmp_path, [(page, 390)])
    assert found["width"] == 400 and found["beyond"] == ["P.wide: far"]


@needs_browser
@pytest.mark.parametrize("scheme", SCHEMES)
def test_all_text_has_enough_contrast_in_light_and_dark(written, tmp_path, scheme):
    shown = [((written / f"{name}.html").read_text(), 1200) for name in ("report", "site")]
    for found in measured(tmp_path, shown, *SCHEMES[scheme]):
        colours = [
            (text, *([part / 255 for part in colour[:3]] for colour in (ink, ground)))
            for text, ink, ground in found["texts"]
        ]
        assert len(colours) > 100
        assert all((luminance(ground) < 0.05) == (scheme == "dark") for _, _, ground in colours)
        assert [(text, ratio) for text, *pair in colours if (ratio := contrast(*pair)) < 4.5] == []


@needs_browser
@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize("name", ["report", "site"])
def test_axe_finds_nothing_wrong(written, tmp_path, name, scheme):
    assert violations(written / f"{name}.html", tmp_path, *SCHEMES[scheme]) == []


@needs_browser
def test_axe_finds_what_is_wrong(tmp_path):
    page = (
        '<html lang="en"><title>t</title><body><main><h1>t</h1><p style="color: #777">grey</p><button></button></main>'
    )
    tmp_path.joinpath("page.html").write_text(f"{page}</body></html>")
    assert {rule for rule, _ in violations(tmp_path / "page.html", tmp_path)} == {"color-contrast", "button-name"}


def variables(text):
    """The variables of style.css on paper, and in the dark."""
    style = text[text.index("<style>") : text.index("</style>")]
    paper, dark = style.split("@media screen and (prefers-color-scheme: dark)")[:2]
    return [dict(re.findall(r"--(\w+): (#\w{6})", part)) for part in (paper, dark.split("} }")[0])]


def test_text_has_enough_contrast_on_every_ground(written):
    for scheme in variables((written / "report.html").read_text()):
        for ink in ("ink", "muted", "accent", "good", "bad"):
            for ground in ("paper", "soft"):
                assert contrast(from_text(scheme[ink]), from_text(scheme[ground])) >= 4.5, (ink, ground)


def test_lines_of_figures_are_visible_on_paper_and_in_the_dark(written):
    """WCAG 2.1, 1.4.11: 3 to 1 for graphics that one needs to understand the content; the grid is decoration."""
    paper, dark = variables((written / "report.html").read_text())
    lines = {name: colour for colour, name in plots.VARIABLES.items() if name not in ("ink", "paper", "grid")}
    assert len(lines) == 10 and dark.keys() >= {*plots.VARIABLES.values(), *paper}
    for name, colour in lines.items():
        assert contrast(from_text(colour), from_text(paper["paper"])) >= 3, name
        assert contrast(from_text(dark[name]), from_text(dark["paper"])) >= 3, name


def test_every_colour_of_a_figure_has_one_in_the_dark(written):
    """A colour that is not a variable would be the same on both grounds."""
    for name in ("report", "site"):
        text = (written / f"{name}.html").read_text()
        figures = "".join(re.findall(r"<svg.*?</svg>", text, re.DOTALL))
        assert figures.count("var(--blue, #0072b2)") > 10
        assert re.findall(r"""(?:fill|stroke)(?:: |=")#\w+""", figures) == []


# --- on paper ---------------------------------------------------------------------------------------------------------


@needs_browser
def test_eight_logs_print_on_few_numbered_pages(written, tmp_path):
    """25 with the fonts of one machine; it was 43, with a page break before each log and figures below their text."""
    pdf = tmp_path / "report.pdf"
    print_page(written / "report.html", pdf)
    printed = PdfReader(pdf).pages
    assert len(printed) <= 28
    for number, sheet in enumerate(printed, 1):
        assert (float(sheet.mediabox.width), float(sheet.mediabox.height)) == pytest.approx(A4, abs=1)
        assert re.search(rf"\b{number} / {len(printed)}\b", sheet.extract_text()), number
    words = re.sub(r"\s", "", "".join(sheet.extract_text() for sheet in printed))
    page = Page((written / "report.html").read_text())
    for text in ("PRIOMark by 16 processes", "Cray T3E/900-512", "How it was measured", "sha256sum b_eff_io.jsonl"):
        assert text.replace(" ", "") in words, text
    assert words.count("Howtorepeatit") == page.words.count("How to repeat it") == 8


# --- characters -------------------------------------------------------------------------------------------------------

# Those beyond Latin-1 that Helvetica, Arial and Liberation Sans have, and a space that needs no glyph.
KNOWN = "–—“”‘’…ƒ€−≤≥ \u202f"


def test_every_character_is_in_common_fonts(written):
    """Liberation Sans, the only font beside a browser in many installations, has neither ✓ nor ⁶: they were boxes."""
    for name in ("report", "site"):
        text = html.unescape((written / f"{name}.html").read_text())
        visible = text[text.index("</style>") :]
        assert {c for c in visible if ord(c) > 0xFF} <= set(KNOWN)
    assert re.search(r'10<tspan dy="-0.4em" font-size="70%">-?\d', (written / "report.html").read_text())


# --- links and headings -----------------------------------------------------------------------------------------------


def test_each_link_of_the_report_says_where_it_goes(written):
    text = (written / "report.html").read_text()
    links = re.findall(r'<a href="#log-\d+">(.*?)</a>', text)
    assert len(links) == len(set(links)) == 8
    assert "b_eff on 16 processes, 2 hosts" in links and not any(".jsonl" in link for link in links)


def test_logs_of_the_same_size_are_told_apart(tmp_path):
    """By when they started; the same run twice by its path."""
    first, second = (b_eff_log(ranks=2, methods=("sendrecv",), only=lambda name: name == "ring-1") for _ in range(2))
    second[0]["start_time"] = "2026-03-01T00:00:00Z"
    paths = [tmp_path / name for name in ("first.jsonl", "second.jsonl", "copy.jsonl")]
    items = report.items([logs_made.write(path, records) for path, records in zip(paths, (first, second, first))])
    titles = report.titles(items)
    start = first[0]["start_time"]
    assert titles[1] == "b_eff on 2 processes, 2 hosts, started 2026-03-01T00:00:00Z"
    assert titles[0] == f"b_eff on 2 processes, 2 hosts, started {start}, {paths[0]}"
    assert titles[2] == f"b_eff on 2 processes, 2 hosts, started {start}, {paths[2]}"
    text = report.html(items)
    assert text.count('id="sha256-') == 2, "an id is unique"


@pytest.mark.parametrize("name", ["report", "site"])
def test_headings_are_in_order(written, name):
    levels = [
        int(tag[1]) for tag, _ in Page((written / f"{name}.html").read_text()).tags if re.fullmatch("h[1-6]", tag)
    ]
    assert levels[0] == 1 and levels.count(1) == 1
    assert all(later <= earlier + 1 for earlier, later in itertools.pairwise(levels))


def outward(page):
    """The links that leave a page."""
    return {link["href"]: link for link in Page(page).named("a") if not link["href"].startswith("#")}


def test_the_site_page_leads_to_the_report_on_the_last_run_if_it_exists(written, tmp_path):
    """The last session left three logs, and the report beside the page shows the one on 4 processes."""
    links = outward((written / "site.html").read_text())
    [(target, link)] = links.items()
    file, _, anchor = target.partition("#")
    assert file == "report.html" and f' id="{anchor}"' in (written / file).read_text()
    assert link["aria-label"].startswith("report of 2026-01-26 on b_eff, 4 processes, ")
    elsewhere = tmp_path / "site.html"
    assert run("site", "report", written / "results.db", "-o", elsewhere).exit_code == 0
    assert 'href="report' not in elsewhere.read_text(), "no report, no link"
    assert run("site", "report", written / "results.db", "-o", elsewhere, "--reports", written).exit_code == 0
    [target] = outward(elsewhere.read_text())
    assert (elsewhere.parent / target.partition("#")[0]).resolve() == (written / "report.html").resolve()
    refused = run("site", "report", written / "results.db", "-o", elsewhere, "--reports", tmp_path / "none")
    assert refused.exit_code == 2 and "is not a folder" in said(refused)
