# SPDX-License-Identifier: Apache-2.0
"""Signatures of sessions and of the ledger, by OpenSSH: FILE.sig beside FILE, made with
`ssh-keygen -Y sign -n coffeecup`.

An allowed-signers file says whose keys count (ssh-keygen(1), ALLOWED SIGNERS); the contract states its hash.
"""

import subprocess
from dataclasses import dataclass
from pathlib import Path

NAMESPACE = "coffeecup"


class SigningError(RuntimeError):
    """A file could not be signed; the message is one line."""


@dataclass(frozen=True)
class Signature:
    """Who signed a file; without a signer, `problem` says in a sentence why the signature does not count."""

    signer: str | None
    problem: str = ""


def signature_path(file: Path) -> Path:
    """Where the signature of a file is expected: beside it."""
    return file.with_name(f"{file.name}.sig")


def keygen(*arguments, content: bytes = b"") -> subprocess.CompletedProcess[bytes]:
    """Raises SigningError if there is no ssh-keygen."""
    try:
        command = ["ssh-keygen", "-Y", *map(str, arguments)]
        return subprocess.run(command, input=content, capture_output=True, check=False)
    except OSError as error:
        raise SigningError(f"signatures require OpenSSH's ssh-keygen: {error.strerror}") from None


def verify(file: Path, signers: Path) -> Signature:
    """Who signed a file, according to an allowed-signers file. Raises SigningError if there is no ssh-keygen."""
    signature = signature_path(file)
    if not signature.is_file():
        return Signature(
            None, f"{file.name} is not signed: sign it with `ssh-keygen -Y sign -n {NAMESPACE} -f KEY {file.name}`"
        )
    known = keygen("find-principals", "-s", signature, "-f", signers)
    signer = (known.stdout.decode(errors="replace").splitlines() or [""])[0]
    if known.returncode or not signer:
        return Signature(None, f"the key that signed {file.name} is not one of those that the contract allows")
    options = ("-f", signers, "-I", signer, "-n", NAMESPACE, "-s", signature)
    verified = keygen("verify", *options, content=file.read_bytes())
    if verified.returncode:
        reason = (verified.stderr.decode(errors="replace").strip().splitlines() or [""])[-1].rpartition(": ")[2]
        other = "another content was signed"
        reason = other if reason == "incorrect signature" else reason or "no reason was given"
        return Signature(None, f"the signature of {file.name} by {signer} is not valid: {reason}")
    return Signature(signer)


def signature(file: Path, content: bytes, key: Path) -> bytes:
    """The signature of the content that a file has or will have. Raises SigningError."""
    done = keygen("sign", "-n", NAMESPACE, "-f", key, content=content)
    if done.returncode:
        reason = (done.stderr.decode(errors="replace").strip().splitlines() or ["no reason was given"])[-1]
        raise SigningError(f"ssh-keygen did not sign {file} with {key}: {reason}")
    return done.stdout
