# SPDX-License-Identifier: Apache-2.0
"""A site's page and the exports: levels, intervals, verdicts and trends of generated sessions with known truth;
scaling."""

import json
import re
import warnings
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import other_suite
import pandas as pd
import pytest
from commands import run
from lxml import etree
from pages import HOSTILE, Page, accessible, browse, needs_browser
from sessions_made import case, database, each_night, night, nights, session, steady, values_of

from coffeecup.postprocess.history.change_points import findings, session_values
from coffeecup.postprocess.history.figures import trends
from coffeecup.postprocess.history.standing import headlines, scaling, standing
from coffeecup.postprocess.history.table import case_table, history_table
from coffeecup.postprocess.reports import site_figures
from coffeecup.postprocess.sessions.files import read_reports
from coffeecup.postprocess.show import plots

SIZES = (2, 4, 8)


def cases(number, noise, latency=2.0):
    """A night: b_eff on two systems, of which `b` is half as fast again; I/O on two file systems, of which scratch is
    four times as fast."""
    for system, factor in (("a", 1.0), ("b", 1.5)):
        for size in SIZES:
            usual = 1000 * size * factor
            rate = usual * (0.5 if size == 8 else 1) * noise[number]  # half the efficiency at 8 processes
            latencies = {"ping_pong_latency": (latency, 1.0, None, 0.5, "us", "fail")}
            yield case(
                latencies | {"b_eff": (rate, usual, -0.6, None, "MByte/s", "pass")}, system=system, processes=size
            )
    for name, rate in (("home", 100.0), ("scratch", 400.0)):
        options = {"file_system": name, "executable_opts": ["--log", "x", "--directory", f"/{name}"]}
        yield case({"b_eff_io": (rate * noise[number], "MByte/s")}, benchmark="b_eff_io", system="a", **options)


@pytest.fixture(scope="module")
def stored(tmp_path_factory):
    noise = [*steady(30, 1.0, 0.01, seed=3), *steady(6, 0.8, 0.01, seed=2)]
    sessions = each_night(36, lambda number: cases(number, noise))
    return database(tmp_path_factory.mktemp("stored") / "results.db", sessions)


@pytest.fixture(scope="module")
def values(stored):
    return session_values(history_table(read_reports([stored])))


@pytest.fixture(scope="module")
def table(stored, values):
    return standing(values, findings(values), case_table(read_reports([stored])))


def one(table, **wanted):
    [row] = table[np.logical_and.reduce([table[name] == value for name, value in wanted.items()])].itertuples()
    return row


# --- where everything stands ------------------------------------------------------------------------------------------


def test_level_verdict_and_trend_are_those_of_the_sessions_since_the_change(table):
    row = one(table, benchmark="b_eff", metric="b_eff", system="a", processes=4)
    assert row.sessions == 6 and row.median == pytest.approx(3200, rel=0.02) and row.low <= row.median <= row.high
    assert (row.verdict, row.reference, row.lower) == ("pass", 4000, 1600)
    assert row.trend.startswith("worse since 2026-01-31: -")
    assert one(table, metric="ping_pong_latency", system="a", processes=4).verdict == "fail"
    assert one(table, metric="ping_pong_latency", system="a", processes=4).trend == "steady"
    assert one(table, benchmark="b_eff_io", file_system="home").verdict == "no reference"
    assert set(headlines(table)["metric"]) == {"b_eff", "b_eff_io"}, "not the latency, though it was stored first"


def test_efficiency_is_the_bandwidth_of_a_process_over_that_at_the_smallest_size(table):
    table = scaling(table)
    assert list(table.query("system == 'b'")["processes"]) == list(SIZES)
    assert list(table.query("system == 'b'")["efficiency"]) == pytest.approx([1, 1, 0.5])
    assert "b_eff_io" not in set(table["benchmark"]), "one size scales nowhere"


