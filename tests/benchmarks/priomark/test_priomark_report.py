# SPDX-License-Identifier: Apache-2.0
"""PRIOMark's figures and its part of the report, and that no altered log breaks them."""

import re

import logs_made
import pytest
from logs_made import of_kind
from logs_made_priomark import ALL, KIB, MIB, priomark_log

from coffeecup.postprocess.benchmarks.priomark import figures as priomark_plots
from coffeecup.postprocess.benchmarks.scoring import score_logs
from coffeecup.postprocess.reports.page import html, items


def test_requests_that_all_took_as_long_are_no_figure(tmp_path):
    """All in one bin: no share of the calls took longer than that, and a logarithmic axis has no place for none."""
    records = priomark_log(benchmarks=("async",))
    for found in (found for record in of_kind(records, "measurement") for found in record["latencies"]):
        ends = {"from_seconds": [found["shortest_seconds"]], "to_seconds": [found["longest_seconds"]]}
        found.update(ends, bin_calls=[found["calls"]])
    [page] = items([logs_made.write(tmp_path / "log.jsonl", records)])
    assert "latencies" not in [figure.name for figure in page.figures] and "async" in html([page])


def test_comparison_sets_file_systems_and_workloads_beside_each_other(tmp_path):
    runs = {("nfs", "oltp", 2): 10e6, ("pvfs", "oltp", 2): 40e6, ("nfs", "webserver", 2): 5e6, ("nfs", "oltp", 4): 12e6}
    paths = [
        logs_made.write(
            tmp_path / f"{number}.jsonl",
            priomark_log(lambda *_, rate=rate: rate, ranks=ranks, nodes=1, filesystem=system, workload=workload),
        )
        for number, ((system, workload, ranks), rate) in enumerate(runs.items())
    ]
    figure = priomark_plots.over_sizes(score_logs(paths))
    rows = figure.data.set_index(["filesystem", "workload", "processes"])["mbyte_per_second"]
    named = {"nfs": "node*, nfs server:/scratch", "pvfs": "node*, pvfs server:/scratch"}
    wanted = {(named[system], *rest): rate / 1e6 for (system, *rest), rate in runs.items()}
    assert wanted == pytest.approx(rows.to_dict())
    description = figure.description.replace("\u202f", "")
    factor = f"oltp, 2 processes: {named['pvfs']} 40, {named['nfs']} 10 MByte/s, a factor of 4."
    assert factor in description
    assert f"{named['nfs']}, 2 processes: oltp 10, webserver 5 MByte/s, a factor of 2." in description
    assert figure.data["part"].unique().tolist() == ["common_file, strided, async"]


def test_two_file_systems_of_a_type_and_two_systems_have_lines_of_their_own(tmp_path):
    places = [("node", "server:/scratch"), ("node", "server:/project"), ("gpu", "server:/scratch")]
    paths = []
    for number, (host, source) in enumerate(places):
        records = priomark_log(ranks=2, nodes=1)
        records[0]["filesystem"]["source"] = source
        records[0]["hosts"][0]["name"] = f"{host}{number}"
        paths.append(logs_made.write(tmp_path / f"{number}.jsonl", records))
    figure = priomark_plots.over_sizes(score_logs(paths))
    labels = {text.get_text() for text in figure.canvas.legends[0].get_texts()}
    assert labels == {f"{host}*, nfs {source}, figure_3" for host, source in places}


def test_raw_over_the_block_size_is_the_papers_figure_6(tmp_path):
    blocks = (4 * KIB, 64 * KIB, 256 * KIB)
    sizes = {"process_bytes": (MIB, 4 * MIB), "block_bytes": blocks}
    records = priomark_log(lambda case, _: case["block_bytes"] / KIB * 1e6, benchmarks=("raw",), **sizes)
    [found] = items([logs_made.write(tmp_path / "log.jsonl", records)])
    [figure] = [figure for figure in found.figures if figure.name == "blocks-raw"]
    assert len(figure.canvas.axes) == 2
    line = figure.data.query("process_bytes == 1048576 and pattern == 'read-write'")
    by_block = dict(zip(line["block_bytes"], line["mbyte_per_second"]))
    assert by_block == pytest.approx({block: block / KIB for block in blocks})


def test_report_shows_every_case_and_what_went_into_the_total(tmp_path):
    records = priomark_log(benchmarks=ALL)
    records[1]["workload_text"] = "<script>alert(1)</script>"
    text = html(items([logs_made.write(tmp_path / "log.jsonl", records)]))
    assert len(re.findall(r'<p class="number">', text)) == 1
    for words in (
        "What went into the total",
        "asynchronous calculation loss",
        "individual-collective",
        "backwards-read",
        "99.9 %",
        ">15 MByte/s</td><td>small requests, about<",
        ">40 MByte/s</td><td>between 64 KB and 256 KB, more than<",
        'oltp / webserver</td><td class="n">3<',
    ):
        assert words in text
    assert "<script>" not in text and "&lt;script&gt;" in text
