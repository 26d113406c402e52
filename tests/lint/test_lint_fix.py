"""``envcfg lint --fix`` and ``--diff``: what is mended, what is left, and how files are written."""

from __future__ import annotations

import os
import shutil
import stat
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given as hypothesis_given
from hypothesis import strategies as st

from envcfg.lint.fixes import mend
from envcfg.lint.lint_rule import Known, load_rules
from fuzzing import part
from suites import mark_sample
from support import Wrapped, envcfg

RULES = list(load_rules())
BAD = """\
#!/bin/bash
#SBATCH --nodes=2
#SBATCH --ntasks-per-node=4
#SBATCH --cpus-per-task=7
export NCCL_DEBUG=INFO NCCL_DEBUG_SUBSYS=INIT
export WORLD=$(SLURM_NPROCS)
srun python prepare.py
srun bash -c 'python train.py --id=\\$SLURM_JOB_ID'
"""
MENDED = """\
#!/bin/bash
#SBATCH --nodes=2
#SBATCH --ntasks-per-node=4
#SBATCH --cpus-per-task=7
export NCCL_DEBUG=INFO NCCL_DEBUG_SUBSYS=INIT
export WORLD=${SLURM_NPROCS}
srun --cpus-per-task=$SLURM_CPUS_PER_TASK python prepare.py
srun --cpus-per-task=$SLURM_CPUS_PER_TASK bash -c 'python train.py --id=$SLURM_JOB_ID'
"""
SAMPLES = [sample.script for rule in load_rules().values() for sample in rule.bad]


def mended(data: bytes) -> bytes:
    facts = {"slurm": "22.05"}
    done = mend(
        {"-": data},
        rules=RULES,
        profile_of=lambda _: lambda _: None,
        known=Known(facts=facts),
    )
    return done.texts["-"]


@pytest.fixture
def job(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "job.sh").write_text(BAD)
    return tmp_path / "job.sh"


def lint(*arguments: str) -> Wrapped:
    return envcfg("lint", "--fact", "slurm=22.05", *arguments)


def given(data: bytes, *arguments: str) -> subprocess.CompletedProcess[bytes]:
    done = envcfg("lint", "--fact", "slurm=22.05", *arguments, "-", stdin=data)
    return subprocess.CompletedProcess("", done.code, done.out, done.err.encode())


def test_a_file_is_mended_and_a_second_run_changes_nothing(job: Path) -> None:
    done = lint("--fix", "job.sh")
    assert job.read_text() == MENDED
    assert "job.sh: mended EC102, EC104, 2 x EC626" in done.err
    before = job.stat()
    again = lint("--fix", "job.sh")
    assert ("mended" in again.err, job.stat()) == (False, before)
    assert (again.code, again.text) == (done.code, done.text)


def test_what_is_left_is_shown_and_counts(job: Path) -> None:
    job.write_text(BAD.replace("$(SLURM_NPROCS)", "$(SLURM_NPROCS) RANK=$SLURM_PROCID"))
    done = lint("--fix", "job.sh")
    assert done.code == 1
    assert "EC101" in done.text
    assert "EC104" not in done.text


def test_only_chosen_rules_are_mended(job: Path) -> None:
    lint("--fix", "--select", "EC104", "job.sh")
    assert job.read_text() == BAD.replace("$(SLURM_NPROCS)", "${SLURM_NPROCS}")


@pytest.mark.parametrize("arguments", [("--diff",), ("--fix", "--diff")])
def test_a_diff_changes_nothing_and_can_be_applied(
    arguments: tuple[str, ...], job: Path
) -> None:
    job.write_text(BAD.removesuffix("\n"))
    done = lint(*arguments, "job.sh")
    assert done.code == 1
    assert job.read_text() == BAD.removesuffix("\n")
    assert done.text.startswith("--- job.sh\n+++ job.sh\n@@")
    assert done.text.count("\\ No newline at end of file\n") == 2
    if shutil.which("patch") is None:
        pytest.skip("patch is not here")
    subprocess.run(["patch", "-s", "job.sh"], input=done.out, check=True)
    assert job.read_text() == MENDED.removesuffix("\n")


def test_a_file_keeps_its_mode_and_its_name_as_a_link(job: Path) -> None:
    job.chmod(0o750)
    job.rename(job.with_name("real.sh"))
    job.symlink_to("real.sh")
    lint("--fix", "job.sh")
    assert job.is_symlink()
    assert job.with_name("real.sh").read_text() == MENDED
    assert job.stat().st_mode & 0o777 == 0o750


def test_two_names_of_one_file_are_one(job: Path) -> None:
    job.with_name("other.sh").symlink_to("job.sh")
    lint("--fix", "job.sh", "other.sh", "./job.sh")
    assert job.read_text() == MENDED


def test_what_is_only_read_along_stays(job: Path) -> None:
    rank = job.with_name("rank.sh")
    rank.write_text("#!/bin/bash\nexec $@\n")
    job.write_text(BAD.replace("python prepare.py", "./rank.sh python prepare.py"))
    done = lint("--fix", "job.sh")
    assert "rank.sh:2" in done.text
    assert rank.read_text() == "#!/bin/bash\nexec $@\n"
    lint("--fix", "job.sh", "rank.sh")
    assert rank.read_text() == '#!/bin/bash\nexec "$@"\n'