def test_scaling_of_many_places_leaves_room_for_the_panels(table):
    line = scaling(table).query("system == 'b'")
    many = pd.concat([line.assign(partition=f"p{number}") for number in range(24)])
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # matplotlib's, that nothing is left for them
        drawn = site_figures.scaling(many).canvas
        drawn.draw_without_rendering()
    looks = {(line.get_color(), line.get_marker()) for line in drawn.axes[1].lines if line.get_marker() != "None"}
    assert len(looks) == 24 and all(panel.get_window_extent().height > 1.5 * drawn.dpi for panel in drawn.axes)


@pytest.mark.parametrize(("confidence", "bars"), [(0.949, 0), (0.95, 1)])
def test_a_scaling_figure_has_only_intervals_of_95_per_cent(table, confidence, bars):
    """Not that of two sessions, whose range contains the median with 50 %."""
    line = scaling(table).query("system == 'b'").tail(1)
    line = line.assign(low=0.9 * line["median"], high=1.1 * line["median"], confidence=confidence)
    [drawn] = site_figures.scaling(line).canvas.axes[0].containers
    [bar] = drawn[2]
    assert sum(len(ends) == 2 and np.isfinite(ends).all() for ends in bar.get_segments()) == bars


# --- the page ---------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def written(stored, tmp_path_factory):
    folder = tmp_path_factory.mktemp("page")
    words = ["site", "report", stored, "-o", folder / "site.html", "--figures", folder / "figures"]
    done = run(*words)
    assert done.exit_code == 0, done.output
    return folder


def test_the_page_tells_level_verdict_trend_and_what_regressed(written):
    text = (written / "site.html").read_text()
    words = Page(text).words
    assert len(text) < 5_000_000
    assert "regression all of a: 5 of 8 metrics there, -" in words and "since 2026-01-31" in words
    assert "✗ fail" in words and "✓ pass" in words and "no reference" in words
    assert "efficiency 50%" in words


def test_every_figure_and_table_is_a_file_too(written):
    names = sorted(path.name for path in (written / "figures").iterdir())
    figures = {name[:-4] for name in names if name.endswith(".svg")}
    drawn = Page((written / "site.html").read_text()).named("svg")
    assert len(figures) == sum("spark" not in picture["aria-labelledby"] for picture in drawn) > 0
    assert all({f"{name}.png", f"{name}.csv"} <= set(names) for name in figures)
    overview = pd.read_csv(written / "figures" / "site-overview.csv")
    assert len(overview) == 4 and one(overview, system="b", processes=8).median == pytest.approx(0.8 * 6000, rel=0.02)
    efficiency = pd.read_csv(written / "figures" / "site-b_eff-scaling.csv")["efficiency"]
    assert list(efficiency)[:3] == pytest.approx([1, 1, 0.5])


def test_the_page_is_accessible_and_loads_nothing(written):
    page = Page((written / "site.html").read_text())
    accessible(page, scripts=1)
    assert "scroll" in {attributes.get("class") for _, attributes in page.tags}


@needs_browser
def test_a_browser_shows_the_page_without_complaint_or_request(written, tmp_path):
    dom, console, net = browse(written / "site.html", tmp_path, "--dump-dom")
    assert console == [] and dom.count("<svg") == (written / "site.html").read_text().count("<svg") >= 4
    assert not re.findall(r'"url":"https?://(?!\w*\.?google)', net)


def test_a_hostile_test_writes_no_file_outside_the_folder_of_figures(tmp_path):
    name = "/../../../outside"
    cases = [other_suite.case({"rate": (rate, "MByte/s")}, test=name, num_tasks=rate) for rate in (2, 4)]
    stored = database(tmp_path / "results.db", other_suite.nights(cases, cases))
    folder = tmp_path / "deep" / "figures"
    page = tmp_path / "deep" / "page" / "site.html"
    done = run("site", "report", stored, "-o", page, "--figures", folder)
    assert done.exit_code == 0, done.output
    written = list(tmp_path.rglob("*outside*"))
    assert {path.parent for path in written} == {folder}
    assert {path.suffix for path in written} == {".png", ".svg", ".csv"}
    names = {path.name for path in written}
    assert {"site-_.._.._.._outside-scaling.csv", "site-_.._.._.._outside-metrics.csv"} <= names


