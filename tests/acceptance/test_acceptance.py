# SPDX-License-Identifier: Apache-2.0
"""Acceptance: every clause of a contract gets the verdict that the runs at hand prove, and the page says why."""

import json
import re
import shutil
from pathlib import Path

import pytest
import yaml
from commands import run
from contracts_made import accept, bound, clause, contract, evaluate, real, sessions
from logs_made import sha256
from pages import Page, accessible, browse, needs_browser
from pypdf import PdfReader

__all__ = ["real", "sessions"]  # fixtures


def by_value(clause):
    return {round(entry["value"]) if entry["value"] else entry["value"]: entry for entry in clause["runs"]}


# --- verdicts ---------------------------------------------------------------------------------------------------------


def disk(**changed):
    return clause(**{"benchmark": "b_eff_io", "metric": "b_eff_io", "floor": 1, "repetitions": 1} | changed)


def memory_time(**changed):
    """b_eff = 1000 to 1060 MByte/s and 1 GiB for each of two processes: 2 * 2**30 / 1.01e9 s."""
    return clause(**{"metric": "time_to_communicate_total_memory", "unit": "s", "floor": None} | changed)


def without(node, reason):
    return [{"node": node, "reason": reason}]


TOTAL = 2 * 2**30 / 1.01e9
CLAUSES = [
    # of what counts, 1000, 1010 and 1060: median 1010, mean 1023.3
    (clause(clause="median at its floor", floor=1010), "pass", 1010),
    (clause(clause="median below the floor", floor=1010.001), "fail", 1010),
    (clause(clause="mean", statistic="mean", floor=1023), "pass", 3070 / 3),
    (clause(clause="every run", statistic="minimum", floor=1000), "pass", 1000),
    (clause(clause="best run", statistic="maximum", floor=1061), "fail", 1060),
    (clause(clause="between", floor=1000, ceiling=1020), "pass", 1010),
    (clause(clause="too much", floor=1000, ceiling=1009), "fail", 1010),
    (memory_time(clause="time", ceiling=2.2), "pass", TOTAL),
    (memory_time(clause="time, too long", ceiling=2.1), "fail", TOTAL),
    (clause(clause="more runs", repetitions=4), "not proven", None),
    (clause(clause="other size", size={"processes": 64}), "not proven", None),
    (clause(clause="on one host", size={"processes": 2, "hosts": 1}, floor=1), "pass", 1010),
    (clause(clause="on two hosts", size={"processes": 2, "hosts": 2}), "not proven", None),
    (clause(clause="excluded", excluded_nodes=without("node00", "its adapter is broken")), "not proven", None),
    (clause(clause="another excluded", excluded_nodes=without("node17", "spare"), floor=1), "pass", 1010),
    (disk(clause="disk", floor=99.9, ceiling=100.1), "pass", 100),
    (disk(clause="disk, caches too", floor=299, repetitions=2, statistic="mean", official=False), "pass", 300),
    (disk(clause="disk twice", repetitions=2), "not proven", None),
    (disk(clause="this disk", file_system={"directory": "/scratch", "type": "lustre"}), "pass", 100),
    (disk(clause="another disk", file_system={"directory": "/scr"}), "not proven", None),
    (disk(clause="a disk of another type", file_system={"type": "gpfs"}), "not proven", None),
]


@pytest.fixture(scope="module")
def judged(sessions, tmp_path_factory):
    folder = tmp_path_factory.mktemp("judged")
    entries = [{key: value for key, value in entry.items() if value is not None} for entry, _, _ in CLAUSES]
    done, result = accept(folder, contract(*entries), sessions / "made", sessions / "disk")
    return done, {entry["clause"]: entry for entry in result["clauses"]}, result, folder


@pytest.mark.parametrize(("entry", "outcome", "value"), CLAUSES, ids=[entry["clause"] for entry, _, _ in CLAUSES])
def test_each_kind_of_clause_gets_the_right_verdict(judged, entry, outcome, value):
    found = judged[1][entry["clause"]]
    assert found["result"] == outcome, found["sentence"]
    assert found["value"] == (None if value is None else pytest.approx(value, rel=1e-3))


def test_one_failed_clause_fails_the_contract_and_the_exit_code_says_so(judged):
    done, _, result, _ = judged
    assert (done.exit_code, result["result"]) == (1, "fail")
    assert "Acceptance of the test system: fail" in done.stdout
    assert all(len(line) <= 80 for line in done.stdout.splitlines())


