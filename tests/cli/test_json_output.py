# SPDX-License-Identifier: Apache-2.0
"""What --json prints has exactly the fields and types that docs/json-*.md list, for every command that has the
option."""

import json
import re
from datetime import datetime
from pathlib import Path

import evidence_made
import logs_made
import pytest
from builds import ROOT
from commands import all_commands, run
from contracts_made import begin
from logs_made_b_eff import AVERAGED, averaged_log
from logs_made_b_eff import steady as links
from mutator import expanded
from sessions_made import case, database, each_night, night, nights, session, steady

PAGES = sorted((ROOT / "docs").glob("json-*.md"))
SERIES_TEXT = ("benchmark", "system", "partition", "environ", "node", "file_system", "settings", "metric")
IS = {
    "text": lambda value: isinstance(value, str),
    "integer": lambda value: isinstance(value, int) and not isinstance(value, bool),
    "number": lambda value: isinstance(value, (int, float)) and not isinstance(value, bool),
    "boolean": lambda value: isinstance(value, bool),
    "any": lambda value: value is not None,
}


def tables():
    """Heading to the rows of its table: (path of a field, type)."""
    found = {}
    for section in re.split(r"^#+ ", "\n".join(page.read_text() for page in PAGES), flags=re.MULTILINE)[1:]:
        heading = section.partition("\n")[0]
        for part in re.split(r"^(?=\*[\w ]+\* is )", section, flags=re.MULTILINE):
            shared = re.match(r"\*([\w ]+)\* is ", part)
            name = shared[1] if shared else heading
            rows = re.findall(r"^\| (`[^|]*`) \| ([^|]*)\|", part, re.MULTILINE)
            found[name] = [
                (field, kind.strip() or "text")
                for fields, kind in rows
                for text in re.findall(r"`([^`]+)`", fields)
                for field in expanded(text)
            ]
    return {name: rows for name, rows in found.items() if rows}


TABLES = tables()


def effects(usual, unknown, slow, count):
    values = {usual: [1.0, 0.9, 1.1, 0, count], unknown: [1.0, None, None, 0, 1], slow: [0.5, 0.4, 0.6, count, count]}
    return {"suspects": [slow], "values": values}


EFFECT = {"verdict": "suspects", "confirmed": [], **effects("x1", "x2", "x3", 16)}
EFFECT["servers"] = effects("OST0000", "OST0001", "OST0002", 9)
EFFECT["links"] = {"compared": 3, "named": {"n1": "9 errors"}}
EFFECT["hang"] = {"verdict": "cannot tell the cause", "nodes": []}
RARE = re.compile(
    r"hangs\[\]\.nodes\[\]|"
    r"\[\]\.nodes\?\.(links|nodes|servers|tails)|events\??\[\]\.(nodes|tested)|"
    r"(excluded|no_reference|would_have_failed|remarks)\[\]"
)


def documented(name):
    """Path to type, with the shared types in place."""
    fields = {}
    for path, kind in TABLES[name]:
        if kind == "series":
            fields |= {f"{path}.{field}": "text" for field in SERIES_TEXT} | {f"{path}.processes": "integer"}
        elif kind in TABLES:
            inside = documented(kind).items()
            fields |= {path + inner if inner.startswith("[]") else f"{path}.{inner}": of for inner, of in inside}
        else:
            fields[path] = kind
    return fields


def leaves(value, path=""):
    """(path with [] and names, value) of every leaf; an empty list or object is a leaf without a value to check."""
    if isinstance(value, dict):
        for name, inner in value.items():
            yield from leaves(inner, f"{path}.{name}" if path else name)
    elif isinstance(value, list):
        for inner in value:
            yield from leaves(inner, f"{path}[]")
    else:
        yield path, value


def pattern(path):
    """Matches the paths of a leaf for a documented path, and of everything below it if its type is `any`."""
    return re.escape(path.replace("?", "")).replace(r"\*", r"[^.\[\]]+")


