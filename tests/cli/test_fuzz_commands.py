# SPDX-License-Identifier: Apache-2.0
"""Whatever a command is given, it ends with one of the exit codes of its --help and without a traceback: odd options,
files of other kinds, sessions, databases, contracts and reference files with anything in any place.

`make test` tries a fixed sample. `make prove GOALS=fuzz` tries more, chosen anew each time: COFFEECUP_FUZZ is the
number of examples for each test.
"""

import copy
import json
import os
import sqlite3
from functools import cache
from pathlib import Path

import evidence_made
import hypothesis.strategies as st
import logs_made
import pytest
import yaml
from commands import all_commands, run
from hypothesis import HealthCheck, given, settings
from logs_made_b_eff import averaged_log
from odd_values import OUTPUTS, VALUES, WORDS
from sessions_made import case, database, each_night, steady, write
from test_exit_codes import stated

EXAMPLES = int(os.environ.get("COFFEECUP_FUZZ", "0"))
fuzzed = settings(
    max_examples=EXAMPLES or 3,
    derandomize=not EXAMPLES,
    deadline=None,
    database=None,
    suppress_health_check=list(HealthCheck),
)

SESSIONS = 14
WRITTEN = ("output", "figures", "junit", "openmetrics")  # parameters that name what is written
# Writes the files of other examples; starts a browser; the figures take seconds.
NEVER = ("--write", "--pdf", "--help", *(() if EXAMPLES else ("--figures",)))
OTHERS = ("watch", "site new", "site overlay", "site check", "site bundle")  # run programs, or inspect the machine


def made_sessions():
    """Nights with two tests, one with a reference; their values change once."""
    values = [*steady(9), *steady(5, 500.0, seed=2)]

    def of_night(number):
        rate = (values[number], 1000.0, -0.1, None, "MByte/s", "pass")
        yield case({"b_eff": rate, "ping_pong_latency": (2.0, "us")})
        io = {"b_eff_io": (values[number], "MByte/s")}
        yield case(io, benchmark="b_eff_io", file_system="home", official=True)

    return each_night(9, of_night, firmware="1") + each_night(5, of_night, first=9, firmware="2")


@pytest.fixture(scope="module", autouse=True)
def corpus(tmp_path_factory):
    """Files of all kinds, in the working directory; the names of those to read."""
    folder = tmp_path_factory.mktemp("corpus")
    logs_made.write(folder / "good.jsonl", averaged_log())
    logs_made.write(folder / "broken.jsonl", b"{}\n")
    database(folder / "good.db", made_sessions())
    database(folder / "none.db", [])
    sqlite3.connect(folder / "other.db").execute("CREATE TABLE x(y)").connection.close()
    write(folder / "sessions", made_sessions())
    evidence_made.evidence(folder, evidence_made.contract(folder, 1))
    (folder / "b_eff.yaml").write_text("_meta: {}\nb_eff:\n  $index: [$partition, num_processes]\n")
    (folder / "empty").touch()
    (folder / "binary").write_bytes(bytes(range(256)) * 10)
    (folder / "deep").write_bytes(b"[" * 100_000)
    lines = (f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9) if n else 1}]" for n in range(40))
    (folder / "bomb").write_text("\n".join(lines))
    (folder / "text").write_text("no log, no session\n")
    (folder / "number").write_text("1e999")
    (folder / "folder" / "x.jsonl").mkdir(parents=True)
    (folder / "folder" / "session-1.json").mkdir()
    (folder / "file").touch()
    (folder / "dangling").symlink_to("nowhere")
    (folder / "loop").symlink_to("loop")
    names = sorted(path.name for path in folder.iterdir())
    before = Path.cwd()
    os.chdir(folder)
    yield [*names, ".", "", "missing", "a" * 300, "/dev/null", "/dev/zero", "/dev/full", "session.json/x", "\udcff"]
    os.chdir(before)


COMMANDS = {name: command for name, command in all_commands().items() if name not in OTHERS}


def ends_well(words, command):
    done = run(*words)
    shown = f"coffeecup {' '.join(map(ascii, words))}\n{done.output[-2000:]}"
    if not isinstance(done.exception, (type(None), SystemExit)):
        raise AssertionError(shown) from done.exception
    assert done.exit_code in stated_once(command), shown
    assert "Traceback" not in done.output and "defect of coffeecup" not in done.output, shown
    assert done.exit_code != 2 or done.stderr.strip(), shown


@cache
def stated_once(command):
    """The exit codes of a command, or of all commands of a group."""
    return set().union(*(stated(name) for name in COMMANDS if f"{name} ".startswith(f"{command} ")))


# --- the command line -------------------------------------------------------------------------------------------------


