"""The schema for editors says the same as the loader, in all that a schema can say."""

from __future__ import annotations

import copy
import json
import re
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml

from envcfg.common.findings import Finding
from envcfg.profile import setting_scope
from envcfg.profile.folders import built_in_folder
from envcfg.profile.read import entry_readers
from envcfg.profile.read.profile_loader import load_profile

PROFILES = sorted(Path(built_in_folder()).glob("*.yaml"))
SCHEMA = json.loads((Path(built_in_folder()) / "schema.json").read_text())
EDITOR_HINT = "# yaml-language-server: $schema=./schema.json"
REASON = {"why": "w", "source": "s", "date": "2026-05-19"}

Json = Any
Key = str | int
Path_ = tuple[Key, ...]


class Core(getattr(yaml, "CSafeLoader", yaml.SafeLoader)):  # type: ignore[misc]
    """YAML as editors read it: a date is a text."""


Core.yaml_implicit_resolvers = {
    first: [(tag, regexp) for tag, regexp in found if not tag.endswith(":timestamp")]
    for first, found in yaml.SafeLoader.yaml_implicit_resolvers.items()
}


@cache
def validator() -> Json:
    jsonschema.Draft202012Validator.check_schema(SCHEMA)
    return jsonschema.Draft202012Validator(SCHEMA)


def schema_problems(document: object) -> list[str]:
    return [
        f"{error.json_path}: {error.message}"
        for error in validator().iter_errors(document)
    ]


def is_right_for_schema(document: object) -> bool:
    return bool(validator().is_valid(document))


def loader_problems(document: object) -> list[Finding]:
    """Return what the loader has against a document, written as JSON, which is YAML."""
    problems: list[Finding] = []
    load_profile(
        json.dumps(document).encode(), path="x.yaml", stem="x", problems=problems
    )
    return problems


@pytest.mark.parametrize("path", PROFILES, ids=lambda path: path.stem)
def test_a_shipped_profile_is_valid_and_leads_editors_to_the_schema(path: Path) -> None:
    text = path.read_text()
    document = yaml.load(text, Loader=Core)  # noqa: S506 # a safe loader, with less
    assert schema_problems(document) == []
    assert text.startswith(f"{EDITOR_HINT}\n")


def checked_by_ecma(*files: Path) -> subprocess.CompletedProcess[str]:
    """Run a validator whose regular expressions are those of JSON Schema: ECMA's.

    It comes with the extra ``test``: where it is absent, this fails.
    """
    schema = Path(built_in_folder()) / "schema.json"
    command = [sys.executable, "-m", "check_jsonschema", "--schemafile", str(schema)]
    return subprocess.run(
        [*command, *map(str, files)], capture_output=True, text=True, check=False
    )


def test_shipped_profiles_are_valid_for_validators_of_editors_too() -> None:
    done = checked_by_ecma(*PROFILES)
    assert (done.returncode, done.stderr) == (0, ""), done.stdout
    assert "ok -- validation done" in done.stdout


def test_what_is_wrong_is_seen_by_validators_of_editors_too(tmp_path: Path) -> None:
    path = tmp_path / "x.yaml"
    path.write_text(
        "name: x\nenv:\n  RANK: {value: 1, why: w, source: s, date: 2026-01-01}\n"
    )
    done = checked_by_ecma(path)
    assert done.returncode == 1
    assert "$.env" in done.stdout


# The tree of the schema, and where in a document each of its nodes stands.


def resolved(node: Json) -> Json:
    """Return a node with what it refers to laid below it."""
    while "$ref" in node:
        _, group, name = node["$ref"].split("/")
        target = SCHEMA[group][name]
        node = merged(target, {key: node[key] for key in node if key != "$ref"})
    return node


def merged(below: Json, above: Json) -> Json:
    if not isinstance(below, dict) or not isinstance(above, dict):
        return above
    below, above = resolved(below), resolved(above)
    both = {key: merged(below[key], above[key]) for key in below if key in above}
    return {**below, **above, **both}


def a_name_for(node: dict[str, Any]) -> str:
    """Return a name that may stand in a mapping of names."""
    names = resolved(node.get("propertyNames", {}))
    if "enum" in names:
        return str(names["enum"][0])
    return next(
        name
        for name in ("X", "/x", "--x")
        if jsonschema.Draft202012Validator(
            {**names, "$defs": SCHEMA["$defs"]}
        ).is_valid(name)
    )


