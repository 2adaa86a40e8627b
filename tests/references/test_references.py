# SPDX-License-Identifier: Apache-2.0
"""References: proposed from sessions, read by ReFrame, checked for gaps, and derived for sizes that were never
measured."""

import pytest
import yaml
from commands import run, said
from logs_made import write as write_log
from logs_made_b_eff import averaged_log
from sessions_made import case, database, each_night, nights, steady, values_of

from coffeecup.postprocess.benchmarks.registry import benchmarks
from coffeecup.postprocess.history.change_points import session_values
from coffeecup.postprocess.history.table import history_table
from coffeecup.postprocess.references.files import ReferenceFileError, load
from coffeecup.postprocess.references.proposals import Terms, differences, entries, flat, outside, proposal
from coffeecup.postprocess.sessions.files import read_reports

CHECKS_OF = "b_eff"
TODAY = {"_meta": {"benchmark": "b_eff", "schema": 1}}


def at_least(value, unit="MByte/s"):
    """A reference of which 5 % may be missing."""
    return [value, -0.05, None, unit]


def propose(stored, file, *options, benchmark="b_eff"):
    return run("references", "propose", stored, "--file", file, "--benchmark", benchmark, *options)


def proposed(values, today=TODAY, **terms):
    terms = Terms(**({"min_sessions": 2, "valid_from": "2026-01-01"} | terms))
    made = entries(values, terms)
    return made, proposal(today, "b_eff", made, values, terms)


# --- the file ---------------------------------------------------------------------------------------------------------


def test_every_entry_tells_where_it_is_from(tmp_path):
    values = values_of(tmp_path, nights(steady(20)))
    _, new = proposed(values)
    [told] = new["_meta"]["measured"]["local:default"][2]
    assert told["sessions"] == sorted(values["session"]) and told["runs"] == 20
    assert (told["window"], told["valid_from"]) == (["2026-01-01", "2026-01-20"], "2026-01-01")
    software = [told[name] for name in ("kernel_version", "spack_hash", "mpi_library")]
    assert software == [["0.1.0"], ["abcdefg"], ["Open MPI v4.1.4"]]
    assert told["coverage"] == 0.95 and told["floor"] == 0.05 and told["settings"] == "--time-budget 5"


def test_a_link_to_the_file_stays_a_link(tmp_path):
    stored, link = database(tmp_path / "results.db", nights(steady(10))), tmp_path / "link.yaml"
    link.symlink_to("b_eff.yaml")
    assert propose(stored, link, "--write").exit_code == 0
    assert link.is_symlink() and load(tmp_path / "b_eff.yaml", "b_eff")["b_eff"]["local:default"]


def test_an_epoch_keeps_the_values_before_the_upgrade(tmp_path):
    _, first = proposed(values_of(tmp_path, nights([100.0] * 10)))
    later = values_of(tmp_path, nights([200.0] * 10, first=50), "later.db")
    _, second = proposed(later, today=first, valid_from="2026-02-20")
    past, present = second["_meta"]["measured"]["local:default"][2]
    assert past["valid_from"] == "2026-01-01" and past["values"]["b_eff"][0] == 100
    assert present["valid_from"] == "2026-02-20" and second["b_eff"]["local:default"][2]["b_eff"][0] == 200
    assert differences(first, second, "b_eff") == [(("local:default", 2, "b_eff"), at_least(100.0), at_least(200.0))]
    assert first["_meta"]["measured"]["local:default"][2][0].get("values") is None, "today's content was altered"


def test_an_expected_failure_keeps_its_ticket_until_it_is_ended(tmp_path):
    values = values_of(tmp_path, nights([100.0] * 10))
    _, marked = proposed(values, xfail=(("b_eff", "HPC-17"),))
    assert flat(marked, "b_eff")["local:default", 2, "b_eff"] == ["$xfail", "HPC-17", at_least(100.0)]
    _, kept = proposed(values, today=marked)
    assert differences(marked, kept, "b_eff") == []
    _, ended = proposed(values, today=marked, xfail=(("b_eff", ""),))
    assert flat(ended, "b_eff")["local:default", 2, "b_eff"] == at_least(100.0)


def test_the_sessions_that_would_have_failed_are_those_outside(tmp_path):
    values = values_of(tmp_path, nights([*[100.0] * 30, 90.0, 104.0]))
    made, _ = proposed(values, coverage=0.9)
    assert outside(values, made)["value"].tolist() == [90]