def words_of(draw, option, names):
    """One use of an option or argument."""
    if option.param_type_name == "argument":
        return draw(st.lists(st.sampled_from(names), min_size=1, max_size=2 if option.nargs == -1 else 1))
    if option.is_flag:
        return [draw(st.sampled_from(option.opts))]
    read = names if option.name in ("file", "files", "session", "expected") else []
    pool = OUTPUTS if option.name in WRITTEN else [*WORDS, *read]
    return [option.opts[0], draw(st.sampled_from(pool))]


@pytest.mark.parametrize("command", COMMANDS)
@fuzzed
@given(data=st.data())
def test_command_line(corpus, command, data):
    options = [option for option in COMMANDS[command].params if option.opts[0] not in NEVER]
    arguments = [option for option in options if option.param_type_name == "argument"]
    chosen = data.draw(st.lists(st.sampled_from([o for o in options if o not in arguments] or arguments), max_size=3))
    good = {"logs": "good.jsonl", "contract": "contract.yaml", "benchmark": "b_eff"}
    words = command.split()
    for argument in arguments:
        usual = [good.get(argument.name, "good.db")]
        words += usual if data.draw(st.booleans()) else words_of(data.draw, argument, corpus)
    for option in [*(o for o in options if o.required and o not in arguments), *chosen]:
        words += words_of(data.draw, option, corpus)
    if command == "references propose" and data.draw(st.booleans()):
        words += ["--benchmark", "b_eff", "--file", "b_eff.yaml"]
    if command == "export" and data.draw(st.booleans()):
        words += ["--junit", "out.xml", "--openmetrics", "out.prom"]
    ends_well(words, command)


# --- what is in the files ---------------------------------------------------------------------------------------------

READING = {
    "history": ["history", "history --json", "history --last", "history --last --json", "history --csv"],
    "check-history": ["check-history", "check-history --json --max-age 10"],
    "nodes": ["nodes --all", "nodes --format slurm", "nodes --json"],
    "export": ["export --junit out.xml --openmetrics out.prom"],
    "site report": ["site report -o out.html", "site report -o out.html --json"],
    "references check": ["references check --file b_eff.yaml"],
    "references propose": ["references propose --benchmark b_eff --file b_eff.yaml --min-sessions 2 --include changes"],
    "accept": ["accept contract.yaml -o out.html"],
}
CHOICES = st.sampled_from([(command, line.split()) for command, lines in READING.items() for line in lines])


def places(tree, path=()):
    """Paths to everything in a tree of dictionaries and lists."""
    yield path
    for key, inner in tree.items() if isinstance(tree, dict) else enumerate(tree) if isinstance(tree, list) else ():
        yield from places(inner, (*path, key))


def changed(tree, path, value, how):
    """A copy in which the place is replaced, removed, or repeated under another name."""
    if not path:
        return value
    made = copy.deepcopy(tree)
    inside = made
    for key in path[:-1]:
        inside = inside[key]
    if how == "remove":
        del inside[path[-1]]
    elif how == "repeat" and isinstance(inside, list):
        inside.append(inside[path[-1]])
    elif how == "repeat":
        inside[f"other:{path[-1]}"] = inside[path[-1]]
    else:
        inside[path[-1]] = value
    return made


def mutated(draw, tree, times=2):
    for _ in range(draw(st.integers(1, times))):
        path = draw(st.sampled_from(list(places(tree))))
        tree = changed(tree, path, draw(VALUES), draw(st.sampled_from(["replace", "replace", "remove", "repeat"])))
        if not isinstance(tree, (dict, list)):
            break
    return tree


BASE = made_sessions()


def write_sessions(sessions, stored):
    """The sessions in a database whose columns are right, whatever is in their texts."""
    Path(stored).unlink(missing_ok=True)
    database(stored, BASE)
    connection = sqlite3.connect(stored)
    for was, made in zip(BASE, sessions):
        text = json.dumps(made)
        connection.execute("UPDATE sessions SET json_blob = ? WHERE uuid = ?", (text, was["session_info"]["uuid"]))
    connection.commit()
    connection.close()


@fuzzed
@given(data=st.data())
def test_content_of_sessions(corpus, data):
    """The same change in one or in all sessions."""
    path = data.draw(st.sampled_from(list(places(BASE[0]))))
    value, how = data.draw(VALUES), data.draw(st.sampled_from(["replace", "replace", "remove", "repeat"]))
    spoiled = set(data.draw(st.sampled_from([range(SESSIONS), [3], [SESSIONS - 1], range(9), range(9, SESSIONS)])))
    # Identifiers and times differ, so that the same value in all would leave one session.
    sessions = [changed(made, path, value, how) if number in spoiled else made for number, made in enumerate(BASE)]
    write_sessions(sessions, "fuzzed.db")
    command, words = data.draw(CHOICES)
    ends_well([*words, "fuzzed.db"], command)


