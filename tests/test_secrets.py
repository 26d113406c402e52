"""No output shows a secret, and each shows harmless values."""

from __future__ import annotations

import json
import stat
from pathlib import Path

import pytest

from envcfg.common.budget import Budget
from envcfg.common.secrets import (
    hide,
    is_secret,
    safe_line,
    safe_text,
    secret_patterns,
)
from envcfg.job.script.modules import module
from envcfg.job.script.quoting import quote
from secret_samples import (
    HARMLESS,
    HARMLESS_LINES,
    SECRET_LINES,
    SECRET_NAMES,
    SECRET_VALUES,
    secrets,
)
from support import Wrap, bash, envcfg

LUMI = (
    "--profile",
    "lumi-g",
    "--container",
    "none",
    "--fact",
    "rocm=6.2.4",
    "--no-modules",
)
LOCAL = ("--launcher", "local", "--ranks", "1")


def changed(variables: dict[str, str]) -> list[str]:
    """Return options that set each variable to another value with a secret."""
    return [
        word
        for name, value in variables.items()
        for word in ("--set", f"{name}={value}.set")
    ]


def shows_secret(text: str | bytes) -> list[str]:
    content = text.decode(errors="replace") if isinstance(text, bytes) else text
    return [line for line in content.splitlines() if "hush" in line.lower()]


def test_harmless_lines_are_shown_unchanged() -> None:
    assert len(HARMLESS_LINES) >= 100
    changed_lines = [line for line in HARMLESS_LINES if hide(line) != line]
    assert changed_lines == []


def test_names_and_values_are_recognised_in_python_and_bash() -> None:
    names, values = secret_patterns()
    assert f"ENVCFG_SECRET_NAMES={quote(names)}\n" in module("secrets").text
    assert quote(values) in module("secrets").text
    samples = {**secrets(), **HARMLESS}
    calls = "".join(
        f"if envcfg_is_secret {name} {quote(value)}; then echo {name}; fi\n"
        for name, value in samples.items()
    )
    done = bash(f"{module('secrets').text}\n{calls}")
    assert done.stdout.decode().split() == [*secrets()]
    assert [name for name, value in samples.items() if is_secret(name, value)] == [
        *secrets()
    ]
    assert len(SECRET_NAMES) >= 48
    assert len(HARMLESS) >= 40


@pytest.mark.parametrize(
    "form", ["{0}={1}", "export {0}='{1}'", '{{"{0}": "{1}"}}', "--{0} {1}"]
)
def test_a_line_keeps_all_but_the_secret(form: str) -> None:
    for name, value in secrets().items():
        line = hide(f"12:00 rank 3: {form.format(name, value)} next")
        assert not shows_secret(line), line
        assert line.startswith("12:00 rank 3: ")
    for name, value in HARMLESS.items():
        line = f"12:00 rank 3: {form.format(name, value)} next"
        assert hide(line) == line
    for value in SECRET_VALUES:
        assert not shows_secret(hide(f"connect to {value} failed"))
    for text in SECRET_LINES:
        for line in (hide(text), safe_line(text), safe_text(text)):
            assert not shows_secret(line), line
    assert hide("HF_TOKEN=$(<~/.token) KEY=$KEY") == "HF_TOKEN=$(<~/.token) KEY=$KEY"


def test_the_notes_of_a_job_show_no_secret(wrap: Wrap) -> None:
    made = wrap(*LUMI, *LOCAL, *changed({**secrets(), **HARMLESS}), "--", "true")
    assert made.code == 0, made.err
    assert not shows_secret(made.err)
    done = bash(
        made.text,
        **secrets(),
        **{name: f"{value}.job" for name, value in HARMLESS.items()},
    )
    assert done.returncode == 0
    said = done.stderr.decode()
    assert not shows_secret(said)
    assert "WANDB_API_KEY=*** (your environment: ***)" in said
    assert "MAX_TOKENS=4096.set (your environment: 4096.job)" in said


def test_an_overlong_value_is_no_exception(wrap: Wrap) -> None:
    made = wrap(*LUMI, *LOCAL, "--", "true")
    call = made.text.replace(
        "envcfg_run true",
        "printf -v MY_TOKEN 'hush%.0s' {1..40000}; envcfg_lengths MY_TOKEN=$MY_TOKEN",
    )
    done = bash(f"ENVCFG_FAULTS=0\n{call}")
    assert b"an argument can have" in done.stderr
    assert not shows_secret(done.stderr)