def check(content, name):
    """The leaves of the content are documented with their types; returns the documented paths that occurred."""
    fields, seen = documented(name), set()
    for path, value in leaves(content):
        below = {known: r"([.\[].*)?" if kind.startswith("any") else "" for known, kind in fields.items()}
        fits = [known for known in fields if re.fullmatch(pattern(known) + below[known], path)]
        assert len(fits) == 1, f"{name}: {path} is in {len(fits)} rows of docs/json-*.md"
        kind = fields[fits[0]]
        assert (kind.endswith("?") and value is None) or IS[kind.rstrip("?")](value), (
            f"{name}: {path} is {value!r}, not {kind}"
        )
        seen.add(fits[0])
    return seen


@pytest.fixture(scope="module")
def stored(tmp_path_factory):
    """Two systems over 32 nights: a drop with another MPI library, a suspected latency, a failed test, references."""
    folder = tmp_path_factory.mktemp("stored")
    rates, latencies = [*steady(24), *steady(8, 800, seed=2)], [*steady(31, 2.0, seed=3), 4.0]

    def of_night(number):
        rate, library = rates[number], "Open MPI v4.1.4" if number < 24 else "Open MPI v5.0.1"
        values = {"b_eff": (rate, 1000.0, -0.1, None, "MByte/s", "pass")}
        yield case(values | {"ping_pong_latency": (latencies[number], "us")}, mpi_library=library, time_run=5.0)
        yield case({"b_eff": (rate * 2, "MByte/s")}, system="other")
        yield case({}, benchmark="ftio", result="fail", fail_reason="no space")
        yield case({"b_eff": (rate, "MByte/s")}, processes=4, node_effects=EFFECT if number else {})

    return database(folder / "results.db", each_night(32, of_night))


def printed(*arguments, code=0):
    done = run(*arguments, "--json")
    assert done.exit_code == code, done.output
    return json.loads(done.stdout)


def outputs(stored, tmp_path):
    """Command to documents that show each of its fields."""
    logs_made.write(tmp_path / "good.jsonl", averaged_log(methods=AVERAGED, repetitions=1))
    logs_made.write(tmp_path / "simulated.jsonl", averaged_log(methods=AVERAGED, repetitions=3))
    logs_made.write(tmp_path / "broken.jsonl", b"{}\n")
    designs = tmp_path / "designs.yaml"
    fields = "network: torus, per_node: 16, nic: 1GB/s, latency: 1us"
    designs.write_text(f"fits: {{{fields}, nodes: 8}}\nsmall: {{{fields}, nodes: 1}}\n")
    compared = ["--design", designs, "--calibrate", tmp_path / "simulated.jsonl"]
    page, file = tmp_path / "site.html", tmp_path / "b_eff.yaml"
    file.write_text(
        "_meta: {}\nb_eff:\n  $index: [$partition, num_processes]\n  nowhere:\n    2: {b_eff: [0, null, null, x]}\n"
    )
    quick = "--minutes", "1", "--probability", "50"
    constant = case({"b_eff": (10.0, "MByte/s")}, time_run=5.0, scheduler="local")
    few = case({"total": (3.0, "Mflop/s")}, benchmark="ftio", time_run=5.0)
    made = [session([constant, few][: 1 + (n > 9)], night(n), cmdline="reframe --mode=theirs -r") for n in range(20)]
    reached = database(tmp_path / "reached.db", made)
    only = database(tmp_path / "only.db", nights(steady(20), processes=4))
    propose = ["references", "propose", stored, "--benchmark", "b_eff", "--system", "local"]
    return {
        "coffeecup score": [printed("score", tmp_path, *compared, code=1)],
        "coffeecup history": [printed("history", stored), printed("history", stored, "--last")],
        "coffeecup check-history": [printed("check-history", stored, "--max-age", "0", "--detectable", code=1)],
        "coffeecup nodes": [printed("nodes", stored, code=1)],
        "coffeecup plan": [
            printed("plan", stored, "--system", "local", *quick, "--loss", "2", code=1),
            printed("plan", reached, *quick, code=1),
        ],
        "coffeecup accept risk": [
            printed("accept", "risk", evidence_made.contract(tmp_path, 1), "--history", only, "--draws", "100")
        ],
        "coffeecup accept plan": [
            printed("accept", "plan", tmp_path / "contract.yaml", "--scatter", "2", "--draws", "100"),
            printed("accept", "plan", tmp_path / "contract.yaml", "--scatter", "9", "--most-runs", "1", code=1),
        ],
        "coffeecup site report": [printed("site", "report", stored, "-o", page)],
        "coffeecup references propose": [
            printed(*propose, "--file", tmp_path / "none.yaml", "--include", "changes", "--include", "versions"),
            printed(*propose, "--file", tmp_path / "none.yaml", "--valid-from", "2026-01-25", "--min-sessions", "5"),
        ],
        "coffeecup references check": [printed("references", "check", stored, "--file", file, code=1)],
    }


