"""Whatever is wrong, and wherever stderr goes: a job does not go on without its step."""

from __future__ import annotations

import re
import shlex
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from support import LOCAL, ROOT, Wrapped, bash, envcfg

Wrap = Callable[..., Wrapped]
ENVCFG = f"{shlex.quote(sys.executable)} -m envcfg"
NOPE = ("wrap", "--profile", "nope", "--container", "none")


@pytest.fixture(autouse=True)
def alone(wrap: Wrap) -> None:
    assert callable(wrap)


def fails_with(script: bytes, code: int) -> bool:
    """Tell whether bash ends with *code* by *script*, run or sourced, and goes no further."""
    ways = (script, b"set +e\nsource /dev/stdin\necho goes on")
    for way in ways:
        done = bash(way, stdin=script)
        if (done.returncode, done.stdout) != (code, b""):
            return False
    return True


# What looks like an option that asks for something else, and is none.
VALUES = {
    "profiler-arg": [*NOPE, "--profiler-arg", "-otrace"],
    "setup": [*NOPE, "--setup", "--json"],
    "setup, with a space": [*NOPE, "--setup", "-o pipefail"],
    "nccl-debug": [*NOPE, "--nccl-debug", "--output"],
    "profile-rank": [*NOPE, "--profile-rank", "-o", "--profiler", "--json"],
    "profiler": [*NOPE, "--profiler", "-h"],
    "in the command": [*NOPE, "--", "-o", "x", "--json"],
    "print": [*NOPE, "--print", "--json"],
    "print script": [*NOPE, "--print", "script"],
    "print exec-line": [*NOPE, "--print", "exec-line"],  # bash too
    "two dashes": [*NOPE, "--setup=--", "--runtime-arg=--"],
    "output lacks its value": [*NOPE, "-o", "--", "x"],
    "output behind what is refused": [*NOPE, "--ranks", "two", "-o", "x.sh"],
    "command forgotten": ["--container", "none", "--print", "plan"],
    "an empty name": [*NOPE, "-o", ""],
    "stdout by name": [*NOPE, "-o", "-"],
    "stdout by path": [*NOPE, "--output=/dev/stdout"],
    "command": ["wrp", "--container", "none"],
    "nothing": [],
    "option before": ["--prifile", "x", "wrap", "--container", "none"],
    "unknown before": ["--prifile=x", "--", "wrap"],
}


@pytest.mark.parametrize("name", VALUES)
def test_a_script_that_fails_is_printed_when_in_doubt(name: str) -> None:
    done = envcfg(*VALUES[name])
    assert done.code == 2
    assert fails_with(done.out, 2), done.out


NO_SCRIPT = {
    "file": [*NOPE, "-o", "x.sh"],
    "file at once": [*NOPE, "-ox.sh"],
    "file and equals": [*NOPE, "-o=x.sh"],
    "long": [*NOPE, "--output=x.sh"],
    "file that cannot be": ["wrap", *LOCAL, "-o", "/dev/fd/99999999999"],
    "json": [*NOPE, "--json"],
    "plan": [*NOPE, "--print=plan"],
    "file, and an unknown option": [*NOPE, "-o", "x.sh", "--lancher", "srun"],
    "json, and a wrong choice": [*NOPE, "--json", "--launcher", "pdsh"],
    "another command": ["check-log", "/nosuch"],
    "another, misspelt": ["sbacth", "--container", "none"],
    "another, behind an option": ["--prifile", "x", "sbatch"],
    "help of nothing": ["help", "nope"],
    "help of a slip": ["help", "wrp"],
    "a slip of --help": ["--hlep"],
    "a slip of --version": ["--versoin"],
}


@pytest.mark.parametrize("name", NO_SCRIPT)
def test_no_script_is_printed_where_something_else_was_asked_for(name: str) -> None:
    done = envcfg(*NO_SCRIPT[name])
    assert done.code
    assert done.out == b""


# A stderr that takes nothing

STDERR = ["2>/dev/full", "2>&-", "2> >(exec 0<&-; sleep 0.2)", "2>&- <&-"]


@pytest.mark.parametrize("redirect", STDERR)
def test_what_cannot_be_said_is_no_reason_to_go_on(redirect: str) -> None:
    code = f"source <({ENVCFG} {shlex.join(NOPE)} {redirect}); echo goes on"
    done = bash(code)
    assert (done.returncode, done.stdout) == (2, b"")
    done = bash(f"{ENVCFG} {shlex.join(NOPE)} {redirect}")
    assert done.returncode == 2
    assert fails_with(done.stdout, 2)


@pytest.mark.parametrize("redirect", STDERR)
def test_a_note_that_cannot_be_said_costs_no_script(redirect: str) -> None:
    # The profile has notes: it says that rocm is not known.
    words = "wrap --profile lumi-g --container none -- true"
    good = bash(f"{ENVCFG} {words}")
    assert b"note:" in good.stderr
    done = bash(f"{ENVCFG} {words} {redirect}")
    assert (done.returncode, done.stdout) == (0, good.stdout)


