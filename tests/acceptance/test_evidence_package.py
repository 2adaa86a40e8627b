# SPDX-License-Identifier: Apache-2.0
"""A package of evidence is verified on a machine without the site's files, and each way to forge one is refused with
its reason, although all its hashes are right."""

import errno
import hashlib
import json
import os
import re
import shutil
import subprocess
import tarfile
from pathlib import Path

import pytest
from commands import run, said
from contracts_made import begin, clause, contract, write_contract
from evidence_made import official_session
from logs_made import sha256
from test_baseline import accepted, near

RUN = "run-1/b_eff.jsonl"


def new_key(path):
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", path], check=True)
    return path


def sign(key, file):
    Path(f"{file}.sig").unlink(missing_ok=True)
    subprocess.run(
        ["ssh-keygen", "-q", "-Y", "sign", "-n", "coffeecup", "-f", key, file], check=True, capture_output=True
    )


@pytest.fixture(scope="module")
def packed(tmp_path_factory):
    """A signed acceptance of two sessions as a package; the site's files are gone."""
    folder = tmp_path_factory.mktemp("site")
    key, signers = new_key(folder / "centre"), folder / "signers"
    signers.write_text(f"a@centre {key.with_suffix('.pub').read_text()}")
    agreed = contract(clause(), signers={"file": str(signers), "sha256": sha256(signers)}, refused_runs=0)
    path = write_contract(folder, agreed)
    first = official_session(folder / "1", begin(path, "--key", key), [1000, 1001])
    second = official_session(folder / "2", begin(path, "--after", first, "--key", key), [1002, 1003])
    sign(key, second)
    kept = tmp_path_factory.mktemp("archive")
    words = ["accept", path, first, second, "-o", folder / "a.html", "--package", kept / "evidence.tar", "--sbom"]
    done = run(*words)
    assert done.exit_code == 0, done.output
    shutil.copy(path, kept / "contract.yaml")
    shutil.copy(key, kept / "centre")
    shutil.rmtree(folder)
    return kept


def verified(package, *contract):
    return run("accept", *contract, "--verify", package)


def test_a_package_is_verified_without_the_files_of_the_site(packed):
    done = verified(packed / "evidence.tar")
    assert done.exit_code == 0, done.output
    assert "Acceptance of the test system: pass" in said(done)
    assert "the package is intact and proves its result" in said(done)
    assert "The software bill was not compared" in said(done)


def test_a_package_that_is_not_there_is_named(tmp_path):
    done = verified(tmp_path / "none.tar")
    printed = re.sub(r"[\s│]", "", said(done))  # a long path is broken
    assert done.exit_code == 2 and f"{tmp_path}/none.tar:Nosuchfileordirectory" in printed and "Errno" not in printed


def test_sha256sum_verifies_the_files_of_a_package(packed, tmp_path):
    """As any reader of BagIt does: both manifests have the form of sha256sum."""
    with tarfile.open(packed / "evidence.tar") as archive:
        archive.extractall(tmp_path)
    for manifest in ("manifest-sha256.txt", "tagmanifest-sha256.txt"):
        subprocess.run(["sha256sum", "--check", "--strict", "--quiet", manifest], cwd=tmp_path / "evidence", check=True)
    assert (tmp_path / "evidence" / "bagit.txt").read_text().startswith("BagIt-Version: 1.0\n")


# --- forgeries --------------------------------------------------------------------------------------------------------


def changed(packed, tmp_path, change, manifests=True, order=lambda names: names):
    """A package after a change of its files, with manifests that fit."""
    with tarfile.open(packed / "evidence.tar") as archive:
        archive.extractall(tmp_path)
    bag = tmp_path / "evidence"
    change(bag)
    if manifests:
        files = sorted(file.relative_to(bag).as_posix() for file in (bag / "data").rglob("*") if file.is_file())
        (bag / "manifest-sha256.txt").write_text("".join(f"{sha256(bag / name)}  {name}\n" for name in files))
        tags = ("bag-info.txt", "bagit.txt", "manifest-sha256.txt")
        (bag / "tagmanifest-sha256.txt").write_text("".join(f"{sha256(bag / name)}  {name}\n" for name in tags))
    names = sorted(
        (file.relative_to(tmp_path).as_posix() for file in bag.rglob("*") if file.is_file()),
        key=lambda name: ("/data/" in name, name),
    )
    with tarfile.open(tmp_path / "evidence.tar", "w") as archive:
        for name in order(names):
            archive.add(tmp_path / name, name)
    return tmp_path / "evidence.tar"