def test_every_field_is_documented_and_every_documented_field_occurs(stored, tmp_path):
    never = {"coffeecup references propose": {"changes[].was"}}  # null in a new file, which is a documented value
    for command, documents in outputs(stored, tmp_path).items():
        seen = set().union(*(check(document, command) for document in documents))
        missing = set(documented(command)) - seen - never.get(command, set())
        # What no session of these could contain is in other tests of the same commands.
        rare = {path for path in missing if RARE.match(path)}
        assert missing - rare == set(), command


def test_times_and_what_is_missing(stored):
    """The failing test never had a value; the other series have no reference."""
    content = printed("history", stored)
    [missing] = content["missing"]
    assert missing["last_value"] is None and datetime.fromisoformat(missing["since"]) == night(0)
    references = {(row["system"], row["metric"], row["processes"]): row["reference"] for row in content["series"]}
    assert references.pop(("local", "b_eff", 2)) == 1000
    without = [("local", "ping_pong_latency", 2), ("local", "b_eff", 4), ("other", "b_eff", 2)]
    assert references == dict.fromkeys(without)


def test_acceptance(tmp_path):
    """A run that counts, one that does not, and a session that is missing."""
    (tmp_path / "simulated").mkdir()
    agreed = evidence_made.contract(tmp_path, 1)
    simulated = evidence_made.evidence(tmp_path / "simulated", agreed, simulated=True)
    reports = [evidence_made.evidence(tmp_path, agreed, "--after", simulated), simulated]
    begin(agreed, "--after", reports[0])
    content = printed("accept", "evaluate", agreed, *reports, "-o", tmp_path / "a.html", code=1)
    assert (content["result"], content["clauses"][0]["result"]) == ("not proven", "pass")
    assert content == json.loads((tmp_path / "a.json").read_text())
    seen = check(content, "coffeecup accept evaluate")
    # Tests of other suites have parameters, PRIOMark has interfaces, and these logs have no qualifications.
    empty = {"clauses[].parameters.*", "clauses[].interface_sha256[]", "logs[].qualifications[]"}
    assert set(documented("coffeecup accept evaluate")) - seen == empty
    assert content["clauses"][0]["parameters"] == {} and content["logs"][0]["qualifications"] == []


def test_predict(tmp_path):
    logs_made.write(tmp_path / "log.jsonl", averaged_log(methods=AVERAGED, repetitions=1))
    words = ["--network", "torus", "--nodes", "8", "--nic", "1GB/s", "--latency", "1us"]
    content = printed("predict", *words, "--calibrate", tmp_path / "log.jsonl")
    assert check(content, "coffeecup predict") == set(documented("coffeecup predict"))


def test_workload_from_darshan(tmp_path):
    package = Path(pytest.importorskip("darshan").__file__).parent
    log = package / "examples" / "example_logs" / "ior_hdf5_example.darshan"
    content = printed("workload", "from-darshan", log, "-o", tmp_path / "workload.cfg")
    seen = check(content, "coffeecup workload from-darshan")
    assert seen == set(documented("coffeecup workload from-darshan")) - {"partial[]"}
    content = printed("workload", "replay", log, "-o", tmp_path / "replay")
    assert check(content, "coffeecup workload replay") == set(documented("coffeecup workload replay"))
    own = Path(__file__).parents[1] / "kernel_logs" / "priomark-ior.darshan"
    content = printed("workload", "compare", log, own, code=1)
    assert check(content, "coffeecup workload compare") == set(documented("coffeecup workload compare"))


def test_site_check():
    done = run("site", "check", "no-such-site", "--json")
    content = json.loads(done.stdout)
    assert done.exit_code == 1 and content["problems"] == 1 and done.stderr == ""
    assert check(content, "coffeecup site check") == set(documented("coffeecup site check"))


