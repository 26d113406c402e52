"""What is written as shell text comes out of real shells byte for byte."""

import subprocess

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from envcfg.job.script.quoting import quote, quote_always, quote_word
from envcfg.profile.words import Ref, Word, quote_comment
from support import require

TEXTS = st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]))
SHELLS = [["bash"], ["sh"], ["busybox", "sh"]]


def shell_output(shell: list[str], script: str, **env: str) -> bytes:
    require(shell[0])
    done = subprocess.run(
        [*shell, "-c", script],
        capture_output=True,
        check=True,
        env={"PATH": "/usr/bin:/bin", **env},
    )
    assert not done.stderr
    return done.stdout


@pytest.mark.parametrize("shell", SHELLS, ids=" ".join)
@given(texts=st.lists(TEXTS, max_size=20))
@settings(max_examples=40, deadline=None)
def test_a_literal_is_one_word_whatever_it_holds(
    shell: list[str], texts: list[str]
) -> None:
    for write in (quote, quote_always):
        words = " ".join(write(text) for text in texts)
        printed = shell_output(
            shell, f"for w in {words}; do printf '%s\\0' \"$w\"; done"
        )
        assert printed == b"".join(text.encode() + b"\0" for text in texts)


@pytest.mark.parametrize("shell", SHELLS, ids=" ".join)
@given(before=TEXTS, after=TEXTS, value=TEXTS)
@settings(max_examples=40, deadline=None)
def test_a_reference_expands_and_nothing_else_does(
    shell: list[str], before: str, after: str, value: str
) -> None:
    word: Word = (before, Ref("X"), after, Ref("GONE", "x"))
    script = f"printf '%s\\0' {quote_word(word, 'T')}"
    printed = shell_output(shell, script, X=value)
    assert printed == f"{before}{value}{after}x\0".encode()


@pytest.mark.parametrize("shell", SHELLS, ids=" ".join)
def test_a_reference_to_nothing_stops_the_shell_and_says_why(shell: list[str]) -> None:
    require(shell[0])
    script = f"printf '%s' {quote_word((Ref('GONE'),), 'NCCL_NET')}; echo goes on"
    done = subprocess.run(
        [*shell, "-c", script], capture_output=True, check=False, text=True, env={}
    )
    assert done.returncode != 0
    assert done.stdout == ""
    assert "GONE: is not set, and NCCL_NET refers to it" in done.stderr


@given(TEXTS)
def test_a_comment_stays_on_its_line(text: str) -> None:
    assert len(f"# {quote_comment(text)}".splitlines()) == 1
