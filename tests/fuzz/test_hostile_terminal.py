"""Text from the files of a project does nothing to a terminal, whatever command shows it.

JSON is left out: its own escapes write such characters out. A script is left out, too: it
is for bash, and its comments hold no such text.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from envcfg.core.defaults import ROWS
from envcfg.core.option import Option
from envcfg.profile.read.profile_loader import load_profile
from hostile_profiles import Json, changed, everything, places
from support import Wrapped, envcfg

pytestmark = pytest.mark.nightly

# What a terminal does not show as it stands: it moves, colours, hides or turns text. Some
# readers refuse the first, some the first two.
TEXTS = {
    "lines": "x\nINJECTED\rINJECTED\x85INJECTED\u2028INJECTED\u2029INJECTED",
    "controls": "x\x1b[2J\x1b]0;t\x07\x9b31m\x08\x7f",
    "invisible": "x\u202egnp.\u2066a\u2069\u200f\u200b\ufeff\xad\u2060",
}
STEP = ("--container", "none", "--launcher", "local", "--ranks", "1")


def check(done: Wrapped, *, is_script: bool = False) -> None:
    """Check what a terminal would get; of a script, its comments and messages."""
    assert done.code != 70, done.err
    texts = [done.err, "" if is_script else done.text]
    for text in (re.sub(r"\x1b\[[0-9;]*m", "", text) for text in texts):  # our colours
        signs = {sign for sign in text if sign != "\n" and not sign.isprintable()}
        assert not signs, (signs, text)
        assert not any(line.strip().startswith("INJECTED") for line in text.split("\n"))


@pytest.fixture
def here(no_layers: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:  # noqa: ARG001
    folder = tmp_path / "clone"
    (folder / ".envcfg/profiles").mkdir(parents=True)
    (folder / "job.sh").write_text("#!/bin/bash\n#SBATCH --nodes=2\nsrun python t.py\n")
    (folder / "log").write_text("NCCL INFO Using network Socket\n")
    monkeypatch.chdir(folder)
    return folder


def toml(value: object) -> str:
    """Write a value as TOML, whose texts are JSON's."""
    return json.dumps(value).replace("\x7f", "\\u007f")


def values(option: Option, text: str) -> Iterator[str]:
    """Yield lines of defaults in which an option, or its name, holds *text*."""
    name = option.flag[2:]
    yield f"{name} = {toml(text)}"
    yield f"{name} = {toml([text, f'A={text}', f'./{text}', f'--x={text}'])}"
    yield f"[{name}]\n{toml(text)} = {toml(text)}\nA = {toml(text)}"


# Every command that reads a project's defaults; of wrap and job, what is no script.
READERS = (
    ("doctor",),
    ("wrap", *STEP, "--print", "plan", "--", "true"),
    ("lint", "job.sh"),
    ("check-log", "log"),
    ("explain", "NCCL_SOCKET_IFNAME"),
    ("inspect",),
    ("monitor", "12"),
)


@pytest.mark.parametrize("name", ROWS)
def test_a_default_does_nothing_to_a_terminal(here: Path, name: str) -> None:
    for text in TEXTS.values():
        for line in values(ROWS[name], text):
            (here / "envcfg.toml").write_text(f"{line}\n")
            check(envcfg("wrap", *STEP, "--", "true"), is_script=True)
            check(envcfg("job", *STEP, "--", "true"), is_script=True)
            if name in {"profile", "container", "fact", "setup"}:
                for words in READERS:
                    check(envcfg(*words))


def test_the_name_of_a_default_does_nothing_to_a_terminal(here: Path) -> None:
    for text in TEXTS.values():
        for line in (
            f"{toml(text)} = 1",
            f"[{toml(text)}]",
            f"a{text} = 1",
            f"#{text}",
        ):
            (here / "envcfg.toml").write_text(f"{line}\n")
            for words in READERS:
                check(envcfg(*words))


def is_taken(document: Json) -> bool:
    data = json.dumps(document).encode()
    load_profile(data, path="x.yaml", stem="x", problems=(problems := []))
    return not problems


def hostile(text: str) -> Json:
    """Return a profile in which all texts and keys that can hold *text* do."""
    document = everything()
    document.pop("extends")
    for keys, is_key in reversed([*places(document)]):
        made = changed(document, keys, text, is_key=is_key)
        if keys != ("name",) and is_taken(made):
            document = made
    return document


