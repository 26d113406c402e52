"""``lint --fix``: before and after it a script starts the same, but for what the mend names."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from compare import differences, run
from old_scripts import HEAD

from envcfg.core.linting import Linter

OLD_SLURM = {"slurm": "22.05"}  # srun does not take the cores from sbatch
CORES = "#SBATCH --cpus-per-task=7\n"
GDR = 'export NCCL_NET_GDR_LEVEL=3\nexport LEFT=1\nsrun singularity exec "{}" python t.py\n'
IMAGE = "lumi-multitorch-full-u24r70f21m50t210-20260415_130625.sif"


def only(*words: str) -> Callable[[str], bool]:
    return lambda line: any(word in line for word in words)


def nothing(_line: str) -> bool:
    return False


# By rule: scripts, and what tells the differences that the mend is for.
MENDS: dict[str, tuple[list[str], Callable[[str], bool]]] = {
    "EC102": (
        [
            r"srun bash -c 'python t.py --id=\$SLURM_JOB_ID'",
            r"srun bash -c 'cd /tmp && exec python t.py --id \${SLURM_JOB_ID} \"a b\"'",
            "C='torchrun --rdzv_id=\\$SLURM_JOB_ID t.py'\nsrun bash -c \"$C\" a 'b c'",
        ],
        only("words", "SLURM_JOB_ID"),
    ),
    "EC104": (
        [
            "export WORLD=$(SLURM_NTASKS)\nsrun python t.py",
            'A=1\nsrun python t.py $(A) "$(SLURM_JOB_ID)/x"',
            "set +e; N=$(SLURM_NNODES); srun python t.py --nodes=$N",
        ],
        only("words", "WORLD="),
    ),
    "EC105": (
        [
            "srun python t.py $@",
            "go() { srun python t.py ${@}; }\ngo 'a b' '*' ''",
            "srun python t.py $* >out.txt; echo $?",
        ],
        only("words"),
    ),
    "EC207": (
        [
            "export NCCL_DEBG=INFO\nsrun python t.py",
            "f() { export OMPI_MCA_PML=ob1; srun python t.py 'a b'; }\nf",
            "set -e\nexport APPTAINERENV_NCCL_DEBG=INFO\nsrun apptainer exec x.sif python t.py",
        ],
        only("NCCL_DEBG=", "NCCL_DEBUG=", "OMPI_MCA_"),
    ),
    "EC525": (
        [
            GDR.format(IMAGE),
            f"set -e\n{GDR.format(f'./{IMAGE}')}echo behind",
            f"f() {{ :; }}\n{GDR.format(IMAGE)}exit $?",
        ],
        only("NCCL_NET_GDR_LEVEL="),
    ),
    "EC626": (
        [
            f"{CORES}srun python t.py\nsrun -n1 python e.py 'a b'",
            f"{CORES}set -e\nsrun -n 2 singularity exec x.sif python t.py | cat",
            f"{CORES}f() {{ srun bash -c 'python t.py $SLURM_PROCID'; }}\nf || echo no",
        ],
        nothing,
    ),
    "EC647": (
        [
            "#SBATCH --gpu-per-node=2\nsrun python t.py",
            "#SBATCH --time=24h\nsrun python t.py 'a b'\nexit $?",
            "#SBATCH -t 2h\n#SBATCH --ntask=2\nsrun python t.py | cat",
        ],
        nothing,
    ),
}


@pytest.mark.nightly
@pytest.mark.parametrize("rule", MENDS)
def test_a_mend_changes_what_it_names_and_no_more(rule: str, tmp_path: Path) -> None:
    bodies, is_named = MENDS[rule]
    linter = Linter(
        profile="lumi-g" if rule == "EC525" else None, select=[rule], facts=OLD_SLURM
    )
    assert len(bodies) >= 3
    for number, body in enumerate(bodies):
        folder = tmp_path / str(number)
        for name in ("work", "old", "new"):
            (folder / name).mkdir(parents=True)
        script = folder / "work" / "job.sh"
        script.write_text(f"{HEAD}{body}\n")
        for name in ("x.sif", IMAGE):
            (folder / "work" / name).touch()
        before = run(script, folder / "old", arguments=("one", "t wo"))
        mended = linter.mend({str(script): script.read_bytes()})
        assert {*mended.rules[str(script)]} == {rule}, body
        script.write_bytes(mended.texts[str(script)])
        after = run(script, folder / "new", arguments=("one", "t wo"))
        found = differences(before, after)
        assert [line for line in found if not is_named(line)] == [], body
        assert before.starts
        assert bool(found) == (is_named is not nothing), body


@pytest.mark.nightly
def test_every_rule_with_a_mend_is_here() -> None:
    from envcfg.lint.lint_rule import load_rules

    found = set()
    for rule in load_rules().values():
        for sample in rule.bad:
            linter = Linter(profile=sample.profile, select=[rule.id], facts=OLD_SLURM)
            done = linter.mend({"-": sample.script.encode()})
            found |= {each for counts in done.rules.values() for each in counts}
    assert found == {*MENDS}