def test_altered_truncated_and_foreign_logs_are_refused_and_told_apart(judged, sessions):
    runs = judged[1]["median at its floor"]["runs"]
    assert len(runs) == 6 and sum(run["counts"] for run in runs) == 3
    told = {tuple(refusal["key"] for refusal in run["refusals"]): run for run in runs if not run["counts"]}
    assert set(told) == {("kernel_version",), ("other_log", "differs"), ("other_log", "incomplete")}
    assert round(told["kernel_version",]["value"]) == 2000
    assert "0.0.9" in told["kernel_version",]["refusals"][0]["text"]
    altered, truncated = told["other_log", "differs"], told["other_log", "incomplete"]
    now = Path(altered["log"]).read_bytes()
    assert altered["sha256_now"] == sha256(now)
    line = now.index(b'"ring-1", "method": "sendrecv", "message_bytes": 8388608')
    end = now.index(b"\n", line)
    before = sha256(now[:line] + now[line:end].replace(b"0.005492", b"0.005592") + now[end:])
    assert altered["sha256_recorded"] == before != altered["sha256_now"]
    assert before in altered["refusals"][0]["text"]
    assert truncated["sha256_recorded"] != truncated["sha256_now"]
    assert truncated["value"] is None and "cut off" in truncated["refusals"][1]["text"]


def test_a_cache_affected_run_is_refused_for_an_official_clause_only(judged):
    runs = by_value(judged[1]["disk"])
    assert runs[100]["counts"] and not runs[500]["counts"]
    assert [refusal["key"] for refusal in runs[500]["refusals"]] == ["cache_affected"]
    assert all(run["counts"] for run in judged[1]["disk, caches too"]["runs"])


def test_real_short_runs_count_only_where_official_ones_are_not_asked_for(real):
    done, result = evaluate(real, real / "session")
    assert done.exit_code == 1 and result["gaps"] == []
    anyway, official, _ = result["clauses"]
    assert (anyway["result"], anyway["counted"]) == ("pass", 3), anyway
    assert len({run["sha256_now"] for run in anyway["runs"]}) == 3
    values = [run["value"] for run in anyway["runs"]]
    assert anyway["value"] == sorted(values)[1] and len(set(values)) == 3
    assert (official["result"], official["counted"]) == ("not proven", 0)
    for refused in official["runs"]:
        assert {"memory_by_option", "methods"} <= {refusal["key"] for refusal in refused["refusals"]}
        assert all(
            refusal["text"] in done.stdout.replace("\n", " ") or refusal["text"].split()[-1] in done.stdout
            for refusal in refused["refusals"]
        )


def test_a_sequential_clause_is_decided_by_the_first_real_runs(real):
    """Two runs on one side decide the median of three."""
    _, result = evaluate(real, real / "session")
    early = result["clauses"][2]
    assert early["result"] == "pass"
    assert "Decided by the first 2 runs of at most 3, 1 later run not used." in early["sentence"]
    first, second, _ = [run["value"] for run in early["runs"]]
    assert early["value"] == pytest.approx((first + second) / 2, rel=1e-12)


def test_the_same_session_named_twice_proves_no_more(sessions, tmp_path):
    [made] = bound(tmp_path, contract(clause(repetitions=4)), sessions / "made")
    copy = tmp_path / "copy"
    shutil.copytree(made, copy)
    report = json.loads((copy / "session.json").read_text())
    report["session_info"]["uuid"] = "another"
    for case in report["runs"][0]["testcases"]:
        case["uuid"] += "-again"
    (copy / "session.json").write_text(json.dumps(report))
    _, result = evaluate(tmp_path, made, made / "session.json", copy)
    [found] = result["clauses"]
    assert (found["result"], found["counted"], len(result["sessions"])) == ("not proven", 3, 2)
    duplicates = [refusal for run in found["runs"] for refusal in run["refusals"] if refusal["key"] == "duplicate"]
    assert len(duplicates) == 4  # the one of another kernel too
    refused, gap = result["gaps"]
    assert refused.startswith("9 runs refused, 4 allowed: ")
    assert gap.startswith("Session 1, begun ") and "was run 2 times" in gap


def test_a_value_that_only_the_session_holds_is_refused(sessions, tmp_path):
    [made] = bound(tmp_path, contract(clause(statistic="maximum")), sessions / "made")
    report = (made / "session.json").read_text()
    [(old, _)] = re.findall(r'("local:default:b_eff": \[\s*(1060|1059.99)[\d.]*)', report)
    (made / "session.json").write_text(report.replace(old, old.rpartition("1")[0] + "2060"))
    _, result = evaluate(tmp_path, made)
    [found] = result["clauses"]
    assert (found["result"], found["counted"]) == ("not proven", 2)
    [told] = by_value(found)[1060]["refusals"]
    assert told == {"key": "differs", "text": "the session reports other values than the log yields for b_eff"}


