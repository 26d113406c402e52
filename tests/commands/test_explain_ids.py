"""``envcfg explain`` knows every id that envcfg can print, and says more than a finding."""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import envcfg as package
import fuzzing
from envcfg.core.explainable import said_findings
from envcfg.knowledge.topics import load_topics
from envcfg.log.read.rulebook import load_rules, stack_rules
from support import Wrapped, envcfg

ROOT = Path(package.__file__).parent
# Made of a word and of what was found: the verdict on a log, the state of a variable.
MADE = {
    "log-": ("ok", "degraded", "broken", "inconclusive"),
    "network-": ("degraded", "broken", "inconclusive"),
    "environment-": ("changed", "missing"),
}
_ID = re.compile(r"[a-z][a-z0-9]*(?:-[a-z0-9]+)*-?")


def functions_that_take_an_id(trees: list[ast.Module]) -> dict[str, int]:
    """Return functions that hand an id on to a finding, with its place among the words."""
    found = {"Finding": 0, "finding": 0}  # that of preflight is a partial function
    for tree in trees:
        for node in ast.walk(tree):
            if isinstance(node, ast.FunctionDef):
                names = [each.arg for each in (*node.args.posonlyargs, *node.args.args)]
                makes = any(
                    isinstance(call, ast.Call)
                    and isinstance(call.func, ast.Name)
                    and call.func.id in ("Finding", "finding_in", "finding")
                    for call in ast.walk(node)
                )
                if makes and "rule" in names:
                    found[node.name] = names.index("rule")
    return found


def printed_ids() -> Iterator[tuple[str, str]]:
    """Yield every id that stands in the code, with its file."""
    files = sorted(ROOT.rglob("*.py"))
    trees = [ast.parse(file.read_text(encoding="utf-8")) for file in files]
    takers = functions_that_take_an_id(trees)
    for file, tree in zip(files, trees, strict=True):
        for node in ast.walk(tree):
            if not isinstance(node, ast.Call):
                continue
            name = getattr(node.func, "id", getattr(node.func, "attr", ""))
            given = [each.value for each in node.keywords if each.arg == "rule"]
            if name in takers and len(node.args) > takers[name]:
                given.append(node.args[takers[name]])
            for each in given:
                for part in ast.walk(each):
                    if isinstance(part, ast.Constant) and _ID.fullmatch(
                        str(part.value)
                    ):
                        yield str(part.value), file.name


PRINTED = sorted(set(printed_ids()))
SAID = said_findings(load_topics())
RULES = {rule.id: rule for rule in (*load_rules(), *stack_rules())}


def anchors(page: str) -> set[str]:
    """Return the anchors of the sections of a page."""
    titles = re.findall(r"(?m)^## (.*)$", page)
    return {re.sub(r"[^\w -]", "", each.lower()).replace(" ", "-") for each in titles}


def known() -> set[str]:
    listed = json.loads(envcfg("explain", "--json").text)
    return {each["id"] for each in listed}


def test_explain_knows_every_id_that_can_be_printed() -> None:
    ids = known()
    assert len(PRINTED) > 80
    lacking = [
        (name + end, file)
        for name, file in PRINTED
        for end in MADE.get(name, ("",))
        if name + end not in ids
    ]
    assert lacking == []


def test_what_is_explained_is_printed_by_something() -> None:
    printed = {name + end for name, _ in PRINTED for end in MADE.get(name, ("",))}
    # Handed on by a name that only the run has.
    assert [name for name in SAID if name not in printed] == []


IDS = [
    "chain-two-nccl", "image-not-here", "fact-conflict", "stack-ll128-gh200",
    "rendezvous-unreachable", "gpu-idle", "request-refused", "writable-by-others",
    "environment-missing", "log-degraded", "network-broken", "variable", "cost",
    "socket-fallback", "torch-watchdog", "slurm-out-of-memory", "cxi-no-vni",
]  # fmt: skip


@pytest.mark.parametrize("name", IDS)
def test_an_id_is_explained_by_more_than_its_finding_says(name: str) -> None:
    done = envcfg("explain", name)
    assert (done.code, done.err) == (0, "")
    for title in ("meaning: ", "topic: ", "background: docs/explanation/"):
        assert f"  {title}" in done.text
    lines = [line for line in done.text.splitlines() if "  as in: " not in line]
    assert max(map(len, lines)) < 100


def test_reasons_belong_to_a_finding() -> None:
    text = " ".join(envcfg("explain", "socket-fallback").text.split())
    assert "socket-ib-disabled" in text.partition("can be the reason: ")[2]
    text = envcfg("explain", "socket-ib-disabled").text
    assert "can be the reason of: socket-fallback" in text


def test_the_list_has_every_finding_with_its_meaning_below_its_topic() -> None:
    index = re.findall(r"(?m)^  (\S.*?) +(\d+)  ", envcfg("explain").text)
    groups = {name: int(count) for name, count in index if name != "variables"}
    assert len(index) == len(groups) + 1 > 30
    listed: set[str] = set()
    for name, count in fuzzing.of_today(groups, every=7).items():
        head, *lines = envcfg("explain", *name.split()).text.splitlines()
        rows = [line.split(maxsplit=1) for line in lines]
        assert (head, len(rows)) == (name, count)
        assert all(len(row[1]) > 10 for row in rows)
        listed |= {row[0] for row in rows}
    assert listed == known() if fuzzing.is_complete else listed < known()


def test_json_has_what_stands_behind_each(wrap: Callable[..., Wrapped]) -> None:
    assert callable(wrap)
    found = json.loads(envcfg("explain", "--json").text)
    kinds = {each["kind"] for each in found}
    assert kinds == {"rule", "finding", "lint rule", "fact", "word"}
    for each in found:
        behind = each["behind"]
        page, _, anchor = behind["page"].partition("#")
        text = (ROOT.parent / page).read_text(encoding="utf-8")
        assert (
            anchor in anchors(text) if behind["topic"] else each["kind"] == "lint rule"
        )


def test_a_slip_of_an_id_gets_a_suggestion() -> None:
    done = envcfg("explain", "chain-two-ncl")
    assert (done.code, "did you mean 'chain-two-nccl'?" in done.err) == (2, True)
