"""The work of lint grows as the script does: calls and comparisons are counted, not seconds."""

from __future__ import annotations

import sys
from types import FrameType

import pytest

from envcfg.lint.detectors import load_detectors
from envcfg.lint.lint_rule import ScriptJob
from envcfg.lint.model_builder import read_script
from envcfg.lint.resource_facts import job_shape
from envcfg.lint.rule_runner import judge
from envcfg.lint.script_model import Model
from envcfg.lint.script_source import Sources

HEAD = "#!/bin/bash\n#SBATCH --nodes=2\nA0=x\n"
FORMS = {
    "assignments": lambda n: f"A{n + 1}=$A{n}\n",
    "exports": lambda n: f"export A{n + 1}=$A{n}\n",
    "arrays": lambda n: f'A{n + 1}=("$A{n}" b)\n',
    "steps": lambda n: f"srun --ntasks=4 python train{n}.py --a $A{n}\n",
    "functions": lambda n: f"f{n}() {{ A{n + 1}=$A{n}; }}\nf{n}\n",
    "branches": lambda n: f"if [ $A{n} ]; then A{n + 1}=$A{n}; fi\n",
    "subshells": lambda n: f"(A{n + 1}=$A{n}; echo $A{n + 1})\n",
}


def calls(text: str) -> int:
    """Return the number of calls for a script."""
    number = 0

    def count(_frame: FrameType, _event: str, _argument: object) -> None:
        nonlocal number
        number += 1

    sources = Sources()
    given = [sources.add("job.sh", text.encode())]
    sys.setprofile(count)
    try:
        judge(given, sources, rules=list(load_detectors()))
    finally:
        sys.setprofile(None)
    return number


@pytest.mark.parametrize("form", FORMS)
def test_the_calls_grow_no_faster_than_the_script(form: str) -> None:
    texts = {size: HEAD + "".join(map(FORMS[form], range(size))) for size in (60, 240)}
    calls(texts[60])  # what is loaded once
    assert calls(texts[240]) < 6 * calls(texts[60])


class Name(str):
    """A name that counts its comparisons; sets compare names with the same hash."""

    __slots__ = ()
    compared = 0
    __hash__ = str.__hash__

    def __eq__(self, other: object) -> bool:
        Name.compared += 1
        return str.__eq__(self, other)

    def __ne__(self, other: object) -> bool:
        return not self == other


def with_counting_names(model: Model) -> Model:
    """Return *model* with a separate name in each entry."""
    model.assignments = [a._replace(name=Name(a.name)) for a in model.assignments]
    model.expansions = [
        e._replace(hole=e.hole._replace(name=Name(e.name))) for e in model.expansions
    ]
    return model


@pytest.mark.parametrize("rule", load_detectors())
def test_a_rule_compares_each_name_a_few_times(rule: str) -> None:
    numbers = []
    for size in (60, 240):
        lines = (f"export A{n}=x\nB{n}=$A{n}\n" for n in range(size))
        source = Sources().add("job.sh", (HEAD + "".join(lines)).encode())
        (model,) = read_script(source, Sources())
        job = ScriptJob(with_counting_names(model), job_shape(model))
        Name.compared = 0
        list(load_detectors()[rule](job))
        numbers.append(Name.compared)
    assert numbers[1] <= 6 * numbers[0] + 100, numbers
