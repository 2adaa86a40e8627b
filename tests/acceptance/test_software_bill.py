# SPDX-License-Identifier: Apache-2.0
"""The software bill of materials of an acceptance: valid CycloneDX, and honest about what it does not know. Packages
are made by Debian's own tools, with content that the test knows."""

import base64
import hashlib
import json
import platform
import shutil
import subprocess
from unittest.mock import Mock

import evidence_made
import pytest
from commands import run
from cyclonedx.schema import SchemaVersion
from cyclonedx.validation.json import JsonStrictValidator
from kernel_runs import of_kind
from logs_made import sha256
from packageurl import PackageURL

from coffeecup.postprocess.acceptance.packages import NO_PACKAGE, Package, distribution, lines_of, owned, packages_of

HERE = "this machine has another file of this name"


def key(path):
    return str(path), sha256(path)


# --- packages ---------------------------------------------------------------------------------------------------------

NAME, VERSION = "libcup++1", "1:2.3~rc1+b4"


@pytest.fixture
def debian(tmp_path, monkeypatch):
    """A library that Debian's package manager installed with a text, by its own records in this folder."""
    if not shutil.which("dpkg-deb"):
        pytest.skip("no dpkg-deb on this machine: Debian's packages cannot be made here")
    tree, admin, library = tmp_path / "tree", tmp_path / "admin", tmp_path / "lib" / "libcup.so.1"
    for folder in (tree / "DEBIAN", tree / library.parent.relative_to("/"), admin / "updates", admin / "info"):
        folder.mkdir(parents=True)
    (tree / library.relative_to("/")).write_text("a library")
    (tree / library.with_name("text").relative_to("/")).write_text("a text")
    md5 = hashlib.md5(b"a library", usedforsecurity=False).hexdigest()
    texts = hashlib.md5(b"a text", usedforsecurity=False).hexdigest(), library.with_name("text").relative_to("/")
    (tree / "DEBIAN" / "md5sums").write_text(f"{md5}  {library.relative_to('/')}\n{'  '.join(map(str, texts))}\n")
    (tree / "DEBIAN" / "control").write_text(
        f"Package: {NAME}\nVersion: {VERSION}\nArchitecture: all\nMaintainer: nobody\nDescription: cup\n"
    )
    for name in ("status", "available"):
        (admin / name).touch()
    file = tmp_path / "cup.deb"
    subprocess.run(["dpkg-deb", "--build", "--root-owner-group", tree, file], check=True, capture_output=True)
    install = ["dpkg", f"--admindir={admin}", "--force-not-root", "--force-bad-path", "--log=/dev/null", "-i", file]
    subprocess.run(install, check=True, capture_output=True)
    monkeypatch.setenv("DPKG_ADMINDIR", str(admin))
    return library


def test_a_file_belongs_to_the_debian_package_that_installed_it(debian):
    [found] = packages_of([key(debian)]).values()
    assert (found.manager, found.name, found.version, found.build) == ("deb", NAME, VERSION, "all")


def test_a_file_that_was_replaced_after_the_installation_belongs_to_no_package(debian):
    debian.write_text("another library")
    [reason] = packages_of([key(debian)]).values()
    assert reason == f"the file was changed after {NAME} {VERSION} had been installed"


@pytest.mark.parametrize("change", [lambda text: text.write_text("another"), lambda text: text.unlink()])
def test_another_file_of_the_package_may_be_changed_or_missing(debian, change):
    change(debian.with_name("text"))
    [found] = packages_of([key(debian)]).values()
    assert (found.name, found.vendor) == (NAME, platform.freedesktop_os_release()["ID"])


def test_the_owner_is_the_package_that_has_the_same_file(monkeypatch, tmp_path):
    """Lines as dpkg-query --search prints them. Debian knows files of /usr/lib by the link /lib; a diversion is no
    package, and a file of another name is not the one in question."""
    release, other, missing = "/usr/lib/os-release", tmp_path / "other: file", str(tmp_path / "missing")
    other.touch()
    lines = [f"cup: {release}x", "one:amd64, two: /lib/os-release", f"diversion by cup from: {release}"]
    lines += [f"three: {other}", f"four: {missing}"]
    searched = []
    monkeypatch.setattr("coffeecup.postprocess.acceptance.packages.lines_of", lambda *w: searched.extend(w) or lines)
    assert list(owned([])) == []
    assert dict(owned([release, str(other), missing])) == {release: "one:amd64", str(other): "three"}
    assert searched == ["dpkg-query", "--search", release, "/lib/os-release", str(other), missing]


