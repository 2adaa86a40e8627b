# SPDX-License-Identifier: Apache-2.0
"""A contract in sentences, and the runs that are still missing with the command for each."""

import math
import re
import shlex
from collections.abc import Iterator

from coffeecup.postprocess.acceptance.contract import SESSION, Clause, Contract
from coffeecup.postprocess.acceptance.evaluation import Verdict, deciding
from coffeecup.postprocess.acceptance.ledger import NONCE
from coffeecup.postprocess.acceptance.relations import LARGEST, SCALING, SINCE, Relation
from coffeecup.postprocess.benchmarks.benchmark import STANDARD, VARIANT
from coffeecup.postprocess.show.words import counted, exact, unit_word

EACH_COMMAND = (
    "Begin a session for each command (`coffeecup accept begin`), and give it its own --prefix and --report-file: "
    "otherwise it replaces the evidence of another session."
)
WEAKER = "weaker evidence: ReFrame's session alone, because this test writes no log"


def explain(contract: Contract) -> Iterator[str]:
    """What a contract demands, one sentence each."""
    terms = contract.terms
    yield f"{contract.title}: passed if no clause fails or lacks evidence."
    yield "Runs count if they contain a nonce of `coffeecup accept begin`, and if no session that was begun is missing."
    yield f"At most {counted(contract.refused_runs, 'run')} may be refused or missing, in all clauses together."
    if contract.signers:
        yield f"Each session and the ledger have to be signed with a key in {contract.signers.name}."
    if terms.first_day:
        yield f"Runs count if they start from {terms.first_day} to {terms.last_day} (UTC)."
    for name, value in (
        ("kernel version", terms.kernel_version),
        ("Git revision", terms.git_revision),
        ("SHA-256 of the sources", terms.source_sha256),
        ("MPI library", terms.mpi_library),
        ("compiler", terms.compiler),
        *((f"SHA-256 of the program {benchmark}", value) for benchmark, value in terms.programs.items()),
    ):
        if value:
            yield f"The {name} has to be {value}."
    if terms.libraries:
        yield f"All loaded libraries have one of the {len(terms.libraries)} SHA-256 under `software: libraries`."
    for clause in contract.clauses:
        yield f"{clause.name}: {demand(clause)}."
        if contract.baseline and clause.at_least is not None:
            yield f"{clause.name}: at least {exact(100 * clause.at_least)} % of the value in {contract.baseline.file}."
    for relation in contract.relations:
        yield f"{relation.name}: {compared(relation)}, {bounds_of(relation)}."


def compared(relation: Relation) -> str:
    """What a relation compares, in words."""
    names = [f"'{name}'" for name in relation.clauses]
    if relation.kind == SINCE:
        return f"ratio of {names[0]} to its value in the earlier acceptance"
    if relation.kind == LARGEST:
        return f"largest value of {', '.join(names)}"
    return f"ratio{' of the values per process' if relation.kind == SCALING else ''} of {' to '.join(names)}"


def bounds_of(bounded: Clause | Relation) -> str:
    unit = unit_word(bounded.unit)
    return " and ".join(
        f"at {word} {f'{exact(bound)} {unit}'.rstrip()}"
        for word, bound in (("least", bounded.floor), ("most", bounded.ceiling))
        if bound is not None
    )


def demand(clause: Clause) -> str:
    """A clause as a sentence."""
    where = f"{clause.system}:{clause.partition}, {counted(clause.processes, 'process')}"
    where += f" on {counted(clause.hosts, 'host')}" if clause.hosts else ""
    files = " ".join(filter(None, [clause.filesystem, clause.directory]))
    kind = "official ones" if clause.official else "official or not"
    return "; ".join(
        [
            f"{clause.statistic} of {clause.metric} ({clause.benchmark}) {bounds_of(clause)}, on "
            f"{where}{f', files on {files}' if files else ''}",
            f"{counted(clause.repetitions, 'run')} or {'fewer' if clause.sequential else 'more'}, {kind}",
            *further_demands(clause),
        ]
    )


