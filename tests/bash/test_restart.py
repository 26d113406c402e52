"""A job whose step fails: it starts again, or not, by what check-log says of its output."""

from __future__ import annotations

import subprocess
from pathlib import Path
from shlex import quote

import pytest

from envcfg.job.script.modules import template

SCONTROL = """\
#!/bin/bash
echo "$@" >>"$NOTES"
if [[ $1 == show ]]; then echo "   ReqNodeList=(null) ExcNodeList=$EXCLUDED"; fi
if [[ $1 == update && -e $NOTES.busy ]]; then rm "$NOTES.busy"; exit 1; fi
"""
REQUEUE = "requeue 7\n"


@pytest.fixture
def noted(tmp_path: Path) -> Path:
    """The folder of stand-ins: scontrol notes what it is told."""
    (tmp_path / "scontrol").write_text(SCONTROL)
    (tmp_path / "scontrol").chmod(0o755)
    return tmp_path


def run(
    folder: Path,
    says: str | None,
    *,
    code: int = 5,
    starts: str = "",
    listed: Path | None = None,
    **env: str,
) -> tuple[int, str, str]:
    """Run a job whose step ends with *code*; *says*: what check-log does, None: not there.

    Returns:
        The job's exit code, what it wrote, and what scontrol was told.
    """
    notes = folder / "notes"
    notes.write_text("")
    listed_words = f" --exclude-from {listed}" if listed else ""
    if says is not None:
        (folder / "envcfg").write_text(
            '#!/bin/bash\n[[ "$*" == "check-log --next --unknown restart --no-default all'
            f'{listed_words} /proc/"*/fd/1 ]] || exit 9\n'
            'grep -q "the step fails" "${@: -1}" || exit 9\n'
            f"cat <<'END'\n{says}\nEND\nexit 1\n"
        )
        (folder / "envcfg").chmod(0o755)
    job = folder / "job.sh"
    job.write_text(
        "#!/bin/bash\nset -euo pipefail\n" + template("slurm/requeue") + template("slurm/restart") + env.pop("do", "")
        + f"\nstep() {{ echo the step fails; return {code}; }}\nenvcfg_restart 2 {quote(str(listed or ''))} step\n"
    )  # fmt: skip
    output = folder / "job.out"
    with output.open("w") as out:
        done = subprocess.run(
            ["bash", job],
            env={
                "PATH": f"{folder}:/usr/bin:/bin",
                "NOTES": str(notes),
                "EXCLUDED": "(null)",
                "SLURM_JOB_ID": "7",
                **({"SLURM_RESTART_COUNT": starts} if starts else {}),
                **env,
            },
            cwd=folder,
            stdout=out,
            stderr=subprocess.STDOUT,
            check=False,
        )
    return done.returncode, output.read_text(), notes.read_text()


@pytest.mark.parametrize(
    "says",
    [
        "restart: nid001234 went down",
        "restart: inconclusive: the log has no line of NCCL or RCCL",
        "",
        None,
        "anything: else",
        "restart without $(touch broken): x",
        "restart without a;touch broken: x",
    ],
)
def test_what_is_unknown_starts_again(noted: Path, says: str | None) -> None:
    code, said, told = run(noted, says)
    assert (code, told) == (0, REQUEUE), said
    assert "the step ended with 5; the job starts again\n" in said
    assert not (noted / "broken").exists()


@pytest.mark.parametrize(
    "answer",
    [
        "fix first: attempts 1 and 2 ended the same way: $(touch broken)",
        "done: the program ended well ($(touch broken))",
        "wait: the scheduler starts it again $(touch broken)",
    ],
)
def test_a_job_that_a_new_start_does_not_help_ends(noted: Path, answer: str) -> None:
    code, output, told = run(noted, answer)
    assert (code, told) == (5, "")
    assert f"envcfg: error: no other start: {answer}\n" in output
    assert not (noted / "broken").exists()


@pytest.mark.parametrize(
    ("excluded", "left_out"),
    [("(null)", "nid001234,nid7"), ("old[1-3]", "old[1-3],nid001234,nid7")],
)
@pytest.mark.parametrize("busy", [False, True])
def test_bad_nodes_are_left_out_as_soon_as_the_job_waits(
    noted: Path, excluded: str, left_out: str, busy: bool
) -> None:
    if busy:
        (noted / "notes.busy").touch()
    says = "restart without nid001234,nid7: they went down"
    _, said, told = run(noted, says, EXCLUDED=excluded)
    update = f"update JobId=7 ExcNodeList={left_out}\n"
    assert told == f"show job 7\n{REQUEUE}{update * (1 + busy)}", said
    assert "starts again without nid001234,nid7\n" in said


def test_the_list_of_bad_nodes_is_passed_on(noted: Path) -> None:
    says = "restart without nid[1-3],a_b.c,nid7: they went down"
    _, said, told = run(noted, says, listed=noted / "a b" / "bad.txt")
    assert "ExcNodeList=nid[1-3],a_b.c,nid7\n" in told, said


@pytest.mark.parametrize(
    ("options", "code", "says"),
    [
        ({"code": 0}, 0, ""),
        ({"starts": "2"}, 5, "has started again 2 times: no other start"),
        ({"starts": "009"}, 5, "no other start"),
        ({"do": "ENVCFG_CAUGHT='TERM '"}, 5, ""),  # cancelled
    ],
)
def test_who_is_done_or_was_told_to_end_does_not_start_again(
    noted: Path, options: dict[str, object], code: int, says: str
) -> None:
    found = run(noted, "restart: x", **options)  # type: ignore[arg-type]
    assert (found[0], found[2]) == (code, "")
    assert says in found[1]


@pytest.mark.parametrize("starts", ["1", "a[$(touch broken)]"])
def test_a_start_below_the_most_is_made(noted: Path, starts: str) -> None:
    assert run(noted, "restart: x", starts=starts)[2] == REQUEUE
    assert not (noted / "broken").exists()


def test_output_that_is_no_file_is_not_read(noted: Path) -> None:
    _, said, told = run(noted, "fix first: never read", do="exec > >(cat)")
    assert told == REQUEUE, said