@pytest.mark.parametrize(
    ("command", "lines"),
    [
        (("sh", "-c", 'echo "$LC_ALL $CUP"; echo end; exit 1'), ["C.UTF-8 yes", "end"]),
        (("printf", "a\\377"), ["a\ufffd"]),
        (("no-such-program",), []),
        (("a\0b",), []),
    ],
)
def test_lines_of_a_program(monkeypatch, command, lines):
    """Its messages are not translated, its other settings stay."""
    monkeypatch.setenv("CUP", "yes")
    assert lines_of(*command) == lines


def test_the_distribution_is_the_one_that_the_system_states(monkeypatch):
    for stated, expected in (({"return_value": {"ID": "ubuntu"}}, "ubuntu"), ({"side_effect": OSError}, "debian")):
        monkeypatch.setattr(platform, "freedesktop_os_release", Mock(**stated))
        assert distribution() == expected


def test_a_path_proves_nothing_without_the_hash_of_the_log(debian, tmp_path):
    """The log is of another machine, or the file was replaced since."""
    other, gone, own = (str(debian), "0" * 64), (str(tmp_path / "gone.so"), "0" * 64), tmp_path / "own.so"
    own.write_text("nobody's")
    unread = (str(debian), None)
    assert packages_of([other, gone, key(own), unread]) == {
        other: HERE,
        gone: "this machine has no such file",
        key(own): NO_PACKAGE,
        unread: "the log does not state its hash",
    }


def spack_prefix(folder, content):
    """As Spack 1.0 leaves it: the specification, and the files with their SHA-1 in base 32."""
    library, records = folder / "lib" / "libfftw3.so.3", folder / ".spack"
    for made in (library.parent, records):
        made.mkdir(parents=True)
    library.write_bytes(content)
    nodes = [
        {"name": "fftw", "version": "3.3.10", "namespace": "builtin", "hash": "abc", "dependencies": []},
        {"name": "glibc", "version": "2.36", "namespace": "builtin", "hash": "def"},
    ]
    (records / "spec.json").write_text(json.dumps({"spec": {"_meta": {"version": 5}, "nodes": nodes}}))
    digest = base64.b32encode(hashlib.sha1(content, usedforsecurity=False).digest()).decode()
    (records / "install_manifest.json").write_text(json.dumps({str(library): {"mode": 33188, "hash": digest}}))
    return library


def test_a_file_belongs_to_the_spack_package_whose_prefix_contains_it(tmp_path):
    library = spack_prefix(tmp_path / "fftw-3.3.10-abc", b"fftw")
    assert packages_of([key(library)]) == {key(library): Package("spack", "builtin", "fftw", "3.3.10", "abc")}
    library.write_bytes(b"faster")
    assert packages_of([key(library)]) == {key(library): "the file was changed after fftw 3.3.10 had been installed"}


@pytest.mark.parametrize(
    ("record", "content", "error"),
    [
        ("install_manifest.json", "[]", "TypeError"),
        ("install_manifest.json", "{}", "KeyError"),
        ("install_manifest.json", "{", "JSONDecodeError"),
        ("spec.json", '{"spec": {"nodes": []}}', "IndexError"),
        ("install_manifest.json", None, "FileNotFoundError"),
    ],
)
def test_records_of_spack_that_do_not_state_the_file_prove_nothing(tmp_path, record, content, error):
    prefix = tmp_path / "fftw"
    library, path = spack_prefix(prefix, b"fftw"), prefix / ".spack" / record
    path.unlink()
    if content:
        path.write_text(content)
    assert packages_of([key(library)]) == {key(library): f"Spack's records in {prefix} cannot be read: {error}"}


def test_a_real_kernel_loaded_the_packages_that_its_build_requires(openmpi, tmp_path):
    short = ("--time-budget", "1", "--patterns", "ping_pong", "--memory-per-process", "1MiB")
    done = openmpi.run(2, "b_eff", "--log", tmp_path / "log.jsonl", *short)
    assert done.returncode == 0, done.stderr
    [record] = of_kind(tmp_path / "log.jsonl", "files")
    system = platform.freedesktop_os_release()
    if (system["ID"], system.get("VERSION_ID")) != ("debian", "12"):
        pytest.skip("the names of the packages are known for Debian 12 only")
    files = [(file["path"], file["sha256"]) for file in record["files"]]
    found = packages_of(files)
    owners = {owner.name for owner in found.values() if owner != NO_PACKAGE}
    assert {"libopenmpi3", "libjansson4", "libssl3", "libc6"} <= owners
    assert found[files[0]] == NO_PACKAGE  # the kernel itself was built here


