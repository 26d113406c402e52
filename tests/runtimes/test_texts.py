"""What goes through a runtime as text is UTF-8, or the step does not start."""

from __future__ import annotations

import subprocess

import pytest
from hypothesis import given
from hypothesis import strategies as st

from envcfg.backends.runtimes import NAMES, runtime
from envcfg.job.script.modules import module

SCRIPT = f"""
{module("runtimes/podman").text}
envcfg_fault() {{ ENVCFG_FAULTS=$((ENVCFG_FAULTS + 1)); }}
ENVCFG_FAULTS=0 ENVCFG_ENTER=(podman)
envcfg_texts "$@"
printf %d "$ENVCFG_FAULTS"
"""
# Bytes at the edges of what UTF-8 allows, and words around them.
edges = st.sampled_from(
    list(
        b"a\x7f\x80\x8f\x90\x9f\xa0\xbf\xc0\xc2\xdf\xe0\xe1\xec\xed\xee\xef\xf0\xf3\xf4"
    )
)
words = st.one_of(
    st.lists(edges, max_size=6).map(bytes),
    st.text(st.characters(exclude_characters="\0", exclude_categories=("Cs",))).map(
        str.encode
    ),
)


def is_text(word: bytes) -> bool:
    try:
        word.decode()
    except UnicodeDecodeError:
        return False
    return True


def faults(given: list[bytes], locale: str = "C.UTF-8") -> int:
    done = subprocess.run(
        ["bash", "-c", SCRIPT, "bash", *given],
        capture_output=True,
        check=True,
        env={"LC_ALL": locale},
    )
    assert done.stderr == b""
    return int(done.stdout)


@given(st.lists(words, max_size=8))
def test_each_word_that_is_no_text_is_a_fault(given: list[bytes]) -> None:
    assert faults(given) == sum(not is_text(word) for word in given)


@pytest.mark.parametrize("locale", ["C", "C.UTF-8"])
@pytest.mark.parametrize(
    ("word", "is_right"),
    [
        (b"", True),
        (b"a b\n\x01\x7f", True),
        ("\u00e9\u07ff\u0800\ud7ff\ue000\uffff\U00010000\U0010ffff".encode(), True),
        (b"\xe9", False),
        (b"\xc3a\xa9", False),
        (b"\xc0\x80", False),
        (b"\xe0\x80\x80", False),
        (b"\xed\xa0\x80", False),
        (b"\xf4\x90\x80\x80", False),
        (b"\xf5\x80\x80\x80", False),
    ],
)
def test_what_is_text_does_not_depend_on_the_locale(
    word: bytes, is_right: bool, locale: str
) -> None:
    assert faults([word], locale) == (not is_right)


def test_runtimes_that_pass_arguments_as_json_are_known() -> None:
    modules = {name: module(f"runtimes/{runtime(name).template}") for name in NAMES}
    found = [
        name for name in NAMES if "WORDS=envcfg_texts" in modules[name].declared("adds")
    ]
    assert found == ["docker", "podman", "podman-hpc"]