def test_hostile_names_stay_text(tmp_path):
    made = [
        session([case({"b_eff": (1.0, "MByte/s")}, system=HOSTILE, mpi_library=HOSTILE)], night(number))
        for number in range(2)
    ]
    done = run("site", "report", database(tmp_path / "results.db", made), "-o", tmp_path / "site.html")
    page = (tmp_path / "site.html").read_text()
    assert done.exit_code == 0 and page.count("<script") == 1 and "<img" not in page


@pytest.mark.parametrize(("count", "told"), [(1, "1 session"), (2, "100 – 102 50.0 %, 2 sessions")])
def test_one_session_has_no_interval(tmp_path, count, told):
    made = each_night(count, lambda n: [case({"b_eff": (100.0 + 2 * n, "MByte/s")})])
    done = run("site", "report", database(tmp_path / "results.db", made), "-o", tmp_path / "site.html", "--json")
    [row] = json.loads(done.stdout)["series"]
    ends = (None, None, None) if count == 1 else (100, 102, 0.5)
    assert (row["low"], row["high"], row["confidence"]) == ends
    rows = re.findall(r"<tr><th scope=\"row\">.*", (tmp_path / "site.html").read_text())
    cells = [" ".join(re.sub("<.*?>", " ", cell).split()) for cell in rows[0].split("<td")]
    assert done.exit_code == 0 and cells[4].partition(">")[2].strip() == told


# --- for other programs -----------------------------------------------------------------------------------------------


def test_junit_holds_every_metric_with_its_value_and_bounds(tmp_path):
    slow = {"b_eff": (500.0, 1000.0, -0.1, None, "MByte/s", "fail")}
    slow |= {"ping_pong_latency": (2.0, "us"), "acl": (0.5, "1")}
    bad = case(slow, result="fail", fail_reason="too slow")
    made = [session([bad, case({"b_eff": (990.0, 1000.0, -0.1, None, "MByte/s", "pass")}, processes=4)])]
    done = run("export", database(tmp_path / "results.db", made), "--junit", tmp_path / "junit.xml")
    assert done.exit_code == 0, done.output
    [suite] = ElementTree.parse(tmp_path / "junit.xml").getroot()
    assert (suite.get("tests"), suite.get("failures"), suite.get("timestamp")) == ("2", "1", "2026-01-01T02:00:00")
    failed, passed = suite
    assert failed.find("system-out").text.splitlines() == [
        "b_eff: 500.0 MByte/s, reference 1000.0, lower bound 900.0; fail",
        "ping_pong_latency: 2.0 us; no reference",
        "acl: 0.5; no reference",
    ]
    assert failed.find("failure").get("message") == "too slow" and passed.find("failure") is None
    assert passed.get("classname") == "local:default+mpi.b_eff"


def test_junit_conforms_to_the_schema_of_jenkins(tmp_path):
    """With a failure, a skipped test, one that did not run, a regression, and text that XML has to escape."""
    rates = [*steady(20), *steady(8, 700.0)]

    def of_night(number):
        yield case({"b_eff": (rates[number], "MByte/s")}, executable_opts=[HOSTILE, "\x0b\ufffe]]>"])
        yield case({}, processes=4, result="fail", fail_reason=f"{HOSTILE}\x00")
        yield case({}, processes=8, result="skip" if number else "fail")
        yield from [] if number == 27 else [case({"b_eff": (1.0, "MByte/s")}, processes=16)]

    stored = database(tmp_path / "results.db", each_night(28, of_night))
    done = run("export", stored, "--junit", tmp_path / "junit.xml")
    assert done.exit_code == 0, done.output
    schema = etree.XMLSchema(file=Path(__file__).with_name("junit.xsd"))
    document = etree.parse(tmp_path / "junit.xml")
    assert schema.validate(document), schema.error_log
    last = document.getroot()[-1]
    assert [last.get(name) for name in ("tests", "failures", "errors", "skipped")] == ["5", "2", "1", "1"]
    etree.SubElement(last[0], "properties")
    assert not schema.validate(document), "Jenkins refuses properties of a test case"


