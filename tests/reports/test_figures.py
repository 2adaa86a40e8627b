# SPDX-License-Identifier: Apache-2.0
"""What all figures have in common: every character that they show has a glyph. A missing one is a box on paper and a
warning of matplotlib's, which pyproject.toml makes an error in all tests that draw."""

import logs_made
import pytest
from logs_made_b_eff import b_eff_log
from logs_made_b_eff_io import b_eff_io_log
from logs_made_ftio import ftio_log
from logs_made_priomark import priomark_log
from mutator import kernel_log

from coffeecup.postprocess.benchmarks.registry import benchmarks
from coffeecup.postprocess.reports import page as report
from coffeecup.postprocess.show import plots

LOGS = {
    "b_eff": lambda ranks: b_eff_log(ranks=ranks, methods=("sendrecv",)),
    "b_eff_io": lambda ranks: b_eff_io_log(ranks=ranks, partitions=(ranks,)),
    "b_eff_io_load": lambda ranks: kernel_log("b_eff_io_load"),
    "b_eff_load": lambda ranks: kernel_log("b_eff_load"),
    "ftio": lambda ranks: ftio_log(ranks=ranks),
    "priomark": lambda ranks: priomark_log(ranks=ranks),
}


@pytest.mark.parametrize("benchmark", benchmarks())
def test_no_figure_of_any_benchmark_lacks_a_glyph(tmp_path, recwarn, benchmark):
    """The figures of a log, and the one over the sizes of two."""
    paths = [logs_made.write(tmp_path / f"{ranks}.jsonl", LOGS[benchmark](ranks)) for ranks in (2, 16)]
    items = report.items(paths)
    [(_, over_sizes)] = report.comparisons([item.result for item in items])
    for figure in (*items[0].figures, over_sizes):
        figure.svg("figure")
    assert len(items[0].figures) >= 1
    assert [str(warning.message) for warning in recwarn] == []


def test_a_missing_glyph_is_an_error():
    drawn, [axes] = plots.canvas(2, 2)
    axes.set_title("\ue000")  # private use: no font has it
    with pytest.raises(UserWarning, match="Glyph 57344"):
        drawn.draw_without_rendering()
