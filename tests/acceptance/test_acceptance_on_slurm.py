# SPDX-License-Identifier: Apache-2.0
"""A whole acceptance as a normal user on a real Slurm: the contract is begun, jobs run, the session is signed, and the
verdict becomes a PDF. OpenSSH verifies the signatures on its own."""

import json
import os
import pwd
import shutil
import subprocess
import tempfile
from pathlib import Path

import pytest
import slurm_made
import yaml
from builds import ROOT, run
from conftest import CHECKS, COFFEECUP, REFRAME
from contracts_made import NONCE, clause, contract
from pages import needs_browser

pytestmark = [pytest.mark.prove, needs_browser]
SIGNER = "acceptance@centre"


class User:
    """Runs commands as a normal user in a home directory; the user may read what root may, such as a Python below
    /root."""

    def __init__(self, home, environment):
        user = pwd.getpwnam(slurm_made.USER)
        self.home = home
        self.drop = ["setpriv", f"--reuid={user.pw_uid}", f"--regid={user.pw_gid}", "--clear-groups"]
        self.drop += ["--inh-caps=+dac_read_search", "--ambient-caps=+dac_read_search"]
        who = dict.fromkeys(("USER", "LOGNAME"), slurm_made.USER)
        self.environment = environment | who | {"HOME": str(home), "PATH": os.environ["PATH"]}

    def __call__(self, *command, **environment):
        done = run([*self.drop, *map(str, command)], cwd=self.home, env=self.environment | environment)
        assert done.returncode == 0, f"{command}\n{done.stdout}{done.stderr}"
        return done.stdout


@pytest.fixture(scope="module")
def user(openmpi):
    if reason := slurm_made.missing():
        pytest.skip(reason)
    with tempfile.TemporaryDirectory(prefix="coffeecup-") as name:
        folder = Path(name)
        folder.chmod(0o755)
        home = folder / "home"
        home.mkdir()
        shutil.chown(home, slurm_made.USER)
        with slurm_made.slurm(folder / "slurm", nodes=2, cores=2) as slurm:
            slurm_made.settings(slurm, home)
            yield User(home, slurm.environment)


def source_sha256():
    command = "git ls-files --cached --others --exclude-standard '*.c' '*.h' '*.cmake' '*CMakeLists.txt' '*.cfg'"
    command += " | LC_ALL=C sort | xargs sha256sum | sha256sum"
    done = subprocess.run(["bash", "-c", command], cwd=ROOT / "kernels", capture_output=True, text=True, check=True)
    return done.stdout.split()[0]


def agree(user):
    """A key of the centre, who signs, and a contract on short runs on two nodes."""
    user("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", "centre")
    (user.home / "signers").write_text(f"{SIGNER} {(user.home / 'centre.pub').read_text()}")
    size = {"processes": 4, "hosts": 2}
    measured = {"benchmark": "ftio", "metric": "mflops", "unit": "Mflop/s", "floor": 1e-6, "official": False}
    asked = clause(system="toy", partition="mpirun", size=size, repetitions=2, **measured)
    signers = {"file": "signers", "sha256": user("sha256sum", "signers").split()[0]}
    agreed = contract(asked, software={"source_sha256": source_sha256()}, signers=signers)
    (user.home / "contract.yaml").write_text(yaml.safe_dump(agreed))


def test_an_acceptance_from_its_beginning_to_the_signed_pdf(user, openmpi):
    agree(user)
    nonce = user(COFFEECUP, "accept", "begin", "contract.yaml", "--key", "centre").strip().partition("=")[2]
    user(
        *(*REFRAME, "-C", "toy.py", "-c", CHECKS, "-r", "--system=toy:mpirun"),
        *("--repeat=2", "--report-file=session.json"),
        *("-n", "^ftio.*num_processes=4", "-S", "builder=prebuilt", "-S", f"prebuilt_directory={openmpi.bin}"),
        *("-S", "ftio.input_parameter=1MiB", "-S", "ftio.repetitions=1", f"--prefix={user.home}"),
        **{NONCE: nonce},
    )
    user("ssh-keygen", "-q", "-Y", "sign", "-n", "coffeecup", "-f", "centre", "session.json")
    user(COFFEECUP, "accept", "contract.yaml", "session.json", "--pdf", "--sbom")

    result = json.loads((user.home / "acceptance.json").read_text())
    [found] = result["clauses"]
    assert (result["result"], result["gaps"], found["counted"]) == ("pass", [], 2), result
    assert [session["signer"] for session in result["sessions"]] == [SIGNER]
    assert (user.home / "acceptance.pdf").read_bytes().startswith(b"%PDF")
    bill = result["software_bill"]
    assert bill["programs"] == 1 and bill["packages"] > 0
    assert user("sha256sum", bill["file"]).split()[0] == bill["sha256"]
    jobs = {case["jobid"] for case in cases(user.home / "session.json")}
    stated = [json.loads(Path(run["log"]).read_text().partition("\n")[0]) for run in found["runs"]]
    assert {one["provenance"]["job"]["id"] for one in stated} == jobs and len(jobs) == 2
    for one in stated:
        assert (one["provenance"]["user"], one["provenance"]["nonce"]) == (slurm_made.USER, nonce)
        assert one["provenance"]["job"] | {"id": ""} == {"scheduler": "slurm", "id": "", "nodes": "n[1-2]"}

    user("ssh-keygen", "-q", "-Y", "sign", "-n", "coffeecup", "-f", "centre", "acceptance.pdf")
    for file in ("session.json", "contract.acceptance.jsonl", "acceptance.pdf"):
        verify = f"ssh-keygen -Y verify -f signers -I {SIGNER} -n coffeecup -s {file}.sig < {file}"
        assert f'Good "coffeecup" signature for {SIGNER}' in user("bash", "-c", verify)


def cases(report):
    [run] = json.loads(report.read_text())["runs"]
    return [case for case in run["testcases"] if not case["fixture"]]