def test_no_two_cases_of_a_suite_have_one_name(tmp_path):
    """GitLab ignores a case with the name of an earlier one. Each night a run passes, and its repetition fails twice;
    another test passes, in the last night without a metric that it had."""
    failed = {"result": "fail", "fail_reason": "boom"}
    repeated = [case({"b_eff": (1.0, "MByte/s")}), case({}, **failed), case({}, run_index=1, **failed)]
    whole, part = (other_suite.case(dict.fromkeys(names, (1.0, "MB/s"))) for names in (("read", "write"), ("read",)))
    made = each_night(4, lambda number: [*repeated, part if number == 3 else whole])
    done = run("export", database(tmp_path / "results.db", made), "--junit", tmp_path / "junit.xml")
    assert done.exit_code == 0, done.output
    suites = ElementTree.parse(tmp_path / "junit.xml").getroot()
    test = "b_eff %num_processes=2"
    assert [one.get("name") for one in suites[0]] == [test, f"{test} (2)", f"{test} (3)", "scratch"]
    assert [[child.tag for child in one] for one in suites[-1]][1:3] == [["failure"]] * 2
    assert [one.get("name") for one in suites[-1].findall("testcase[error]")] == ["scratch (2)"]


def test_openmetrics_tell_the_last_sessions(stored, tmp_path):
    assert run("export", stored, "--openmetrics", tmp_path / "metrics.txt").exit_code == 0
    text = (tmp_path / "metrics.txt").read_text()
    assert text.endswith("# EOF\n") and text.count("# TYPE") == text.count("# HELP")
    samples = [line for line in text.splitlines() if not line.startswith("#")]
    parts = ("coffeecup_regression{", 'system="b"', 'processes="8"', 'metric="b_eff"')
    [regressed] = [line for line in samples if all(part in line for part in parts)]
    assert regressed.endswith(" 1.0")
    failed = [line for line in samples if line.startswith("coffeecup_failed{")]
    assert len(failed) == 12, "those without a reference are not said to pass"
    assert sum(line.endswith(" 1.0") for line in failed) == 6, "the latencies"


@pytest.mark.parametrize(("then", "regression"), [([750.0], "1.0"), ([1000.0], "0.0"), ([], "1.0")])
def test_a_regression_stays_one_until_it_has_recovered(tmp_path, then, regression):
    """A loss of 30 %, after which the metric gains a little, recovers, or has no value because its test fails."""
    levels = enumerate([1000.0, 700.0, *then])
    made = nights([value for seed, level in levels for value in steady(12, level, 0.005, seed)])
    if not then:
        made.append(session([case({}, result="fail", fail_reason="no space")], night(len(made))))
    stored = database(tmp_path / "results.db", made)
    assert run("export", stored, "--openmetrics", tmp_path / "metrics.txt").exit_code == 0
    lines = (tmp_path / "metrics.txt").read_text().splitlines()
    [sample] = [line for line in lines if line.startswith("coffeecup_regression{")]
    assert sample.endswith(f" {regression}")