def further_demands(clause: Clause) -> Iterator[str]:
    if clause.evidence == SESSION:
        yield WEAKER
    if clause.parameters:
        yield f"parameters {', '.join(f'{name}={value}' for name, value in clause.parameters.items())}"
    if clause.guard_band:
        yield f"guard band of {exact(clause.guard_band)} %: a value so far beyond the bound still passes"
    if clause.sequential:
        yield "sequential: decided by the first runs, as soon as the others cannot change the verdict"
    if clause.variation is not None:
        yield f"coefficient of variation at most {exact(clause.variation)} %"
    for word, bound in (("least", clause.least_of_median), ("most", clause.most_of_median)):
        if bound is not None:
            yield f"every run at {word} {exact(bound)} % of the median"
    if clause.forbidden:
        yield f"no run with the qualification {' or '.join(clause.forbidden)}"
    if clause.workload_sha256:
        yield f"workload with the SHA-256 {clause.workload_sha256}"
    if clause.interface_sha256:
        yield f"loaded interfaces with the SHA-256 {', '.join(clause.interface_sha256)}"
    if clause.excluded_nodes:
        yield f"not on {', '.join(clause.excluded_nodes)}"


def missing_runs(verdicts: list[Verdict]) -> Iterator[str]:
    """A sentence for all clauses that lack the same runs, with the command for these."""
    clauses: dict[tuple[int, str], list[str]] = {}
    for verdict in verdicts:
        if (missing := still_missing(verdict)) > 0:
            clauses.setdefault((missing, command(verdict.clause, missing)), []).append(verdict.clause.name)
    for (missing, words), names in clauses.items():
        runs = f"{counted(missing, 'run')} {'is' if missing == 1 else 'are'} missing"
        yield f"{', '.join(names)}: {runs}: {words}"


def still_missing(verdict: Verdict) -> int:
    """How many runs a clause needs at least; of a sequential one, how many of the same side would decide it."""
    clause, values = verdict.clause, [entry.value for entry in verdict.counting if entry.value is not None]
    if not clause.sequential:
        return clause.repetitions - len(values)
    if deciding(clause, values) is not None:
        return 0
    more = range(1, clause.repetitions - len(values) + 1)
    ends = (-math.inf, math.inf)
    return next(count for count in more if any(deciding(clause, [*values, *[end] * count]) for end in ends))


def command(clause: Clause, repeat: int) -> str:
    """The site's configuration is that of RFM_CONFIG_FILES."""
    if clause.evidence == SESSION:
        return of_other_suite(clause, repeat)
    words = ["reframe", "-c", "reframe_checks", "-r", f"--system={clause.system}:{clause.partition}"]
    words += ["--mode=acceptance"] if clause.official else []
    words += ["-n", f"^{clause.benchmark}%", "-P", f"{clause.benchmark}.num_processes={clause.processes}"]
    for requested in clause.parameters.get(VARIANT, STANDARD).split():
        words += ["-S", f"{clause.benchmark}.{requested}"] if requested != STANDARD else []
    return shlex.join([*words, f"--repeat={repeat}"])


def of_other_suite(clause: Clause, repeat: int) -> str:
    """ReFrame finds the tests by -c or RFM_CHECK_SEARCH_PATH, and compares -n with names without spaces. The shell
    replaces the variable, so it is not quoted."""
    chosen = [f"%{name}={value}".replace(" ", "") for name, value in clause.parameters.items()]
    name = f"^{clause.benchmark}(?=%|$)" + "".join(f"(?=.*{re.escape(word)}(%|$))" for word in chosen)
    words = ["reframe", "-r", f"--system={clause.system}:{clause.partition}", "-n", name, f"--repeat={repeat}"]
    return f"{shlex.join(words)} --session-extras {NONCE}=${NONCE}"
