"""No silent gap: a fault behind any construct of bash is found, or lint names the gap."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from envcfg.lint.detectors import load_detectors
from envcfg.lint.rule_runner import Remark, judge
from envcfg.lint.script_source import Sources
from suites import mark_sample

HEAD = "#!/bin/bash\n#SBATCH --nodes=1\n#SBATCH --ntasks=4\n#SBATCH --gpus=4\n"
FAULTS = {
    "EC101": 'srun bash -c "python train.py --rank $SLURM_PROCID"\n',
    "EC207": "export MIOPEN_USER_DB=/tmp/x\nsrun python train.py\n",
}
AROUND = ["%s", "f() {\n%s\n}\nf", "if ls; then\n%s\nfi", "x=$(\n%s\n)", "{\n%s\n} >a"]
HERE = Path(__file__).parent
CONSTRUCTS = (HERE / "constructs.txt").read_text("utf-8").rstrip("\n").split("\n####\n")
SCRIPTS = [
    *HERE.glob("scripts/*/*"),
    *HERE.parent.glob("material/files/*.sh"),
    *HERE.parent.glob("golden/jobs/*.sh"),
]


def judged(text: str) -> list[Remark]:
    """Return the findings of all rules on a script."""
    sources = Sources()
    source = sources.add("job.sh", text.encode())
    return judge([source], sources, rules=list(load_detectors()))["job.sh"]


def is_accepted(text: str) -> bool:
    """Return whether bash reads a text to its end, without a warning."""
    done = subprocess.run(
        ["bash", "-O", "extglob", "-n"],
        input=text.encode(),
        capture_output=True,
        check=False,
    )
    return done.returncode == 0 and not done.stderr


def is_found(rule: str, text: str) -> bool:
    """Return whether the fault at the end of *text* is found, or its part is named."""
    whole = text.rstrip("\n") + "\n" + FAULTS[rule]
    line = whole.count("\n", 0, whole.rindex(FAULTS[rule])) + 1
    rules = {
        remark.finding.rule
        for remark in judged(whole)
        if remark.finding.rule == "part-not-read"
        or (remark.finding.place and remark.finding.place.line == line)
    }
    return bool(rules & {rule, "part-not-read"})


@pytest.mark.parametrize("construct", mark_sample(CONSTRUCTS, every=12))
def test_fault_behind_a_construct_is_found(construct: str) -> None:
    for around in AROUND:
        text = HEAD + around % construct + "\n"
        if is_accepted(text):
            assert all(is_found(rule, text) for rule in FAULTS), text


@pytest.mark.parametrize(
    "path", SCRIPTS, ids=lambda path: f"{path.parent.name}-{path.name}"
)
def test_fault_behind_a_real_script_is_found(path: Path) -> None:
    text = path.read_text("utf-8")
    assert not is_accepted(text) or is_found("EC207", text)


@pytest.mark.parametrize(
    ("construct", "lines"),
    [
        ("echo\nfor i in a b; { echo $i; }", "6 to 8"),
        ("if ls; then\n  echo ${x~}\nfi", "6 to 7"),
        ('[ $a \\> b ] || echo "x"', "5 to 7"),
    ],
)
def test_unread_part_is_named_with_its_lines(construct: str, lines: str) -> None:
    (note,) = judged(f"{HEAD}{construct}\nsrun python a.py\nsrun python b.py\n")
    assert note.finding.rule == "part-not-read"
    assert note.finding.message == (
        f"lint cannot read lines {lines}, and may miss faults there"
    )


@pytest.mark.parametrize(
    "lines",
    [
        "#PBS -q gpu\n#PBS -b 2\n#PBS -l elapstim_req=01:00:00",
        "#PBS --group=NQSV\n#PBS -T openmpi",
        "#PBS -l cpunum_job=8,gpunum_job=2",
    ],
)
def test_directives_of_nqsv_are_named_and_not_judged_as_pbs(lines: str) -> None:
    (note,) = judged(f"#!/bin/bash\n{lines}\nmpirun -np 2 ./solver\n")
    assert note.finding.rule == "part-not-read"
    assert "of another scheduler than PBS" in note.finding.message