@pytest.mark.parametrize("redirect", STDERR)
@pytest.mark.parametrize(
    ("words", "code"),
    [
        ("check-log /nosuch", 4),
        ("profiles show nope", 2),
        ("sbatch", 2),
        ("profiles list", 0),
        ("--version", 0),
        ("wrap --help", 0),
    ],
)
def test_the_exit_code_does_not_hang_on_stderr(
    words: str, code: int, redirect: str
) -> None:
    assert bash(f"{ENVCFG} {words} {redirect}").returncode == code


@pytest.mark.parametrize(
    "words",
    [
        "--help",
        "--version",
        "wrap --help",
        "profiles list",
        "explain",
        "explain --json",
    ],
)
def test_a_full_stdout_is_an_error_of_its_own(words: str) -> None:
    for unbuffered in ("", "1"):
        done = bash(f"{ENVCFG} {words} >/dev/full", PYTHONUNBUFFERED=unbuffered)
        assert done.returncode == 4
        assert done.stderr == b"envcfg: error: No space left on device\n"
        assert (
            bash(
                f"{ENVCFG} {words} >/dev/full 2>&1", PYTHONUNBUFFERED=unbuffered
            ).returncode
            == 4
        )


def test_a_pipe_that_does_not_block_gets_the_whole_script() -> None:
    program = (
        "import fcntl, os, subprocess, sys, time\n"
        "r, w = os.pipe()\n"
        "fcntl.fcntl(w, fcntl.F_SETPIPE_SZ, 4096)\n"
        "os.set_blocking(w, False)\n"
        f"p = subprocess.Popen([sys.executable, '-m', 'envcfg', 'wrap', *{LOCAL!r}, '--', 'true'], stdout=w)\n"
        "os.close(w)\n"
        "time.sleep(0.5)\n"
        "data = open(r, 'rb').read()\n"
        "sys.stdout.buffer.write(data)\n"
        "sys.exit(p.wait())\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout == envcfg("wrap", *LOCAL, "--", "true").out


# What envcfg is made of

BROKEN = {
    "no argparse": "sys.modules['argparse'] = None",
    "no errors": "sys.modules['envcfg.common.errors'] = None",
    "no cli": "sys.modules['envcfg.cli'] = None",
    "no wrap": "sys.modules['envcfg.commands.wrap'] = None",
    "no yaml": "sys.modules['yaml'] = None",
}


@pytest.mark.parametrize("name", BROKEN)
def test_an_installation_that_is_broken_fails_too(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))  # nothing is kept yet
    code = (
        f"import sys\n{BROKEN[name]}\nfrom envcfg.__main__ import main\n"
        f"sys.argv = ['envcfg', 'wrap', *{LOCAL!r}]\nsys.exit(main())"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, check=False
    )
    assert done.returncode == 70
    assert fails_with(done.stdout, 70)
    assert b"envcfg: error: this " in done.stderr


def test_a_file_of_its_own_that_cannot_be_read_fails_too() -> None:
    code = (
        "import sys\nimport envcfg.job.script.modules as s\n"
        "def read(name): raise OSError(5, 'Input/output error', name)\n"
        "s.read_text = read\nfrom envcfg.__main__ import main\n"
        f"sys.argv = ['envcfg', 'wrap', *{LOCAL!r}]\nsys.exit(main())"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, check=False
    )
    assert done.returncode == 4
    assert fails_with(done.stdout, 4)


def test_a_message_may_hold_any_character() -> None:
    done = envcfg("wrap", "--profile", b"\xff'\n$(id)\\", "--container", "none")
    assert done.code == 2
    assert fails_with(done.out, 2)


def test_the_command_and_the_module_are_one() -> None:
    (line,) = (
        line
        for line in (ROOT / "pyproject.toml").read_text().splitlines()
        if line.startswith("envcfg = ")
    )
    assert line == 'envcfg = "envcfg.__main__:main"'


# The guard, for what envcfg cannot say itself

GUARDED = "source <({} || echo exit $?)"
GOOD = f"{ENVCFG} wrap {shlex.join(LOCAL)} -- echo step"
GUARDS = {
    "absent": ("nosuch wrap", 127, ""),
    "killed": ("bash -c 'kill -9 $$'", 137, ""),
    "killed by TERM": ("bash -c 'kill $$'", 143, ""),
    "cannot start": ("/", 126, ""),
    "fails": (f"{ENVCFG} {shlex.join(NOPE)}", 2, ""),
    "misspelt": (f"{ENVCFG} wrp", 2, ""),
    "good": (GOOD, 0, "step\ngoes on\n"),
}


@pytest.mark.parametrize("before", ["", "set -euo pipefail\n", "f() {\n"])
@pytest.mark.parametrize("name", GUARDS)
def test_the_guard_ends_the_job_with_the_code_that_says_why(
    name: str, before: str
) -> None:
    command, code, out = GUARDS[name]
    behind = "\n}\nf" if before.startswith("f") else ""
    for form in (GUARDED, 'eval "$({} || echo exit $?)"'):
        done = bash(f"{before}{form.replace('{}', command)}{behind}\necho goes on")
        assert (done.returncode, done.stdout.decode()) == (code, out), done.stderr


