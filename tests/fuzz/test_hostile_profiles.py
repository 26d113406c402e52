"""Whatever stands in a profile is data: no field of it is ever run or breaks out.

A profile that has every key of the schema is changed at one place at a time, to texts that
would run a command if bash, ``#SBATCH`` or a comment took them for more than text. What the
loader takes goes into scripts, and these are run.
"""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from envcfg import cli
from envcfg.common.findings import Finding
from envcfg.profile.folders import built_in_folder
from envcfg.profile.read.profile_loader import load_profile
from hostile_profiles import (
    SAID,
    Json,
    Keys,
    by_interface,
    by_kind,
    changed,
    everything,
    places,
)
from support import JOB, ROOT

pytestmark = pytest.mark.nightly

# Each makes a file PWN, if it is ever run. IFS: for where a space ends a word.
HOSTILE = {
    "newline": "x\ntouch PWN\n#",
    "directive": "x\n#SBATCH --comment=PWN\ntouch PWN #",
    "carriage return": "x\rtouch PWN\r\n",
    "next line": "x\x85touch PWN\x85",
    "line separator": "x\u2028touch PWN\u2029#",
    "quotes": "x'; touch PWN; '\"; touch PWN; \"",
    "backtick": "`touch${IFS}PWN`",
    "command": "x$(touch${IFS}PWN)",
    "command as profiles write it": "$$(touch$${IFS}PWN)",
    "reference": "${X:-$(touch PWN)}",
    "end of an expansion": "x}$$(touch PWN)",
    "semicolon": ";touch${IFS}PWN;#",
    "braces": "x; }; touch PWN; {",
    "end of a text": "x\nENVCFG_TEXT\ntouch PWN\n(",
    "option": "--task-prolog=touch PWN",
    "backslash": "x\\",
    "escape": "\x1b]0;PWN\x07",
}


DOCUMENTS = {"by name": everything, "by interface": by_interface, "by kind": by_kind}
OTHER = ("rendezvous", "request", "nodes")  # where the others say something else


def is_taken(document: Json) -> bool:
    problems: list[Finding] = []
    data = json.dumps(document).encode()
    load_profile(data, path="x.yaml", stem=document.get("name", ""), problems=problems)
    return not problems


@cache
def cases() -> list[tuple[str, tuple[Keys, ...], bool, str]]:
    """Return every change that the loader takes: document, places, key or not, text.

    A place by itself, but reasons, which are all read alike: all of a kind at once.
    """
    found = []
    for name, make in DOCUMENTS.items():
        reasons: dict[str | int, list[Keys]] = {}
        # What is read in the same way needs fewer of the texts.
        texts = [*HOSTILE.values()][:: 1 if make is everything else 5]
        for keys, is_key in places(make()):
            if make is not everything and keys[0] not in OTHER:
                continue
            if keys[-1] in SAID and not is_key:
                reasons.setdefault(keys[-1], []).append(keys)
            else:
                found += [(name, (keys,), is_key, text) for text in texts]
        for ways in reasons.values():
            found += [(name, tuple(ways), False, text) for text in texts]
    return [case for case in found if is_taken(hostile(*case))]


def hostile(name: str, ways: tuple[Keys, ...], is_key: bool, text: str) -> Json:
    document = DOCUMENTS[name]()
    for keys in ways:
        document = changed(document, keys, text, is_key=is_key)
    return document


# That nothing is left out


def schema_places(node: Json, above: Keys = ()) -> Iterator[Keys]:
    """Yield the way to each key that the schema names; ``*`` for one that is free."""
    schema = json.loads(Path(built_in_folder(), "schema.json").read_text())

    def walk(node: Json, above: Keys) -> Iterator[Keys]:
        for part in (
            node,
            schema["$defs"].get(node.get("$ref", "").split("/")[-1], {}),
        ):
            for key, child in part.get("properties", {}).items():
                if isinstance(child, dict):
                    yield (*above, key)
                    yield from walk(child, (*above, key))
            others = part.get("additionalProperties")
            if isinstance(others, dict):
                yield from walk(others, (*above, "*"))
            if isinstance(part.get("items"), dict):
                yield from walk(part["items"], (*above, "*"))
            if part is node and "$ref" in part.get("anyOf", [{}])[0]:
                yield from walk(part["anyOf"][0], above)

    yield from walk(schema, above) if not node else walk(node, above)


def fits(way: Keys, pattern: Keys) -> bool:
    return len(way) == len(pattern) and all(
        wanted in ("*", key) for key, wanted in zip(way, pattern, strict=True)
    )


def test_every_key_of_the_schema_is_in_the_profiles() -> None:
    ways = [way for make in DOCUMENTS.values() for way, _ in places(make())]
    facts = {
        "architecture",
        "cuda",
        "launcher",
        "runtime",
        "libfabric",
        "mpi",
        "nccl",
        "plugin",
        "rccl",
        "torch",
        "rocm",
        "slurm",
    }
    entries = ("env", "container", "launch", "bundles", "modules")
    left_out = [
        wanted
        for wanted in schema_places({})
        if not any(fits(way, wanted) for way in ways)
        # Each kind of entry shows a condition, on one fact; all are read alike.
        and not (wanted[-2:-1] == ("when",) and wanted[-1] in {*facts, "container"})
        and not (wanted[0] in entries and wanted[1:2] == ("verb",))
        and wanted != ("container", "prefix", "when", "nodes")  # it cannot be asked for
        and not (wanted[0] == "env" and wanted[-1] in {"cases", "value", "when"})
        and not (wanted[0] == "env" and "cases" in wanted)
    ]
    assert left_out == []