# --- the bill ---------------------------------------------------------------------------------------------------------


@pytest.fixture
def bill(debian, tmp_path, monkeypatch):
    """Of an acceptance whose log has a program, a library of Debian, one of Spack and an unknown one."""
    spack = spack_prefix(tmp_path / "fftw-3.3.10-abc", b"fftw")
    files = [
        {"role": "program", "path": "/opt/bin/kernel", "sha256": "0" * 64},
        {"role": "library", "path": str(debian), "sha256": sha256(debian)},
        {"role": "library", "path": str(spack), "sha256": sha256(spack)},
        {"role": "library", "path": "/opt/lib/libunknown.so", "sha256": "1" * 64},
        {"role": "library", "path": "/opt/lib/libunread.so", "sha256": None},
        {"role": "input", "path": "/home/hints.cfg", "sha256": "2" * 64},
    ]
    agreed = evidence_made.contract(tmp_path, 1)
    report = evidence_made.evidence(tmp_path, agreed, files=files)
    done = run("accept", agreed, report, "-o", tmp_path / "acceptance.html", "--sbom")
    assert done.exit_code == 0, done.output
    text = (tmp_path / "acceptance.cdx.json").read_text()
    return text, json.loads((tmp_path / "acceptance.json").read_text())


def test_the_bill_is_valid_cyclonedx(bill):
    assert JsonStrictValidator(SchemaVersion.V1_6).validate_str(bill[0]) is None


def test_the_bill_names_what_is_known_and_says_what_is_not(bill, debian):
    components = {component["name"]: component for component in json.loads(bill[0])["components"]}
    assert set(components) == {"b_eff", NAME, "fftw", "libunknown.so", "libunread.so"}
    program, package = components["b_eff"], components[NAME]
    assert (program["type"], program["version"]) == ("application", "0.1.0")
    assert program["hashes"] == [{"alg": "SHA-256", "content": "0" * 64}]
    vendor = platform.freedesktop_os_release()["ID"]
    assert package["purl"] == PackageURL("deb", vendor, NAME, VERSION, {"arch": "all"}).to_string()
    [file] = package["components"]
    assert (file["name"], file["hashes"][0]["content"]) == ("libcup.so.1", sha256(debian))
    assert components["fftw"]["properties"] == [{"name": "coffeecup:spack_hash", "value": "abc"}]
    unknown = {"libunknown.so": "this machine has no such file", "libunread.so": "the log does not state its hash"}
    for name, reason in unknown.items():
        assert {"name": "coffeecup:no_package", "value": reason} in components[name]["properties"]
    assert "hashes" not in components["libunread.so"]


def test_the_bill_says_which_program_loaded_what(bill):
    content = json.loads(bill[0])
    [loaded] = content["dependencies"]
    by_ref = {component["bom-ref"]: component["name"] for component in content["components"]}
    assert by_ref[loaded["ref"]] == "b_eff"
    assert {by_ref[ref] for ref in loaded["dependsOn"]} == {NAME, "fftw", "libunknown.so", "libunread.so"}


def test_the_result_states_the_hash_of_the_bill(bill):
    text, result = bill
    counts = {"programs": 1, "packages": 2, "files_without_package": 2}
    hash_ = sha256(text.encode())
    assert result["software_bill"] == {"file": "acceptance.cdx.json", "sha256": hash_} | counts


def test_the_bill_is_of_runs_that_count(tmp_path):
    agreed = evidence_made.contract(tmp_path, 1)
    agreed.write_text(agreed.read_text().replace("x0417", "node00"))
    report = evidence_made.evidence(tmp_path, agreed)
    done = run("accept", agreed, report, "-o", tmp_path / "acceptance.html", "--sbom")
    assert done.exit_code == 1 and len(json.loads((tmp_path / "acceptance.json").read_text())["logs"]) == 1
    text = (tmp_path / "acceptance.cdx.json").read_text()
    assert JsonStrictValidator(SchemaVersion.V1_6).validate_str(text) is None
    assert json.loads(text)["components"] == []
