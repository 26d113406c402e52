"""Converted scripts carry their steps: a job needs neither envcfg nor Python."""

from __future__ import annotations

from pathlib import Path

import pytest
from compare import NEEDS_ENVCFG, PROFILE, Ran, compared, run
from old_scripts import HEAD, scripts

from suites import mark_sample
from support import Wrapped, envcfg

# What only the job knows: the shell reads it there, and lint does not know it.
GIVEN = 'given() { read -r "$1" <<<"$2"; }\nread -r N <<<2; read -r SIF <<<./x.sif\n'
CARRIED = {
    "number": "srun -n $N python t.py",
    "quoted number": 'srun --ntasks="$N" -l python t.py "$@"',
    "options": "read -r O <<<'-l -n 2'\nsrun $O python t.py a",
    "no options": "read -r O <<<''\nsrun -l $O python t.py",
    "options, then others": "read -r O <<<'--mpi none'\nsrun $O -n 2 python t.py",
    "options of flux": "read -r O <<<'-N2 -n4'\nflux run $O python t.py",
    "image": 'srun singularity exec "$SIF" python t.py "a b"',
    "image, bare": "srun singularity exec --nv $SIF python t.py",
    "image with a default": 'srun singularity exec "${IMAGE:-x.sif}" python t.py',
    "bind": 'srun singularity exec -B "$PWD:/w" x.sif python t.py',
    "bind of two": "read -r B <<</usr:/b,/opt\nsrun singularity exec -B $B x.sif python t.py",
    "long bind": 'read -r B <<</usr\nsrun apptainer exec --bind="$B:/b" x.sif python t.py',
    "environment": "srun singularity exec --env A=$N,B=c x.sif python t.py",
    "environment of srun": 'srun --export=ALL,A="$N" python t.py',
    "special signs": 'A=\'a"b $x\'\nsrun --comment="$A" python t.py "$A"',
    "two images": "for S in ./x.sif x.sif; do srun singularity exec $S python t.py; done",
    "two lines": "srun -n $N python a.py\nsrun singularity exec x.sif python b.py $N",
    "timeout": "timeout 30 srun -n $N singularity exec $SIF python t.py",
    "exec": "exec srun -n $N python t.py $?",
    "agent": "torchrun --nproc-per-node $N t.py",
    "program of a variable": 'P=python\nsrun -l "$P" t.py',
}


@pytest.mark.parametrize("name", mark_sample(CARRIED, every=3))
def test_a_line_with_values_of_the_job_starts_the_same(
    name: str, tmp_path: Path
) -> None:
    head = HEAD if "flux" not in CARRIED[name] else "#!/bin/bash\n#flux: -N 2\n"
    script = f"{head}{GIVEN}{CARRIED[name]}\n"
    assert compared(script, tmp_path) == ""
    assert NEEDS_ENVCFG not in (tmp_path / "work/job.sh").read_text()


# The job alone can read these, so that it needs envcfg; the note says so.
OPEN = {
    "options of a runtime": "srun singularity exec $O x.sif python t.py",
    "mounts of Pyxis": 'srun --container-image=./x --container-mounts="$M" python t.py',
    "a name of a variable": "srun --export=ALL,$A=1 python t.py",
    "program and options": 'srun $O "$P" t.py',
}


@pytest.mark.parametrize("name", OPEN)
def test_a_line_that_only_the_job_can_read_needs_envcfg(name: str, here: Path) -> None:
    done = convert(f"{HEAD}{OPEN[name]}\n")
    assert (done.code, NEEDS_ENVCFG in done.text) == (0, True), done.err
    assert "old.sh:4: the job needs envcfg, because only the job" in done.err
    assert here.exists()


def test_without_a_profile_the_job_detects_its_system(tmp_path: Path) -> None:
    (tmp_path / "old.sh").write_text(f"{HEAD}srun python t.py\n")
    done = envcfg("wrap", "--from", f"{tmp_path}/old.sh")
    assert NEEDS_ENVCFG in done.text
    assert "the job detects it, for which it needs envcfg" in done.err
    assert "--profile NAME" in done.err


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "plain.yaml").write_text(PROFILE)
    return tmp_path