@pytest.mark.parametrize(
    ("name", "stays"), [("fails", True), ("good", True), ("absent", False)]
)
def test_at_a_prompt_only_a_missing_envcfg_ends_the_shell(
    name: str, stays: bool
) -> None:
    line = GUARDED.replace("{}", GUARDS[name][0])
    done = subprocess.run(
        ["bash", "--norc", "--noediting", "-ic", f"{line}; echo still here"],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        check=False,
        start_new_session=True,
    )
    assert done.stdout.endswith(b"still here\n") == stays


# Signals, where the moment is known


@pytest.mark.parametrize(
    "number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGUSR1]
)
def test_a_signal_that_is_ignored_stays_so(
    number: signal.Signals,
) -> None:
    name = number.name[3:]
    code = (
        f"trap '' {name}\n"
        f'{sys.executable} -c "import sys, envcfg.job.script.modules as s, os\n'
        f"read = s.read_text\ndef slow(name): os.kill(os.getpid(), {int(number)}); return read(name)\n"
        "s.read_text = slow\nfrom envcfg.__main__ import main\n"
        f"sys.argv = ['envcfg', 'wrap', *{LOCAL!r}, '--', 'true']\nsys.exit(main())\""
    )
    done = bash(code)
    assert done.returncode == 0, done.stderr
    assert bash(code.partition("\n")[2]).returncode == 128 + number


def test_a_signal_while_the_script_is_written_waits_for_its_end() -> None:
    program = (
        "import os, sys, envcfg.common.failure as f\n"
        "write = os.write\n"
        "def slow(fd, data):\n"
        "    os.kill(os.getpid(), 2); os.kill(os.getpid(), 15)\n"
        "    return write(fd, data[:1000])\n"
        "os.write = slow\n"
        "from envcfg.__main__ import main\n"
        f"sys.argv = ['envcfg', 'wrap', *{LOCAL!r}, '--', 'true']\nsys.exit(main())"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert bash(done.stdout).returncode == 0
    assert done.stdout.endswith(b"\nenvcfg_run true\n")
    assert done.stderr == b""


# A script in a file, where another was to be sourced

WRITTEN = {
    "a command": f"wrap {shlex.join(LOCAL)} -o job.sh -- echo RAN",
    "no command": f"wrap {shlex.join(LOCAL)} --output=job.sh",
    "a name with a blank": f"wrap {shlex.join(LOCAL)} -o 'a job.sh' -- echo RAN",
    "from a script": "wrap --from old.sh --profile workstation -o job.sh",
}


@pytest.mark.parametrize("before", ["", "set -euo pipefail; "])
@pytest.mark.parametrize("name", WRITTEN)
def test_a_script_in_a_file_is_no_step_of_who_sources_the_output(
    name: str, before: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("old.sh").write_text("#!/bin/bash\n#SBATCH --nodes=1\nsrun python train.py\n")
    done = bash(
        f"{before}source <({ENVCFG} {WRITTEN[name]} || echo exit 9); echo after"
    )
    assert (done.returncode, done.stdout) == (2, b"")
    (file,) = {path.name for path in tmp_path.glob("*job.sh")}
    message = f"no step runs in this shell: it is in {file}\n  hint: run it: bash {shlex.quote(file)}, or leave out -o"
    assert message in done.stderr.decode()
    assert Path(file).stat().st_mode & 0o111


@pytest.mark.parametrize(
    ("redirect", "says"),
    [(">out", False), (">/dev/null", False), (">&-", False), ("| cat", True)],
)
def test_where_nobody_can_source_the_output_a_file_is_all_that_is_written(
    redirect: str, says: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    command = f"{ENVCFG} {WRITTEN['a command']} {redirect}"
    done = bash(f"set -o pipefail; {command}; code=$?; [[ ! -s out ]]; exit $code")
    assert done.returncode == 0  # the file is there, and right
    assert (b"it is in job.sh" in done.stdout) == says
    assert b"job.sh needs the file" in done.stderr
    assert (b"note: job.sh is written" in done.stderr) == says
    assert len(done.stderr.splitlines()) == (4 if says else 2)  # nothing else
    assert not Path("out").exists() or not Path("out").read_bytes()
    assert fails_with(done.stdout, 2) == says


def test_a_job_script_in_a_file_is_submitted_by_its_name() -> None:
    words = "sbatch --profile lumi-g --container none --account p --time 1 -o job.sh"
    done = bash(f"cd $(mktemp -d) && {ENVCFG} {words} -- true | cat; rm -r $PWD")
    assert (done.returncode, done.stdout) == (0, b"")


@pytest.mark.parametrize("name", WRITTEN)
def test_a_file_that_is_written_is_no_error_in_a_log(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("old.sh").write_text("#!/bin/bash\n#SBATCH --nodes=1\nsrun python train.py\n")
    done = bash(f"{ENVCFG} {WRITTEN[name]} 2>&1 | tee log")
    log = Path("log").read_text()
    assert done.returncode == 0
    assert "job.sh is written\n" in log
    assert not re.search("error: .*is written", log)