def edit(file, before, after):
    text = file.read_bytes()
    assert before in text
    file.write_bytes(text.replace(before, after, 1))


def altered_log(bag):
    edit(bag / f"data/sessions/1/{RUN}", b'"elapsed_seconds"', b'"elapsed_seconds" ')


def altered_log_and_session(bag):
    """The session gets the log's new hash, but its signature is over the old one."""
    before = sha256(bag / f"data/sessions/1/{RUN}")
    altered_log(bag)
    after = sha256(bag / f"data/sessions/1/{RUN}")
    edit(bag / "data/sessions/1/session.json", before.encode(), after.encode())


def signed_again(bag):
    """The altered session is signed with a key of the forger."""
    altered_log_and_session(bag)
    sign(new_key(bag.parent / "forger"), bag / "data/sessions/1/session.json")


def signed_again_with_other_signers(bag):
    """And the signers are those of the forger; the contract states their hash."""
    signed_again(bag)
    (bag / "data/signers").write_text(f"a@centre {(bag.parent / 'forger.pub').read_text()}")


def without_a_session(bag):
    shutil.rmtree(bag / "data/sessions/1")


def ledger_in_another_order(bag):
    ledger = bag / "data/contract.acceptance.jsonl"
    ledger.write_bytes(b"".join(reversed(ledger.read_bytes().splitlines(keepends=True))))


def sessions_renumbered(bag):
    """Each is complete, and a reader who looks for the first one finds the second."""
    sessions = bag / "data/sessions"
    (sessions / "1").rename(sessions / "3")
    (sessions / "2").rename(sessions / "1")
    (sessions / "3").rename(sessions / "2")


def better_result(bag):
    edit(bag / "data/result/a.json", b'"value": 1001', b'"value": 2001')


def better_page(bag):
    edit(bag / "data/result/a.html", b"Acceptance of the test system", b"Acceptance of another system")


def better_notice(bag):
    """On the page, too."""
    edit(bag / "data/result/a.json", b'"notices": []', b'"notices": [\n    "Supervised by all."\n  ]')


def two_results(bag):
    """Readers take the first of two equal keys, or the last one."""
    edit(bag / "data/result/a.json", b'"result": "pass",', b'"result": "fail",\n  "result": "pass",')


def milder_contract(bag):
    edit(bag / "data/contract.yaml", b"floor: 1000", b"floor: 100")


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (altered_log, "the log was altered or replaced since the session"),
        (altered_log_and_session, "the signature of session.json by a@centre is not valid"),
        (signed_again, "the key that signed session.json is not one of those that the contract allows"),
        (signed_again_with_other_signers, "one of the two was altered"),
        (without_a_session, "Session 1, begun"),
        (ledger_in_another_order, "the ledger was altered"),
        (sessions_renumbered, "data/sessions/1/run-0/b_eff.jsonl is no part of this acceptance, or not in its place"),
        (better_result, "and the package states"),
        (better_notice, "notices is [], and the package states ['Supervised by all.']"),
        (two_results, "a.json is not as coffeecup writes it: two readers could see different results"),
        (better_page, "a.html is not the page of the result a.json"),
        (milder_contract, "the contract was changed after this acceptance had begun"),
        (lambda bag: (bag / "data/more").write_text("approved"), "data/more is no part of this acceptance"),
    ],
)
def test_a_forgery_with_right_hashes_is_refused(packed, tmp_path, change, reason):
    done = verified(changed(packed, tmp_path, change))
    assert done.exit_code == 2
    assert reason in said(done)


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (altered_log, f"data/sessions/1/{RUN} was altered"),
        (without_a_session, "data/sessions/1/run-0/b_eff.jsonl is missing"),
        (lambda bag: (bag / "data/more").write_text(""), "data/more is not in its manifest"),
        (lambda bag: edit(bag / "bag-info.txt", b"coffeecup", b"another"), "bag-info.txt was altered"),
        (lambda bag: (bag / "manifest-sha256.txt").unlink(), "manifest-sha256.txt is missing"),
    ],
)
def test_damage_is_named(packed, tmp_path, change, reason):
    done = verified(changed(packed, tmp_path, change, manifests=False))
    assert done.exit_code == 2
    assert reason in said(done)