def test_the_profiles_are_right_and_hostile_texts_are_often_taken() -> None:
    assert all(is_taken(make()) for make in DOCUMENTS.values())
    taken_at = {ways[0][0] for _, ways, _, _ in cases()}
    assert {"summary", "env", "launch", "container", "scratch", "bundles"} <= taken_at


# That nothing runs


MODULE = """\
module() { printf '%s\\0' "$@" >>"$FAKE_NOTES/module"; }
"""


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder to make scripts in and to run them."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "notes").mkdir()
    (tmp_path / "image-6.3.sif").touch()
    (tmp_path / "module.sh").write_text(MODULE)
    layers = tmp_path / "user/envcfg/profiles"
    layers.mkdir(parents=True)
    (layers / "base.yaml").write_text("name: base\n")
    for name in ("ENVCFG_PROFILE", "SLURM_CLUSTER_NAME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("ENVCFG_SITE", str(tmp_path / "no-site"))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "user"))
    return tmp_path


def run_it(script: bytes, here: Path) -> None:
    """Run a script as a job of the fake Slurm, and check that nothing else ran."""
    (here / "job.sh").write_bytes(script)
    done = subprocess.run(
        ["bash", "job.sh"],
        capture_output=True,
        check=False,
        cwd=here,
        timeout=60,
        stdin=subprocess.DEVNULL,
        env={
            "PATH": f"{ROOT / 'tests/fakes'}:{os.environ['PATH']}",
            "BASH_ENV": str(here / "module.sh"),
            "FAKE_NOTES": str(here / "notes"),
            "SLURM_JOB_ID": JOB,
            "SLURM_JOB_NODELIST": "node1",
            "SLURM_NNODES": "1",
            "HOME": str(here),
        },
    )
    assert not (here / "PWN").exists(), done.stderr.decode(errors="replace")
    assert b"syntax error" not in done.stderr
    assert b"command not found" not in done.stderr


def directives(script: bytes) -> list[bytes]:
    """Return the lines that sbatch would read: up to the first that is not a comment."""
    found = []
    for line in script.split(b"\n"):
        if line.strip() and not line.startswith(b"#"):
            break
        if line.startswith(b"#SBATCH"):
            found.append(line)
    return found


def without_stamp(script: bytes) -> bytes:
    """Return a script without the lines that differ for every profile: its hashes."""
    lines = script.split(b"\n")
    return b"\n".join(line for line in lines if not line.startswith(b"# envcfg"))


BASE = ("--container", "image-6.3.sif", "--profile", "./x.yaml")
COMMANDS: dict[str, tuple[str, ...]] = {
    "srun": ("wrap", *BASE),
    "torchrun": ("wrap", *BASE, "--launcher", "torchrun"),
    "job": ("sbatch", *BASE, "--account", "a", "--time", "10"),
}


@pytest.mark.parametrize("command", COMMANDS)
def test_no_text_of_a_profile_is_run_or_breaks_out(
    command: str, here: Path, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    def made(document: Json) -> tuple[int, bytes]:
        (here / "x.yaml").write_text(json.dumps(document))
        code = cli.main([*COMMANDS[command], "--", "true"])
        return code, capfdbinary.readouterr().out

    as_it_is = {name: made(make()) for name, make in DOCUMENTS.items()}
    assert {code for code, _ in as_it_is.values()} == {0}
    seen: set[bytes] = set()
    for case in cases():
        code, script = made(hostile(*case))
        assert code in {0, 2}, case
        body = without_stamp(script)
        if body in seen:
            continue
        seen.add(body)
        if code == 0:
            found = directives(script)
            assert len(found) == len(directives(as_it_is[case[0]][1])), case
            assert all(line.isascii() and len(line.split()) == 2 for line in found)
        try:
            run_it(script, here)
        except AssertionError:
            print(case)
            raise
    assert len(seen) > 50


def test_a_name_that_would_run_is_no_name(
    here: Path, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    """Detection reads whatever lies in a project's folder."""
    layer = here / ".envcfg/profiles"
    layer.mkdir(parents=True)
    for text in HOSTILE.values():
        name = text.replace("/", "_")
        document = {
            "name": name,
            "summary": "x",
            "detect": {"hosts": ["*"], "clusters": ["*"]},
            "launch": {"launchers": ["local"]},
        }
        path = layer / f"{name}.yaml"
        path.write_text(json.dumps(document))
        for words in (
            ["wrap", "--container", "none", "--", "true"],
            ["wrap", "--profile", name, "--container", "none", "--", "true"],
            ["wrap", "--profile", str(path), "--container", "none", "--", "true"],
        ):
            cli.main(words)
            run_it(capfdbinary.readouterr().out, here)
        path.unlink()