def test_references_of_io_are_by_file_system(tmp_path):
    rates = {"home": 10.0, "scratch": 80.0}

    def on(name):
        options = ["--log", "x", "--directory", f"/mnt/{name}"]
        return case(
            {"b_eff_io": (rates[name], "MByte/s")}, benchmark="b_eff_io", file_system=name, executable_opts=options
        )

    stored = database(tmp_path / "results.db", each_night(12, lambda _: map(on, rates)))
    file = tmp_path / "b_eff_io.yaml"
    done = propose(stored, file, "--write", benchmark="b_eff_io")
    assert done.exit_code == 0 and "local:default, scratch, 2, b_eff_io: 80 MByte/s" in done.output, done.output
    content = yaml.safe_load(file.read_text())
    assert content["b_eff_io"] == {
        "$index": ["$partition", "file_system", "num_processes"],
        "local:default": {name: {2: {"b_eff_io": at_least(rate)}} for name, rate in rates.items()},
    }
    assert set(content["_meta"]["measured"]["local:default"]) == {"home", "scratch"}
    content["b_eff_io"]["local:default"]["archive"] = content["b_eff_io"]["local:default"].pop("home")
    file.write_text(yaml.safe_dump(content))
    gaps = run("references", "check", stored, "--file", file).output
    assert "local:default, archive, 2, b_eff_io: the reference of b_eff_io was not used by any run" in gaps
    assert "local:default, scratch, 2, b_eff_io: b_eff_io has no reference" in gaps, "was compared with nothing"
    content["b_eff_io"]["$index"] = ["$partition", "num_processes"]
    file.write_text(yaml.safe_dump(content))
    refused = propose(stored, file, benchmark="b_eff_io")
    assert refused.exit_code == 2 and "below 2 levels" in said(refused)
    file.write_text("_meta: {}\nb_eff_io:\n  $index: [$partition, num_processes]\n")
    refused = propose(stored, file, benchmark="b_eff_io")
    assert refused.exit_code == 2 and "$index is" in refused.output


def test_references_of_a_partition_with_several_environments_are_by_environment(tmp_path):
    """One environment is three times as fast; a partition with one environment is indexed alike."""
    made = [
        case({"b_eff": (number, "MByte/s")}, partition=partition, environ=environ)
        for partition, environ, number in (("a", "cray", 30.0), ("a", "gnu", 10.0), ("b", "gnu", 20.0))
    ]
    stored = database(tmp_path / "results.db", each_night(12, lambda _: made))
    file = tmp_path / "b_eff.yaml"
    done = propose(stored, file, "--write")
    assert done.exit_code == 0, done.output
    assert "local:a+cray, 2, b_eff: 30 MByte/s" in done.output and "local:a+gnu, 2, b_eff: 10 MByte/s" in done.output
    assert "local:b, 2, b_eff: 20 MByte/s" in done.output
    assert yaml.safe_load(file.read_text())["b_eff"] == {
        "$index": ["$partition", "$environ", "num_processes"],
        "local:a": {"cray": {2: {"b_eff": at_least(30.0)}}, "gnu": {2: {"b_eff": at_least(10.0)}}},
        "local:b": {"gnu": {2: {"b_eff": at_least(20.0)}}},
    }
    one = propose(stored, file, "--environ", "gnu")
    assert one.exit_code == 0 and "changes to the file: 0 entries" in one.output, one.output


ONE, USUAL = "processes_per_node=1", "standard"


def test_references_of_another_placement_of_processes_are_apart(tmp_path):
    """With one process on each node a run of four is on four nodes, otherwise on one: each has its own history and its
    own reference, in one file."""
    made = [
        case({"b_eff": (number, "MByte/s")}, processes=4, **({"variant": variant} if variant else {}))
        for variant, number in ((ONE, 40.0), (USUAL, 10.0), ("", 10.0))
    ]
    stored = database(tmp_path / "results.db", each_night(12, lambda _: made))
    series = {key: set(rows) for key, rows in history_table(read_reports([stored])).groupby("settings")["value"]}
    assert series == {f"{ONE} --time-budget 5": {40.0}, "--time-budget 5": {10.0}}
    file = tmp_path / "b_eff.yaml"
    done = propose(stored, file, "--write")
    assert done.exit_code == 0, done.output
    content = yaml.safe_load(file.read_text())
    assert content["b_eff"] == {
        "$index": ["$partition", "variant", "num_processes"],
        "local:default": {name: {4: {"b_eff": at_least(rate)}} for name, rate in ((ONE, 40.0), (USUAL, 10.0))},
    }
    del content["b_eff"]["local:default"][ONE]
    content["b_eff"]["local:default"]["processes_per_node=2"] = {4: {"b_eff": at_least(1.0)}}
    file.write_text(yaml.safe_dump(content))
    gaps = run("references", "check", stored, "--file", file).output
    assert "processes_per_node=2, 4, b_eff: the reference of b_eff was not used by any run" in gaps
    assert "local:default, standard, 4, b_eff: the reference" not in gaps
    one = propose(stored, file, "--settings", "--time-budget 5")
    assert one.exit_code == 0 and f"local:default, {ONE}, 4, b_eff" in one.output.replace("variant=", ""), one.output


