"""``scripts/variables``: which releases read a variable, from sources made here."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from scripts.naming.__main__ import history
from scripts.naming.sources import LIBRARIES, plain, read_releases

RELEASES = {
    "v2.18.1-1": 'NCCL_PARAM(CuMem, "CUMEM_ENABLE", 0);\nNCCL_PARAM(Old, "OLD", 1 << 4);\n',
    "v2.9.9-1": 'NCCL_PARAM(Old, "OLD", 16);\n',
    "v2.19.1-1": 'NCCL_PARAM(CuMem, "CUMEM_ENABLE", -2)\n// getenv("NCCL_NOT")\n'
    'DEFINE_NCCL_PARAM(param, const char*, NCCL_DEBUG_FILE, nullptr, f, "x");\n',
}


@pytest.fixture
def git(tmp_path: Path) -> Path:
    """A repository with a commit and a tag for each release."""
    run = ["git", "-C", str(tmp_path), "-c", "user.name=a", "-c", "user.email=a@b"]
    subprocess.run([*run, "init", "-q"], check=True)
    (tmp_path / "src").mkdir()
    for tag, text in RELEASES.items():
        (tmp_path / "src" / "init.cc").write_text(text)
        subprocess.run([*run, "add", "."], check=True)
        subprocess.run([*run, "commit", "-qm", tag], check=True)
        subprocess.run([*run, "tag", tag], check=True)
    return tmp_path


def test_each_name_says_its_releases_and_defaults(git: Path) -> None:
    nccl = LIBRARIES["nccl"]
    releases = read_releases(nccl, git)
    assert list(releases) == ["2.9.9", "2.18.1", "2.19.1"]
    told = {
        name: history(nccl, releases, name)
        for name in ("NCCL_CUMEM_ENABLE", "NCCL_OLD", "NCCL_DEBUG_FILE")
    }
    assert told == {
        "NCCL_CUMEM_ENABLE": "NCCL: default 0 since 2.18.1, default -2 since 2.19.1",
        "NCCL_OLD": "NCCL: default 16; not after 2.18.1",
        "NCCL_DEBUG_FILE": "NCCL: read since 2.19.1",
    }
    assert not any("NCCL_NOT" in each.names for each in releases.values())


@pytest.mark.parametrize(
    ("expression", "value"),
    [
        ("(size_t)(1) * 1024 * 1024", "1048576"),
        ("-2", "-2"),
        ("64 << 10", "65536"),
        ("true", "1"),
        ('"lo,docker0"', "lo,docker0"),
        ("DEFAULT_SIZE", None),
        ("nullptr", None),
    ],
)
def test_a_default_is_a_plain_value_or_not_said(
    expression: str, value: str | None
) -> None:
    assert plain(expression) == value
