# SPDX-License-Identifier: Apache-2.0
"""The site page in the morning: what is new comes first, the page, its JSON and the notification say the same, and a
browser filters the page by the fragment of its address and runs no other script."""

import json
import re
import shlex

import pytest
from builds import ROOT
from commands import run
from pages import CHROMIUM, Page, browse, needs_browser
from sessions_made import case, database, each_night, steady

DROP = 30  # the night of the loss; 4 sessions later it is detected


@pytest.fixture(scope="module")
def stored(tmp_path_factory):
    """Two partitions; `slow` loses a fifth, and the test of b_eff_io runs for the last time in the last night but
    one."""
    noise = [*steady(DROP, 1.0, 0.01, seed=3), *steady(4, 0.8, 0.01, seed=2)]

    def cases(number):
        yield case({"b_eff": (1000 * steady(34, 1.0, 0.01, seed=7)[number], "MByte/s")}, partition="good")
        yield case({"b_eff": (1000 * noise[number], "MByte/s")}, partition="slow")
        if number < DROP + 3:
            options = {"file_system": "scratch", "partition": "good"}
            yield case({"b_eff_io": (100 * steady(34, 1.0, 0.01)[number], "MByte/s")}, benchmark="b_eff_io", **options)

    return database(tmp_path_factory.mktemp("morning") / "results.db", each_night(DROP + 4, cases))


@pytest.fixture(scope="module")
def written(stored, tmp_path_factory):
    page = tmp_path_factory.mktemp("page") / "site.html"
    done = run("site", "report", stored, "-o", page, "--json")
    assert done.exit_code == 0, done.output
    return page, json.loads(done.stdout)


def test_new_is_what_the_last_session_is_the_first_to_show(stored, written):
    message = run("check-history", stored, "--notify", "--new")
    assert message.exit_code == 1 and message.stdout.startswith("coffeecup: 2 new alarms, 0 open on local\n")
    assert [line["state"] for line in written[1]["lines"]] == ["new", "new"]
    assert [line["word"] for line in written[1]["lines"]] == ["no value", "regression"]


def test_the_documentation_shows_this_message(stored):
    message = run("check-history", stored, "--notify", "--new").stdout.replace(str(stored), "output/results.db")
    page = (ROOT / "docs" / "morning.md").read_text()
    shown = re.search(r"^```text\n(coffeecup: .*?)^```", page, re.MULTILINE | re.DOTALL)[1]
    dates = re.compile(r"--until \S+")  # from the day on which it was printed
    assert dates.sub("", message).strip() == dates.sub("", shown).strip()


def test_a_night_later_the_same_is_open(tmp_path):
    rates = [*steady(DROP, 1000.0, 0.01, seed=3), *steady(5, 800.0, 0.01, seed=2)]
    sessions = each_night(DROP + 5, lambda number: [case({"b_eff": (rates[number], "MByte/s")})])
    stored = database(tmp_path / "results.db", sessions)
    for until, code, title in ((["--until", "2026-02-03"], 1, "1 new alarm, 0 open"), ([], 0, "0 new alarms, 1 open")):
        done = run("check-history", stored, "--notify", "--new", *until)
        assert done.exit_code == code and done.stdout.startswith(f"coffeecup: {title} on local\n")
    assert run("check-history", stored, "--notify").exit_code == 1, "without --new, what is open alarms"


def test_page_json_and_notification_say_the_same(stored, written):
    page, facts = written
    text = page.read_text()
    assert 0 < text.index('id="new"') < text.index('id="overview"')
    words, message = Page(text).words, run("check-history", stored, "--notify").stdout
    for line in facts["lines"]:
        assert f"{line['word']} {line['text']}" in words and f"{line['word']}: {line['text']}" in message
        for typed in line["commands"]:
            assert typed in words and typed in message


def test_the_proposed_commands_work(stored, written, tmp_path):
    [line] = [line for line in written[1]["lines"] if line["commands"]]
    history, acknowledge = (shlex.split(typed)[1:] for typed in line["commands"])
    assert run(*history).exit_code == 0
    file = tmp_path / "acknowledged.yaml"
    done = run(*[file if word == "acknowledged.yaml" else word for word in acknowledge])
    assert done.exit_code == 0, done.output
    after = run("check-history", stored, "--notify", "--acknowledged", file)
    assert after.stdout.startswith("coffeecup: 1 new alarm, 0 open") and "regression:" not in after.stdout


def test_notify_and_json_exclude_each_other(stored):
    assert run("check-history", stored, "--notify", "--json").exit_code == 2


def visible(page, folder, fragment):
    """The groups of metrics that a browser shows, by their attribute `hidden`, and the count of metrics beside them."""

    class Address:
        def as_uri(self):
            return page.as_uri() + fragment

    dom, console, _ = browse(Address(), folder, "--dump-dom")
    assert console == []
    groups = re.findall(r"<details[^>]*data-rows[^>]*>", dom)
    shown = [
        re.search('data-partition="([^"]*)" data-benchmark="([^"]*)"', one).groups()
        for one in groups
        if " hidden" not in one
    ]
    return shown, re.search('role="status">(.*?)</span>', dom)[1].partition(";")[0]


@needs_browser
def test_the_address_keeps_the_filter(written, tmp_path):
    assert CHROMIUM
    every = [("local:good", "b_eff"), ("local:slow", "b_eff"), ("local:good", "b_eff_io")]
    assert visible(written[0], tmp_path, "") == (every, "")
    assert visible(written[0], tmp_path, "#partition=local:good") == ([every[0], every[2]], "2 metrics")
    assert visible(written[0], tmp_path, "#partition=local:good&benchmark=b_eff") == ([every[0]], "1 metric")
    assert visible(written[0], tmp_path, "#overview") == (every, ""), "a link to a part of the page is no filter"