@pytest.mark.parametrize(
    ("variant", "index", "reference"),
    [
        (ONE, ["$partition", "variant", "num_processes"], 40),
        (USUAL, ["$partition", "variant", "num_processes"], 10),
        (ONE, ["$partition", "num_processes"], 0),  # compared with nothing, as ReFrame records it
        (USUAL, ["$partition", "num_processes"], 20),
    ],
)
def test_a_check_is_compared_with_the_reference_of_its_variant(reframe, tmp_path, variant, index, reference):
    sizes = {size: {"b_eff": at_least(20.0)} for size in (1, 2)}
    if "variant" in index:
        rates = {ONE: 40.0, USUAL: 10.0}
        sizes = {name: {size: {"b_eff": at_least(rates[name])} for size in (1, 2)} for name in rates}
    file = tmp_path / "b_eff.yaml"
    file.write_text(yaml.safe_dump({"_meta": {}, "b_eff": {"$index": index, "local:default": sizes}}))
    options = ["-S", "b_eff.processes_per_node=1"] if variant == ONE else []
    done = reframe("--dry-run", "-n", "^b_eff%num_processes=2$", "-S", f"b_eff.reference_file={file}", *options)
    [made] = done.cases
    assert made["variant"] == variant and made["perfvalues"]["local:default:b_eff"][1] == reference, done.output


def test_a_pattern_that_would_hide_a_proposed_place_is_refused(sessions, tmp_path):
    file = tmp_path / "b_eff.yaml"
    file.write_text(yaml.safe_dump(TODAY | {"b_eff": {"$index": ["$partition", "num_processes"], "local:.*": {2: {}}}}))
    done = propose(sessions, file)
    assert done.exit_code == 2 and "'local:.*' fits local:default" in said(done)


# --- the commands -----------------------------------------------------------------------------------------------------


@pytest.fixture
def sessions(tmp_path):
    return database(tmp_path / "results.db", nights(steady(20)))


def test_propose_shows_everything_and_writes_by_order_alone(sessions, tmp_path):
    file = tmp_path / "b_eff.yaml"
    command = (sessions, file, "--coverage", "0.8")
    shown = propose(*command)
    assert shown.exit_code == 0 and not file.exists(), shown.output
    assert "changes to the file: 1 entry" in shown.output and "used here that would have failed:" in shown.output
    assert propose(*command, "--write").exit_code == 0
    assert "changes to the file: 0 entries" in propose(*command).output
    assert [path.name for path in tmp_path.iterdir() if "yaml" in path.name] == ["b_eff.yaml"]
    text = file.read_text()
    assert "  local:default:\n    2:\n      b_eff: [" in text and yaml.safe_load(text)["_meta"]["measured"]


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        (["--benchmark", "b_ef"], "--benchmark: no result has 'b_ef'; there are 'b_eff'"),
        (["--benchmark", "b_eff", "--coverage", "2"], "2 is not between 0 and 1"),
        (["--benchmark", "b_eff", "--min-sessions", "50"], "no metric has 50 sessions"),
        (["--benchmark", "b_eff", "--xfail", "HPC-17"], "expected METRIC=..."),
        (["--benchmark", "b_eff", "--xfail", "latency=HPC-17"], "no reference was proposed for: latency"),
        (["--benchmark", "b_eff", "--settings", "--quick"], "no session has '--quick'"),
        (["--benchmark", "b_eff", "--valid-from", "2027-01-01"], "no session began in the chosen time; there are"),
    ],
)
def test_what_gives_no_references_is_said(sessions, tmp_path, options, complaint):
    done = run("references", "propose", sessions, "--file", tmp_path / "r.yaml", *options)
    assert done.exit_code == 2 and complaint in said(done)
    assert not (tmp_path / "r.yaml").exists()