def test_compare(tmp_path):
    """Arms that are decided, of which one changes in its second block, and then one of another size, and one that
    fails."""
    for name, ranks, methods in ("usual", 2, AVERAGED), ("other", 2, AVERAGED[::-1]), ("larger", 16, AVERAGED):
        logs_made.write(tmp_path / f"{name}.jsonl", averaged_log(ranks=ranks, methods=methods, repetitions=1))
    script = f'case $PWD in */0002-same) set other ;; esac; cp "{tmp_path}/${{1:-usual}}.jsonl" .'
    command = ["sh", "-c", script, "sh"]
    arms = {"usual": {}, "other": {"options": ["other"]}, "same": {"options": ["usual"]}}
    more = {"large": {"options": ["larger"]}, "broken": {"options": ["none"]}}
    plans = {"decided": {"arms": arms, "pairs": 7}, "refused": {"arms": arms | more}}
    for name, plan in plans.items():
        (tmp_path / name).write_text(json.dumps({"command": command} | plan))
    decided = printed("compare", tmp_path / "decided", "-o", tmp_path / "a")
    refused = printed("compare", tmp_path / "refused", "-o", tmp_path / "b", code=1)
    seen = check(decided, "coffeecup compare") | check(refused, "coffeecup compare")
    assert seen == set(documented("coffeecup compare"))
    assert decided["verdicts"][0]["standing"] == "same" and refused["verdicts"] == []


def test_compare_parameter(tmp_path):
    """Of three values, the second one has links of twice the bandwidth, and runs of the third one fail."""
    for name, link in ("", 1e9), ("--x=1", 1e9), ("--x=2", 2e9):
        log = averaged_log(ranks=2, methods=AVERAGED, repetitions=1, bandwidth=links(link=link))
        logs_made.write(tmp_path / f"{name}.jsonl", log)
    command = ["sh", "-c", f'cp "{tmp_path}/$1.jsonl" log.jsonl', "sh"]
    done = run("compare", "--parameter=--x=1,2,3", "-o", tmp_path / "runs", "--json", "--", *command)
    content = json.loads(done.stdout)
    confirmation = content.pop("confirmation")
    name = "coffeecup compare --parameter"
    assert check(content, name) == set(documented(name)) - {"confirmation"}
    assert {"plan", "runs", "verdicts[].standing"} < check(confirmation, "coffeecup compare")
    standings = {each["value"]: (each["standing"], each["ratio"] is None) for each in content["values"]}
    assert standings.pop("1")[0] != "failed"
    assert standings == {"2": ("the best", False), "3": ("failed", True)}
    assert content["recommended"] == ["the option --x=2"] and content["metric"] == "b_eff"
    assert content["runs"] == 3 * 5 + 8 * 3


def test_compare_sessions(tmp_path):
    """A loss that came with another MPI library, and a new test."""
    values = [*steady(40, spread=0.005), 800.0]

    def of_night(number):
        library, later = {"mpi_library": "new" if number == 40 else "old"}, number == 40
        made = [case({"b_eff": (values[number], "MByte/s")}, **library)]
        return made + [case({"b_eff": (1000.0, "MByte/s")}, processes=4, **library)] * later

    stored = database(tmp_path / "results.db", each_night(41, of_night))
    content = printed("compare", stored, "--sessions", "2026-02-09", "2026-02-10", code=1)
    name = "coffeecup compare --sessions"
    assert check(content, name) == set(documented(name))
    assert [each["verdict"]["standing"] for each in content["verdicts"]] == ["worse"]


def test_every_command_with_the_option_is_documented():
    """And no other command is. A form of a command, such as `compare --sessions`, can have its own table."""
    options = {name: [opt for one in command.params for opt in one.opts] for name, command in all_commands().items()}
    names = {f"coffeecup {name}" for name, those in options.items() if "--json" in those}
    assert names == {name.partition(" --")[0] for name in TABLES if name.startswith("coffeecup ")}


def test_messages_are_not_on_the_standard_output(stored, tmp_path):
    done = run("site", "report", stored, "-o", tmp_path / "new" / "site.html", "--figures", tmp_path / "f", "--json")
    json.loads(done.stdout)
    assert "wrote" in done.stderr and Path(tmp_path / "f").is_dir()
