# SPDX-License-Identifier: Apache-2.0
"""The references of the simulated systems that the repository ships: where they come from, that they are arithmetic on
the crossbar, and that ReFrame fails runs on altered machines. test_simulated_machines.py compares them with runs and
with what was published."""

import hashlib
import re
import statistics

import pytest
import yaml
from builds import ROOT, copy_parts
from commands import run, said
from sessions_made import case, database, night, session
from simulations import HEADER, SITE

FILE = ROOT / "reference_values" / "simulated" / "b_eff.yaml"
TOLERANCE = 0.01
# the description of the crossbar: two links of 350 MByte/s and 5 us between processors, 128 MiB for each
LATENCY, BANDWIDTH = 10e-6, 350e6


@pytest.fixture(scope="module")
def content():
    return yaml.safe_load(FILE.read_text())


def entries(tree):
    """((partition, processes), value) of all entries but $index."""
    places = [(place.removeprefix("simulated:"), sizes) for place, sizes in tree.items() if place != "$index"]
    return [((place, size), value) for place, sizes in places for size, value in sizes.items()]


def test_each_reference_is_marked_as_simulated_with_its_origin(content):
    assert "measured" not in content["_meta"]
    origins = dict(entries(content["_meta"]["simulated"]))
    assert origins.keys() == dict(entries(content["b_eff"])).keys()
    for [origin] in origins.values():
        assert origin["command"].startswith("reframe -C site_configs/simulated/settings.py")
        assert "--longest-loop 1 " in origin["settings"]
        assert all("SMPI" in library for library in origin["mpi_library"]) and origin["mpi_library"]
        assert all(re.fullmatch("[0-9a-f]{7,40}", revision) for revision in origin["git_revision"])


def test_references_belong_to_the_platform_files_as_they_are(content):
    """Whoever edits a platform has to propose its references again."""
    for place, [origin] in entries(content["_meta"]["simulated"]):
        platform = SITE / "platforms" / origin["platform"]
        assert hashlib.sha256(platform.read_bytes()).hexdigest() == origin["platform_sha256"], place
        assert place[0].startswith(platform.stem) and (origin["placement"] == "round-robin") == (
            place[0] == "sr8000-round-robin"
        )


def test_bounds_are_the_stated_tolerance_on_both_sides(content):
    for place, metrics in entries(content["b_eff"]):
        for name, (value, lower, upper, _) in metrics.items():
            assert value > 0 and (lower, upper) == (-TOLERANCE, TOLERANCE), (place, name)


@pytest.mark.parametrize("processes", [2, 8, 32, 128, 512])
def test_references_of_the_crossbar_are_arithmetic(content, processes):
    """By nonblocking messages, two of each process at the same time in rings, one in rings of two. All patterns are
    alike but the rings of two: the first of six ring patterns, and all patterns of two processes."""
    l_max = 2**20
    lengths = [1 << power for power in range(13)]
    lengths += [4096 * (l_max / 4096) ** (step / 8) for step in range(1, 9)]

    def rate(length, flows):
        return flows * length / (LATENCY + flows * (length + HEADER) / BANDWIDTH) / 1e6

    def b_eff(per_pair, per_ring):
        rings = per_pair if processes == 2 else (per_pair * per_ring**5) ** (1 / 6)
        return processes * (rings * (per_pair if processes == 2 else per_ring)) ** 0.5

    metrics = {name: entry[0] for name, entry in content["b_eff"]["simulated:crossbar"][processes].items()}
    means = [statistics.mean(rate(length, flows) for length in lengths) for flows in (1, 2)]
    assert metrics["b_eff"] == pytest.approx(b_eff(*means), rel=TOLERANCE)
    assert metrics["b_eff_at_l_max"] == pytest.approx(b_eff(rate(l_max, 1), rate(l_max, 2)), rel=TOLERANCE)
    assert metrics["ping_pong_bandwidth"] == pytest.approx(rate(l_max, 1), rel=TOLERANCE)
    assert metrics["ping_pong_latency"] == pytest.approx(1e6 * (LATENCY + (1 + HEADER) / BANDWIDTH), rel=TOLERANCE)


# --- how they are proposed --------------------------------------------------------------------------------------------

PLATFORM = {"platform": "star.xml", "platform_sha256": "ab" * 32, "placement": "sequential"}


def of_simulation(number, *, latency=5.0, qualifications="simulated,repetitions"):
    """A session on a made simulated system."""
    facts = {f"environment SMPI_{name.upper()}": value for name, value in PLATFORM.items()}
    metrics = {"b_eff": (100.0, "MByte/s"), "ping_pong_latency": (latency, "us")}
    made = case(metrics, system="simulated", partition="star", qualifications=qualifications, facts=facts)
    return session([made], night(number), cmdline="reframe -C here.py -r --report-file=x.json")


