# SPDX-License-Identifier: Apache-2.0
"""The file in which a site states what it knows: wrong entries are named, and an entry is added without loss."""

from concurrent.futures import ThreadPoolExecutor
from datetime import datetime

import pytest
from commands import run, said
from sessions_made import case, database, each_night

from coffeecup.postprocess.history.site_files import ANY_KIND, Maintenance, add, read_list


def one_night(folder):
    return database(folder / "results.db", each_night(1, lambda _: [case({"b_eff": (1000.0, "MByte/s")})]))


GOOD = "kind: maintenance, system: s, who: a, why: b, begin: 2026-02-03 08:00:00, end: 2026-02-03 09:00:00"
WITHOUT_TIMES = GOOD.replace(" 08:00:00", "").replace(" 09:00:00", "")
TO_NOTHING = f"{WITHOUT_TIMES.replace('maintenance', 'expected')}, direction: worse, at_most: 0"
WRONG = {
    "kind": (
        f"{{{GOOD}}}\n- {{system: s}}",
        "line 2, entry 2: Object missing required field `kind`; state its `kind`: ack",
    ),
    "field": (
        f"{{{GOOD}, until: 2026-02-03}}",
        "unknown field `until`; its fields are system, who, why, where, begin, end",
    ),
    "time": (f"{{{GOOD.replace(' 08:00:00', '')}}}", "times as 2026-02-03 08:00:00, in UTC"),
    "none": (f"{{{TO_NOTHING}}}", "`float` > 0"),
    "column": (f"{{{GOOD}, where: {{metric: rate}}}}", "`where` of maintenance cannot state metric"),
    "word": (
        f"{{{GOOD.replace('maintenance', 'expektd')}}}",
        "state its `kind`: acknowledged, accepted, expected, maint",
    ),
    "twice": (f"{{{GOOD},\n   kind: expected}}", "line 2: the key 'kind' occurs twice"),
}


@pytest.mark.parametrize("text", ["[]\n", "  - {GOOD}\n", "---\n- {GOOD}\n...\n"], ids=["empty", "indented", "ended"])
def test_a_list_to_which_no_entry_can_be_appended_stays_as_it_is(tmp_path, text):
    file = tmp_path / "known.yaml"
    file.write_text(before := text.replace("GOOD", GOOD))
    words = "--kind maintenance --begin 2026-01-01 --end 2026-01-02 --who me --why upgrade".split()
    done = run("acknowledge", one_night(tmp_path), *words, "--file", file)
    assert done.exit_code == 2 and "begin each entry with `- ` in the first column" in said(done), done.output
    assert file.read_text() == before


@pytest.mark.parametrize(("text", "complaint"), WRONG.values(), ids=WRONG)
def test_a_wrong_entry_is_named_with_its_line_and_the_remedy(tmp_path, text, complaint):
    file = tmp_path / "known.yaml"
    file.write_text(f"- {text}")
    done = run("check-history", one_night(tmp_path), "--acknowledged", file)
    assert done.exit_code == 2 and complaint in said(done), done.output


def test_entries_that_are_added_at_the_same_time_are_all_there(tmp_path):
    file, times = tmp_path / "known.yaml", {"begin": datetime(2026, 2, 3), "end": datetime(2026, 2, 4)}  # noqa: DTZ001
    entries = [Maintenance(system="s", who="me", why=str(number), **times) for number in range(16)]
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda entry: add(file, entry), entries))
    assert sorted(read_list(file, ANY_KIND), key=lambda entry: int(entry.why)) == entries
    assert list(tmp_path.iterdir()) == [file]
