# SPDX-License-Identifier: Apache-2.0
"""The report: what it must tell, that it holds everything it shows, and that no log can put anything else into it."""

import copy
import json
import os
import re
from dataclasses import replace

import logs_made
import pytest
from logs_made_b_eff import averaged_log, b_eff_log
from pages import HOSTILE, Page, accessible, browse, hostile_log, needs_browser

from coffeecup.postprocess.benchmarks.b_eff import BENCHMARK, reduction
from coffeecup.postprocess.benchmarks.published import published, published_systems
from coffeecup.postprocess.benchmarks.registry import benchmarks
from coffeecup.postprocess.benchmarks.scoring import score_log
from coffeecup.postprocess.logs.reader import LogError
from coffeecup.postprocess.reports import page as report
from coffeecup.postprocess.show import words


@pytest.fixture(scope="module")
def logs(tmp_path_factory):
    """An official full log, a hostile one, one of a few patterns only, and one that was cut off."""
    folder = tmp_path_factory.mktemp("logs")
    full = b_eff_log()
    return {
        "full": logs_made.write(folder / "full.jsonl", full),
        "hostile": logs_made.write(folder / "hostile.jsonl", hostile_log()),
        "few": logs_made.write(
            folder / "few.jsonl", b_eff_log(methods=("sendrecv",), only=lambda n: n in ("ping-pong", "ring-1"))
        ),
        "cut": logs_made.write(folder / "cut.jsonl", logs_made.text(full)[:300_000]),
    }


@pytest.fixture(scope="module")
def pages(logs):
    """The page of each log alone, and of all."""
    alone = {name: report.html(report.items([path])) for name, path in logs.items()}
    return alone | {"all": report.html(report.items(logs.values()))}


# --- what it tells ----------------------------------------------------------------------------------------------------


def test_the_number_its_parts_and_the_published_systems_stand_on_the_page(logs, pages):
    words = Page(pages["full"]).words
    metrics = score_log(logs["full"]).metrics
    assert f"{metrics['b_eff'].value:,.0f} MByte/s".replace(",", " ") in words
    assert f"b_eff per process {metrics['b_eff_per_process'].value:.1f} MByte/s" in words
    assert "Cray T3E/900-512 512 19 919 39 1 330 50 018 98 193" in words
    assert "Hitachi SR 2201 16 528 33 2 – 1 451 91 96" in words
    assert words.count("This run 16") == 1
    assert "Official run" in words and "None: the run kept all rules" in words


@pytest.mark.parametrize("name", benchmarks())
def test_every_metric_has_a_label(name):
    stated = benchmarks()[name]
    assert all(metric.label for metric in (*stated.every_metric, *stated.suffixed_metrics, *stated.predicted))


def test_a_metric_of_predictions_has_a_label_and_is_none_of_a_score():
    name = "b_eff_at_l_max_random_per_process"
    assert BENCHMARK.label(name) == "b_eff at L_max per process, random patterns"
    with pytest.raises(KeyError):
        BENCHMARK.metric(name)


def test_a_metric_without_a_label_is_shown_by_its_name(logs, monkeypatch):
    metrics = [metric for metric in BENCHMARK.metrics if metric.name != "ping_pong_latency"]
    unnamed = replace(BENCHMARK.metric("ping_pong_latency"), label="")
    monkeypatch.setitem(benchmarks(), "b_eff", replace(BENCHMARK, metrics=(*metrics, unnamed)))
    value = f"{words.digits(score_log(logs['full']).metrics['ping_pong_latency'].value)} us"
    assert f"ping_pong_latency {value}" in Page(report.html(report.items([logs["full"]]))).words


def test_how_it_was_obtained_and_how_to_repeat_it_stand_on_the_page(logs, pages):
    words = Page(pages["full"]).words
    assert os.popen(f"sha256sum {logs['full']}").read().split()[0] in words
    for told in (
        "Open MPI v4.1.4",
        "gcc 12.2.0",
        "0123abc",
        "seed = 20260101",
        "memory-per-process = not set",
        "node00 0–7",
        "node01 8–15",
        "mpiexec -n 16 b_eff --log b_eff.jsonl",
        "OMPI_MCA_btl=self,vader,tcp",
        "100.0% of",
    ):
        assert told in words