@pytest.mark.parametrize("order", [lambda names: names[::-1], lambda names: [*names, names[-1]]])
def test_files_in_another_order_or_twice_are_refused(packed, tmp_path, order):
    done = verified(changed(packed, tmp_path, lambda bag: None, order=order))
    assert done.exit_code == 2
    assert "its files are not each once and in order" in said(done)


def test_a_package_that_cannot_be_written_leaves_the_earlier_one(tmp_path, monkeypatch):
    def full(*_):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    path = write_contract(tmp_path, contract(clause()))
    session = official_session(tmp_path / "session", begin(path), [1000])
    (tmp_path / "evidence.tar").write_text("earlier")
    monkeypatch.setattr(tarfile.TarFile, "addfile", full)
    done = run("accept", path, session, "-o", tmp_path / "a.html", "--package", tmp_path / "evidence.tar")
    assert done.exit_code == 2 and "No space left on device" in said(done)
    assert (tmp_path / "evidence.tar").read_text() == "earlier" and not [*tmp_path.glob(".*")]


@pytest.mark.parametrize("part", [0.3, 0.9])
def test_a_package_that_is_cut_off_is_refused(packed, tmp_path, part):
    content = (packed / "evidence.tar").read_bytes()
    (tmp_path / "cut.tar").write_bytes(content[: int(part * len(content))])
    done = verified(tmp_path / "cut.tar")
    assert done.exit_code == 2
    assert "it is cut off" in said(done) or "was altered" in said(done) or "is missing" in said(done)


@pytest.mark.parametrize("end", [lambda tar: tar[:-512], lambda tar: 2 * tar, lambda tar: tar[:-1] + b"x"])
def test_a_package_ends_where_its_files_end(packed, tmp_path, end):
    """`tar --ignore-zeros` would go on to a second archive behind the first."""
    (tmp_path / "other.tar").write_bytes(end((packed / "evidence.tar").read_bytes()))
    done = verified(tmp_path / "other.tar")
    assert done.exit_code == 2
    assert "it is cut off, or something follows its last file" in said(done)


def test_a_pdf_that_cannot_be_compared_is_named(packed, tmp_path):
    done = verified(changed(packed, tmp_path, lambda bag: (bag / "data/result/a.pdf").write_text("")))
    assert done.exit_code == 0
    assert "The PDF was not compared with the page" in said(done)


def test_links_are_refused(packed, tmp_path):
    package = changed(packed, tmp_path, lambda bag: None)
    with tarfile.open(package, "a") as archive:
        link = tarfile.TarInfo("evidence/data/z")
        link.type, link.linkname = tarfile.SYMTYPE, "/etc/passwd"
        archive.addfile(link)
    assert "is not a plain file" in said(verified(package))


def test_files_outside_of_the_package_are_refused(packed, tmp_path):
    package = changed(packed, tmp_path, lambda bag: None)
    with tarfile.open(package, "a") as archive:
        archive.addfile(tarfile.TarInfo("evidence/data/z/../../../../escaped"))
    assert "is outside of its folder" in said(verified(package))


def test_the_contract_that_the_verifier_has_must_be_the_one_of_the_package(packed, tmp_path):
    """Who forges all of a package, with a contract and signers of his own, is refused by this alone."""
    assert verified(packed / "evidence.tar", packed / "contract.yaml").exit_code == 0
    (tmp_path / "other.yaml").write_text((packed / "contract.yaml").read_text().replace("1000", "1001"))
    done = verified(packed / "evidence.tar", tmp_path / "other.yaml")
    assert done.exit_code == 2
    assert "it is about another contract" in said(done)


