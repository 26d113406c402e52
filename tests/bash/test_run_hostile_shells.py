"""A step that did not start never ends with 0, whatever shell it is started in."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from envcfg.job.script.modules import module
from suites import mark_sample
from support import LOCAL, Wrap

# Each line comes before the script. A shell that does not read the script is not here: with
# `set -n`, or with extdebug and `trap false DEBUG`, bash also skips the `.` itself. Neither is
# a shell whose EXIT, ERR or DEBUG trap replaces the exit code at its own top level.
OTHERS = """\
FUNCNEST=1|FUNCNEST=2|FUNCNEST=3|FUNCNEST=5|FUNCNEST=8|FUNCNEST=12|FUNCNEST=99|FUNCNEST=1000
export FUNCNEST=1|readonly FUNCNEST=1|readonly FUNCNEST|readonly IFS|readonly IFS=:|readonly PATH
readonly LC_ALL=C|readonly PWD|readonly BASHPID|readonly REPLY|readonly MASTER_ADDR=x|readonly RANK=1
set -r|set -o posix|set -k|set -f|set -u|set -e|set -euo pipefail|set -T|set -C|set -P|set -m|set -b
ulimit -u 1|ulimit -n 3|ulimit -n 4|ulimit -n 8|ulimit -n 12|ulimit -n 16|ulimit -f 0|ulimit -v 20000
ulimit -s 64|exec 0<&-|exec 1>&-|exec 2>&-|exec 0<&- 1>&- 2>&-|exec </dev/full >/dev/full
PATH=|PATH=/nonexistent|TMPDIR=/nonexistent|unset BASH_VERSION|unset BASHPID|BASH_COMPAT=3.1
shopt -s compat31|shopt -s lastpipe|shopt -s extdebug|shopt -s xpg_echo|shopt -s failglob nullglob
declare -A ENVCFG_ARGS|declare -A ENVCFG_PIDS|declare -a envcfg_code|declare -i envcfg_code
declare -n ENVCFG_CODE=other|declare -u ENVCFG_SHELL|trap : DEBUG|trap 'exit 3' ERR|trap : RETURN
envcfg_run() { :; }|envcfg_run() { :; }; readonly -f envcfg_run|envcfg_spawn() { :; }; readonly -f envcfg_spawn
local() { :; }|eval() { :; }|readonly() { :; }; declare() { :; }|alias eval=: local=:; shopt -s expand_aliases
trap 'exit 0' CHLD|trap 'return 0' CHLD|trap 'wait' CHLD|set -m; trap 'exit 0' CHLD|set -T; trap 'exit 0' RETURN
set -E; trap 'exit 0' ERR|builtin() { :; }|builtin() { return 1; }|builtin() { echo "$@"; }|command() { :; }
shopt -s extdebug; trap '[[ $BASH_COMMAND == [f.]* ]]' DEBUG|shopt -s extdebug; trap '[[ $BASH_COMMAND != *touch* ]]' DEBUG
shopt -s extdebug; trap '[[ $BASH_COMMAND != *ENVCFG* ]]' DEBUG|shopt -s extdebug; trap '[[ $BASH_COMMAND != *builtin* ]]' DEBUG
""".replace("\n", "|").split("|")


def own_names() -> Iterator[str]:
    """Yield the variables that the modules set, as the texts of the modules show."""
    texts = "".join(
        module(name).text for name in ("begin", "core", "signals", "where", "local")
    )
    yield from sorted(set(re.findall(r"\b((?:ENVCFG|envcfg)_[A-Za-z_]+)\+?=", texts)))
    yield from (
        "ENVCFG_READONLY",
        "ENVCFG_FILE",
        "ENVCFG_TRY",
        "ENVCFG_TEXT",
        "ENVCFG_HASH",
    )


NAMES = [*own_names()]
PRELUDES = [
    *filter(None, OTHERS),
    *(f"readonly {name}" for name in NAMES[::4]),
    *(f"readonly {name}=0" for name in NAMES),
]
WAYS = {
    "sourced last": ". ./{file}\n",
    "sourced": '. ./{file}\ncode=$?\n: "goes on"\nexit "$code"\n',
    "in a function": 'f() {{\n  . ./{file}\n}}\nf\nexit "$?"\n',
}


@pytest.mark.parametrize("file", ["two.sh", "one.sh"])
@pytest.mark.parametrize("prelude", mark_sample(PRELUDES, every=6))
def test_a_step_that_did_not_start_never_ends_with_0(
    prelude: str, file: str, wrap: Wrap, tmp_path: Path
) -> None:
    inline = ("--inline",) if file == "one.sh" else ()
    assert wrap(*LOCAL, *inline, "-o", file, "--", "touch", "ran").code == 0
    for way, text in WAYS.items():
        (tmp_path / "ran").unlink(missing_ok=True)
        (tmp_path / "job").write_text(f"{prelude}\n{text.format(file=file)}")
        done = subprocess.run(
            ["bash", "job"], cwd=tmp_path, capture_output=True, check=False, timeout=60
        )
        has_run = (tmp_path / "ran").exists()
        assert has_run or done.returncode != 0, (way, done.stderr)
    (tmp_path / "ran").unlink(missing_ok=True)
    (tmp_path / "env").write_text(f"{prelude}\n")  # which bash reads before the script
    done = subprocess.run(
        ["env", "BASH_ENV=./env", "bash", file],
        cwd=tmp_path,
        capture_output=True,
        check=False,
        timeout=60,
    )
    assert (tmp_path / "ran").exists() or done.returncode != 0, done.stderr


def test_there_are_enough_preludes() -> None:
    assert len(PRELUDES) >= 60