SHOWN = (
    ("profiles", "list"),
    ("profiles", "show", "x"),
    ("profiles", "show", "./x.yaml", "--fact", "rocm=6.2.4", "--container", "x.sif"),
    ("profiles", "diff", "x", "lumi-g"),
    ("profiles", "diff", "lumi-g", "x"),
    ("profiles", "validate", ".envcfg/profiles", "x.yaml"),
    ("profiles", "detect"),
    ("profiles", "new", "y", "--extends", "x", "-o", "-"),
    ("explain", "NCCL_SOCKET_IFNAME"),
    ("explain", "FOO", "--profile", "x"),
    ("explain", "standard", "--profile", "x"),
    ("wrap", "--profile", "x", "--container", "none", "--print", "plan", "--", "true"),
    ("wrap", "--profile", "x", "--container", "x.sif", "--print", "plan", "--", "true"),
    ("wrap", "--from", "job.sh", "--profile", "x", "--print", "plan"),
    ("lint", "--profile", "x", "job.sh"),
    ("lint", "--profile", "x", "--format", "github", "job.sh"),
    ("check-log", "--profile", "x", "log"),
    ("check-log", "--profile", "x", "--next", "log"),
    ("inspect", "--profile", "x", "."),
    ("monitor", "--profile", "x", "12"),
    ("preflight", "--profile", "x", "--container", "none"),
    ("submit", "--profile", "x", "job.sh"),
    (
        "sbatch",
        "--profile",
        "x",
        "--container",
        "none",
        "--format",
        "text",
        "--",
        "true",
    ),
    (
        "sbatch",
        "--profile",
        "x",
        "--container",
        "none",
        "--format",
        "github",
        "--",
        "true",
    ),
    ("profiles", "probe", "--profile", "x", "--container", "none"),
)


@pytest.mark.parametrize("color", ["never", "always"])
@pytest.mark.parametrize("text", TEXTS)
def test_a_profile_does_nothing_to_a_terminal(
    here: Path, text: str, color: str
) -> None:
    document = hostile(TEXTS[text])
    assert document != {**everything(), "extends": None}
    data = json.dumps(document)
    for path in (here / "x.yaml", here / ".envcfg/profiles/x.yaml"):
        path.write_text(data)
    check(envcfg("wrap", "--profile", "x", "--container", "none"), is_script=True)
    (here / "x.sif").write_bytes(b"no image")
    for words in SHOWN:
        check(envcfg(*words[:1], "--color", color, *words[1:]))


@pytest.mark.parametrize("text", TEXTS)
def test_what_is_wrong_in_a_profile_does_nothing_to_a_terminal(
    here: Path, text: str
) -> None:
    for keys, is_key in places(everything()):
        made = changed(everything(), keys, TEXTS[text], is_key=is_key)
        if not is_taken(made):
            (here / "x.yaml").write_text(json.dumps(made))
            check(envcfg("profiles", "validate", "x.yaml"))
    for form in ("github", "text"):
        check(envcfg("profiles", "validate", "--format", form, "x.yaml"))
    check(envcfg("wrap", "--profile", "x.yaml", "--container", "none"))


@pytest.mark.parametrize("text", TEXTS)
def test_the_name_of_a_file_does_nothing_to_a_terminal(here: Path, text: str) -> None:
    name = TEXTS[text].replace("/", "_")
    for path in (here / f"{name}.yaml", here / f".envcfg/profiles/{name}.yaml"):
        path.write_text("name: a\nfoo: bar\n")
    (here / "envcfg.toml").write_text(
        f"profile = {toml(f'{name}.yaml')}\nsetup = {toml(name)}\n"
    )
    (here / name).write_text("#!/bin/bash\nsrun true\n")
    for words in (
        ("wrap", "--container", "none", "--print", "plan", "--", "true"),
        ("wrap", "--container", "none", "--print", "plan", "--", "true"),
        ("profiles", "list"),
        ("profiles", "detect"),
        ("profiles", "show", name),
        ("profiles", "show", f"./{name}.yaml"),
        ("profiles", "validate", "."),
        ("profiles", "validate", ".envcfg/profiles"),
        ("lint", name),
        ("lint", "--format", "github", name),
        ("lint", "--fix", "--diff", name),
        ("check-log", name),
        ("inspect", name),
        ("environment", name),
        ("submit", name),
        ("submit", "--dry-run", name),
        ("wrap", "--from", name),
        ("wrap", "--from", name, "-o", name),
        ("hang", name),
        ("monitor", name),
        ("explain", name),
        ("doctor", name),
        (name,),
    ):
        check(envcfg(*words), is_script=words[0] == "wrap" and "plan" not in words)