def test_a_failed_acceptance_is_verified_and_stays_failed(tmp_path):
    path = write_contract(tmp_path, contract(clause(floor=2000, repetitions=1)))
    report = official_session(tmp_path / "1", begin(path), [1000])
    run("accept", path, report, "-o", tmp_path / "a.html", "--package", tmp_path / "evidence.tar")
    done = verified(tmp_path / "evidence.tar")
    assert done.exit_code == 1
    assert "Nothing is signed" in said(done)
    content = json.loads(run("accept", "--verify", tmp_path / "evidence.tar", "--json").stdout)
    assert content["result"] == "fail"


def test_a_reason_why_a_run_was_refused_is_compared(tmp_path):
    """It may name a path, but that of the session, which is the same everywhere."""
    path = write_contract(tmp_path, contract(clause(repetitions=2)))
    report = official_session(tmp_path / "1", begin(path), [1000, 1001, 1002])
    (tmp_path / "1" / "run-0" / "b_eff.jsonl").unlink()
    altered = tmp_path / "1" / RUN
    altered.write_bytes(altered.read_bytes() + b" ")
    run("accept", path, report, "-o", tmp_path / "a.html", "--package", tmp_path / "evidence.tar")
    assert verified(tmp_path / "evidence.tar").exit_code == 1

    def milder(bag):
        edit(bag / "data/result/a.json", b"the log was altered or replaced", b"the operator stopped it")

    (tmp_path / "forged").mkdir()
    done = verified(changed(tmp_path, tmp_path / "forged", milder))
    assert done.exit_code == 2 and "text is the log was altered or replaced since the session" in said(done)


def test_a_package_has_the_evidence_of_its_baseline(tmp_path):
    site = tmp_path / "site"
    site.mkdir()
    accepted(site / "first", contract(clause(floor=900)), near(1000))
    file = site / "first" / "acceptance.json"
    baseline = {"file": str(file), "sha256": sha256(file), "at_least": 0.9}
    accepted(site / "second", contract(clause(floor=1), baseline=baseline), near(950))
    folder = site / "second"
    words = ["accept", folder / "contract.yaml", folder / "session.json", "-o", folder / "acceptance.html"]
    assert run(*words, "--package", tmp_path / "evidence.tar").exit_code == 0
    shutil.rmtree(site)
    done = verified(tmp_path / "evidence.tar")
    assert done.exit_code == 0, done.output


def test_missing_runs_are_counted_before_their_session_is_signed(tmp_path):
    """`begin --after` signs it, with which one continues only if runs are missing. Without a signature, nothing is
    proven."""
    key, signers = new_key(tmp_path / "centre"), tmp_path / "signers"
    signers.write_text(f"a@centre {key.with_suffix('.pub').read_text()}")
    agreed = contract(clause(repetitions=3), signers={"file": str(signers), "sha256": sha256(signers)})
    path = write_contract(tmp_path, agreed)
    report = official_session(tmp_path / "1", begin(path, "--key", key), [1000, 1001])
    assert "network: 1 run is missing: " in said(run("accept", "--dry-run", path, report))
    done = run("accept", path, report, "-o", tmp_path / "a.html")
    assert done.exit_code == 1
    assert "session.json is not signed" in said(done)


def test_the_same_acceptance_has_the_same_evidence(tmp_path):
    """Times and owners of files are not in a package."""
    path = write_contract(tmp_path, contract(clause(repetitions=1)))
    report = official_session(tmp_path / "1", begin(path), [1000])
    hashes = set()
    for _ in range(2):
        run("accept", path, report, "-o", tmp_path / "a.html", "--package", tmp_path / "e.tar")
        with tarfile.open(tmp_path / "e.tar") as archive:
            names = [member.name for member in archive if "/result/" not in member.name and "/data/" in member.name]
            text = b"".join(archive.extractfile(name).read() for name in names)
            assert {(member.mtime, member.uid, member.uname) for member in archive} == {(0, 0, "")}
        hashes.add(hashlib.sha256(text).hexdigest())
    assert len(hashes) == 1
