"""Exit codes, signals, and what sourcing leaves alone."""

from __future__ import annotations

import signal
import subprocess
from pathlib import Path

import pytest

from support import LOCAL, Wrap, bash


@pytest.mark.parametrize("code", [0, 1, 3, 127, 143, 255])
@pytest.mark.parametrize("ranks", ["1", "3"])
def test_the_exit_code_is_the_program_s(wrap: Wrap, code: int, ranks: str) -> None:
    made = wrap(*LOCAL, "--ranks", ranks, "--", "sh", "-c", f"exit {code}")
    assert bash(made.out).returncode == code
    assert (
        bash(
            # bash 5.2 ends it at a line that begins like the last one and has a ")"
            b"set -euo pipefail; source <(cat <<'.'\n" + made.out + b".\n)\n"
        ).returncode
        == code
    )


def test_the_first_rank_that_fails_ends_the_others(wrap: Wrap) -> None:
    program = '[ "$RANK" = 1 ] && exit 3; exec sleep 600'
    made = wrap(*LOCAL, "--ranks", "3", "--", "sh", "-c", program)
    assert bash(made.out).returncode == 3


@pytest.mark.parametrize("ranks", ["1", "3"])
@pytest.mark.parametrize("name", ["SEGV", "KILL", "ABRT", "TRAP", "SYS", "XCPU"])
@pytest.mark.parametrize("shell", ["", "set -m; "])
def test_a_rank_that_a_signal_ends_is_named_in_one_line(
    wrap: Wrap, ranks: str, name: str, shell: str
) -> None:
    last = str(int(ranks) - 1)
    program = f'[ "$RANK" = {last} ] && kill -{name} $$; exec sleep 9'
    made = wrap(*LOCAL, "--ranks", ranks, "--", "sh", "-c", program)
    done = bash(shell.encode() + made.out)
    number = signal.Signals[f"SIG{name}"].value
    assert done.returncode == 128 + number
    (line,) = done.stderr.decode().splitlines()
    assert line.endswith(f": rank {last} died from signal {number}")


@pytest.mark.nightly
def test_a_rank_that_does_not_want_to_end_is_killed(wrap: Wrap) -> None:
    program = '[ "$RANK" = 1 ] && { sleep 1; exit 3; }; trap "" TERM; while :; do sleep 1; done'
    made = wrap(*LOCAL, "--ranks", "2", "--", "sh", "-c", program)
    assert bash(made.out).returncode == 3


PROGRAM = """
trap 'echo "$RANK got TERM"; exit 5' TERM
trap 'echo "$RANK got USR1"; exit 6' USR1
echo ready
while :; do sleep 0.05; done
"""


@pytest.mark.parametrize(
    ("sent", "code", "name"),
    [(signal.SIGTERM, 5, "TERM"), (signal.SIGUSR1, 6, "USR1")],
)
@pytest.mark.parametrize(
    "start",
    ["exec ./job.sh", "source <(cat steps.sh); envcfg_run bash program & wait -f $!"],
    ids=["run as a file", "a step in the background"],
)
def test_a_signal_reaches_every_rank(
    wrap: Wrap, tmp_path: Path, start: str, sent: signal.Signals, code: int, name: str
) -> None:
    (tmp_path / "program").write_text(PROGRAM)
    wrap(*LOCAL, "--ranks", "2", "-o", "job.sh", "--", "bash", "program")
    (tmp_path / "steps.sh").write_bytes(wrap(*LOCAL, "--ranks", "2").out)
    if "&" in start:  # what a user does who wants signals in the job's script
        traps = "trap 'kill -USR1 $!' USR1; trap 'kill -TERM $!' TERM; envcfg_run"
        start = start.replace("envcfg_run", traps)
        start = start.replace("& wait -f $!", "& wait $!; wait $!")
    job = subprocess.Popen(
        ["bash", "-c", start], stdout=subprocess.PIPE, start_new_session=True
    )
    assert job.stdout
    assert [job.stdout.readline() for _ in range(2)] == [b"ready\n"] * 2
    job.send_signal(sent)
    out, _ = job.communicate(timeout=60)
    assert sorted(out.decode().splitlines()) == [f"0 got {name}", f"1 got {name}"]
    assert job.returncode == code


STATE = """
state() {
  set +o; shopt -p; trap -p; pwd; printf '%s\\n' "$@" "$#"
  declare -p | grep -vE '^declare -[^ ]* (BASH|FUNCNAME|LINENO|RANDOM|SRANDOM|SECONDS|EPOCH|PIPESTATUS|_|ENVCFG_|PPID)'
  declare -F | grep -v ' envcfg_'
}
"""  # fmt: skip


