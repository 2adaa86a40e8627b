# SPDX-License-Identifier: Apache-2.0
"""Predictions beside Table 1 of the paper: of designs from published figures alone, and of designs that were fitted to
rows of the table. The table of docs/evidence/predict.md has these rows, and the error bands are those that it needs.

    .venv/bin/pytest -s tests/benchmarks/b_eff/prediction/test_predict_published.py

prints the table."""

import re
from collections import defaultdict

import numpy as np
import pytest
from builds import ROOT

from coffeecup.postprocess.benchmarks.b_eff.prediction.calibration import Calibration
from coffeecup.postprocess.benchmarks.b_eff.prediction.model import AT_L_MAX, PUBLISHED, Model
from coffeecup.postprocess.benchmarks.published import published_systems
from coffeecup.postprocess.designs.design import read_machines

COLUMNS = {
    "b_eff": "b_eff",
    "ping_pong_bandwidth": "ping_pong_bandwidth",
    "b_eff_at_l_max_per_process": "b_eff_at_l_max",
    "b_eff_at_l_max_rings_per_process": "rings_at_l_max",
}
NO_LATENCY = "Hitachi SR 2201"  # nothing is published: only what L_max alone determines is compared


@pytest.fixture(scope="module")
def table():
    """((system, kind, processes), {metric: (published, predicted)})"""
    rows, systems = {}, published_systems("b_eff")
    for machine in read_machines(ROOT / "reference_values" / "published" / "b_eff_designs.yaml"):
        system, kind = machine.name.split(", ")
        for _, row in systems[systems["system"] == system].iterrows():
            predicted = Model(machine, int(row["processes"]), Calibration()).metrics()
            rows[system, kind, int(row["processes"])] = {
                name: (row[name], predicted[name])
                for name in COLUMNS
                if not np.isnan(row[name]) and (system != NO_LATENCY or "at_l_max" in name)
            }
    return rows


def test_page_has_these_numbers(table):
    """Published (predicted over published - 1 in %, of the offer and the fitted design), by the columns of the page."""
    page = (ROOT / "docs" / "evidence" / "predict.md").read_text()

    def cell(designs, name):
        """Of a system on so many processes, with its designs."""
        [published, *_] = [str(round(values[name][0])) for values in designs.values() if name in values] or ["–"]
        both = [designs.get(kind, {}).get(name) for kind in ("offer", "fitted")]
        deviations = [f"{100 * (pair[1] / pair[0] - 1):+.0f}".replace("-", "−") if pair else "–" for pair in both]
        return f"{published} ({', '.join(deviations)})" if any(both) else "–"

    systems = defaultdict(dict)
    for (system, kind, processes), values in table.items():
        systems[system, processes][kind] = values
    expected = [
        f"| {system} | {processes} | {' | '.join(cell(designs, name) for name in COLUMNS)} |"
        for (system, processes), designs in systems.items()
    ]
    print("\n".join(expected))
    assert [row for row in expected if row not in page] == []
    assert len(re.findall(r"^\| (?:Cray|Hitachi) ", page, re.MULTILINE)) == len(expected)


def test_bands_are_those_of_the_table(table):
    """Published over predicted: the least and the most of all designs, and at L_max of the fitted ones."""
    ratios = defaultdict(list)
    for (_, kind, _), values in table.items():
        for name, (published, predicted) in values.items():
            ratios[COLUMNS[name]].append(published / predicted)
            ratios[kind, COLUMNS[name]].append(published / predicted)
    for name in COLUMNS.values():
        band = PUBLISHED[name]
        assert (band.low, band.high) == pytest.approx((min(ratios[name]), max(ratios[name])), abs=0.0051), name
    fitted = ratios["fitted", "b_eff_at_l_max"]
    assert pytest.approx((min(fitted), max(fitted)), abs=0.0051) == AT_L_MAX


def test_no_fit_to_one_machine_holds_for_the_other(table):
    """The mean factor by which one machine's b_eff is less than predicted, applied to the other, which took no part in
    the fit: too little for the SR 8000, too much for the T3E, as docs/evidence/predict.md says."""
    ratios = defaultdict(list)
    for (system, kind, _), values in table.items():
        if kind == "fitted":
            ratios[system.split()[0]].append(values["b_eff"][0] / values["b_eff"][1])
    factor = {maker: float(np.exp(np.mean(np.log(found)))) for maker, found in ratios.items()}
    print(
        factor,
        {m: [f / r - 1 for r in ratios[m]] for m, f in (("Hitachi", factor["Cray"]), ("Cray", factor["Hitachi"]))},
    )
    assert all(factor["Cray"] / ratio > 1.2 for ratio in ratios["Hitachi"])
    assert all(factor["Hitachi"] / ratio < 0.83 for ratio in ratios["Cray"])