def nodes(
    node: dict[str, Any] = SCHEMA, path: Path_ = ()
) -> Iterator[tuple[Path_, dict[str, Any]]]:
    """Yield each node of the schema with a path to it, in a document."""
    node = resolved(node)
    yield path, node
    for key, child in node.get("properties", {}).items():
        if child:  # not where it is forbidden
            yield from nodes(child, (*path, key))
    if isinstance(others := node.get("additionalProperties"), dict):
        yield from nodes(others, (*path, a_name_for(node)))
    if "items" in node:
        yield from nodes(node["items"], (*path, 0))


def document_with(path: Path_, value: object) -> object:
    for key in reversed(path):
        value = [value] if key == 0 else {key: value}
    return value


def known_to_the_loader(path: Path_, value: object, message: str) -> set[str]:
    """Return the words that the loader offers in place of a wrong one."""
    (hint,) = (
        problem.fix
        for problem in loader_problems(document_with(path, value))
        if problem.message == message
    )
    assert hint
    return set(hint.partition("known: ")[2].split(", "))


def keys(node: dict[str, Any]) -> set[str]:
    names = resolved(node.get("propertyNames", {})).get("enum", [])
    return set(node.get("properties", names))


MAPPINGS = {path: keys(node) for path, node in nodes() if keys(node)}
CHOICES = {
    path: set(node["enum"])
    for path, node in nodes()
    if True not in node.get("enum", [True]) and "verb" not in path
}  # the words for the verb are compared below


def shown(path: object) -> str:
    return ".".join(map(str, path)) or "top" if isinstance(path, tuple) else ""


@pytest.mark.parametrize(("path", "expected"), list(MAPPINGS.items()), ids=shown)
def test_schema_and_loader_know_the_same_keys(path: Path_, expected: set[str]) -> None:
    assert known_to_the_loader(path, {"zzz": 1}, "unknown key 'zzz'") == expected


@pytest.mark.parametrize(("path", "expected"), list(CHOICES.items()), ids=shown)
def test_schema_and_loader_know_the_same_words(path: Path_, expected: set[str]) -> None:
    assert known_to_the_loader(path, "zzz", "unknown value 'zzz'") == expected


def test_schema_and_loader_refuse_the_same_variables() -> None:
    (_, listed) = SCHEMA["$defs"]["settable"]["not"]["anyOf"]
    assert set(listed["enum"]) == entry_readers.SHELL_OWN | setting_scope.FIXED


def test_every_key_is_described() -> None:
    silent = [
        (*path, key)
        for path, node in nodes()
        for key, child in node.get("properties", {}).items()
        if child and "description" not in resolved(child)
    ]
    assert silent == []


# One document that has everything; then each of its nodes is replaced or taken away.