def test_nothing_is_written_where_one_file_cannot_be(job: Path) -> None:
    # what a shell has opened for reading
    line = f"{sys.executable} -m envcfg lint --fix job.sh <(cat job.sh)"
    done = subprocess.run(["bash", "-c", line], capture_output=True, check=False)
    assert done.returncode == 4, done.stderr
    assert b"open for reading" in done.stderr
    assert job.read_text() == BAD


def test_standard_input_is_mended_to_standard_output(job: Path) -> None:
    done = given(BAD.encode(), "--fix")
    assert done.stdout == MENDED.encode()
    assert b"mended" in done.stderr
    left = given(BAD.replace("python train", "RANK=1 python train").encode(), "--fix")
    assert left.returncode == 1 or b"error" not in left.stderr
    clean = b"#!/bin/bash\r\necho \xe9"
    assert given(clean, "--fix").stdout == clean
    assert job.exists()


@pytest.mark.parametrize(
    "arguments",
    [
        ("--diff", "--json", "job.sh"),
        ("--fix", "--format", "sarif", "-"),
        ("--fix", "job.sh", "-"),
    ],
)
def test_only_one_thing_goes_to_stdout(arguments: tuple[str, ...], job: Path) -> None:
    assert lint(*arguments).code == 2
    assert job.read_text() == BAD


def test_an_environment_is_nothing_to_mend() -> None:
    dump = b"PATH=/bin\nHOME=/root\nMIOOPEN_CUSTOM_CACHE_DIR=/tmp/x\n"
    assert mended(dump) == dump


def test_a_file_too_large_to_be_read_whole_is_left(job: Path) -> None:
    job.write_text(BAD + "#" * (1 << 20))
    assert lint("--fix", "job.sh").code == 4
    assert job.read_text().startswith(BAD)


@pytest.mark.parametrize(
    "script",
    [
        # srun by its path, or from a variable: nothing may be put into the path
        "#SBATCH --nodes=2\n#SBATCH -c 8\n/usr/bin/srun python train.py\n",
        "#SBATCH --nodes=2\n#SBATCH -c 8\nRUN='srun -n 2'\n$RUN python train.py\n",
        "#SBATCH --nodes=2\n#SBATCH -c 8\nenv A=1 srun python train.py\n",
        # within a here-document, where the $ is put off by a backslash
        "cat > x <<EOF\n#!/bin/bash\nexec \\$*\nEOF\nsrun ./x python train.py\n",
    ],
)
def test_an_edit_leaves_what_is_run(script: str) -> None:
    data = f"#!/bin/bash\n{script}".encode()
    after = mended(data)
    assert b"/usr --cpus" not in after
    assert b'\\"$@"' not in after
    assert after.replace(b" --cpus-per-task=$SLURM_CPUS_PER_TASK", b"") == data


@pytest.mark.parametrize("script", mark_sample(SAMPLES, every=3))
def test_a_sample_is_at_its_end_when_it_is_mended(script: str) -> None:
    once = mended(script.encode())
    assert mended(once) == once
    if shutil.which("bash"):
        for text in (script.encode(), once):
            done = subprocess.run(
                ["bash", "-n"], input=text, check=False, capture_output=True
            )
            if done.returncode:  # the sample itself was no bash
                assert text == script.encode()
                break


MEANT = [
    "export NCCL_DEBUG_SUBSYS=INIT,COLL",
    "srun bash -c \"run_in_container 'echo \\${SLURM_LOCALID:-0}'\"",
    "srun bash -c 'my_launcher --id=\\$SLURM_JOB_ID'",
    "srun bash -c 'ssh $1 \\$SLURM_JOB_ID'",
]


@pytest.mark.parametrize("line", MEANT)
def test_what_may_be_meant_stays(line: str) -> None:
    script = f"#!/bin/bash\n#SBATCH --nodes=2\n{line}\nsrun python train.py\n".encode()
    assert mended(script) == script


LINES = st.sampled_from(
    [line for script in (BAD, *SAMPLES) for line in script.splitlines()]
)
FORMS: list[Callable[[str], bytes]] = [
    lambda text: text.encode(),
    lambda text: text.encode().replace(b"\n", b"\r\n"),
    lambda text: text.encode() + b"# caf\xe9 \xff\x01",
]


@part(160)
@hypothesis_given(st.lists(LINES, max_size=12), st.sampled_from(FORMS))
def test_any_script_comes_to_an_end(
    lines: list[str], form: Callable[[str], bytes]
) -> None:
    data = form("\n".join(["#!/bin/bash", *lines, ""]))
    once = mended(data)
    assert mended(once) == once
    assert once.count(b"\n") == data.count(b"\n")
    assert once.count(b"\r") == data.count(b"\r")
    assert once.endswith(b"\x01") == data.endswith(b"\x01")


