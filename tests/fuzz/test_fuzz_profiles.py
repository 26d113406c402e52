"""Profiles that somebody has spoilt: every mistake has its place, none is a crash."""

from __future__ import annotations

import subprocess
from functools import cache
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from envcfg.common.errors import EnvcfgError
from envcfg.common.findings import Finding
from envcfg.job.plan.plan import Options
from envcfg.job.plan.resolve import resolve
from envcfg.job.script.host_part import render_script
from envcfg.profile.catalog import Catalog
from envcfg.profile.detect import read_known
from envcfg.profile.folders import built_in_folder
from envcfg.profile.read.profile_loader import load_profile
from fuzzing import tries

pytestmark = pytest.mark.nightly

FILES = sorted(Path(built_in_folder()).glob("*.yaml"))
# What a slip, a merge or an attack puts in.
STRAY = [
    b"", b" ", b"  ", b"\t", b":", b": ", b"- ", b"#", b"'", b'"', b"[", b"]", b"{", b"}", b"null",
    b"~", b"&a ", b"*a", b"!!python/object ", b"|", b">", b"%", b"@", b"`", b"$", b"${", b"${A}",
    b"$(touch PWN)", b"\r", b"\x00", b"\xff", b"\xc2\x85", b"\xe2\x80\xa8", b"\xef\xbb\xbf",
    b"---\n", b"...\n", b"name: x\n", b"env: {}\n", b"<<: {}\n", b"9" * 40, b"1e999", b"0x",
]  # fmt: skip


@cache
def texts() -> dict[str, bytes]:
    return {path.stem: path.read_bytes() for path in FILES}


@st.composite
def spoilt(draw: st.DrawFn) -> tuple[str, bytes]:
    """Return a name and a file of that name with some things wrong."""
    stem = draw(st.sampled_from(sorted(texts())))
    data = texts()[stem]
    for _ in range(draw(st.integers(0, 4))):
        at = draw(st.integers(0, len(data)))
        how = draw(
            st.sampled_from(["insert", "cut", "line twice", "line away", "move"])
        )
        lines = data.splitlines(keepends=True)
        line = data.count(b"\n", 0, at)
        if how == "insert":
            data = data[:at] + draw(st.sampled_from(STRAY)) + data[at:]
        elif how == "cut":
            data = data[:at] + data[at + draw(st.integers(1, 30)) :]
        elif line < len(lines):
            if how == "line twice":
                lines.insert(line, lines[line])
            elif how == "line away":
                del lines[line]
            else:
                lines[line] = b" " * draw(st.integers(0, 8)) + lines[line].lstrip(b" ")
            data = b"".join(lines)
    return stem, data


@given(spoilt())
@tries(300)
def test_a_spoilt_profile_is_told_by_place_or_works(given_: tuple[str, bytes]) -> None:
    stem, data = given_
    problems: list[Finding] = []
    profile = load_profile(data, path="x.yaml", stem=stem, problems=problems)
    lines = data.count(b"\n") + data.count(b"\r") + 3
    for problem in problems:
        assert 1 <= problem.place.line <= lines
        assert problem.place.column >= 1
        assert problem.message
        assert problem.message.isprintable()
    if problems:
        return
    assert profile is not None
    known = read_known(data, path="x.yaml", stem=stem)
    assert known is not None
    assert known.detect == profile.detect, "the quick look sees something else"


@given(spoilt())
@tries(100)
def test_what_is_taken_makes_a_script_that_bash_can_read(
    tmp_path: Path, given_: tuple[str, bytes]
) -> None:
    stem, data = given_
    path = tmp_path / f"{stem}.yaml"
    path.write_bytes(data)
    catalog = Catalog([built_in_folder(), str(tmp_path)])
    options = Options(container="image.sif", command=("true",), facts={"nodes": "2"})
    try:
        text = render_script(resolve(catalog.load(stem), "0", options), ["envcfg"])
    except EnvcfgError:
        pass
    else:
        done = subprocess.run(
            ["bash", "-n"],
            input=text.encode("utf-8", "surrogateescape"),
            capture_output=True,
            check=False,
        )
        assert (done.returncode, done.stderr) == (0, b"")
    finally:
        path.unlink()