def test_every_qualification_stands_on_the_page(logs, pages):
    words, score = Page(pages["hostile"]).words, score_log(logs["hostile"])
    assert {"repetitions", "methods", "load_of_others"} <= {q.key for q in score.qualifications}
    assert all(" ".join(q.text.split()) in words for q in score.qualifications)
    assert "Unofficial run" in words and "✓ Official run" not in words


def test_logs_without_a_score_are_shown_as_such(pages):
    few, cut, everything = Page(pages["few"]), Page(pages["cut"]), Page(pages["all"])
    assert "No score no b_eff: the run planned 1 of the 6 ring patterns" in few.words
    assert "These measurements do not enter any score" in few.words and len(few.named("svg")) >= 2
    assert "the log was cut off" in cut.words and not cut.named("svg")
    assert everything.words.count("No score") == 4  # in the overview and in the logs' own sections
    assert "MByte/s for each process" not in few.words + cut.words


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize(
    ("change", "figures"),
    [
        (lambda plan, records: records.__delitem__(slice(3, -2)), 0),
        (lambda plan, records: plan["patterns"].append(plan["patterns"][1]), 4),
        (lambda plan, records: plan["patterns"][9].update(methods=["magic"], rings=None), 4),
        (lambda plan, records: plan["methods"][0].update(averaged=False), 1),
        (lambda plan, records: plan["message_bytes"].reverse(), 4),
        (lambda plan, records: plan.update(message_bytes=[8, 8, 4096]), 4),
        (lambda plan, records: records[200].update(elapsed_seconds=1e-300, fastest_seconds=0), 4),
        (lambda plan, records: records[200].update(pattern="surprise"), 4),
    ],
)
def test_a_log_that_is_refused_can_still_be_shown(tmp_path, change, figures):
    records = copy.deepcopy(averaged_log())
    change(records[1], records)
    [item] = items = report.items([logs_made.write(tmp_path / "log.jsonl", logs_made.numbered(records))])
    page = Page(report.html(items))
    assert isinstance(item.result, LogError) and item.result.problem.startswith("no b_eff: ")
    assert " ".join(item.result.problem.split()) in page.words
    assert len(page.named("svg")) == len(item.figures) == figures


def test_the_page_draws_the_table_that_the_score_comes_from(logs, monkeypatch):
    """A log is reduced once."""
    made, reduce = [], reduction.measurement_table
    monkeypatch.setattr(reduction, "measurement_table", lambda logs: made.append(logs) or reduce(logs))
    [item] = report.items([logs["full"]])
    assert len(made) == 1 and item.figures


def test_several_logs_share_one_page_with_a_figure_over_the_sizes(tmp_path):
    paths = [logs_made.write(tmp_path / f"{n}.jsonl", averaged_log(ranks=n, repetitions=3)) for n in (2, 7, 16)]
    items = report.items(paths)
    [(_, figure)] = report.comparisons([item.result for item in items])
    scores = [score_log(path) for path in paths]
    assert list(figure.data["processes"]) == [2, 7, 16]
    assert list(figure.data["b_eff"]) == [score.metrics["b_eff"].value for score in scores]
    for column, kind in (("elapsed_seconds", "end"), ("time_budget_seconds", "plan")):
        recorded = [
            [r for r in map(json.loads, path.read_text().splitlines()) if r["record"] == kind] for path in paths
        ]
        assert list(figure.data[column]) == [record[column] for [record] in recorded]
    page = Page(report.html(items))
    assert "b_eff over the number of processes" in page.words
    assert {attributes["href"] for attributes in page.named("a")} >= {"#log-1", "#log-2", "#log-3"}


def test_no_figure_of_a_log_replaces_that_of_another(tmp_path):
    (tmp_path / "other").mkdir()
    names = {"run.jsonl": 2, "run-1.jsonl": 7, "other/run.jsonl": 16}
    paths = [logs_made.write(tmp_path / name, averaged_log(ranks=ranks)) for name, ranks in names.items()]
    named = [f"{stem}-{figure.name}" for stem, figure in report.named_figures(report.items(paths))]
    assert len(set(named)) == len(named)
    assert {"run-1-lengths", "run-2-lengths", "run-3-lengths", "b_eff-sizes"} <= set(named)


