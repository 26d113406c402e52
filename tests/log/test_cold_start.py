"""The first step after a compiler: its time is told if lines show both, else nothing is."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
import yaml
from checking import check

from envcfg.log.read import life_signs
from envcfg.log.read.life_signs import compile_line, needles
from envcfg.log.read.process_facts import Spot
from envcfg.log.state.cold_start import RULE, ColdStart

COMPILES: list[dict[str, Any]] = yaml.safe_load(
    Path(life_signs.__file__).with_suffix(".yaml").read_text("utf-8")
)["compiles"]
BEGIN = "[2026-03-14 09:20:01,123] [INFO] starting\n"
TUNED = (
    "SingleProcess AUTOTUNE benchmarking takes 48.6676 seconds and 349.0871 seconds "
    "precompiling for 462 choices\n"
)
MISSED = (
    "I0314 09:21:53.123000 4711 torch/_inductor/codecache.py:1348] [0/1] fx graph cache "
    "miss for key ff5tzdurkhhd\n"
)


def step(number: int, time: str = "2026-03-14 09:26:53") -> str:
    return (
        f" [{time}] iteration {number:8}/     100 | consumed samples: 128 | elapsed time "
        "per iteration (ms): 4120.0 | lm loss: 1.0E+01 |\n"
    )


def bar(number: int, time: str = "06:52") -> str:
    return f"  {number}%|          | {number}/100 [{time}<57:12:01, 412.22s/it]\r"


@pytest.mark.parametrize("record", COMPILES, ids=lambda each: str(each["id"]))
def test_a_line_of_a_compiler_is_known_by_its_samples(record: dict[str, Any]) -> None:
    assert set(record) == {"id", "needle", "pattern", "source", "samples", "counter"}
    for line in record["samples"]:
        assert compile_line(f"a\n{line}\nb\n".encode(), needles()) == (2, line)
    for line in record["counter"]:
        assert not re.search(record["pattern"], line)


TOLD = {
    "clocks": (BEGIN + TUNED + step(1) + step(2), "first step after 412 s"),
    "step 0": (BEGIN + TUNED + step(0), "first step after 412 s"),
    "a log of every tenth": (BEGIN + MISSED + step(10), "step 10 after 412 s"),
    "a progress bar": (TUNED + bar(0, "00:00") + bar(1), "first step after 412 s"),
    "a bar with hours": (TUNED + bar(1, "1:06:52"), "first step after 4012 s"),
    "other output": (BEGIN + "x\n" * 9999 + TUNED + step(1), "first step after 412 s"),
}
NOT_TOLD = {
    "nothing compiled": BEGIN + step(1),
    "compiled later": BEGIN + step(1) + TUNED + step(2),
    "no step": BEGIN + TUNED,
    "no clock before": TUNED + step(1),
    "a late step": BEGIN + TUNED + step(20),
    "another day": BEGIN + TUNED + step(1, "2026-03-15 09:26:53"),
    "another form": BEGIN.replace("14 09", "14T09") + TUNED + step(1),
    "a clock with a zone": BEGIN.replace(",123", "+02:00") + TUNED + step(1),
    "hours between": BEGIN + TUNED + step(1, "2026-03-14 11:26:53"),
    "a clock that goes back": BEGIN + TUNED + step(1, "2026-03-14 08:26:53"),
    "a hit": BEGIN + MISSED.replace("miss", "hit") + step(1),
    "kept caches": BEGIN
    + "envcfg: note: compile caches are empty: nothing is kept\n"
    + TUNED
    + step(1),
    "vLLM, whose cache is not kept": BEGIN
    + "INFO 03-14 09:26:00 [monitor.py:34] torch.compile takes 400.12 s in total\n"
    + step(1),
}


# Lines of public logs, and whether they prove that something was compiled that is kept.
PUBLIC = [
    (  # vllm-project/vllm#14437
        "SingleProcess AUTOTUNE benchmarking takes 2.0428 seconds and 7.5727 seconds precompiling",
        True,
    ),
    (
        (
            "SingleProcess AUTOTUNE benchmarking takes 3.5552 seconds and 2.3107 seconds precompiling "
            "for 5 choices"
        ),
        True,
    ),
    ("SingleProcess AUTOTUNE benchmarking takes 6.8508 seconds for 20 choices", True),
    (
        "torch/_inductor/codecache.py:1348] [0/1] fx graph cache miss for key ff5tzdurkhhdldzx",
        True,
    ),
    (  # it measures again what it had compiled before
        (
            "SingleProcess AUTOTUNE benchmarking takes 0.8018 seconds and 0.0006 seconds precompiling "
            "for 20 choices"
        ),
        False,
    ),
    ('    log.debug("fx graph cache miss for key %s", key)', False),
    (  # MooreThreads/vllm-musa#69
        (
            "2026-06-10 11:30:44 | backends | 139623526012736 | INFO : Directly load the compiled "
            "graph(s) for compile range (1, 8192) from the cache, took 1.803 s"
        ),
        False,
    ),
    (  # vllm-project/speculators#166
        (
            "(EngineCore_DP0 pid=772768) INFO 10-30 14:20:18 [monitor.py:34] torch.compile takes 6.97 s "
            "in total"
        ),
        False,
    ),
    (  # vllm-project/vllm#13144
        "INFO 02-18 04:51:45 backends.py:321] Compiling a graph for general shape takes 0.34 s",
        False,
    ),
    (  # ROCm/MIOpen#2123
        (
            "MIOpen(HIP): Warning [SQLiteBase] Missing system database file: gfx1030_12.kdb Performance "
            "may degrade. Please follow instructions to install: https://github.com/ROCmSoftwarePlatform"
            "/MIOpen#installing-miopen-kernels-package"
        ),
        False,
    ),
    (  # ROCm/MIOpen#1218
        (
            "MIOpen(HIP): Warning [SQLiteBase] Unable to read system database file:gfx906_60.kdb "
            "Performance may degrade"
        ),
        False,
    ),
]


@pytest.mark.parametrize(("line", "is_told"), PUBLIC)
def test_lines_of_public_logs_are_told_if_they_prove_it(
    line: str, is_told: bool
) -> None:
    rules = {finding.rule for finding in check(f"{BEGIN}{line}\n{step(1)}").findings}
    assert (RULE in rules) == is_told


@pytest.mark.parametrize("name", TOLD)
def test_the_first_step_is_told_with_its_time(name: str) -> None:
    log, words = TOLD[name]
    (note,) = [each for each in check(log).findings if each.rule == RULE]
    assert note.severity == "note"
    assert note.message == f"{words}: kernels were compiled again"
    assert "--keep-caches" in (note.fix or "")
    assert note.evidence
    assert note.evidence.text in log
    assert note.evidence.text == log.splitlines()[note.evidence.line - 1].strip()


@pytest.mark.parametrize("name", NOT_TOLD)
def test_what_lines_do_not_show_is_not_told(name: str) -> None:
    assert RULE not in {each.rule for each in check(NOT_TOLD[name]).findings}


@pytest.mark.parametrize("size", [1, 40, 100, 300])
def test_a_growing_log_says_the_same_or_nothing(size: int) -> None:
    """A watcher reads whole lines, in pieces of any number."""
    lines = (BEGIN + "x\n" * 50 + TUNED + step(1) + step(2)).splitlines(keepends=True)
    state, offset = ColdStart(), 0
    for first in range(0, len(lines), size):
        piece = "".join(lines[first : first + size]).encode()
        state.take(piece, Spot(0, offset, 0), needles())
        offset += len(piece)
    assert state.note
    assert state.note[0] == "first step after 412 s: kernels were compiled again"