def test_a_session_that_was_moved_has_its_evidence_in_its_logs_and_none_without_them(sessions, tmp_path):
    [made] = bound(tmp_path, contract(clause(floor=1010)), sessions / "made")
    report = (made / "session.json").read_text().replace(str(made), str(tmp_path / "gone"))
    (made / "session.json").write_text(report)
    [found] = evaluate(tmp_path, made)[1]["clauses"]
    assert found["result"] == "pass" and all(Path(run["log"]).is_relative_to(made) for run in found["runs"])
    shutil.rmtree(made / "output")
    [found] = evaluate(tmp_path, made)[1]["clauses"]
    assert found["result"] == "not proven"
    assert all("missing" in {refusal["key"] for refusal in run["refusals"]} for run in found["runs"])


# --- what is written --------------------------------------------------------------------------------------------------


def test_page_and_result_name_the_hashes_of_contract_result_sessions_and_logs(judged):
    _, _, result, folder = judged
    written = (folder / "result" / "acceptance.json").read_bytes()
    agreed = (folder / "contract.yaml").read_bytes()
    words = Page((folder / "result" / "acceptance.html").read_text()).words
    assert result["contract"]["sha256"] == sha256(agreed)
    reports = (folder / "bound").glob("*/session.json")
    assert {session["file_sha256"] for session in result["sessions"]} == {sha256(path) for path in reports}
    [first] = [run for run in result["clauses"][0]["runs"] if round(run["value"] or 0) == 1000]
    hashes = [sha256(data) for data in (agreed, written, Path(first["log"]).read_bytes())]
    assert all(one in words for one in (*hashes, *(session["file_sha256"] for session in result["sessions"])))
    assert "its adapter is broken" in words and "Signature" in words and "benchmark: b_eff_io" in words
    for clause_ in result["clauses"]:
        assert clause_["sentence"] in words
        for judged_run in clause_["runs"]:
            assert all(" ".join(refusal["text"].split()) in words for refusal in judged_run["refusals"])


def test_the_page_loads_nothing_and_is_accessible(judged):
    page = Page((judged[3] / "result" / "acceptance.html").read_text())
    accessible(page)
    assert all(re.match(r"#|data:,$", attributes.get("href", "#")) for _, attributes in page.tags)


@needs_browser
def test_a_browser_shows_the_page_without_complaint_and_prints_it(judged, sessions, tmp_path):
    _, console, _ = browse(judged[3] / "result" / "acceptance.html", tmp_path, "--dump-dom")
    assert console == []
    done, _ = accept(tmp_path, contract(clause(floor=1)), sessions / "made", options=["--pdf"])
    assert done.exit_code == 0
    pdf = (tmp_path / "result" / "acceptance.pdf").read_bytes()
    assert pdf.startswith(b"%PDF") and len(pdf) > 20_000
    agreed = sha256(tmp_path / "contract.yaml")
    pages = [page.extract_text() for page in PdfReader(tmp_path / "result" / "acceptance.pdf").pages]
    assert len(pages) > 1 and all(f"contract{agreed}" in "".join(text.split()) for text in pages)
    assert all(f"{number} / {len(pages)}" in text for number, text in enumerate(pages, 1))
    assert "Passed" in pages[0] and "Signature" in pages[0]


def test_without_a_browser_a_pdf_is_refused_before_anything_is_written(sessions, tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    done, result = accept(tmp_path, contract(clause()), sessions / "made", options=["--pdf"])
    assert done.exit_code == 2 and "chromium" in done.stderr and result is None


def test_hostile_text_of_a_contract_stays_text(sessions, tmp_path):
    hostile = "<script>alert(1)</script>{{ 7*7 }}\x1b[2J&\"'"
    stated = clause(clause=hostile, excluded_nodes=without(hostile, hostile))
    done, _ = accept(tmp_path, contract(stated, contract=hostile, parties=[hostile]), sessions / "made")
    page = (tmp_path / "result" / "acceptance.html").read_text()
    assert "<script" not in page and "\x1b" not in page + done.stdout and "49" not in Page(page).words.split()


@pytest.mark.parametrize(
    "arguments",
    [
        "{folder}/none.yaml {made}",
        "{folder}/bytes.yaml {made}",
        "{folder} {made}",
        "{folder}/good.yaml",
        "{folder}/good.yaml {folder}",
        "{folder}/good.yaml {folder}/good.yaml",
        "{folder}/good.yaml {made} -o {folder}/page.pdf",
        "{folder}/good.yaml {made} -o {folder}/good.yaml/page.html",
    ],
)
def test_wrong_usage_exits_2_with_one_hint_and_writes_nothing(sessions, tmp_path, arguments):
    (tmp_path / "good.yaml").write_text(yaml.safe_dump(contract(clause())))
    (tmp_path / "bytes.yaml").write_bytes(b"\xff\xfe")
    done = run("accept", *arguments.format(folder=tmp_path, made=sessions / "made").split())
    assert done.exit_code == 2 and "Traceback" not in done.output
    assert {path.name for path in tmp_path.iterdir()} == {"good.yaml", "bytes.yaml"}
