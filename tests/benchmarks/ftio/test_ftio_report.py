# SPDX-License-Identifier: Apache-2.0
"""FTIO's part of the report, and what altered logs make of it."""

import logs_made
import matplotlib.pyplot
import pytest
from logs_made_ftio import IO, ftio_log

from coffeecup.postprocess.benchmarks.ftio.figures import over_sizes
from coffeecup.postprocess.benchmarks.scoring import score_logs
from coffeecup.postprocess.reports.page import html, items


def page(folder, *made):
    paths = [logs_made.write(folder / f"ftio-{number}.jsonl", records) for number, records in enumerate(made)]
    return html(items(paths))


def with_fraction(fraction):
    """Times that give this I/O Fraction in every stage."""

    def seconds(stage, activity, process, repetition):
        alike = {"initialise": (3, 3), "verify": (1, 2)}.get(stage, (3, 2))
        return fraction / alike[0] if IO[activity] else (1 - fraction) / alike[1]

    return seconds


def test_page_shows_the_number_and_the_papers_tables_beside_it(tmp_path):
    text = page(tmp_path, ftio_log(ranks=4, i=4, seconds=with_fraction(0.25)))
    assert '<p class="number">0.2500 <' in text
    assert "i = 4, by eq. (5)" in text
    for published in ("68.90", "139.3", "173.6", "259.1", "Table 1", "Table 2", "30.2 %", "-0.08"):
        assert published in text
    assert text.count("SGI Origin2000") == 8
    assert not matplotlib.pyplot.get_fignums()


def scores(folder, fractions, ranks=4, **options):
    made = [ftio_log(ranks=ranks, i=i, seconds=with_fraction(fraction), **options) for i, fraction in fractions.items()]
    return score_logs(
        [logs_made.write(folder / f"{ranks}-{number}.jsonl", records) for number, records in enumerate(made)]
    )


def labels(figure):
    return [text.get_text() for text in figure.canvas.legends[0].get_texts()]


def test_figure_over_sizes_holds_every_run_and_names_the_representative_input(tmp_path):
    """The band is that of the means. 4 and 8 are the input parameters that both numbers of processes have."""
    found = [*scores(tmp_path, {4: 0.9, 8: 0.52, 12: 0.5}), *scores(tmp_path, {4: 0.5, 8: 0.51}, ranks=8)]
    figure = over_sizes(found)
    runs = figure.data.groupby(["processes", "elements"])["io_fraction"]
    assert runs.count().tolist() == [3] * 5 and labels(figure) == ["4 processes", "8 processes"]
    assert runs.mean().tolist() == pytest.approx([0.9, 0.52, 0.5, 0.5, 0.51])
    assert runs.mean().index.get_level_values("elements").tolist() == [64**2, 256**2, 576**2, 128**2, 512**2]
    assert figure.data.groupby("processes")["by_eq_5"].sum().tolist() == [3, 3], "i = 4 for 4 and 8 processes"
    assert "4 processes 0.5000 to 0.9000 of I/O" in figure.description
    chosen = "i = 8 for 4 processes (I/O Fraction 0.5200); i = 8 for 8 processes (I/O Fraction 0.5100)."
    assert figure.description.endswith(chosen)


def test_inputs_of_other_prime_factors_are_recommended_with_a_caution(tmp_path):
    found = [*scores(tmp_path, {8: 0.52, 16: 0.5}), *scores(tmp_path, {4: 0.3, 12: 0.31}, ranks=8)]
    description = over_sizes(found).description
    assert "i = 8 for 4 processes" in description and "i = 4 for 8 processes" in description
    assert "Other prime factors" in description


def test_no_line_joins_systems_file_systems_or_ways_of_io(tmp_path):
    kinds = ({}, {"filesystem": "nfs"}, {"direct": True}, {"storage": "mpiio"})
    for number in range(len(kinds) + 1):
        (tmp_path / str(number)).mkdir()
    found = [s for number, kind in enumerate(kinds) for s in scores(tmp_path / str(number), {4: 0.5, 8: 0.6}, **kind)]
    elsewhere = ftio_log(i=8)
    for host in elsewhere[0]["hosts"]:
        host["name"] = f"gpu{host['name']}"
    found += score_logs([logs_made.write(tmp_path / "4" / "log.jsonl", elsewhere)])
    figure = over_sizes(found)
    assert len(labels(figure)) == len(figure.canvas.axes[0].lines) == 5
    assert "4 processes, gpunode*, lustre server:/scratch, posix" in labels(figure)


def test_each_counter_of_cycles_has_lines_of_its_own_and_the_smallest_matrix_is_in_no_band_of_them(tmp_path):
    """N = 64, 256 and 1024: 2 N transforms of 5 N log2 N operations, of 70, 30 and 20 cycles."""
    made = [
        ftio_log(i=i, cycles=cycles, time_stamp_cycles=10 * cycles)
        for i, cycles in ((4, 245760 * 70), (8, 5242880 * 30), (16, 104857600 * 20))
    ]
    found = score_logs([logs_made.write(tmp_path / f"{n}.jsonl", records) for n, records in enumerate(made)])
    figure = over_sizes(found)
    assert [line.get_linestyle() for line in figure.canvas.axes[1].lines] == ["-", ":"]
    assert "20 to 30 cycles per flop" in figure.description
    assert "200 to 300 time stamp cycles per flop" in figure.description


def test_single_size_has_no_representative(tmp_path):
    assert "within 0.05" not in over_sizes(scores(tmp_path, {4: 0.5})).description
