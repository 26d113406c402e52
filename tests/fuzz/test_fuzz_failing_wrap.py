"""Whatever is wrong with a command line of ``wrap``: its job does not go on without a step.

stdout is then a script that fails, but where argparse has read that something else than a
script is to stand there. What it has read is said here by a reader of its own, made from the
same table of options, so that a new option is tried by itself.
"""

from __future__ import annotations

import re
import shutil
from itertools import chain
from pathlib import Path

import pytest
from hypothesis import event, example, given
from hypothesis import strategies as st

from envcfg import cli
from envcfg.commands import wrap
from envcfg.core.option import Option
from fuzzing import tries
from support import bash, envcfg

pytestmark = pytest.mark.nightly

OPTIONS = [each for options in wrap.OPTIONS.values() for each in options]
HELP = Option("--help", "", kind="switch", short="-h")
KNOWN = {
    name: each for each in (*OPTIONS, HELP) for name in (each.flag, each.short) if name
}
STDOUT = ("", "-", "/dev/stdout", "/dev/fd/1")
VALUES = [
    *STDOUT, "job.sh", "no/job.sh", "/dev/full", "/dev/fd/99999999999", "folder",
    "-o", "-ojob.sh", "-o=job.sh", "-o job.sh", "--output", "--output=job.sh", "--json",
    "--json ", "-h", "--help", "--print=plan", "plan", "exec-line", "script", "--", "---",
    "-1", "-1x", "-x", "-x y", "x", "a=1", "=", "none", "wrap", "0", "4", "lumi-g", "sruns",
    "srun", "./x.yaml", "PATH", "RANK", "A=${", "rocm=6.2.4", "nsys", "\udcff", "'", "$(id)",
    "\n-o\n", "a\nb", "9" * 30,
]  # fmt: skip
STRAYS = [
    "x",
    "-x",
    "-fo",
    "--outputs",
    "--outpu=x",
    "--jso",
    "--json=1",
    "--zz=--json",
]
# What stands before the options, and whether they are options of wrap then.
HEADS = {
    ("wrap",): True,
    ("--prifile=x", "wrap"): True,
    ("--prifile", "x", "wrap"): False,
    ("wrp",): False,
    ("wrapp", "-o"): False,
    (): False,
}


def looks_like_an_option(word: str) -> bool:
    """Tell whether argparse takes a word for an option, known or not."""
    if len(word) < 2 or word[0] != "-":
        return False
    name = word.partition("=")[0]
    if name in KNOWN or (word[1] != "-" and word[:2] in KNOWN):
        return True
    return not re.fullmatch(r"-\d+|-\d*\.\d+", word) and " " not in word


def takes(option: Option, text: str) -> bool:
    """Tell whether *option* takes a text."""
    try:
        value = option.read(text)
    except ValueError:
        return False
    return option.choices is None or value in option.choices


def asks_for_a_script(words: list[str]) -> bool:
    """Tell what is to stand on stdout, by the options before the first that is refused."""
    left, asked = list(words), {"output": "", "what": "script", "json": ""}
    while left:
        word = left.pop(0)
        if not looks_like_an_option(word):
            continue
        name, joined, text = word.partition("=")
        if name not in KNOWN and word[:2] in KNOWN:
            name, joined, text = word[:2], "=", word[2:]
        option = KNOWN.get(name)
        if option is None:
            continue
        if option.kind == "switch":
            if joined:
                break
            text = "yes"
        elif not joined:
            if left and not looks_like_an_option(left[0]):
                text = left.pop(0)
            elif option.kind == "maybe":
                continue
            else:
                break
        if option.kind != "switch" and not takes(option, text):
            break
        if option.name in asked:
            asked[option.name] = text
    return not asked["json"] and asked["what"] != "plan" and asked["output"] in STDOUT


def ways(option: Option) -> st.SearchStrategy[list[str]]:
    """Return right and wrong ways to give *option*."""
    name = st.sampled_from([each for each in (option.flag, option.short) if each])
    value = st.sampled_from([*VALUES, *(option.choices or ())])
    alone = name.map(lambda word: [word])
    joined = st.tuples(name, value).map(lambda two: ["=".join(two)])
    if option.kind == "switch":
        return st.one_of(alone, alone, joined)
    return st.one_of(joined, st.tuples(name, value).map(list), joined, alone)


PIECES = st.one_of(
    st.sampled_from(OPTIONS).flatmap(ways),
    st.sampled_from(OPTIONS).flatmap(ways),
    st.sampled_from(STRAYS).map(lambda word: [word]),
    st.sampled_from([["-o", "job.sh"], ["-o", "-"], ["--json"], ["--print", "plan"]]),
    st.just(["--profile", "no-such"]),
)
LINES = st.tuples(
    st.sampled_from([*HEADS, ("wrap",), ("wrap",), ("wrap",)]),
    st.lists(PIECES, max_size=5),
    st.sampled_from([[], ["--container", "none"], ["--container=x", "--profile=no"]]),
    st.sampled_from([[], ["--"], ["--", "-o", "x"], ["--", "--json"], ["--", "true"]]),
).map(lambda found: (found[0], [*found[2], *chain.from_iterable(found[1]), *found[3]]))


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a script of envcfg's own, which may be replaced."""
    monkeypatch.chdir(tmp_path)
    for name in ("ENVCFG_PROFILE", "SLURM_CLUSTER_NAME", "SLURM_JOB_ID"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("ENVCFG_SITE", str(tmp_path / "no-site"))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "no-user"))
    (tmp_path / "folder").mkdir()
    words = (
        "--profile",
        "workstation",
        "--container",
        "none",
        "--inline",
        "-o",
        "job.sh",
    )
    assert envcfg("wrap", *words, "--", "true").code == 0
    return tmp_path


@tries(300)
@example((("wrap",), ["--profiler-arg", "-o", "--", "true"]))
@example((("wrap",), ["--container", "none", "-o", "--", "true"]))
@example((("wrap",), ["--container", "none", "-o", "-o", "job.sh"]))
@example((("wrap",), ["--ranks", "two", "-o", "job.sh"]))
@example((("wrap",), ["-o", "job.sh", "--ranks", "two"]))
@example((("wrap",), ["--container=none", "--print=exec-line", "--profile=no"]))
@example((("wrap",), ["--container=none", "-o/dev/fd/99999999999"]))
@example((("wrp",), ["-o", "job.sh", "--json"]))
@given(LINES)
def test_a_wrap_that_fails_prints_a_script_that_fails(
    folder: Path,
    capfdbinary: pytest.CaptureFixture[bytes],
    line: tuple[tuple[str, ...], list[str]],
) -> None:
    before, words = line
    mine = (folder / "job.sh").read_bytes()
    code = cli.main([*before, *words])
    out, err = capfdbinary.readouterr()
    if code == 0:
        event("succeeds")
        for path in folder.iterdir():
            if path.is_file() and path.name != "job.sh":
                path.unlink()
        shutil.rmtree(folder / ".envcfg", ignore_errors=True)  # of a script with -o
        return
    assert code in (2, 4), err
    assert b"Traceback" not in err
    assert (folder / "job.sh").read_bytes() == mine
    assert {path.name for path in folder.iterdir()} == {"folder", "job.sh"}
    head = words[: words.index("--")] if "--" in words else words
    if HEADS[before] and not asks_for_a_script(head):
        event("asks for something else")
        assert out == b""
        return
    event("asks for a script")
    ended = bash("set +e\nsource /dev/stdin\necho goes on", stdin=out)
    assert (ended.returncode, ended.stdout) == (code, b""), out
