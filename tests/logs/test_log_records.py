# SPDX-License-Identifier: Apache-2.0
"""The records of logs: what their types and ranges refuse, and the JSON Schema that is made from them."""

import json
import re
import subprocess

import jsonschema_rs
import logs_made
import pytest
from builds import ROOT
from conftest import COFFEECUP
from logs_made_b_eff import averaged_log, budget
from mutator import expanded
from small_log import SMALL, SMALL_TEXT, changed, place_of, refusal

from coffeecup.postprocess.benchmarks.registry import log_formats
from coffeecup.postprocess.benchmarks.scoring import score_log


def with_field(place, field, value) -> bytes:
    """SMALL with the text of a value in a line."""
    lines = SMALL_TEXT.splitlines(keepends=True)
    lines[place] = re.sub(rb'("%s": )[^,}]+' % field, rb"\g<1>" + value, lines[place], count=1)
    return b"".join(lines)


@pytest.mark.parametrize("value", [b"300.0", b"3e2", b"true", b'"300"', b"null", b"-300", b"9" * 40, b"9" * 5000])
@pytest.mark.parametrize("field", [b"loop_length", b"repetition", b"message_bytes"])
def test_a_count_is_an_integer_in_its_range(tmp_path, field, value):
    place = place_of("measurement")
    message = refusal(tmp_path / "log.jsonl", with_field(place, field, value))
    assert f"line {place + 1}: measurement record, {field.decode()}: " in message and len(message) < 400


@pytest.mark.parametrize("value", [b"[" * 10**5, b"[" * 10**5 + b"]" * 10**5, b'{"a":' * 10**5])
@pytest.mark.parametrize("place", [0, 1, 20])
def test_deep_nesting_is_refused_in_one_sentence(tmp_path, place, value):
    assert len(refusal(tmp_path / "log.jsonl", with_field(place, b"sequence", value))) < 400


def test_a_seed_has_64_bits(tmp_path):
    log = averaged_log(ranks=2, nodes=2)
    assert "line 2: plan record, seed: does not fit" in refusal(tmp_path / "log.jsonl", changed(log, 1, seed=2**64))
    log = logs_made.write(tmp_path / "log.jsonl", changed(log, 1, seed=2**64 - 1))
    assert score_log(log).log.plan.seed == 2**64 - 1


def test_a_name_that_occurs_twice_in_a_list_is_refused(tmp_path):
    first = {**SMALL[1]["patterns"][0], "methods": ["blocking", "blocking"]}
    records = changed(SMALL, 1, patterns=[first, *SMALL[1]["patterns"][1:]])
    assert "line 2: plan record, patterns.0.methods: 'blocking' occurs twice" in refusal(
        tmp_path / "log.jsonl", records
    )


def test_a_budget_of_a_pattern_that_was_not_planned_is_no_traceback(tmp_path):
    place = place_of("data_check")
    message = refusal(
        tmp_path / "log.jsonl", logs_made.numbered([*SMALL[:place], budget("ring-9", 1, "nothing", []), *SMALL[place:]])
    )
    assert "budget (repetition 1, pattern ring-9, message_bytes 1), which was not planned" in message


def test_every_record_of_a_log_has_exactly_one_form_in_the_schema():
    one = jsonschema_rs.Draft202012Validator(log_formats()["b_eff"].schema)
    assert all(one.is_valid(json.loads(line)) for line in logs_made.text(SMALL).splitlines())
    assert not one.is_valid({**SMALL[0], "extra": 1})
    assert not one.is_valid({"record": "surprise", "sequence": 0})
    assert not one.is_valid({**SMALL[1], "repetitions": 0}) and not one.is_valid({**SMALL[0], "benchmark": "b eff"})
    printed = subprocess.run([COFFEECUP, "schema", "b_eff"], capture_output=True, text=True, check=True).stdout
    assert json.loads(printed) == log_formats()["b_eff"].schema


@pytest.mark.parametrize("log_format", log_formats().values(), ids=log_formats())
def test_schema_is_itself_valid(log_format):
    assert jsonschema_rs.meta.is_valid(log_format.schema)


def test_schema_has_the_fields_of_the_documentation():
    """Every field of the tables is in the schema of a benchmark, and every field of a schema in a table."""
    page = (ROOT / "docs" / "log.md").read_text()
    tables = re.findall(r"^\| field .*?(?=^$)", page, re.MULTILINE | re.DOTALL)
    first = [row for table in tables for row in re.findall(r"^\| (`.*?) \|", table, re.MULTILINE)]
    keys = re.findall(r"^`\w+`, by (`.*?`): ", page, re.MULTILINE | re.DOTALL)
    written = [name for text in (*first, *keys) for name in re.findall(r"`(.*?)`", text)]
    names = {part.rstrip("?") for name in written for one in expanded(name) for part in one.split(".")}
    schemas = [log_format.schema["$defs"] for log_format in log_formats().values()]
    properties = {name for kinds in schemas for kind in kinds.values() for name in kind.get("properties", ())}
    assert names == properties - {"record", "sequence"}
