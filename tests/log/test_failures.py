"""Errors are found and named; what only looks bad is left alone."""

from __future__ import annotations

import pytest
from checking import check, rules_of
from jobs import BENIGN, DIALECTS, ERRORS, Job, text

from suites import mark_sample

# These are warnings of a job that works all the same, as its other lines show: PyTorch's
# store was reached in the end, and the channels do have GPU RDMA.
MENDED = {"store-connect", "port-taken", "gdr-no-module"}


def _dialect(name: str) -> str:
    failure = {**ERRORS, **BENIGN}[name]
    fits = [dialect for dialect in DIALECTS if failure.fits(dialect)]
    assert fits, f"{name}: no version of tests/log/dialects.py prints it"
    return fits[-1]


@pytest.mark.parametrize("name", ERRORS)
def test_error_of_one_rank(name: str) -> None:
    job = Job(dialect=_dialect(name), errors={3: (name,)})
    report = check(text(job))
    if name in MENDED:
        assert report.verdict == "ok"
        return
    assert report.verdict != "ok"
    bad = [each for each in report.findings if each.severity != "note"]
    assert bad or report.unknowns
    for finding in bad:
        assert finding.fix
        assert finding.source
        assert finding.evidence is None or finding.evidence.line > 0


@pytest.mark.parametrize(
    "name",
    mark_sample((n for n, f in ERRORS.items() if f.verdict == "broken"), every=3),
)
def test_error_at_the_start_is_never_degraded_to_a_doubt(name: str) -> None:
    """A job that ends in its error, with nothing behind it."""
    # NCCL may do without a plugin where there is InfiniBand.
    network = "socket" if name.startswith("ofi-") else "ib"
    job = Job(
        dialect=_dialect(name),
        network=network,
        channels=0,
        stopped=frozenset(range(16)),
        errors={3: (name,)},
    )
    log = "".join(
        f"{line}\n" for line in text(job).splitlines() if " comm " not in line
    )
    assert check(log).verdict in {"broken", "degraded"}, name


@pytest.mark.parametrize("name", BENIGN)
def test_what_only_looks_bad(name: str) -> None:
    report = check(text(Job(dialect=_dialect(name), errors={3: (name,)})))
    assert report.verdict == "ok", report.summary


def test_first_error_is_the_cause_and_the_others_follow() -> None:
    job = Job(
        dialect="nccl-2.24", errors={3: ("ofi-register-gpu",), 9: ("peer-closed",)}
    )
    names = set(ERRORS)
    assert {"ofi-register-gpu", "peer-closed"} <= names, sorted(names)
    report = check(text(job))
    causes = [
        each for each in report.findings if each.cause and each.severity == "error"
    ]
    assert len(causes) == 1
    assert [each for each in report.findings if not each.cause]


def test_silent_failure() -> None:
    log = """\
nid001001:71:90 [0] NCCL INFO misc/socket.cc:564 -> 2
nid001001:71:90 [0] NCCL INFO bootstrap.cc:270 -> 2
nid001001:71:71 [0] NCCL INFO group.cc:422 -> 2
"""
    assert rules_of(check(log)) == {"failed-silently"}


@pytest.mark.parametrize(
    ("file", "rule"),
    [
        *((f"{name}.cc", "failed-silently") for name in ("group", "init", "enqueue", "bootstrap", "collectives")),
        *((f"{name}.cc", "error-unexplained") for name in ("net", "proxy", "transport", "generic")),
        ("misc/strongstream.cc", None),
    ],
)  # fmt: skip
@pytest.mark.parametrize("code", ["1", "2", "6", "3"])
def test_what_hands_an_error_up_tells_how_far_it_went(
    file: str, rule: str | None, code: str
) -> None:
    """A reason that is not in the log: the last functions are called by the program."""
    log = text(Job(dialect="nccl-2.24", ranks_per_node=2))
    prefix = log[: log.index("NCCL INFO")]
    report = check(f"{log}{prefix}NCCL INFO {file}:304 -> {code}\n")
    if rule == "error-unexplained":
        assert report.verdict == ("ok" if code == "3" else "inconclusive")
        assert ("does not explain" in report.summary) == (code != "3")
    else:
        assert report.verdict == ("broken" if rule else "ok")
        assert rules_of(report) == ({rule} if rule else set())


def test_traces_of_a_shutdown_are_no_failure() -> None:
    job = Job(dialect="nccl-2.24", ended=True)
    log = text(job)
    prefix = log[: log.index("NCCL INFO")]
    assert check(f"{log}{prefix}NCCL INFO misc/socket.cc:826 -> 3\n").verdict == "ok"


def test_slow_interface_on_a_single_node_is_no_fault() -> None:
    job = Job(nodes=1, network="socket", interface="nmn", errors={})
    report = check(text(job))
    assert report.verdict in {"ok", "inconclusive"}, report.summary


def test_port_that_stays_taken_is_an_error() -> None:
    line = (
        "[W socket.cpp:426] [c10d] The server socket has failed to bind to [::]:29500 "
        "(errno: 98 - Address already in use).\n"
    )
    assert check(line).verdict == "broken"
