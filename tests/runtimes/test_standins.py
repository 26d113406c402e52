"""Stand-ins refuse what the real programs refuse, and take what they take."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from support import ROOT

SHIFTER = ROOT / "tests/cluster/standins/shifter"
# Stands in for what is below the stand-in: shows its options, its folder and variables.
CH_RUN = """\
#!/bin/sh
printf '%s|' "$@"
printf '\\n%s %s %s\\n' "$HOST" "$BOTH" "$IMAGE"
"""


@pytest.fixture
def image(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "images/docker/a/b:1"
    (folder / "ch").mkdir(parents=True)
    (folder / "opt").mkdir()
    (folder / "var/tmp/x").mkdir(parents=True)
    (folder / "ch/environment").write_text("BOTH=image\nIMAGE=image\n")
    (folder / "ch/workdir").write_text("/opt\n")
    (tmp_path / "ch-run").write_text(CH_RUN)
    (tmp_path / "ch-run").chmod(0o755)
    monkeypatch.setenv("STANDIN_IMAGES", str(tmp_path / "images"))
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    monkeypatch.setenv("HOST", "host")
    monkeypatch.setenv("BOTH", "host")
    return folder


def shifter(*words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [SHIFTER, *words], capture_output=True, text=True, check=False
    )


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ([], "No image specified"),
        (["--image", "docker:other:1"], "FAILED to lookup docker image other:1"),
        (["--image", "a/b@1"], "FAILED to lookup docker image a/b1"),
        (["--image=a/b:1", "--bind=/a:/b"], "option --bind not recognized"),
        (["--image=a/b:1", "-V", "/a:/etc/a"], "Invalid Volume Map: /a:/etc/a"),
        (["--image=a/b:1", "-V", "/a:/opt"], "Invalid Volume Map: /a:/opt"),
        (["--image=a/b:1", "-V", "/a;/opt:/opt"], "INVALID format for volume map /a"),
        (["--image=a/b:1", "-V", "/a:/opt:rec"], "Invalid Volume Map"),
        (["--image=a/b:1", "-V", "/a:/var/tmp/x:rec"], "Invalid mount flags"),
        (["--image=a/b:1", "-V", "/a:/none"], "FAILED to setup user-requested mounts"),
    ],
)
@pytest.mark.usefixtures("image")
def test_shifter_s_stand_in_refuses(words: list[str], said: str) -> None:
    done = shifter(*words, "true")
    assert (done.returncode, done.stdout) == (1, "")
    assert said in done.stderr


def test_shifter_s_stand_in_stops_at_the_command_and_drops_signs_of_paths(
    image: Path,
) -> None:
    volume = "/a b:/var/tmp/x:ro"
    done = shifter("--image", "docker:a/b:1", "-V", volume, "sh", "-V", "--", "--image")
    words, variables = done.stdout.splitlines()
    assert words.split("|")[:-1] == [
        "--bind=/run/envcfg-cluster/home:/run/envcfg-cluster/home",
        "--bind=/ab:/var/tmp/x",
        "--cd=/opt",
        str(image),
        *("--", "sh", "-V", "--", "--image"),
    ]
    assert variables == "host image image"
