"""The class of each cause: in the rules, in the next step, in text and in JSON."""

from __future__ import annotations

import json
from pathlib import Path
from typing import get_args

import pytest
import yaml
from checking import check
from crashes import CRASHES

from envcfg.log.cause_class import class_of
from envcfg.log.endings import ENDS
from envcfg.log.outcome import _network_ends
from envcfg.log.rulebook import CLASSES, RAISED, Rule, load_rules
from envcfg.log.verdict import Action, CauseClass
from support import envcfg

DATA = yaml.safe_load(Path(CLASSES).read_text("utf-8"))
RULES = {rule.id: rule for rule in load_rules()}
EXCEPTION = RULES["program-exception"]


def may_be_a_cause(rule: Rule) -> bool:
    """Return whether a cause can have *rule*: an error, or an end without a severity."""
    ended = bool(rule.says) and rule.event in {*ENDS, RAISED}
    return rule.severity == "error" or ended or rule.id in _network_ends().interfaces


@pytest.mark.parametrize(
    "rule", [r for r in RULES.values() if may_be_a_cause(r)], ids=lambda r: r.id
)
def test_each_rule_of_a_cause_has_a_class_and_a_next_step(rule: Rule) -> None:
    assert rule.class_ in get_args(CauseClass)
    assert rule.consequence or rule.next in get_args(Action)


def test_classes_are_those_of_the_reports_each_with_words_and_a_next_step() -> None:
    classes = DATA["classes"]
    assert set(classes) == set(get_args(CauseClass))
    assert set(DATA["general"]) < set(classes)
    for record in classes.values():
        assert record["says"]
        assert record["next"] in get_args(Action)
    # Words alone never prove that a restart helps.
    assert {r["next"] for r in classes.values() if "signs" in r} == {"fix first"}


def test_each_class_is_the_class_of_a_rule() -> None:
    causes = {rule.class_ for rule in RULES.values() if may_be_a_cause(rule)}
    assert causes == {*get_args(CauseClass)}


def test_no_rule_repeats_the_next_step_of_its_class() -> None:
    for path in sorted(Path(CLASSES).parent.glob("rules/*.yaml")):
        data = yaml.safe_load(path.read_text("utf-8"))
        for rule in data["rules"]:
            class_ = rule.get("class", data.get("class"))
            usual = DATA["classes"][class_]["next"] if class_ else ""
            assert rule.get("consequence") or rule.get("next") != usual, rule["id"]
            assert rule.get("class") != data.get("class", ""), rule["id"]


@pytest.mark.parametrize(
    ("words", "class_"),
    [
        ("ValueError: the loss is not finite", "program"),
        ("OSError: [Errno 116] Stale file handle: '/scratch/x'", "file system"),
        ("RuntimeError: The NVIDIA driver on your system is too old", "image"),
        ("x.py: error: unrecognized arguments: --lrr 1", "configuration"),
        ("json.decoder.JSONDecodeError: Expecting value: line 1", "data"),
        ("sbatch: error: Batch job submission failed: Invalid account", "scheduler"),
        ("ValueError: batch 12 has no labels", "program"),
        ("KeyError: 'driver'", "program"),
    ],
)
def test_words_make_a_general_class_more_precise(words: str, class_: str) -> None:
    assert class_of(EXCEPTION, words) == class_


def test_words_do_not_change_the_class_of_a_precise_rule() -> None:
    words = "ended: /bin/python: Permission denied"
    assert class_of(RULES["slurm-program"], words) == "image"


@pytest.mark.parametrize(
    ("name", "class_"),
    [("var-srun", "program"), ("node", "node"), ("oom", "node")],
)
def test_text_next_step_and_json_name_the_class(
    name: str, class_: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("a.log").write_text(CRASHES[name][1])
    document = json.loads(envcfg("check-log", "--json", "a.log").text)
    assert document["cause"]["class"] == class_
    assert document["next"]["reason"].endswith(f" ({class_})")
    assert envcfg("check-log", "a.log").text.endswith(f" ({class_})\n")
    assert envcfg("check-log", "--next", "a.log").text.endswith(f" ({class_})\n")


def test_last_words_have_a_class_and_no_cause() -> None:
    report = check("sbatch: error: Batch job submission failed: Invalid account\n")
    assert report.verdict == "inconclusive"
    assert report.cause is None
    assert report.next.words.endswith(" (scheduler)")