def test_sessions_of_several_kinds_are_not_thrown_together(tmp_path):
    quick = nights(steady(12), first=30, executable_opts=["--log", "x", "--quick"])
    without_options = nights(steady(12), first=60, executable_opts=["--log", "x"])
    stored = database(tmp_path / "results.db", [*nights(steady(12)), *quick, *without_options])
    file = tmp_path / "r.yaml"
    done = propose(stored, file)
    assert done.exit_code == 2 and "select one with --settings: '', '--quick', '--time-budget 5'" in said(done)
    assert [propose(stored, file, "--settings", name).exit_code for name in ("--quick", "", "other")] == [0, 0, 2]


def test_a_file_that_holds_no_references_is_left_alone(sessions, tmp_path):
    file = tmp_path / "r.yaml"
    file.write_text("a: [1")
    done = propose(sessions, file, "--write")
    assert done.exit_code == 2 and file.read_text() == "a: [1"


def loaded(tmp_path, entry):
    """A file of references with this entry, as read."""
    index = "_meta: {}\nb_eff:\n  $index: [$partition, num_processes]\n"
    (tmp_path / "b_eff.yaml").write_text(f"{index}  'a:.*': {{2: {{b_eff: {entry}}}}}\n")
    return load(tmp_path / "b_eff.yaml", "b_eff")


FULL = "[1000, -0.1, null, MByte/s]"


@pytest.mark.parametrize("entry", [FULL, "[1000, -0.1, null]", "[1000, 0, 0]", f"[$xfail, HPC-1, {FULL}]"])
def test_an_entry_is_a_value_with_bounds_and_perhaps_a_unit_and_a_ticket(tmp_path, entry):
    assert loaded(tmp_path, entry)


@pytest.mark.parametrize(
    "entry",
    [
        *("1000", "[]", "{value: 1000}", "[1000, -0.1]", "[1000, -0.1, null, MByte/s, x]", "[1000, -0.1, null, 7]"),
        *("[null, -0.1, null, MByte/s]", "[true, -0.1, null, MByte/s]", "[1000, low, null, MByte/s]"),
        *("[1000, 0.1, null, MByte/s]", "[1000, null, -0.1, MByte/s]", "[1000, 0.1, -0.1, MByte/s]"),
        *(f"[$xfail, {FULL}]", f"[$xfail, a, [$xfail, a, {FULL}]]"),
    ],
)
def test_an_entry_in_another_form_is_named(tmp_path, entry):
    with pytest.raises(ReferenceFileError) as raised:
        loaded(tmp_path, entry)
    assert "b_eff.yaml: a:.*, 2, b_eff: expected [value, lower, upper, unit]" in str(raised.value)


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("_meta: 2026-13-45\n", "month must be in 1..12"),
        ("_meta: {}\nb_eff: {$index: [[]]}\n", "$index must be a list of"),
        ("_meta: {}\nb_eff: {$index: []}\n", "$index must be a list of"),
        ("_meta: {}\nb_eff: {$index: [$partition], 'a(': {b_eff: [1, 0, 0, x]}}\n", "'a(' is not a regular expression"),
        ("_meta: {}\nb_eff: {$index: [$partition], a: [1, 0, 0, x]}\n", "below 1 levels"),
        ("_meta: {measured: {a: 3}}\nb_eff: {$index: [$partition]}\n", "expected a list of epochs"),
        ("_meta: {measured: {a: [{}]}}\nb_eff: {$index: [$partition]}\n", "expected a list of epochs"),
        ("_meta: {measured: 3}\nb_eff: {$index: [$partition]}\n", "expected a list of epochs"),
        ("_meta: &a [*a]\n", "contains itself"),
        ("[" * 3000, "nested too deeply"),
        ("_meta: {}\nb_eff: {$index: [$partition]}\nb_eff: {}\n", "line 3: the key 'b_eff' occurs twice"),
    ],
)
def test_a_file_in_another_form_is_refused_in_one_line(tmp_path, text, complaint):
    (tmp_path / "b_eff.yaml").write_text(text)
    with pytest.raises(ReferenceFileError) as raised:
        load(tmp_path / "b_eff.yaml", "b_eff")
    assert complaint in str(raised.value) and "\n" not in str(raised.value)


@pytest.mark.parametrize(
    ("exponent", "allowed"), [("10", True), ("-10", True), ("10.1", False), ("nan", False), ("x", False)]
)
def test_an_exponent_that_scales_to_no_number_is_refused(sessions, tmp_path, exponent, allowed):
    done = propose(sessions, tmp_path / "r.yaml", "--coverage", "0.8", "--scaling", f"b_eff={exponent}")
    assert (done.exit_code == 0) == allowed and ("exponent must be a number" in done.output) == (not allowed)


