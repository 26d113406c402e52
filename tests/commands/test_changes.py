"""What is said of names and values that ``--set`` and ``--unset`` give."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable

import pytest

from envcfg.core.option_values import read_removal, read_setting
from envcfg.core.step import check_changes
from support import LOCAL, ROOT, Wrapped, envcfg

Wrap = Callable[..., Wrapped]
DOUBTFUL = {
    "misspelt name": (["NCCL_IB_HCAS=mlx5_0"], "--set NCCL_IB_HCAS: no program reads NCCL_IB_HCAS", "write NCCL_IB_HCA"),
    "misspelt value": (["NCCL_DEBUG=INOF"], "--set NCCL_DEBUG: 'INOF' is not one of VERSION, WARN", "did you mean INFO?"),
    "space in a list": (["NCCL_SOCKET_IFNAME=hsn0, hsn1"], "the space in ' hsn1' is part of the name", "write hsn0,hsn1"),
    "misspelt name to unset": (["-NCCL_SOCKET_IFNAM"], "--unset NCCL_SOCKET_IFNAM: no known program", "did you mean NCCL_SOCKET_IFNAME?"),
    "name that no program reads": (["MIOPEN_USER_DB=/tmp"], "no program reads MIOPEN_USER_DB", "write MIOPEN_USER_DB_PATH"),
    "space beside a reference": (["NCCL_SOCKET_IFNAME=${A}, hsn1"], "the space in ' hsn1'", "hsn1"),
    "quotes": (["NCCL_DEBUG='INFO'"], "the quotes are part of the value", "leave them out"),
    "no number": (["NCCL_NTHREADS=many"], "'many' is not one of 64, 128", "NCCL takes the digits"),
}  # fmt: skip
RIGHT = {
    "known": ["NCCL_DEBUG=INFO", "NCCL_SOCKET_IFNAME=hsn0,hsn1", "-NCCL_NET"],
    "one's own": ["GREETING=hello, rank ${RANK}", "-HOME", "A= x "],
    "of an open family": ["SLURM_MY_OWN=1", "TORCH_MINE=a b"],
    "reference": ["NCCL_DEBUG=${LEVEL}", "NCCL_NTHREADS=${N:-x}", "NCCL_SOCKET_IFNAME=${IF},hsn1"],
    "dollar": ["GREETING=$$5"],
    "empty": ["NCCL_DEBUG="],
}  # fmt: skip


def said(changes: list[str]) -> list[tuple[str, str, str]]:
    read = [
        read_removal(change[1:]) if change.startswith("-") else read_setting(change)
        for change in changes
    ]
    return [
        (each.severity, f"{each.subject}: {each.message}", each.fix or "")
        for each in check_changes(read)
    ]


@pytest.mark.parametrize("name", DOUBTFUL)
def test_what_is_known_to_be_wrong_is_a_warning(name: str) -> None:
    changes, message, remedy = DOUBTFUL[name]
    ((severity, text, fix),) = said(changes)
    assert severity == "warning"
    assert message in text
    assert remedy in fix


@pytest.mark.parametrize("name", RIGHT)
def test_what_may_be_right_is_left_alone(name: str) -> None:
    assert said(RIGHT[name]) == []


@pytest.mark.parametrize(
    ("changes", "times"),
    [
        (["A=1", "A=2"], 1),
        (["A=1", "A=2", "A=3"], 1),
        (["A=1", "-A"], 1),
        (["A=1", "A=1"], 0),
        (["A=1", "B=2"], 0),
    ],
)
def test_a_variable_that_is_given_twice_is_noted(
    changes: list[str], times: int
) -> None:
    assert [severity for severity, _, _ in said(changes)] == ["note"] * times


def test_the_script_is_made_as_the_user_says(wrap: Wrap) -> None:
    done = wrap(*LOCAL, "--set", "NCCL_DEBUG=INOF", "--", "true")
    assert done.code == 0
    assert "warning: --set NCCL_DEBUG: 'INOF'" in done.err
    assert "NCCL_DEBUG INOF" in done.text


def test_a_job_script_is_made_as_the_user_says(wrap: Wrap) -> None:
    assert callable(wrap)
    options = (
        "--account",
        "project_465000001",
        "--time",
        "30",
        "--partition",
        "standard-g",
    )
    options = ("--profile", "lumi-g", "--container", "none", *options)
    done = envcfg("sbatch", *options, "--unset", "NCCL_DEBG", "--", "true")
    assert done.code == 0, done.err
    assert "warning: --unset NCCL_DEBG: no known program reads NCCL_DEBG" in done.err


@pytest.mark.parametrize(
    ("options", "loaded"), [((), False), (("--set", "NCCL_DEBUG=INFO"), True)]
)
def test_what_is_known_is_read_only_where_it_is_needed(
    wrap: Wrap, options: tuple[str, ...], loaded: bool
) -> None:
    assert callable(wrap)
    code = (
        "import sys, envcfg.cli\n"
        f"envcfg.cli.main(['wrap', *{(*LOCAL, *options)!r}, '--', 'true'])\n"
        "from_whole = sys.modules.get('envcfg.knowledge.variables')\n"
        "print(from_whole is not None, 'difflib' in sys.modules, file=sys.stderr)\n"
        "print(from_whole and from_whole.load_variables.cache_info().currsize, file=sys.stderr)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, check=True, cwd=ROOT
    )
    assert done.stderr.decode().split() == [
        str(loaded),
        "False",
        "0" if loaded else "None",
    ]