@pytest.mark.parametrize("options", [
    "set +e", "set -euo pipefail", "set -fu; IFS=,",
    "set -ET; shopt -s expand_aliases; for name in CHLD ERR RETURN DEBUG; do trap ': mine' $name; done",
])  # fmt: skip
@pytest.mark.parametrize("command", [[], ["--", "true"]], ids=["steps", "command"])
def test_sourcing_touches_nothing_but_its_own_names(
    wrap: Wrap, tmp_path: Path, options: str, command: list[str]
) -> None:
    (tmp_path / "w.sh").write_bytes(wrap(*LOCAL, "--set", "MINE=1", *command).out)
    done = bash(
        f"{STATE}{options}\nset -- a 'b c'\n"
        'state "$@" >before\nsource ./w.sh\nsource ./w.sh\nstate "$@" >after'
    )
    assert done.returncode == 0, done.stderr.decode()
    assert (tmp_path / "after").read_text() == (tmp_path / "before").read_text()


def test_steps_follow_each_other_and_leave_nothing_behind(wrap: Wrap) -> None:
    made = wrap(*LOCAL, "--set", "MINE=1", "--ranks", "2")
    step = 'envcfg_run sh -c "echo step \\$RANK \\$MINE"'
    done = bash(b"set -euo pipefail\n" + made.out + f"\n{step}\n{step}\n".encode())
    assert sorted(done.stdout.decode().split("\n")) == [
        "",
        *sorted(["step 0 1", "step 1 1"] * 2),
    ]
    done = bash(made.out + b'\nenvcfg_run true; echo "${MINE-unset} ${RANK-unset}"')
    assert done.stdout == b"unset unset\n"


@pytest.mark.parametrize("code", [0, 3])
def test_what_reads_the_output_of_ranks_comes_to_its_end(wrap: Wrap, code: int) -> None:
    reader = "while read -r line; do sleep 0.05; echo $line; done"
    program = f"exec > >({reader}); echo {{1..9}} | fmt -w1; exit {code}"
    done = bash(wrap(*LOCAL, "--", "bash", "-c", program).out)
    assert (done.returncode, done.stdout.split()) == (
        code,
        b"1 2 3 4 5 6 7 8 9".split(),
    )


OPEN = "cd /proc/$$/fd && printf '%s ' *"


@pytest.mark.parametrize("setup", ["", "set -m;", "function exec { false; };"])
def test_steps_leave_no_file_open_in_the_shell_nor_in_a_rank(
    wrap: Wrap, tmp_path: Path, setup: str
) -> None:
    (tmp_path / "steps.sh").write_bytes(wrap(*LOCAL).out)
    (tmp_path / "open").write_text(f"{OPEN}\n")
    steps = (
        f"source ./steps.sh; ({OPEN}); envcfg_run true; envcfg_run true; echo; ({OPEN})"
    )
    before, after = bash(f"{setup} {steps}").stdout.splitlines()
    assert after == before
    alone = bash("exec sh ./open").stdout
    rank = bash(f"{setup} source ./steps.sh; envcfg_run sh ./open").stdout
    assert rank == alone


def test_a_step_without_command_is_an_error(wrap: Wrap, tmp_path: Path) -> None:
    done = bash(wrap(*LOCAL).out + b"\nenvcfg_run")
    assert done.returncode == 2
    assert b"no command" in done.stderr
    assert wrap(*LOCAL, "-o", "steps.sh").code == 0
    done = bash("./steps.sh")
    assert done.returncode == 2
    assert b"no command" in done.stderr
    text = (tmp_path / "steps.sh").read_text()
    (tmp_path / "job.sh").write_text(text.replace("\n", "\n#SBATCH --nodes=2\n", 1))
    assert bash("bash job.sh echo hello").stdout == b"hello\n"


def test_steps_side_by_side_have_their_own_ports(wrap: Wrap) -> None:
    step = b"envcfg_run sh -c 'echo $MASTER_PORT; sleep 1' &\n"
    done = bash(wrap(*LOCAL).out + b"\n" + step * 3 + b"wait")
    assert len(set(done.stdout.split())) == 3


def test_what_comes_after_a_step_in_a_subshell_keeps_its_input(wrap: Wrap) -> None:
    made = wrap(*LOCAL, "--ranks", "2")
    done = bash(made.out + b"\n(envcfg_run true </dev/null; cat) <<<left")
    assert done.stdout == b"left\n"


def test_a_script_of_steps_that_is_run_takes_its_arguments_as_command(
    wrap: Wrap, tmp_path: Path
) -> None:
    assert wrap(*LOCAL, "-o", "w.sh").code == 0
    done = subprocess.run(
        ["./w.sh", "printf", "%s|", "a b", "*"],
        cwd=tmp_path,
        capture_output=True,
        check=True,
    )
    assert done.stdout == b"a b|*|"


def test_input_goes_to_rank_0_alone(wrap: Wrap) -> None:
    made = wrap(*LOCAL, "--ranks", "2", "--", "sh", "-c", 'echo "$RANK $(cat)"')
    done = bash(made.out, stdin=b"typed")
    assert sorted(done.stdout.splitlines()) == [b"0 typed", b"1 "]