# --- through ReFrame --------------------------------------------------------------------------------------------------


@pytest.fixture
def written(tmp_path):
    """A reference file proposed from sessions at 2 processes with every metric, and a scaling law for b_eff."""
    values = {name: (200.0, unit) for name, unit in benchmarks()["b_eff"].units.items()}
    stored = database(tmp_path / "stored.db", each_night(12, lambda _: [case(values)]))
    file = tmp_path / "b_eff.yaml"
    done = propose(stored, file, "--scaling", "b_eff=0.5", "--write")
    assert done.exit_code == 0, done.output
    return file


def dry_run(reframe, file):
    done = reframe("--dry-run", "-n", "b_eff%num_processes=(2|4)$", "-S", f"b_eff.reference_file={file}")
    assert done.returncode == 0, done.output
    return {made["num_processes"]: made for made in done.cases}


def test_a_size_never_measured_is_derived_and_marked(reframe, written):
    cases = dry_run(reframe, written)
    assert cases[2]["perfvalues"]["local:default:b_eff"][1:5] == at_least(200)
    assert cases[2]["reference_status"] == "reference for every metric"
    # twice the processes to the power of a half, bounds twice as wide
    assert cases[4]["perfvalues"]["local:default:b_eff"][1:5] == [pytest.approx(200 * 2**0.5), -0.1, None, "MByte/s"]
    assert cases[4]["reference_status"] == "reference derived by a scaling law"


def test_the_gate_finds_what_has_no_reference_without_running(reframe, written):
    dry_run(reframe, written)
    report = reframe.folder / "session.json"
    done = run("references", "check", report, "--file", written)
    assert done.exit_code == 1
    gaps = done.output.splitlines()[:-1]
    assert "local:default, 4, ping_pong_latency: b_eff has no reference" in gaps
    assert len(gaps) == 11, "at 4 processes b_eff alone is derived"


def test_the_gate_finds_a_reference_that_belongs_to_nothing(reframe, written):
    content = yaml.safe_load(written.read_text())
    content["b_eff"]["local:gone"] = {2: {"b_eff": [1.0, -0.1, None, "MByte/s"]}}
    content["b_eff"]["local:default"][4] = content["b_eff"]["local:default"][2]
    del content["_meta"]["scaling"]
    written.write_text(yaml.safe_dump(content))
    dry_run(reframe, written)
    done = run("references", "check", reframe.folder / "session.json", "--file", written)
    assert done.exit_code == 1
    assert done.output.splitlines()[:-1] == ["local:gone, 2, b_eff: the reference of b_eff was not used by any run"]
    del content["b_eff"]["local:gone"]
    written.write_text(yaml.safe_dump(content))
    done = run("references", "check", reframe.folder / "session.json", "--file", written)
    assert done.exit_code == 0, done.output
    assert "24 metrics of 1 session: each has a reference, every reference is used" in done.output


def test_what_is_outside_a_proposed_reference_fails_in_reframe_and_is_retried(reframe, written, tmp_path, kernel_that):
    log = write_log(tmp_path / "made.jsonl", averaged_log(ranks=2, nodes=1))
    options = ("-r", "-n", "b_eff%num_processes=2$", "-S", f"b_eff.reference_file={written}", "--max-retries=1")
    done = reframe(*options, *kernel_that(f'cp {log} "$log"'))
    assert done.returncode == 1
    assert [made["fail_phase"] for made in done.cases] == ["performance"] * 2
    values = session_values(history_table(read_reports([reframe.folder / "session.json"])))
    assert set(values["runs"]) == {1}, "the first run does not count beside its retry"


@pytest.mark.parametrize(
    ("scaling", "complaint"), [({"b_ef": {"exponent": 1}}, "'b_ef'"), ({"b_eff": 1}, "a metric with its exponent")]
)
def test_a_scaling_law_that_says_nothing_fails(reframe, written, kernel_that, scaling, complaint):
    content = yaml.safe_load(written.read_text())
    content["_meta"]["scaling"] = scaling
    written.write_text(yaml.safe_dump(content))
    done = reframe("-r", "-n", "b_eff%num_processes=2$", "-S", f"b_eff.reference_file={written}", *kernel_that("true"))
    assert done.returncode == 1 and complaint in done.cases[0]["fail_reason"]
