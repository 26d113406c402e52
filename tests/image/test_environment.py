"""The environment of an image: plain assignments are read, nothing is evaluated."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from envcfg.image.image_environment import (
    DEFAULT_PATH,
    ImageVariable,
    read_environment,
    shell_assignments,
)
from envcfg.image.image_record import Metadata
from envcfg.image.tree import FolderTree
from imaging import Image

KNOWN = {"PATH": ImageVariable("/bin", "x")}


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("export A=1", {"A": "1"}),
        ("A=1; export A", {"A": "1"}),
        ("A=1", {"A": "1"}),
        ('export A="x y"', {"A": "x y"}),
        ("export A='$x y'", {"A": "$x y"}),
        ('export PATH="/opt/bin:$PATH"', {"PATH": "/opt/bin:/bin"}),
        ("export PATH=/opt/bin:${PATH}", {"PATH": "/opt/bin:/bin"}),
        ('export A="${A:-"b c"}"', {"A": "b c"}),
        ('export A="${A:-b}"\nexport C="$A/c"', {"A": "b", "C": "b/c"}),
        ('export L="/x${L:+:$L}"', {"L": "/x"}),
        ('export L="/x${PATH:+:$PATH}"', {"L": "/x:/bin"}),
        ("export A=$(date)", {}),
        ("export A=`date`", {}),
        ('export A="x" B="y"', {}),
        ("export A=x # why", {}),
        ("if true; then\n  export A=1\nfi\nexport B=2", {"B": "2"}),
        ("f() {\n  A=1\n}\nB=2", {"B": "2"}),
        ("export A=${B%%x}", {}),
        ("export A=${!B}", {}),
        ("echo A=1", {}),
        ("A=1 command", {}),
    ],
)
def test_a_plain_assignment_is_read(text: str, wanted: dict[str, str]) -> None:
    assert dict(shell_assignments(text, KNOWN)) == wanted


_WORDS = st.lists(
    st.sampled_from(["a", " ", '"', "'", "$", "$PATH", "${A:-b}", "\\", ";", "#", "$(x", "`", "}", "=", "é", "*", "~", "${"]),
    max_size=6,
).map("".join)  # fmt: skip


@given(_WORDS)
def test_what_is_read_is_what_a_shell_makes_of_it(word: str) -> None:
    text = f"export A={word}"
    found = dict(shell_assignments(text, KNOWN))
    if "A" not in found:
        return
    done = subprocess.run(
        ["/bin/sh", "-c", f"{text}\nprintf '%s|' \"$A\""],
        env={"PATH": "/bin", "HOME": "~"},
        capture_output=True,
        check=False,
    )
    assert done.stdout.decode() == f"{found['A']}|", word


def test_a_later_file_counts_before_an_earlier_one(tmp_path: Path) -> None:
    image = Image(tmp_path / "image")
    image.text(".singularity.d/env/10-docker.sh", "export A=3\n")
    image.text(".singularity.d/env/90-environment.sh", "export A=4\n")
    found = read_environment(
        FolderTree(str(image.root)), Metadata("sif", environment={"A": "0", "C": "5"})
    )
    assert found["A"] == ImageVariable("4", "/.singularity.d/env/90-environment.sh")
    assert found["C"] == ImageVariable("5", "environment of the sif")


@pytest.mark.parametrize(
    ("set_before", "path"),
    [({}, f"/opt/venv/bin:{DEFAULT_PATH}"), ({"PATH": "/b"}, "/opt/venv/bin:/b")],
)
def test_a_path_goes_before_that_of_the_runtime(
    tmp_path: Path, set_before: dict[str, str], path: str
) -> None:
    image = Image(tmp_path / "image")
    image.text(
        ".singularity.d/env/90-environment.sh", 'export PATH="/opt/venv/bin:$PATH"\n'
    )
    found = read_environment(
        FolderTree(str(image.root)), Metadata("sif", environment=set_before)
    )
    assert found["PATH"].value == path


@pytest.mark.parametrize(
    "text",
    [
        "A=" + " " * 200_000 + "x",
        "A=" + ";" * 200_000,
        "A=" + "${B:-" * 40_000,
        'A="' + "$B" * 8_000 + '"',
        "if " * 100_000,
    ],
    ids=["blanks", "semicolons", "defaults", "references", "ifs"],
)
def test_a_hostile_file_is_read_at_once(text: str) -> None:
    assert len(dict(shell_assignments(text, {}))) <= 1
