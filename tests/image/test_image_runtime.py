"""The one use of spython, with a runtime that is a fake; the real one: tests/cluster."""

from __future__ import annotations

import json
import os
import time
from pathlib import Path

import pytest
from made_forms import ENCRYPTED, make_sif, root_part

from envcfg.common.errors import ImageError
from envcfg.image.bounded_file import FormError
from envcfg.image.open_image import open_image
from envcfg.image.runtime_query import inspect_by_runtime
from support import envcfg

LABELS = {"org.label-schema.build-arch": "arm64", "a": "ä b"}
ANSWER = json.dumps({"data": {"attributes": {"labels": LABELS}}, "type": "container"})


@pytest.fixture
def image(tmp_path: Path) -> Path:
    return make_sif(tmp_path / "an image.sif", [root_part(b"luks", ENCRYPTED)])


def fake(folder: Path, body: str) -> str:
    """Make a runtime that runs *body*; returns its path."""
    program = folder / "apptainer"
    program.write_text(f'#!/bin/sh\n[ "$1" = inspect ] || exit 1\n{body}\n')
    program.chmod(0o755)
    return str(program)


def test_labels_come_from_the_runtime(
    image: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MESSAGELEVEL", "debug")  # by which spython fails to import
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    fake(tmp_path, f"printf '%s\\n' \"$@\" >'{tmp_path}/notes'\necho '{ANSWER}'")
    with open_image(str(image), program="apptainer") as (tree, metadata):
        assert metadata.labels == LABELS
        assert metadata.architecture == "aarch64"
        assert "encrypted" in metadata.unread[0]
        for look in (tree.look, tree.names, tree.read):
            with pytest.raises(FormError, match="encrypted"):
                look("/etc/os-release")
    assert str(image) in (tmp_path / "notes").read_text().splitlines()


@pytest.mark.parametrize(
    "body",
    [
        "exit 3",
        "echo no JSON",
        "echo '{}'",
        'echo \'{"data": {"attributes": 3}}\'',
        "printf '\\377'",
        "echo '[]'",
    ],
)
def test_a_runtime_that_fails_leaves_our_own_error(
    body: str, image: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    program = fake(tmp_path, f"echo chatter >&2\n{body}")
    with pytest.raises(ImageError, match="encrypted"):
        open_image(str(image), program=program).__enter__()
    assert capfd.readouterr() == ("", "")


def test_no_runtime_leaves_our_own_error(image: Path) -> None:
    with pytest.raises(ImageError, match="encrypted"):
        open_image(str(image), program="no-such-runtime").__enter__()


def test_a_runtime_that_hangs_is_ended(image: Path, tmp_path: Path) -> None:
    program = fake(tmp_path, f"sleep 98765 & echo $! >'{tmp_path}/pid'; wait")
    assert inspect_by_runtime(str(image), program, seconds=2) is None
    pid = int((tmp_path / "pid").read_text())
    for _ in range(100):
        if (
            not os.path.exists(f"/proc/{pid}")
            or "Z" in Path(f"/proc/{pid}/stat").read_text()
        ):
            return
        time.sleep(0.05)
    pytest.fail("what the runtime had started is left")


def test_inspect_and_wrap_take_what_the_runtime_knows(
    wrap: object, image: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert callable(wrap)  # keeps other layers away
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    label = "org.envcfg.rocm"
    labels = {"org.label-schema.build-arch": "arm64", label: "6.2.4"}
    answer = json.dumps({"data": {"attributes": {"labels": labels}}})
    fake(tmp_path, f"echo '{answer}'")
    for profile in ((), ("--profile", "lumi-g")):
        seen = envcfg("inspect", *profile, str(image))
        assert seen.code == 0, seen.err
        assert f"label {label}" in seen.text
        assert "aarch64" in seen.text
        assert "a SIF whose files are encrypted: is not read" in seen.text
        assert "is it whole" not in seen.text
    step = ("--profile", "lumi-g", "--container", str(image))
    made = envcfg("wrap", *step, "--print", "plan", "--", "python", "t.py")
    assert made.code == 0, made.err
    assert "6.2.4" in made.text
    refused = envcfg("inspect", "--profile", "jupiter", str(image))
    assert "is for" not in refused.text