def test_figures_show_the_logs_numbers(logs):
    [item] = report.items([logs["full"]])
    figures = {figure.name: figure.data for figure in item.figures}
    assert list(figures) == ["lengths", "placement", "methods", "reported"]
    metrics = score_log(logs["full"]).metrics
    mean = figures["lengths"].query("message_bytes == 8388608").set_index("group")["geometric_mean"]
    assert (mean["ring"] * mean["random"]) ** 0.5 == pytest.approx(metrics["b_eff_at_l_max"].value, rel=1e-12)
    assert len(figures["placement"]) == 36
    assert set(figures["methods"]["method"]) == {"sendrecv", "alltoallv", "nonblocking", "neighbor", "persistent"}
    ping_pong = (
        figures["reported"].query("group == 'ping_pong' and message_bytes == 8388608")["mbyte_per_second"].item()
    )
    assert ping_pong == pytest.approx(metrics["ping_pong_bandwidth"].value, rel=1e-12)


# --- that it is self-contained, accessible, and cannot be subverted ---------------------------------------------------


@pytest.mark.parametrize("name", ["full", "hostile", "few", "cut", "all"])
def test_the_page_loads_nothing_and_runs_nothing(pages, name):
    page = Page(pages[name])
    tags = {tag for tag, _ in page.tags}
    assert not tags & {"script", "img", "iframe", "object", "embed", "video", "audio", "base", "form", "image"}
    for tag, attributes in page.tags:
        assert not any(attribute.startswith("on") for attribute in attributes), tag
        for attribute in ("src", "href", "xlink:href", "data", "action", "srcset"):
            assert re.match(r"#|data:,$", attributes.get(attribute) or "#"), (tag, attributes)
    assert all(re.match(r"\(#", use) for use in re.findall(r"url(\(.)", pages[name])) and "@import" not in pages[name]
    [policy] = [a["content"] for a in page.named("meta") if a.get("http-equiv") == "Content-Security-Policy"]
    assert policy.startswith("default-src 'none'")


def test_text_of_a_log_is_text_on_the_page(pages):
    page = pages["hostile"]
    assert "<script" not in page and "<img" not in page
    assert Page(page).text.count(HOSTILE) >= 8


@pytest.mark.parametrize("name", ["full", "all"])
def test_the_page_is_accessible(pages, name):
    accessible(Page(pages[name]))
    assert Page(pages[name]).named("svg")


@needs_browser
@pytest.mark.parametrize("name", ["full", "all"])
def test_a_browser_shows_all_figures_without_complaint_or_request(pages, tmp_path, name):
    page = tmp_path / "page.html"
    page.write_text(pages[name])
    dom, console, net = browse(page, tmp_path, "--dump-dom")
    assert dom.count("<svg") == pages[name].count("<svg") >= 4
    assert console == []
    assert "evil.example" not in net


@needs_browser
def test_the_browser_test_would_notice_scripts_and_requests(tmp_path):
    page = tmp_path / "page.html"
    page.write_text("<script>console.error('noticed')</script><img src=http://evil.example/x.png>")
    _, console, net = browse(page, tmp_path, "--dump-dom")
    assert "noticed" in console[0] and "evil.example" in net


# --- published values -------------------------------------------------------------------------------------------------


def test_published_tables_hold_every_value_once():
    for benchmark, rows in (("b_eff", 108), ("b_eff_io", 14), ("ftio", 20), ("priomark", 4)):
        tidy = published(benchmark)
        assert len(tidy) == rows and not tidy.duplicated(["system", "processes", "metric", "note"]).any()
    assert len(published_systems("b_eff")) == 16


# --- how numbers are written ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("write", "texts"),
    [
        (
            words.digits,
            {1.0005: "1.000", 8.0: "8", 790.234: "790.2", 999.96: "1000", 12643.7: "12644", 0.36519: "0.3652"},
        ),
        (lambda text: words.digits(float(text)), {"nan": "nan", "inf": "inf", "-1e15": "-1.000e+15"}),
        (lambda number: words.digits(number, " "), {12643.7: "12 644"}),
        (words.size, {1: "1 byte", 4096: "4 KiB", 10624: "10.4 KiB", 3234251: "3.08 MiB"}),
        (words.size, {2**40: "1024 GiB", 3 * 2**39 + 2**29: "1536 GiB", 13 * 10**15: "12107193 GiB"}),
        (words.seconds, {1.3588: "1.359 s", 299.7: "5 min", 310.2: "5 min 10 s"}),
        (lambda count: words.counted(count, "process"), {0: "0 processes", 1: "1 process", 2: "2 processes"}),
        (lambda count: words.counted(count, "host"), {0: "0 hosts"}),
    ],
)
def test_numbers_are_written_for_people(write, texts):
    assert {number: write(number) for number in texts} == texts
