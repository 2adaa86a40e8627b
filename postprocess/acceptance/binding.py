# SPDX-License-Identifier: Apache-2.0
"""Whether a log was written in the job that a session states: at this time, on these hosts, by this user, for this
acceptance."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime

from coffeecup.postprocess.acceptance.ledger import NONCE, Entry, nonce_of
from coffeecup.postprocess.acceptance.refusal import Refusal
from coffeecup.postprocess.logs.reader import Log
from coffeecup.postprocess.logs.records import Clocks, Files, Job, PhaseClocks
from coffeecup.postprocess.sessions.files import SessionReport, hosts_of
from coffeecup.postprocess.show.words import digits

SKEW_SECONDS = 60.0  # between the clocks of a node and of the machine that ReFrame ran on
CLOCK_SECONDS, CLOCK_SHARE = 2.0, 0.01  # allowed between a run's wall-clock time, in whole seconds, and the log's clock
MPI_CLOCK_SECONDS, MPI_CLOCK_SHARE = 0.1, 0.005  # allowed between wall-clock time and MPI's clock
PHASE_SECONDS, PHASE_SHARE = 0.1, 0.01  # the same in a phase: a process may lose its core between two readings
# ReFrame's name of a scheduler to the log's.
IDENTIFIED = {"slurm": "slurm", "squeue": "slurm", "pbs": "pbs", "torque": "pbs", "lsf": "lsf"}
PRELOADING = ("LD_PRELOAD", "LD_AUDIT")


@dataclass(frozen=True)
class Place:
    """What a session states about a job. Times are seconds since 1970."""

    user: str
    scheduler: str
    job: str
    hosts: tuple[str, ...]
    begin: float
    end: float
    nonce: str


@dataclass(frozen=True)
class Issued:
    """The entries of the ledger, by nonce, and the time of the evaluation."""

    entries: Mapping[str, Entry]
    now: datetime


def places(reports: list[SessionReport]) -> dict[str, Place]:
    """By the key of a test case in case_table."""
    return {
        f"{report.info['uuid']}:{number}:{place}": place_of(report, case)
        for report in reports
        for number, run in enumerate(report.content["runs"])
        for place, case in enumerate(run["testcases"])
    }


def place_of(report: SessionReport, case: dict) -> Place:
    return Place(
        user=str(report.info.get("user") or ""),
        scheduler=str(case.get("scheduler") or ""),
        job=str(case.get("jobid") or ""),
        hosts=tuple(hosts_of(case)),
        begin=case.get("job_submit_time") or report.info["time_start_unix"],
        end=case.get("job_completion_time_unix") or report.info["time_end_unix"],
        nonce=nonce_of(report, case),
    )


def same_host(one: str, other: str) -> bool:
    """Whether two names are those of one host: equal, or one is the short form of the other."""
    one, other = one.lower().rstrip("."), other.lower().rstrip(".")
    short, full = sorted((one, other), key=len)
    return one == other or ("." not in short and full.startswith(f"{short}.") and not short.isdigit())


def unbound(place: Place, log: Log, issued: Issued) -> Iterator[Refusal]:
    """Reasons why the log may not be the one that the job wrote."""
    provenance = log.run.provenance
    yield from other_acceptance(place, log, issued.entries)
    yield from in_future(seconds(log.run.start_time), "log", issued)
    yield from other_time(place, log)
    yield from other_clock(log)
    if not place.hosts:
        yield Refusal("other_host", "the session does not state the nodes of the job")
    elif strange := [h.name for h in log.run.hosts if not any(same_host(h.name, node) for node in place.hosts)]:
        yield Refusal("other_host", f"it ran on {strange[0]}, but the session's job on {', '.join(place.hosts)}")
    if provenance.user != place.user:
        yield Refusal("other_user", f"user {provenance.user!r:.80} ran it, the session belongs to {place.user!r:.80}")
    yield from other_job(place, provenance.job)
    yield from other_files(log)
    yield from preloaded(log)


def unbound_session(place: Place, issued: Issued) -> Iterator[Refusal]:
    """Reasons why a session may not belong to this acceptance, for tests without a log."""
    yield from in_future(place.begin, "session", issued)
    if not place.nonce:
        yield Refusal("unbound", f"its session contains no nonce: set {NONCE} with ReFrame's --session-extras")
    elif place.nonce not in issued.entries:
        yield Refusal("unbound", "its session contains a nonce that was not issued for this contract")
    elif place.begin < issued.entries[place.nonce].issued.timestamp() - SKEW_SECONDS:
        yield Refusal("other_time", "its session states a start before its nonce was issued")


def in_future(start: float, source: str, issued: Issued) -> Iterator[Refusal]:
    if start > issued.now.timestamp() + SKEW_SECONDS:
        yield Refusal("other_time", f"the {source} states a start in the future: correct the clocks")


def other_acceptance(place: Place, log: Log, entries: Mapping[str, Entry]) -> Iterator[Refusal]:
    nonce = log.run.provenance.nonce
    if not nonce:
        yield Refusal("unbound", f"the log contains no nonce: set {NONCE} as `coffeecup accept begin` says")
    elif nonce not in entries:
        yield Refusal("unbound", "the log contains a nonce that was not issued for this contract")
    elif nonce != place.nonce:
        yield Refusal("unbound", "the log contains another nonce than the session passed to the kernel")
    elif seconds(log.run.start_time) < entries[nonce].issued.timestamp() - SKEW_SECONDS:
        yield Refusal("other_time", "the log states a start before its nonce was issued")


def other_time(place: Place, log: Log) -> Iterator[Refusal]:
    start, elapsed = seconds(log.run.start_time), log.end.elapsed_seconds
    end = seconds(str(log.end.end_time))
    if start < place.begin - SKEW_SECONDS or end > place.end + SKEW_SECONDS:
        yield Refusal(
            "other_time",
            f"it ran from {log.run.start_time} to {log.end.end_time}, but the session's job from {utc(place.begin)} to "
            f"{utc(place.end)}",
        )
    if differ(end - start, elapsed, CLOCK_SECONDS, CLOCK_SHARE):
        yield two_times(end - start, elapsed, "the clock of its log")


def other_clock(log: Log) -> Iterator[Refusal]:
    """Kernels measure with MPI_Wtime() or a clock of the C library, which are functions of libraries. One that shows
    less time only now and then is right over the whole run, so what was measured is compared as well, by phases and
    their sum."""
    clocks = log.only(Clocks)
    if differ(clocks.day_seconds, clocks.mpi_seconds, MPI_CLOCK_SECONDS, MPI_CLOCK_SHARE):
        yield two_times(clocks.day_seconds, clocks.mpi_seconds, "MPI's clock, which measured")
        return
    total = PhaseClocks(
        phase="all phases",
        measured_seconds=sum(phase.measured_seconds for phase in clocks.phases),
        day_seconds=sum(phase.day_seconds for phase in clocks.phases),
    )
    worst = max(
        [*clocks.phases, total],
        key=lambda one: abs(one.day_seconds - one.measured_seconds) - PHASE_SHARE * one.day_seconds,
    )
    if differ(worst.day_seconds, worst.measured_seconds, PHASE_SECONDS, PHASE_SHARE):
        yield two_times(worst.day_seconds, worst.measured_seconds, f"the clock that measured {worst.phase:.80}")


def differ(day_seconds: float, other_seconds: float, seconds: float, share: float) -> bool:
    return abs(day_seconds - other_seconds) > seconds + share * day_seconds


def two_times(day_seconds: float, other_seconds: float, clock: str) -> Refusal:
    return Refusal(
        "clock", f"it took {digits(day_seconds)} s by the time of day, but {digits(other_seconds)} s by {clock}"
    )


def other_job(place: Place, job: Job | None) -> Iterator[Refusal]:
    """Flux and others write the number of a job in several forms, so that of their jobs is not compared."""
    expected = IDENTIFIED.get(place.scheduler)
    if expected is None:
        return
    if job is None:
        yield Refusal("other_job", f"it ran outside of any job, but the session's job is {place.job}")
    elif (job.scheduler, job.id.partition(".")[0]) != (expected, place.job.partition(".")[0]):
        yield Refusal(
            "other_job",
            f"it ran in job {job.id} of {job.scheduler}, but the session's job is {place.job} of {expected}",
        )


def other_files(log: Log) -> Iterator[Refusal]:
    found = log.only(Files)
    if others := found.other_files:
        yield Refusal("other_files", f"on {others[0].host} another {others[0].path} ran than on the node of rank 0")
    unread = [file for file in found.files if file.sha256 is None and file.role != "library"]
    if unread or all(file.role != "program" for file in found.files):
        yield Refusal("no_hashes", "the program or an input file could not be read to compute its hash")


def preloaded(log: Log) -> Iterator[Refusal]:
    """A preloaded library can remove the variable that named it, and some ways of preloading need none."""
    paths = log.run.provenance.preloaded or []
    named = [text for name in PRELOADING if (text := log.run.environment.get(name))]
    if paths or named:
        text = ", ".join(dict.fromkeys([*paths, *named]))
        yield Refusal("preloaded", f"libraries were preloaded ({text:.200}), which can change anything")


def seconds(time: str) -> float:
    return datetime.fromisoformat(time).timestamp()


def utc(time: float) -> str:
    return f"{datetime.fromtimestamp(time, UTC):%Y-%m-%dT%H:%M:%SZ}"