FULL: dict[str, Any] = {
    "name": "x",
    "envcfg": ">=0",
    "summary": "s",
    "extends": "y",
    "lifecycle": {"state": "ends", **REASON},
    "verified": {"state": "generated", **REASON},
    "detect": {"clusters": ["a"], "hosts": ["b*"], "interfaces": ["c"], "devices": ["/d"], "marks": {"/e": "f"}, **REASON},
    "node": {"gpus": 8, "cores_per_gpu": 7, "memory_per_gpu": "60G", "memory_limit": "480G", "nics": ["a"], **REASON},
    "launch": {
        "launchers": ["flux"],
        "cpu_masks": {"masks": ["0xff"], **REASON},
        "srun": {"--mpi=pmi2": {"when": {"container": "a|b"}, **REASON}},
        "torchrun": {"--numa-binding=node": {"when": {"torch": ">=2.9"}, **REASON}},
    },
    "visibility": {"variable": "A", "clear": ["B"], **REASON},
    "rendezvous": {"suffix": "i", **REASON},
    "container": {
        "runtimes": ["apptainer"],
        "verb": {"value": "run", **REASON},
        "prefix": {"words": ["/x"], "when": {"runtime": "apptainer"}, **REASON},
        "image_facts": [{"pattern": "(?P<v>7)", "facts": {"rocm": "{v}"}, **REASON}],
        "binds": {
            "/a:/b:ro": {"if_exists": True, **REASON},
            "${A:-/a}/b:/b": {"if_exists": "/c", **REASON},
        },
        "arguments": {"--nv": {"if_exists": "/dev/nvidiactl", **REASON}},
        "exports": {"A": {"value": "all", "when": {"runtime": "pyxis"}, **REASON}},
    },
    "scratch": {"root": "${TMPDIR:-/tmp}", "in_memory": False, "disk": "/d/${A}", "disk_request": {"--constraint": "nvme"}, **REASON},
    "env": {
        "A": {"value": "a$$${B}", "when": {"rocm": "<6.2,>=6"}, "otherwise": 1, "force": True, **REASON},
        "B": {"cases": [{"value": None, "when": {"nodes": ">1"}, **REASON}], "directory": True},
        "C": None,
    },
    "bundles": {
        "b": {"env": {"D": 1}, "network": ["a", "b=c"], "srun": ["--x"], "mpiexec": ["--y"], "flux": ["-oz=1"], "when": {"nodes": 1}, **REASON}
    },
    "request": {
        "scheduler": "slurm", "gpus": "--gres", "gpu_type": "a100", **REASON,
        "rules": {"--mem": {"rule": "must not", "value": "0", **REASON}},
        "partitions": {
            "p": {
                "nodes": 1, "time": "1-00:00:00", "exclusive": True, "default": True, "gpus": 4,
                "min_nodes": 1, "min_gpus": 4, "sizes": [{"nodes": 1, "time": "2:00:00"}], **REASON,
            }
        },
        "qos": {
            "q": {
                "nodes": 1, "time": 30, "gpus": 4, "min_nodes": 1, "min_gpus": 4,
                "sizes": [{"nodes": 1, "time": "2:00:00"}], "partitions": ["p"], **REASON,
            }
        },
        "closed": ["partitions", "qos"],
    },
    "modules": {"m": {"action": "use", "when": {"launcher": "s*"}, **REASON}},
    "billing": {
        "unit": "h", "charge": "sum", "per_gpu": 0.5, "per_node": "4", "per_core": 1,
        "per_gib": 0.1, "per_nvme_gib": 0.006, "cores_per_share": 8,
        "memory_per_share": 64, "whole_shares": True, "whole_nodes": ["p"], **REASON,
    },
    "expect": {
        "networks": ["IB"], "provider": "cxi", "interfaces": ["a"], "nics": 4, "gdr": True,
        "devices": ["/dev/cxi*"], "bandwidth": 85, **REASON,
    },
    "nodes": {
        "k": {
            "select": {"partitions": ["p"], "constraints": ["c"], "gres": ["a100"], "hosts": ["n[0-9]*"]},
            "launch": {"cpu_masks": None},
            "env": {"A": {"value": 1, **REASON}},
        },
        "n": None,
    },
}  # fmt: skip
BEYOND_A_SCHEMA = "this profile needs envcfg|are not more than the|fits no launcher|fits no runtime|no regular expression|not a named group|expected CPU mask"
WRONG: list[object] = [
    None, "", " ", "text", "a$", "-1", "0x0", "2026-05-32", "^(", 7, -1, 1.5, True,
    [], ["a"], [[]], {}, {"zzz": 1},
]  # fmt: skip


def places(value: object, path: Path_ = ()) -> Iterator[Path_]:
    """Yield the path to each node of a document, but for its root and its name."""
    if path and path != ("name",):
        yield path
    children = (
        value.items()
        if isinstance(value, dict)
        else enumerate(value if isinstance(value, list) else [])
    )
    for key, child in children:  # fmt: skip
        yield from places(child, (*path, key))


def changed(path: Path_, value: object) -> dict[str, Any]:
    """Return a section of FULL with another value at *path*; with Ellipsis, with none."""
    document = copy.deepcopy({"name": "x", path[0]: FULL[path[0]]})
    inner: Any = document
    for key in path[:-1]:
        inner = inner[key]
    if value is ...:
        del inner[path[-1]]
    else:
        inner[path[-1]] = value
    return document


def test_the_full_document_is_right_for_both() -> None:
    assert loader_problems(FULL) == []
    assert schema_problems(FULL) == []


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (("nodse",), {}),
        (("nodes", "k", "extends"), "y"),
        (("nodes", "k", "select", "partition"), ["p"]),
        (("env", "A", "vaule"), "1"),
        (("launch", "launchers", 0), "srum"),
        (("verified", "state"), "tested"),
        (("env", "A", "why"), ...),
        (("request", "rules", "--mem", "source"), ...),
        (("bundles", "b", "date"), "May"),
        (("container", "verb", "value"), "start"),
    ],
    ids=shown,
)
def test_a_broken_profile_fails_in_both(path: Path_, value: object) -> None:
    document = {**FULL, path[0]: value} if len(path) == 1 else changed(path, value)
    assert loader_problems(document)
    assert not is_right_for_schema(document)


@pytest.mark.parametrize("path", [*places(FULL)], ids=shown)
def test_schema_and_loader_agree_on_what_is_wrong(path: Path_) -> None:
    disagree = []
    for value in [*WRONG, ...]:
        document = changed(path, value)
        messages = [problem.message for problem in loader_problems(document)]
        beyond = any(re.search(BEYOND_A_SCHEMA, message) for message in messages)
        if is_right_for_schema(document) == bool(messages) and not beyond:
            disagree.append((value, messages, schema_problems(document)))
    assert disagree == []
