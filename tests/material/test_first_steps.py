"""The page with the questions of the courses: short answers, each with its command."""

from __future__ import annotations

import re

import pytest

from support import ROOT

TEXT = (ROOT / "docs/first-steps.md").read_text(encoding="utf-8")
# A word of each question of the courses, as its heading has it.
QUESTIONS = {
    "nccl": "rccl",
    "DataParallel": "process",
    "batch": "WORLD_SIZE",
    "--mem": "node",
    "14 cores": "7",
    "power": "package",
    "output": "%j",
    "all GPUs": "every node",
    "FSDP": "accelerate",
    "spawn": "set_start_method",
}
SECTIONS = dict(
    re.findall(r"^## ([^\n]*)\n\n(.*?)(?=^## |\Z)", TEXT, re.MULTILINE | re.DOTALL)
)


@pytest.mark.parametrize("question", QUESTIONS)
def test_a_question_has_two_lines_and_a_command(question: str) -> None:
    (heading,) = [heading for heading in SECTIONS if question in heading]
    answer, _, rest = SECTIONS[heading].partition("\n\n```console\n")
    assert len(answer.splitlines()) == 2
    assert re.fullmatch(r"\$ .*envcfg .*\n```\n\n", rest)
    assert QUESTIONS[question].lower() in SECTIONS[heading].lower()


def test_the_page_is_in_the_navigation() -> None:
    assert "first-steps.md" in (ROOT / "mkdocs.yml").read_text(encoding="utf-8")