def test_the_report_of_a_rank_has_no_secret_and_is_private(
    wrap: Wrap, tmp_path: Path
) -> None:
    options = (*changed({**secrets(), "SET_HERE": "1"}), "--report-environment")
    made = wrap(*LUMI, *LOCAL, *options, "--", "true")
    # The samples in small letters are not names for the shell's own use.
    done = bash(f"umask 022; cd {tmp_path}\n{made.text}", **secrets(), **HARMLESS)
    assert done.returncode == 0, done.stderr
    (path,) = tmp_path.glob("envcfg-environment-*/rank0")
    content = path.read_bytes()
    assert not shows_secret(content)
    words = content.decode().split("\0")
    # Once for the job, for the start of the rank, and for its program.
    missing = [n for n, v in HARMLESS.items() if words.count(f"{n}={v}") != 3]
    assert missing == []
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_a_report_with_secrets_is_shown_without_them(tmp_path: Path) -> None:
    """An older envcfg, or a pattern that was added since, has written it."""
    plan = [f"{name}\0={value}.set\0\0" for name, value in secrets().items()]
    pairs = "".join(f"{n}={v}\0" for n, v in {**secrets(), **HARMLESS}.items())
    path = tmp_path / "rank0"
    path.write_text(
        "envcfg:environment\0profile=p\0rank=0\0nodes=1\0envcfg:plan\0"
        f"{''.join(plan)}envcfg:job\0{pairs}envcfg:start\0{pairs}"
        f"envcfg:rank\0RANK=0\0{pairs}envcfg:end\0"
    )
    for form in (
        (),
        ("--json",),
        ("--format=sarif",),
        ("--format=junit",),
        ("--format=github",),
    ):
        done = envcfg("environment", *form, "--all", str(path))
        assert not shows_secret(done.text + done.err), form
        assert "WANDB_API_KEY" in done.text
        assert form not in ((), ("--json",)) or "4096" in done.text


@pytest.mark.parametrize("command", ["wrap", "job"])
@pytest.mark.parametrize("form", ["--plan", "--json"])
@pytest.mark.usefixtures("wrap")
def test_a_plan_shows_no_secret(command: str, form: str) -> None:
    options = [*changed(secrets()), *changed(HARMLESS), form]
    if command == "job":
        options += ["--nodes", "1", "--account", "project_1", "--time", "1"]
    done = envcfg(command, *LUMI, *options, "--", "train", "--token", "hush-argument")
    assert done.code in {0, 2}, done.err
    text = done.text
    if form == "--json" and done.text:
        document = json.loads(done.text)
        document.pop("script", None)  # it must run
        text = json.dumps(document)
    assert not shows_secret(text + done.err)


@pytest.mark.usefixtures("wrap")
def test_other_commands_show_no_secret(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in secrets().items():
        monkeypatch.setenv(name, value)
    lines = "".join(
        f"export {n}='{v}'\n" for n, v in secrets().items() if "\n" not in v
    )
    script = tmp_path / "job.sh"
    script.write_text(
        f"#!/bin/bash\n#SBATCH --nodes=2\n{lines}"
        "srun python train.py --api-key hush-argument && export NCCL_DEBUG=INF MY_TOKEN=hush\n"
    )
    log = tmp_path / "job.log"
    log.write_text(
        "".join(
            f"Traceback (most recent call last):\nValueError: {n}={v}\n"
            for n, v in secrets().items()
        )
        + "RuntimeError: login with token=hush-token failed\n"
    )
    tables = [
        f'{name} = "{value}"' for name, value in secrets().items() if "\n" not in value
    ]
    (tmp_path / "envcfg.toml").write_text("[set]\n" + "\n".join(tables) + "\n")
    commands = [("doctor",), ("doctor", "--json"), ("config",), ("config", "--json")]
    for form in ("text", "json", "sarif", "junit", "github"):
        commands += [
            ("lint", "--format", form, str(script)),
            ("check-log", "--format", form, str(log)),
        ]
    commands += [
        ("check-log", "--html", str(tmp_path / "page.html"), str(log)),
        ("wrap", "--from", str(script), "--plan"),
    ]
    for command in commands:
        done = envcfg(*command)
        assert done.code in {0, 1, 2, 3, 4}, (command, done.err)
        leaks = shows_secret(done.text + done.err)
        assert not leaks, (command, leaks)
    assert not shows_secret((tmp_path / "page.html").read_text())


@pytest.mark.parametrize(
    "part",
    [
        "x",
        "://a:",
        "eyJ",
        "a_",
        "--a",
        "Password",
        "-----BEGIN ",
        "?token",
        "KEY='",
        'KEY="',
        "a=",
        "\\'",
    ],
)
def test_a_long_text_takes_linear_time(part: str) -> None:
    with Budget("text", seconds=20, megabytes=1000):
        hide(part * (200_000 // len(part)))