@fuzzed
@given(data=st.data())
def test_session_file(corpus, data):
    Path("fuzzed.json").write_text(json.dumps(mutated(data.draw, BASE[0], 3)))
    command, words = data.draw(CHOICES | st.just(("report", ["report", "good.jsonl", "-o", "out.html", "--session"])))
    ends_well([*words, "fuzzed.json"], command)


BRACKET = "'[' || json_blob"
SQL = [
    "DROP TABLE sessions",
    "DROP TABLE metadata",
    "DELETE FROM metadata",
    "DELETE FROM sessions",
    "UPDATE metadata SET schema_version = NULL",
    "ALTER TABLE sessions RENAME COLUMN json_blob TO json",
    "ALTER TABLE sessions RENAME COLUMN session_start_unix TO start",
    "ALTER TABLE metadata RENAME COLUMN schema_version TO version",
    "CREATE VIEW more AS SELECT * FROM sessions",
    *(
        f"UPDATE sessions SET {column} = {value} {where}"
        for column in ("uuid", "session_start_unix", "session_end_unix", "json_blob")
        for value in ("NULL", "''", "x'ff00fe'", "1e999", "-1", "9223372036854775807", BRACKET, "cast(x'ff' AS TEXT)")
        for where in ("", "WHERE rowid = 3")
    ),
]


@fuzzed
@given(data=st.data())
def test_tables_of_a_database(corpus, data):
    write_sessions(BASE, "fuzzed.db")
    connection = sqlite3.connect("fuzzed.db")
    for statement in data.draw(st.lists(st.sampled_from(SQL), min_size=1, max_size=2)):
        try:
            connection.execute(statement)
        except sqlite3.Error:
            continue  # the first one removed what this one changes
    connection.commit()
    connection.close()
    command, words = data.draw(CHOICES)
    ends_well([*words, "fuzzed.db"], command)


@fuzzed
@given(data=st.data())
def test_pages_of_a_database(corpus, data):
    content = bytearray(Path("good.db").read_bytes())
    for _ in range(data.draw(st.integers(1, 6))):
        place = data.draw(st.integers(0, 200) | st.integers(0, len(content) - 1))
        content[place : place + data.draw(st.integers(1, 40))] = data.draw(st.binary(max_size=40))
    Path("fuzzed.db").write_bytes(content[: data.draw(st.just(len(content)) | st.integers(0, len(content)))])
    command, words = data.draw(CHOICES)
    ends_well([*words, "fuzzed.db"], command)


CONTRACT = yaml.safe_load(evidence_made.CONTRACT % 1)
LATENCY = ["$xfail", "HPC-1", [2.0, None, 0.1, "us"]]
ENTRIES = {2: {"b_eff": [1000.0, -0.1, None, "MByte/s"], "ping_pong_latency": LATENCY}}
REFERENCES = {
    "_meta": {"measured": {"local:default": {2: [{"valid_from": "2026-01-01", "values": {}}]}}},
    "b_eff": {"$index": ["$partition", "num_processes"], "local:default": ENTRIES},
}


@fuzzed
@given(data=st.data())
def test_contract(corpus, data):
    Path("fuzzed.yaml").write_text(yaml.safe_dump(mutated(data.draw, CONTRACT)))
    ends_well(["accept", "fuzzed.yaml", "session.json", "-o", "out.html"], "accept")


def references_of(text):
    Path("fuzzed").mkdir(exist_ok=True)
    Path("fuzzed/b_eff.yaml").write_text(text)


@fuzzed
@given(data=st.data())
def test_reference_file(corpus, data):
    references_of(yaml.safe_dump(mutated(data.draw, REFERENCES)))
    proposed = ["--benchmark", "b_eff", "--include", "changes", "--write"]
    command, words = data.draw(st.sampled_from([("references check", []), ("references propose", proposed)]))
    ends_well([*command.split(), *words, "good.db", "--file", "fuzzed/b_eff.yaml"], command)


@pytest.mark.parametrize(
    "text",
    [
        "_meta: 2026-13-45",
        "a: 2026-02-30",
        "? [a]\n: b",
        "&a [*a]",
        "{" * 300,
        "a: !!python/object:x {}",
        "\x00",
        "_meta: {}\nb_eff: {$index: [[]]}",
        "_meta: {}\nb_eff: {$index: [$partition], 'a(': {b_eff: [1, 0, 0, x]}}",
    ],
)
def test_text_that_is_no_contract_and_no_reference_file(corpus, text):
    references_of(text)
    ends_well(["accept", "fuzzed/b_eff.yaml", "session.json", "-o", "out.html"], "accept")
    ends_well(["references", "check", "good.db", "--file", "fuzzed/b_eff.yaml"], "references check")