def convert(script: str, *options: str) -> Wrapped:
    Path("old.sh").write_text(script)
    return envcfg("wrap", "--from", "old.sh", "--profile", "./plain.yaml", *options)


def run_in(folder: Path, script: str) -> Ran:
    """Run a script in a job without envcfg."""
    (folder / "job").mkdir(exist_ok=True)
    (folder / "work").mkdir(exist_ok=True)
    (folder / "work/x.sif").touch()
    (folder / "work/job.sh").write_text(script)
    return run(folder / "work/job.sh", folder / "job")


def test_the_machinery_is_a_file_next_to_the_script(here: Path) -> None:
    old = f"{HEAD}srun -n 2 python a.py\nsrun -n 2 singularity exec x.sif python b.py\n"
    done = convert(old, "-o", "new.sh")
    assert done.code == 0, done.err
    new = (here / "new.sh").read_text()
    files = sorted((here / ".envcfg").iterdir())
    assert files
    for file in files:
        assert str(file) in new
        assert f"new.sh needs the file {file}: keep both" in done.err
    assert len(new) < 20_000
    ran = run_in(here, new)
    assert (ran.code, len(ran.starts)) == (0, 4), ran.err
    files[0].unlink()
    gone = here / "gone"
    gone.mkdir()
    failed = run_in(gone, new)
    assert failed.code == 4
    assert b"is missing or changed" in failed.err
    assert b"envcfg wrap --from old.sh --profile ./plain.yaml -o new.sh" in failed.err


def test_inline_writes_a_single_file(here: Path) -> None:
    assert convert(f"{HEAD}srun python a.py\n", "-o", "new.sh", "--inline").code == 0
    assert not (here / ".envcfg").exists()
    ran = run_in(here, (here / "new.sh").read_text())
    assert (ran.code, bool(ran.starts)) == (0, True), ran.err


@pytest.mark.parametrize("pipe", ["2>&1 | sort", "|& sort", "2>&1 | sort | uniq"])
def test_lines_of_envcfg_are_no_data_of_a_pipeline(pipe: str, here: Path) -> None:
    entry = "{value: a, why: x, source: y, date: 2026-01-01}"
    (here / "plain.yaml").write_text(f"{PROFILE}env:\n  MINE: {entry}\n")
    line = f"srun -n 2 python a.py {pipe} >final.txt"
    done = convert(f"{HEAD}export MINE=b\n{line}\necho mine >&2\n")
    ran = run_in(here, done.text)
    assert (ran.code, len(ran.starts)) == (0, 2), ran.err
    assert b"envcfg: note: from your environment: MINE=b" in ran.err
    assert ran.err.endswith(b"mine\n")
    (data,) = here.rglob("final.txt")
    assert b"envcfg" not in data.read_bytes()


CHANGED = {
    "option": "O=-l\nsource ./e.sh\nsrun $O python t.py",
    "image": 'S=a.sif\nsource ./e.sh\nsrun singularity exec "$S" python t.py',
    "refused option": "read -r O <<<--multi-prog\nsrun $O python t.py",
    "container": "read -r O <<<'singularity exec x.sif'\nsrun $O python t.py",
}


@pytest.mark.parametrize("name", CHANGED)
def test_another_line_than_the_converted_one_starts_nothing(
    name: str, here: Path
) -> None:
    body = CHANGED[name].replace("source ./e.sh", 'eval "$(echo S=x.sif O=-v)"')
    ran = run_in(here, convert(f"{HEAD}{body}\necho goes on\n").text)
    assert (ran.code, ran.starts, ran.out) == (4, (), b"")
    assert b"this launch line is not the one that was converted: srun" in ran.err
    assert b"hint: convert the script again" in ran.err


@pytest.mark.nightly
def test_nearly_all_scripts_of_the_comparison_need_no_envcfg(here: Path) -> None:
    del here
    needing = [
        name
        for name, script in list(scripts().items())[::9]
        if NEEDS_ENVCFG in convert(script).text
    ]
    assert needing == []
