"""In shells that are not bash, and in a bash that its user has changed."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

from envcfg.job.script.modules import module
from support import CACHED, LOCAL, Wrap, bash, envcfg, require

SHELLS = [
    ["dash"], ["busybox", "sh"], ["ksh"], ["mksh"], ["zsh"], ["bash", "--posix"],
]  # fmt: skip
WAYS = {
    "run": "job.sh",
    "sourced": ". ./job.sh; echo goes on",
    "evaluated": 'eval "$(cat job.sh)"; echo goes on',
}


@pytest.mark.parametrize(
    ("shell", "way"),
    [
        pytest.param(shell, way, id=f"{' '.join(shell)}, {way}")
        for shell in SHELLS
        for way in WAYS
        # ksh reads all of what it sources before it does any of it
        if shell != ["ksh"] or way == "run"
    ],
)
@pytest.mark.parametrize("kind", ["command", "steps", "job"])
def test_a_shell_that_is_no_bash_is_told_so_in_one_line(
    wrap: Wrap, tmp_path: Path, shell: list[str], way: str, kind: str
) -> None:
    require(shell[0])
    (tmp_path / "job.sh").write_bytes(made(wrap, kind))
    words = [WAYS[way]] if way == "run" else ["-c", WAYS[way]]
    done = subprocess.run(
        [*shell, *words], cwd=tmp_path, capture_output=True, check=False, text=True
    )
    assert done.returncode == 4, done.stderr
    assert re.fullmatch(r"envcfg: error: this needs bash 4.4 or newer.*\n", done.stderr)
    assert done.stdout == ""


def made(wrap: Wrap, kind: str) -> bytes:
    if kind == "job":
        options = ("--profile", "lumi-g", "--container", "none", "--nodes", "1")
        asked = (
            "--account",
            "project_465000001",
            "--time",
            "10",
            "--partition",
            "small-g",
        )
        made = envcfg("sbatch", *options, *asked, "--fact", "rocm=6.2.4", "--", "touch", "ran")  # fmt: skip
        assert made.code == 0, made.err
        assert made.text.count("case ${BASH_VERSION") == 1
        lines = made.text[: made.text.index("case ${BASH_VERSION")].splitlines()
        commands = [n for n, line in enumerate(lines) if line and line[0] != "#"]
        assert "#SBATCH" in made.text  # sbatch reads directives up to a command
        assert not [line for line in lines[commands[0] :] if line.startswith("#SBATCH")]
        return made.out
    return wrap(*CACHED, *(("--", "touch", "ran") if kind == "command" else ())).out


@pytest.mark.parametrize("version", ["3.2.57(1)-release", "4.3.48(1)-release"])
@pytest.mark.parametrize(("flags", "ends"), [("hB", "exit"), ("himBH", "return")])
def test_an_old_bash_is_told_so_and_a_shell_somebody_sits_at_stays(
    version: str, flags: str, ends: str
) -> None:
    guard = module("guard").text.replace("BASH_VERSION", "version")
    guard = guard.replace("$-", flags)
    script = f'f() {{ {guard}\n}}; f; echo "goes on $?"'
    done = subprocess.run(
        ["dash", "-c", script],
        env={"version": version},
        capture_output=True,
        check=False,
        text=True,
    )
    assert "this needs bash 4.4" in done.stderr
    assert done.stdout == ("goes on 4\n" if ends == "return" else "")


def test_from_bash_4_4_on_the_text_is_for_it() -> None:
    for version in ("4.4.20(1)-release", "5.0.17(1)-release", "5.3.0(1)-release"):
        guard = module("guard").text.replace("BASH_VERSION", "version")
        script = f"{guard}\necho goes on"
        done = subprocess.run(
            ["dash", "-c", script],
            env={"version": version},
            capture_output=True,
            check=True,
        )
        assert done.stdout == b"goes on\n"


BUILTINS = (
    "alias bg cd command compgen declare disown echo enable eval exec exit export getopts "
    "hash jobs kill local mapfile popd printf pwd read readonly return set shift shopt "
    "source test times trap true type typeset ulimit umask unalias unset wait"
).split()


@pytest.mark.parametrize("form", ["command", "steps", "several ranks"])
@pytest.mark.parametrize("body", [":", "return 9", "echo mine", "cat >/dev/null"])
def test_functions_of_the_shell_with_names_of_bash_s_own_change_nothing(
    wrap: Wrap, tmp_path: Path, form: str, body: str
) -> None:
    program = ("sh", "-c", 'echo "$RANK $1"; [ "$RANK" != 0 ] || exit 3', "sh", "a=b")
    ranks = ("--ranks", "2" if form == "several ranks" else "1")
    options = (*CACHED, "--fact", "rocm=6.2", *ranks)
    command = () if form == "steps" else ("--", *program)
    (tmp_path / "w.sh").write_bytes(wrap(*options, *command).out)
    call = (
        'envcfg_run sh -c "echo \\$RANK \\$1; exit 3" sh "a=b"' if not command else ""
    )
    # without the two that stand in the job's own text, and those that end a function
    names = [name for name in BUILTINS if name not in ("source", "return", "exit")]
    functions = " ".join(f"{name}() {{ {body}; }};" for name in names)
    script = f"{functions}\nsource ./w.sh\n{call}\ncode=$?\nexit $code"
    done = bash(script, timeout=30)
    assert done.returncode == 3, done.stderr.decode()
    assert b"0 a=b" in done.stdout.splitlines()
    assert b"pop_var_context" not in done.stderr


@pytest.mark.parametrize(
    "before",
    [
        "shopt -s expand_aliases\n" + "".join(
            f"alias {name}='echo wrong'\n"
            for name in ("exec", "kill", "local", "printf", "read", "trap", "wait", "builtin")
        ),
        "set -k",
        "set -euo pipefail -f -k -E -T; trap 'echo err >/dev/null' ERR",
        "IFS=eRaT; set -a",
        "shopt -s nullglob failglob nocasematch extglob dotglob lastpipe",
        "exec 7<&0 </dev/null",
    ],
    ids=["aliases", "set -k", "options", "IFS", "shopt", "input"],
)  # fmt: skip
@pytest.mark.parametrize("way", ["source ./w.sh", 'eval "$(cat w.sh)"'])
def test_options_and_aliases_of_the_shell_change_nothing(
    wrap: Wrap, tmp_path: Path, before: str, way: str
) -> None:
    program = (
        "sh",
        "-c",
        'echo "$RANK $1"; [ "$RANK" != 0 ] || exit 3',
        "sh",
        "lr=0.1",
    )
    options = (*CACHED, "--fact", "rocm=6.2", "--ranks", "2")
    (tmp_path / "w.sh").write_bytes(wrap(*options, "--", *program).out)
    state = "shopt -p; set +o; alias"
    script = (
        f"{before}\n{{ {state}; }} >before || :\n"
        f"code=0\n{way} || code=$?\n"
        f"{{ {state}; }} >after || :\n"
        # bash may say that it expands aliases, and not do it
        "alias q='\\printf expanded'\nq >expanded 2>&1 || :\n\\exit $code\n"
    )
    done = bash(script)
    assert done.returncode == 3, done.stderr.decode()
    assert b"0 lr=0.1" in done.stdout.splitlines()
    assert b"wrong" not in done.stdout
    after = (tmp_path / "after").read_text()
    assert after == (tmp_path / "before").read_text()
    is_expanded = (tmp_path / "expanded").read_text() == "expanded"
    assert is_expanded == ("shopt -s expand_aliases" in after)


ELSEWHERE = re.compile(r"<<'ENVCFG_TEXT'.*?^ENVCFG_TEXT$", re.DOTALL | re.MULTILINE)
QUOTED = re.compile(r"(^|\s)#.*|'[^']*'|\"[^\"\n]*\"", re.M)
FIRST = re.compile(r"^\s*([a-z]+)\b|[;|&(!]\s*(?=([a-z]+)\b)|\b(?:then|do|else)\s+(?=([a-z]+)\b)", re.M)  # fmt: skip


def test_the_names_that_are_unset_are_all_that_the_step_uses() -> None:
    """What a function of the job's shell could stand in for, in the host's part."""
    folder = Path(__file__).parents[2] / "envcfg/job/script/modules"
    names = subprocess.run(
        ["bash", "-c", "compgen -b"], capture_output=True, check=True, text=True
    ).stdout.split()
    used: set[str] = set()
    for path in folder.glob("**/*.sh"):
        text = path.read_text()
        if "shell=bash" in text:
            for match in FIRST.finditer(QUOTED.sub(" ", ELSEWHERE.sub(" ", text))):
                used |= {*filter(None, match.groups())} & set(names)
    (line,) = re.findall(
        r"builtin unset -f ((?:.*\\\n)*.*)", (folder / "core.sh").read_text()
    )
    assert used - {"builtin"} <= set(line.replace("\\\n", " ").split())


def test_a_step_fails_in_a_function_under_errexit_as_any_command_does(
    wrap: Wrap, tmp_path: Path
) -> None:
    (tmp_path / "w.sh").write_bytes(wrap(*LOCAL).out)
    script = "set -e; source ./w.sh; f() { local a=1; envcfg_run false; echo no; }; f"
    done = bash(script)
    assert (done.returncode, done.stdout, done.stderr) == (1, b"", b"")


@pytest.mark.parametrize("options", ["-k", "-uk", "-euk"])
@pytest.mark.parametrize("kind", [LOCAL, CACHED])
def test_under_set_k_a_step_says_what_its_program_says(
    wrap: Wrap, fakes: Path, options: str, kind: tuple[str, ...]
) -> None:
    made = wrap(*kind, "--", "echo", "hi").out.decode()
    done = bash(f"set {options}\n{made}", SLURM_NTASKS="1")
    assert (done.returncode, done.stdout) == (0, b"hi\n"), done.stderr.decode()
    assert fakes.is_dir()
