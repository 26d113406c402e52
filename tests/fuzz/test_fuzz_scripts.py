"""Scripts in every form, behind every prelude and in every locale, with hostile words.

Whatever the shell is in which a script runs: each rank's program gets its arguments and
values byte for byte, nothing of them is run, and the shell that sources is left as it was.
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Mapping
from functools import cache
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from envcfg.job.plan.plan import Options
from envcfg.job.plan.resolve import resolve
from envcfg.job.script.host_part import render_script
from envcfg.profile.catalog import Catalog
from envcfg.profile.folders import built_in_folder
from envcfg.profile.profile_model import Profile
from envcfg.profile.words import Word
from fuzzing import tries
from support import JOB, ROOT, zero_separated

pytestmark = pytest.mark.nightly

# How people use a script; FILE is where it stands. None ends with anything else to run.
FORMS = {
    "run": "exec ./FILE",
    "bash": "bash FILE",
    "sourced": "source ./FILE",
    "sourced from a pipe": "source <(cat FILE)",
    "sourced in a function": "go() { source ./FILE; }; go",
    "sourced in a subshell": "(source ./FILE)",
    "evaluated": 'eval "$(cat FILE)"',
    "from standard input": "exec bash <FILE",
    "in the background": "source ./FILE & wait $!",
    "in a list": "source ./FILE || exit",
    "twice": "source ./FILE; source ./FILE",
}
PRELUDES = {
    "none": "",
    "strict": "set -euo pipefail",
    "unset": "set -u",
    "inherited": "set -eE; shopt -s inherit_errexit",
    "no globs": "set -f",
    "no clobber": "set -C",
    "exported": "set -a",
    "jobs": "set -m",
    "null globs": "shopt -s nullglob dotglob globstar nocaseglob",
    "failing globs": "shopt -s failglob",
    "no case": "shopt -s nocasematch extglob",
    "last pipe": "shopt -s lastpipe",
    "fields": "IFS=x",
    "no fields": "IFS=",
    "arguments": "set -- a 'b c' -o",
    "traps": "trap 'true' EXIT; trap 'true' ERR; trap 'true' DEBUG RETURN; set -T",
    "umask": "umask 077",
    "no input": "exec <&-",
    "aliases": "shopt -s expand_aliases; alias printf=false local=false exec=false",
    "path": "PATH=$PATH:/nonexistent:.",
    "words": "name=1 rank=2 i=3 code=4 REPLY=5 OPTIND=6; readonly name rank i code",
}
LOCALES = ("C", "C.UTF-8", "POSIX", "xx_XX.none")
PIECES = [
    "", " ", "a", "b c", "*", "?", "~", "$", "$$", "$HOME", "${HOME}", "$(touch PWN)",
    "`touch PWN`", ";", "; touch PWN;", "|", "&", "&&", "\\", "'", '"', "\n", "\ntouch PWN\n",
    "\t", "\r", "!", "!!", "#", "--", "-u", "-n", "=", "A=B", "%s", "%n", "\nENVCFG_TEXT\n",
    "{a,b}", "[!a]", "(", ")", "}", "<(true)", ">PWN", "ä", "€", "\u2028", "\x85", "\x01",
    "\udcff", "\udc80",
]  # fmt: skip
WORDS = st.lists(st.sampled_from(PIECES), max_size=6).map("".join)
PROGRAM = 'printf "%s\\0" "$@" >"$OUT/args.$RANK"; env -0 >"$OUT/env.$RANK"'


@cache
def profiles() -> Mapping[str, Profile]:
    catalog = Catalog([built_in_folder()])
    return {name: catalog.load(name) for name in ("workstation", "lumi-g")}


def script(starter: str, words: list[str], values: list[str]) -> bytes:
    """Return the script of two ranks that say what they were given."""
    settings: dict[str, Word | None] = {
        f"V{at}": (value,) if value else () for at, value in enumerate(values)
    }
    profile = profiles()["workstation" if starter == "local" else "lumi-g"]
    plan = resolve(
        profile,
        "0",
        Options(
            command=("bash", "-c", PROGRAM, "bash", *words),
            settings=settings,
            ranks=2,
            launcher=starter,
        ),
    )
    return render_script(plan, ["envcfg"]).encode("utf-8", "surrogateescape")


def run(text: str, here: Path, **env: str) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(
        ["bash", "-c", text],
        capture_output=True,
        check=False,
        cwd=here,
        stdin=subprocess.DEVNULL,
        timeout=60,
        env={
            "PATH": f"{ROOT / 'tests/fakes'}:{os.environ['PATH']}",
            "HOME": str(here),
            "OUT": str(here),
            "FAKE_NOTES": str(here),
            "FAKE_TASKS": "2",
            "SLURM_JOB_ID": JOB,
            "SLURM_JOB_NODELIST": "node1",
            "SLURM_NNODES": "1",
            "SLURMD_NODENAME": "node1",
            **env,
        },
    )


@pytest.fixture
def here(tmp_path: Path) -> Path:
    return tmp_path


@given(
    form=st.sampled_from(sorted(FORMS)),
    prelude=st.sampled_from(sorted(PRELUDES)),
    locale=st.sampled_from(LOCALES),
    starter=st.sampled_from(["local", "srun"]),
    words=st.lists(WORDS, max_size=5),
    values=st.lists(WORDS, max_size=4),
)
@example("twice", "strict", "C", "local", list(PIECES), list(PIECES))
@example("evaluated", "no fields", "C.UTF-8", "srun", list(PIECES), list(PIECES))
@tries(200)
def test_words_arrive_whole_and_nothing_else_runs(
    here: Path,
    form: str,
    prelude: str,
    locale: str,
    starter: str,
    words: list[str],
    values: list[str],
) -> None:
    for old in [*here.glob("args.*"), *here.glob("env.*")]:
        old.unlink()
    (here / "FILE").write_bytes(script(starter, words, values))
    (here / "FILE").chmod(0o755)
    done = run(f"{prelude}\n{FORMS[form]}", here, LC_ALL=locale)
    assert done.returncode == 0, done.stderr.decode(errors="replace")
    assert not (here / "PWN").exists()
    for rank in range(2):
        given = zero_separated(here / f"args.{rank}")
        assert given == [os.fsencode(word) for word in words or [""]]
        entries = zero_separated(here / f"env.{rank}")
        for at, value in enumerate(values):
            assert b"V%d=%s" % (at, os.fsencode(value)) in entries


SHOW = (
    "declare -p | grep -Ev '^declare -[-a-zA-Z]+ (ENVCFG_|_=|BASH|FUNCNAME|LINENO|RANDOM"
    "|SECONDS|EPOCH|SRANDOM|PIPESTATUS|PPID|SHELLOPTS|DIRSTACK|COLUMNS|LINES|OLDPWD|PWD)'"
    "; set +o; shopt -p; trap -p; alias -p; umask; pwd; printf '<%s>' \"$@\""
)


@pytest.mark.parametrize("starter", ["local", "srun"])
@pytest.mark.parametrize("prelude", sorted(PRELUDES))
def test_the_shell_that_sources_is_left_as_it_was(
    here: Path, prelude: str, starter: str
) -> None:
    (here / "FILE").write_bytes(script(starter, ["x"], ["y"]))
    before = PRELUDES[prelude].replace("exec <&-", "")
    text = f'{before}\nshow() {{ {SHOW}; }}\nshow "$@" >before || :\nsource ./FILE\nshow "$@" >after || :'
    done = run(text, here)
    assert done.returncode == 0, done.stderr.decode(errors="replace")
    assert (here / "after").read_text() == (here / "before").read_text()