def test_regression_is_a_failure_in_junit(stored, tmp_path):
    """Both systems lost a fifth of all but the latencies: two events. Only on `b`, a metric alone tells which."""
    done = run("export", stored, "--junit", tmp_path / "junit.xml")
    assert done.exit_code == 0, done.output
    suites = ElementTree.parse(tmp_path / "junit.xml").findall("testsuite")
    found = [case for case in suites[-1] if case.get("classname").endswith(".history")]
    assert [case.get("classname") for case in found] == ["a.history", "b.history"]
    messages = [case.find("failure").get("message") for case in found]
    assert messages[0].startswith("REGRESSION: all of a: 5 of 8 metrics there, -")
    assert messages[1].startswith("REGRESSION: metric=b_eff of b: 3 of 3 metrics there, and 0 of the other 3, -")
    failures = len(suites[-1].findall("testcase/failure"))
    assert (suites[-1].get("failures"), suites[-1].get("tests")) == (str(failures), str(len(suites[-1])))
    assert not [case for suite in suites[:-1] for case in suite if case.get("classname").endswith(".history")]


# --- what a reader needs first ----------------------------------------------------------------------------------------


def test_an_unofficial_value_has_its_reason_and_is_not_bold(tmp_path):
    """The last session counts: of two tests, one was unofficial only earlier."""
    unofficial = case({"b_eff": (100.0, "MByte/s")}, processes=2, breaches="l_max_of_other_memory,repetitions")
    earlier, last = (case({"b_eff": (300.0, "MByte/s")}, processes=4, breaches=why) for why in ("cached", ""))
    made = [session([unofficial, other], night(number)) for number, other in enumerate((earlier, last))]
    assert run("site", "report", database(tmp_path / "r.db", made), "-o", tmp_path / "site.html").exit_code == 0
    page = (tmp_path / "site.html").read_text()
    table = page.partition("<h3>Every metric</h3>")[2].partition("</table>")[0]
    first, second = (row for row in table.split("<tr>") if row.startswith('<th scope="row">'))
    reason = "last run not official: L_max of a smaller memory, not 3 repetitions"
    assert "b_eff on 2 processes" in first and reason in first
    assert "<strong>" not in first and "<strong>300</strong>" in second and "official" not in second


def test_verdict_and_trend_come_first_and_no_name_is_repeated(written):
    page = (written / "site.html").read_text()
    header = re.findall(r'<th scope="col"[^>]*>([^<]*)</th>', page.partition("<thead>")[2].partition("</thead>")[0])
    assert header[:3] == ["Benchmark", "Verdict on the last", "Trend"]
    text = Page(page).words
    assert "b_eff of b_eff" not in text and "options none" not in text
    assert "b_eff on a:default+mpi over time." in text


@pytest.mark.parametrize(
    ("low", "high", "level", "expected"),
    [
        (980.0, 1020.0, 1000.0, (950, 1050)),  # 5 % to both sides of the level, though the data need less
        (501.0, 1001.0, 751.0, (476, 1026)),  # 5 % of the range beyond the data
        (500.0, 1000.0, 750.0, (0, 1050)),  # half: from zero
        (0.0, 0.0, 0.0, (0, 1)),
    ],
)
def test_axes_show_small_changes_and_do_not_blow_up_noise(low, high, level, expected):
    _, [axes] = plots.canvas(3, 3)
    axes.plot([1, 2], [low, high])
    plots.around(axes, level)
    assert axes.get_ylim() == pytest.approx(expected)


@pytest.mark.parametrize(("sessions", "joined"), [(2, False), (3, True)])
def test_two_values_are_not_joined_by_a_line(tmp_path, sessions, joined):
    [figure] = trends(values_of(tmp_path, nights([100.0] * sessions)), [])
    [line] = [line for line in figure.canvas.axes[0].lines if line.get_marker() == "o"]
    assert (line.get_linestyle() == "-") == joined and np.size(line.get_xdata()) == sessions


@pytest.mark.parametrize(("unit", "median"), [("1", "median 100, "), ("MByte/s", "median 100 MByte/s, ")])
def test_the_median_of_a_figure_has_its_unit(tmp_path, unit, median):
    [figure] = trends(values_of(tmp_path, nights([100.0] * 3, unit=unit)), [])
    assert median in figure.description