def propose(tmp_path, *sessions, options=()):
    tmp_path.mkdir(exist_ok=True)
    stored = database(tmp_path / "results.db", sessions)
    file = tmp_path / "b_eff.yaml"
    return run("references", "propose", stored, "--benchmark", "b_eff", "--file", file, "--write", *options), file


def test_one_simulated_session_is_enough_and_has_bounds_on_both_sides(tmp_path):
    done, file = propose(tmp_path, of_simulation(0))
    assert done.exit_code == 0, done.output
    written = yaml.safe_load(file.read_text())
    assert written["b_eff"]["simulated:star"] == {
        2: {"b_eff": [100.0, -0.01, 0.01, "MByte/s"], "ping_pong_latency": [5.0, -0.01, 0.01, "us"]}
    }
    [origin] = written["_meta"]["simulated"]["simulated:star"][2]
    assert {name: origin[name] for name in PLATFORM} == PLATFORM
    assert origin["command"] == "reframe -C here.py -r" and origin["git_revision"] == ["0123456789ab"]
    again, file = propose(tmp_path / "2", of_simulation(0), of_simulation(1), options=["--floor", "0.02"])
    assert again.exit_code == 0 and "[100.0, -0.02, 0.02, MByte/s]" in file.read_text()


@pytest.mark.parametrize(
    ("sessions", "told"),
    [
        ([of_simulation(0), of_simulation(1, latency=5.0001)], "simulated sessions differ"),
        ([of_simulation(0), of_simulation(1, qualifications="repetitions")], "some sessions measured and others"),
        ([of_simulation(0, qualifications="")], "no metric has 10 sessions"),
    ],
)
def test_what_is_no_simulation_alone_is_refused(tmp_path, sessions, told):
    done, file = propose(tmp_path, *sessions)
    assert done.exit_code == 2 and told in said(done)
    assert not file.exists()


def test_simulated_and_measured_references_do_not_share_a_file(tmp_path):
    (tmp_path / "b_eff.yaml").write_text("{_meta: {measured: {}}, b_eff: {$index: [$partition, num_processes]}}")
    done, _ = propose(tmp_path, of_simulation(0))
    assert done.exit_code == 2 and "choose another file" in said(done)


# --- in ReFrame -------------------------------------------------------------------------------------------------------


def test_every_size_of_the_site_has_references_and_each_is_used(reframe):
    session = reframe("--system=simulated", "--dry-run", "--warn-as-error", config=SITE / "settings.py")
    assert session.returncode == 0, session.output
    gate = run("references", "check", reframe.folder / "session.json", "--file", FILE)
    assert gate.exit_code == 0 and "was not used" not in gate.output, gate.output
    assert "has no reference" not in gate.output


# Each platform with the factor of its links' bandwidth, and the result: the tolerance is 1 %.
ALTERED = {"crossbar": (0.98, "fail"), "fat_tree": (1.02, "fail"), "dragonfly": (0.995, "pass")}


@pytest.mark.prove
@pytest.mark.usefixtures("simulated_kernel")  # skips where SimGrid is not
def test_links_that_differ_by_more_than_the_tolerance_fail_in_reframe(reframe, tmp_path):
    """Slower and faster ones. T3E stays as it is."""
    tree = tmp_path / "tree"
    copy_parts(("site_configs", "reframe_checks", "reference_values", "kernels"), tree)
    for name, (factor, _) in ALTERED.items():
        platform = tree / "site_configs" / "simulated" / "platforms" / f"{name}.xml"
        before, number, after = re.split(r'(?<=\bbw=")([\d.]+)', platform.read_text())
        platform.write_text(f"{before}{float(number) * factor:.6f}{after}")
    options = ("--system=simulated", "-r", "-n", "num_processes=2$", "-S", "builder=cmake")
    settings = tree / "site_configs" / "simulated" / "settings.py"
    session = reframe(*options, config=settings, checks=tree / "reframe_checks")
    assert session.returncode == 1
    found = {made["partition"]: made for made in session.cases}
    expected = {name: result for name, (_, result) in ALTERED.items()} | {"t3e": "pass"}
    assert {name: made["result"] for name, made in found.items()} == expected
    assert all(made["reference_status"] == "reference for every metric" for made in found.values())
    assert "b_eff_at_l_max" in found["crossbar"]["fail_reason"]
