"""What ranks get: each fault is found in every launch line and every context of the shell."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml
from following import severities_of

from envcfg.lint.lint_rule import Sample
from suites import mark_sample

FORMS = yaml.safe_load(
    (Path(__file__).parent / "rank_forms.yaml").read_text(encoding="utf-8")
)
HEAD = "#!/bin/bash\n#SBATCH --nodes=2 --ntasks-per-node=4 --gpus-per-node=4\n"
LAUNCHES = {
    "plain": "srun {srun} {program}",
    "options": "srun {srun} -l --ntasks-per-node=4 --cpu-bind=none {program} --epochs 3",
    "container": "srun {srun} singularity exec {exec} pytorch.sif {program}",
    "variable": 'LAUNCHER="srun {srun} --label"\n$LAUNCHER {program}',
    "unknown word": "srun {srun} $SRUN_OPTIONS {program} $MORE",
}
CONTEXTS = {
    "top": "{}",
    "function": "main() {{\n{}\n}}\nmain",
    "loop": "for i in 1 2; do\n{}\ndone",
}


def scripts(form: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield the scripts with a fault, each with the names of its launch line and context."""
    program = f"{form.get('program', '')} python train.py"
    if "inner" in form:
        program = f"bash -c '{form['inner']}'"
    for launch, line in LAUNCHES.items():
        words = {"srun": form.get("srun", ""), "exec": form.get("exec", "")}
        run = re.sub(" +", " ", line.format(program=program, **words))
        for context, around in CONTEXTS.items():
            if "only" in form and launch not in form["only"]:
                continue
            if {launch, context}.isdisjoint(form.get("except", ())):
                line_of = (
                    f"#SBATCH {form['directive']}\n" if "directive" in form else ""
                )
                body = form["script"].replace("RUN", run)
                yield (
                    f"{launch}, {context}",
                    HEAD + line_of + around.format(body) + "\n",
                )


@pytest.mark.parametrize(
    "form", mark_sample(FORMS, every=3), ids=lambda form: form["name"]
)
def test_fault_of_ranks_is_found_in_each_launch_line_and_context(
    form: Mapping[str, Any], tmp_path: Path
) -> None:
    sample = Sample("", files=form.get("files", {}), profile=form.get("profile"))
    missed = [
        name
        for name, script in scripts(form)
        if not {"warning", "error"}
        & {*severities_of(script, sample, form["rule"], tmp_path)}
    ]
    assert missed == []
