"""Logs as disks, pipes and launchers leave them: cut, shuffled, torn, glued, mixed.

Whatever is done to a log, the checker answers; and as long as one line that decides against
a rank is still whole, the answer is not ``ok``.
"""

from __future__ import annotations

import random
import re

from checking import check
from hypothesis import given
from hypothesis import strategies as st
from jobs import DIALECTS, WRAPPERS, Job, Line, iter_lines, training_output, wrap

from fuzzing import part

VERDICTS = {"ok", "degraded", "broken", "inconclusive"}
# What decides against a rank, whole: it stands in a line of its own.
DECIDES = {
    "fallen": re.compile(r"Using network Socket$|via NET/Socket/\d+"),
    "provider": re.compile(
        r"Selected [Pp]rovider is tcp(, fabric is \S+)? \(found \d+ nics\)"
    ),
    "error": re.compile(
        r"NET/OFI Unable to register memory \(type = 2\) for device \d+\. RC: -22"
    ),
}
MUTATIONS = ("cut-end", "cut-start", "shuffle", "split", "glue", "drop", "mix", "noise")


def _job(fault: str, dialect: str, seed: int) -> Job:
    changes: dict[str, dict[str, object]] = {
        "fallen": {"fallen": frozenset({1})},
        "provider": {"provider": "tcp"},
        "error": {"errors": {1: ("ofi-register-gpu",)}},
    }
    return Job(nodes=2, ranks_per_node=2, dialect=dialect, seed=seed, **changes[fault])


def _mutate(lines: list[str], name: str, rng: random.Random) -> list[str]:
    at = rng.randrange(len(lines) + 1)
    if name == "cut-end":
        return lines[:at]
    if name == "cut-start":
        return lines[at:]
    if name == "shuffle":
        return rng.sample(lines, len(lines))
    if name == "drop":
        return [line for line in lines if rng.random() > 0.2]
    if name == "mix":
        output = training_output(len(lines) // 4, rng.randrange(1 << 16))
        places = sorted(rng.randrange(len(lines) + 1) for _ in output)
        for place, line in zip(reversed(places), output, strict=True):
            lines = [*lines[:place], line, *lines[place:]]
        return lines
    if name == "noise":
        junk = [
            "\0\0\0",
            "\udcff\udc80",
            "\r",
            "x" * 5000,
            "NCCL INFO",
            "nid001001:1:1 [0] NCCL INFO",
        ]
        return [
            each
            for line in lines
            for each in ((rng.choice(junk), line) if rng.random() < 0.1 else (line,))
        ]
    changed: list[str] = []
    for line in lines:
        if rng.random() > 0.1:
            changed.append(line)
        elif name == "split":
            cut = rng.randrange(len(line) + 1)
            changed += [line[:cut], line[cut:]]
        elif changed:  # glue, after a piece of the line before
            head = changed.pop()
            changed.append(head[: rng.randrange(len(head) + 1)] + line)
    return changed


@part(2_000)
@given(
    fault=st.sampled_from(sorted(DECIDES)),
    dialect=st.sampled_from(
        ["nccl-2.12", "nccl-2.18", "nccl-2.24", "nccl-2.28", "rccl-2.20", "rccl-2.26"]
    ),
    wrapper=st.sampled_from(sorted(set(WRAPPERS) - {"ray-repeated"})),
    mutations=st.lists(st.sampled_from(MUTATIONS), max_size=4),
    seed=st.integers(0, 1 << 20),
)
def test_no_false_ok(
    fault: str, dialect: str, wrapper: str, mutations: list[str], seed: int
) -> None:
    rng = random.Random(seed)
    job = _job(fault, dialect, seed % 7)
    bare = [line.text for line in iter_lines(job)]
    lines = list(wrap(job, (Line(0, line) for line in bare), wrapper))
    whole = {
        line for line, text in zip(lines, bare, strict=True) if _decides(fault, text)
    }
    for name in mutations:
        lines = _mutate(lines, name, rng)
    log = "\n".join(lines).encode("utf-8", "surrogateescape")
    verdict = check(log).verdict
    assert verdict in VERDICTS
    if whole & set(lines):
        assert verdict != "ok"


def _decides(fault: str, line: str) -> bool:
    return bool(DECIDES[fault].search(line)) and (
        "NCCL INFO" in line or "NCCL WARN" in line
    )


@part(300)
@given(st.binary(max_size=4000))
def test_any_bytes(data: bytes) -> None:
    assert check(data).verdict in VERDICTS


@part(300)
@given(
    st.lists(
        st.text(
            alphabet=st.sampled_from(list("NCL INFOWAR:[]0123/->via.\t\x1b|()<")),
            max_size=200,
        ),
        max_size=20,
    )
)
def test_lines_that_look_like_nccl(lines: list[str]) -> None:
    log = "\n".join(f"nid001001:71:72 [0] NCCL INFO {line}" for line in lines)
    assert check(log).verdict in VERDICTS


def test_every_dialect_is_known() -> None:
    assert {"nccl-2.12", "rccl-2.26"} <= set(DIALECTS)