def test_line_ends_and_bytes_stay() -> None:
    data = BAD.replace("\n", "\r\n").encode() + b"# \xe9\xff\x01"
    assert mended(data) == MENDED.replace("\n", "\r\n").encode() + b"# \xe9\xff\x01"


# Other names and rights of a file


def refused(path: Path, reason: str, *others: str) -> None:
    """Check that --fix changes nothing, and says only why."""
    before, names = path.read_bytes(), sorted(os.listdir(path.parent))
    done = lint("--fix", path.name, *others)
    assert done.code == 4
    assert reason in done.err
    assert "mended" not in done.err
    assert path.read_bytes() == before
    assert sorted(os.listdir(path.parent)) == names


def test_a_read_only_script_stays_as_it_is(job: Path) -> None:
    job.chmod(0o444)
    refused(job, "cannot write job.sh: it is read-only")
    assert stat.S_IMODE(job.stat().st_mode) == 0o444


def test_the_other_names_of_a_script_stay_the_same_file(job: Path) -> None:
    os.link(job, "other.sh")
    refused(job, "cannot write job.sh: it has 2 names (hard links)")
    assert os.path.samefile(job, "other.sh")
    os.unlink("other.sh")
    assert lint("--fix", "job.sh").code in {0, 1}
    assert job.read_text() != BAD


@pytest.mark.parametrize("mode", [0o755, 0o600, 0o640])
def test_a_repaired_script_keeps_its_mode(job: Path, mode: int) -> None:
    job.chmod(mode)
    done = lint("--fix", "job.sh")
    assert "job.sh: mended" in done.err
    assert stat.S_IMODE(job.stat().st_mode) == mode


def test_a_link_to_a_script_stays_a_link(job: Path) -> None:
    os.symlink("job.sh", "link.sh")
    lint("--fix", "link.sh")
    assert os.path.islink("link.sh")
    assert job.read_text() != BAD


def test_of_several_scripts_all_or_none_are_written(job: Path) -> None:
    other = job.with_name("other.sh")
    other.write_text(BAD)
    other.chmod(0o444)
    refused(job, "cannot write other.sh: it is read-only", "other.sh")


# Lines with one right spelling, and the lines that --fix writes; an unchanged line is unsure.
SPELLINGS = {
    "#SBATCH --gpu-per-node=8": "#SBATCH --gpus-per-node=8",
    "#SBATCH --time=24h": "#SBATCH --time=24:00:00",
    "#SBATCH -t 2h": "#SBATCH -t 2:00:00",
    "#SBATCH --time=soon": "#SBATCH --time=soon",
    # A value with another fault stays, because the repair must not cause a finding.
    "export MIOPEN_USER_DB=/tmp/a": "export MIOPEN_USER_DB=/tmp/a",
    "export MIOPEN_CUSTOM_CACHE_DIR=~/a MIOPEN_USER_DB=~/a": (
        "export MIOPEN_CUSTOM_CACHE_DIR=~/a MIOPEN_USER_DB_PATH=~/a"
    ),
    "export FI_CXI_RDV_PROTO=alt_read": "export FI_CXI_RDZV_PROTO=alt_read",
    "export NCLL_DEBUG=INFO": "export NCCL_DEBUG=INFO",
    "export NCCL_SOCKET_IFNAM=hsn": "export NCCL_SOCKET_IFNAME=hsn",
    "export NCCL_SOCKT_IFNAM=hsn": "export NCCL_SOCKT_IFNAM=hsn",
    "export NCCL_DEBG=INFO; echo $NCCL_DEBG": "export NCCL_DEBG=INFO; echo $NCCL_DEBG",
    "export NCCL_DEBG=INFO NCCL_DEBUG=INFO": "export NCCL_DEBG=INFO NCCL_DEBUG=INFO",
    "export APPTAINERENV_NCCL_DEBG=INFO": "export APPTAINERENV_NCCL_DEBUG=INFO",
    "export OMPI_MCA_PML=ob1": "export OMPI_MCA_pml=ob1",
}


@pytest.mark.parametrize("line", SPELLINGS)
def test_one_right_spelling_is_written(line: str) -> None:
    script = f"#!/bin/bash\n#SBATCH --nodes=2\n{line}\nsrun python train.py\n"
    assert mended(script.encode()).decode() == script.replace(line, SPELLINGS[line])


def test_repairs_are_marked_and_counted_and_nothing_else_is_promised(job: Path) -> None:
    done = lint("job.sh")
    assert done.text.count("(lint --fix does this)") == 3
    assert done.text.endswith("; lint --fix repairs 3\n")
    lint("--fix", "job.sh")
    assert job.read_text() == MENDED
    assert "--fix" not in lint("job.sh").text


@pytest.mark.parametrize("case", ["read-only", "a second name", "not the rule"])
def test_a_repair_that_cannot_be_written_is_not_promised(case: str, job: Path) -> None:
    if case == "read-only":
        job.chmod(0o444)
    elif case == "a second name":
        Path("second.sh").hardlink_to(job)
    ignored = ("--ignore", "EC1,EC6") if case == "not the rule" else ()
    assert "--fix" not in lint("job.sh", *ignored).text
