"""Suggestions for a word that does not exist: a misspelt one is corrected, no other."""

from __future__ import annotations

import pytest

from envcfg.commands import NAMES
from envcfg.common.errors import nearest
from support import envcfg

# Misspelt, and what is meant.
MEANT = {
    "wrpa": "wrap", "warp": "wrap", "wrapp": "wrap", "jbo": "job", "jab": "job", "lnt": "lint",
    "lnit": "lint", "linter": "lint", "checklog": "check-log", "check_log": "check-log",
    "chek-log": "check-log", "inpsect": "inspect", "insepct": "inspect", "profile": "profiles",
    "proifles": "profiles", "explian": "explain", "monitr": "monitor", "montior": "monitor",
    "prefligth": "preflight", "submitt": "submit", "enviroment": "environment", "hagn": "hang",
    "docter": "doctor", "completions": "completion", "LINT": "lint",
}  # fmt: skip
# Words with another meaning, and none at all.
OTHERS = ("asdfqwer", "start", "status", "help-me", "install", "update", "version",
          "report", "debug", "xyzzy", "qwertz", "train", "python", "delete")  # fmt: skip


@pytest.mark.parametrize("word", MEANT)
def test_a_misspelt_command_is_corrected(word: str) -> None:
    assert nearest(word, NAMES) == MEANT[word]
    done = envcfg(word)
    assert (done.code, f"did you mean {MEANT[word]!r}?" in done.err) == (2, True)


@pytest.mark.parametrize(
    ("word", "right"),
    [
        ("init", "envcfg profiles new"),
        ("check", "envcfg lint"),
        ("run", "envcfg submit"),
        ("status", "envcfg monitor"),
        ("logs", "envcfg check-log"),
        ("debug", "envcfg doctor"),
    ],
)
def test_a_word_of_other_programs_names_the_command(word: str, right: str) -> None:
    done = envcfg(word)
    assert (done.code, right in done.err) == (2, True)


@pytest.mark.parametrize("word", OTHERS)
def test_another_word_suggests_no_command(word: str) -> None:
    assert nearest(word, NAMES) is None
    done = envcfg(word)
    assert (done.code, "did you mean" in done.err) == (2, False)


@pytest.mark.parametrize("word", sorted({*OTHERS} - {"version"}))  # hip-version is near
def test_another_word_suggests_no_rule_or_variable(word: str) -> None:
    assert "did you mean" not in envcfg("explain", word).err


@pytest.mark.parametrize(
    ("word", "right"),
    [
        ("log-brokn", "log-broken"),
        ("NCCL_SOKET_IFNAME", "NCCL_SOCKET_IFNAME"),
        ("nccl_socket_ifname", "NCCL_SOCKET_IFNAME"),
        ("writable-by-other", "writable-by-others"),
    ],
)
def test_a_misspelt_rule_or_variable_is_corrected(word: str, right: str) -> None:
    said = envcfg("explain", word).err.replace("'", "")
    assert f"did you mean {right}?" in said


@pytest.mark.parametrize(
    ("option", "right"),
    [("--contaner", "--container"), ("--profle", "--profile"), ("--bnd", "--bind")],
)
def test_a_misspelt_option_is_corrected(option: str, right: str) -> None:
    assert f"did you mean {right}?" in envcfg("wrap", option, "x").err


@pytest.mark.parametrize("option", ["--doctor", "--quantum", "--learning-rate"])
def test_another_option_suggests_none(option: str) -> None:
    assert "did you mean" not in envcfg("wrap", option, "x").err
