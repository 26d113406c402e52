"""``envcfg inspect`` as users call it."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from imaging import SITE, SYSTEM, Image, environment, python, torch
from support import Wrapped, envcfg


@pytest.fixture
def image(tmp_path: Path, wrap: Callable[..., Wrapped]) -> Image:
    assert callable(wrap)  # keeps other layers away
    made = Image(tmp_path / "pytorch")
    made.base()
    python(made, "usr/local")
    torch(made, f"usr/local/{SITE}", "2.5.1+cu124", cuda="12.4")
    made.library(f"{SYSTEM}/libnccl.so.2", words="NCCL version 2.21.5+cuda12.4")
    made.library(
        f"{SYSTEM}/libnccl-net.so",
        symbols=("ncclNetPlugin_v8",),
        words="Initializing aws-ofi-nccl 1.16.2",
        needs=["libfabric.so.1"],
    )
    return made


def run(*arguments: str) -> Wrapped:
    return envcfg("inspect", *arguments)


def test_the_text_shows_facts_evidence_and_what_is_wrong(image: Image) -> None:
    done = run(str(image.root))
    lines = done.text.splitlines()
    assert (done.code, done.err) == (0, "")
    assert lines[0] == f"{image.root}: folder"
    assert (
        f"  cuda          12.4              /usr/local/{SITE}/torch/version.py  (the Python of the image's PATH finds it)"
        in lines
    )
    said = lines.index(
        "warning: libfabric.so.1: is not in the image, but /usr/lib/x86_64-linux-gnu/libnccl-net.so needs it"
    )
    assert lines[said + 1].startswith("  why: ")
    assert lines[said + 2].startswith("  hint: ")


def test_an_image_for_another_architecture_is_refused(image: Image) -> None:
    """An image built on a laptop, and a system whose nodes have Arm CPUs."""
    name = str(image.root)
    expected = f"{name}: is for x86_64, and the nodes of jupiter are aarch64"
    seen = run("--profile", "jupiter", name)
    assert seen.code == 1
    assert f"error: {expected}" in seen.text
    step = ("--profile", "jupiter", "--container", name)
    made = envcfg("wrap", *step, "--", "python", "t.py")
    assert made.code == 2
    assert f"envcfg: error: {expected}" in made.err
    assert "use an image for aarch64" in made.err
    # no profile, another system, and the user's own word
    assert "is for x86_64" not in run(name).text
    assert "is for x86_64" not in run("--profile", "mahti", name).text
    stated = envcfg("wrap", *step, "--fact", "architecture=aarch64", "--", "true")
    assert stated.code == 0, stated.err


def test_facts_are_options_that_wrap_takes(image: Image) -> None:
    done = run("--facts", str(image.root))
    words = done.text.split()
    assert (
        words
        == "--fact cuda=12.4 --fact nccl=2.21.5 --fact plugin=1.16.2 --fact torch=2.5.1".split()
    )
    planned = envcfg(
        "wrap",
        "--profile",
        "slingshot-cuda",
        "--container",
        "x.sif",
        *words,
        "--print",
        "plan",
    )
    assert planned.code == 0, planned.err


def test_json_has_all_of_it(image: Image) -> None:
    found = json.loads(run("--json", str(image.root)).text)
    assert found["chain"]["missing"] == [
        {"soname": "libfabric.so.1", "needed_by": f"/{SYSTEM}/libnccl-net.so"}
    ]
    assert [each["rule"] for each in found["findings"]] == ["chain-library-missing"]


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (["--format", "text"], 0),
        (["--format", "text", "--strict"], 1),
        (["--format", "github"], 0),
    ],
)
def test_findings_come_in_every_form(image: Image, words: list[str], code: int) -> None:
    done = run(*words, str(image.root))
    assert done.code == code
    assert "libfabric.so.1" in done.text


def test_a_chain_that_breaks_ends_with_1(image: Image) -> None:
    image.library(f"{SYSTEM}/libnccl-net.so", symbols=("ncclNetPlugin_v12",))
    done = run(str(image.root))
    assert done.code == 1
    assert "error: " in done.text


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        ((), 2, "no image is named"),
        (("nowhere.sif",), 4, "nowhere.sif: "),
        (("--facts", "--json", "y"), 2, "--facts and --json"),
        (("--json", "--format", "json", "y"), 2, "--json and --format"),
        (("y", "--", "python"), 2, "takes no command"),
        (("--profile", "lumi", "/"), 2, "unknown profile 'lumi'"),
    ],
)
def test_what_cannot_be_is_said(
    wrap: Callable[..., Wrapped], words: tuple[str, ...], code: int, said: str
) -> None:
    assert callable(wrap)
    done = run(*words)
    assert done.code == code
    assert said in done.err
    assert "  hint: " in done.err
    assert done.out == b""


def test_what_an_image_says_does_nothing_to_a_terminal(image: Image) -> None:
    image.text("etc/os-release", 'PRETTY_NAME="\x1b[2Jred\x9b"\n')
    environment(image, NCCL_DEBUG="\x1b[31mINFO")
    site = f"usr/local/{SITE}"
    image.text(f"{site}/jax-1.0\x1b]0;x\x07.dist-info/METADATA")
    for words in (
        (),
        ("--json",),
        ("--facts",),
        ("--format", "text"),
        ("--format", "github"),
    ):
        done = run(*words, str(image.root))
        assert b"\x1b" not in done.out
        assert b"\x07" not in done.out
