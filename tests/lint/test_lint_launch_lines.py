"""Each rule finds the faults of its samples in every form of their launch lines."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest
import yaml
from following import severities_of
from launch_forms import FORMS

from envcfg.lint.lint_rule import Sample, load_rules
from envcfg.lint.program_starts import unwrap
from envcfg.lint.traced_text import Word, plain
from fuzzing import chance, times
from suites import mark_sample

RULES = {name: rule for name, rule in load_rules().items() if not rule.is_foreign}
_ORDER = ("note", "warning", "error")
_PAIRS = 25  # of forms for each sample


class Unreported(NamedTuple):
    """One entry of ``unreported_forms.yaml``."""

    forms: str
    rules: str
    reason: str

    def holds(self, form: str, rule: str, number: int) -> bool:
        """Return whether a bad sample of a rule is not reported in a form."""
        names = {rule, f"{rule}.{number}"}
        fits = re.fullmatch(self.forms, form) is not None
        return fits and not names.isdisjoint(self.rules.split())


def _load_unreported() -> list[Unreported]:
    text = (Path(__file__).parent / "unreported_forms.yaml").read_text(encoding="utf-8")
    return [Unreported(**entry) for entry in yaml.safe_load(text)]


UNREPORTED = _load_unreported()


def worth(script: str, sample: Sample, rule: str, folder: Path) -> int:
    """Return how severe the worst finding of a rule is; -1: there is none."""
    found = severities_of(script, sample, rule, folder)
    return max(map(_ORDER.index, found), default=-1)


def changed(sample: Sample) -> Iterator[tuple[str, str]]:
    """Yield the forms of a sample, each with its name."""
    for name, form in FORMS.items():
        script = form(sample.script)
        if script is not None:
            yield name, script


def expected(name: str, worst: int) -> int:
    """Return how severe a finding in a form must be."""
    return min(worst, 0) if "FROM_OUTSIDE" in name else worst


@pytest.mark.parametrize("rule", mark_sample(RULES, every=12))
def test_a_fault_is_found_in_each_form_of_its_launch_line(
    rule: str, tmp_path: Path
) -> None:
    lost, needless = [], []
    for number, sample in enumerate(RULES[rule].bad):
        worst = worth(sample.script, sample, rule, tmp_path)
        for name, script in changed(sample):
            is_found = worth(script, sample, rule, tmp_path) >= expected(name, worst)
            is_excused = any(each.holds(name, rule, number) for each in UNREPORTED)
            if not is_found and not is_excused:
                lost.append(f"{rule}.{number}: {name}")
            if is_found and is_excused:
                needless.append(f"{rule}.{number}: {name}")
    assert "\n".join(lost) == ""
    assert "\n".join(needless) == ""


def test_each_entry_of_the_table_has_a_reason_and_fits_a_form_of_a_rule() -> None:
    for each in UNREPORTED:
        assert each.reason
        assert {name.partition(".")[0] for name in each.rules.split()} <= set(RULES)
        first, *_ = each.forms.split(" \\+ ")  # of a pair
        assert any(re.fullmatch(first, name) for name in FORMS), each.forms


@pytest.mark.parametrize("rule", mark_sample(RULES, every=12))
def test_a_fault_is_found_in_two_forms_at_once(rule: str, tmp_path: Path) -> None:
    random, lost = chance(), []
    for number, sample in enumerate(RULES[rule].bad):
        worst = worth(sample.script, sample, rule, tmp_path)
        forms = [
            name
            for name, _ in changed(sample)
            if not any(each.holds(name, rule, number) for each in UNREPORTED)
        ]
        for _ in range(_PAIRS * times if forms else 0):
            first, second = random.choice(forms), random.choice(forms)
            once = FORMS[first](sample.script)
            twice = FORMS[second](once) if once else None
            least = min(expected(first, worst), expected(second, worst))
            pair = f"{first} + {second}"
            if any(each.holds(pair, rule, number) for each in UNREPORTED):
                continue
            if twice and worth(twice, sample, rule, tmp_path) < least:
                lost.append(f"{rule}.{number}: {pair}")
    assert "\n".join(lost) == ""


@pytest.mark.parametrize(
    ("line", "options", "program"),
    [
        ("mpiexec -n4 ./a", {"ntasks": "4"}, "./a"),
        ("srun -lun4 ./a", {"label": "-lun4", "unbuffered": "-lun4", "ntasks": "4"}, "./a"),
        ("srun --no-kill=off -K1 ./a", {"no-kill": "off", "kill-on-bad-exit": "1"}, "./a"),
        ("numactl -l ./a", {"localalloc": "-l"}, "./a"),
        ("mpiexec -env A 1 ./a", {"env": "A"}, "./a"),
        ("ssh -p 22 host ./a", {"p": "22", "image": "host"}, "./a"),
    ],
)  # fmt: skip
def test_options_of_a_program_are_read_by_its_table(
    line: str, options: dict[str, str], program: str
) -> None:
    name, *words = line.split()
    found = unwrap(name, [Word(plain(word), 0) for word in words])
    assert found is not None
    assert {key: word.shown for key, word in found.options_in_order} == options
    assert [word.shown for word in found.rest] == [program]
