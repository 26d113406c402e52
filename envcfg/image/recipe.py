"""The facts of the image that a definition file or a Dockerfile will build.

spython divides the recipe into stages and commands; nothing of it is executed. It gets
a prepared copy, because it loses capital letters, unnamed stages and other bases than
Docker's.
"""

import os
import re
from collections.abc import Iterator, Mapping
from typing import Any

from envcfg.common.errors import ImageError
from envcfg.common.findings import Finding, finding_in
from envcfg.common.foreign_data import mappings
from envcfg.image.fact_patterns import load_signs
from envcfg.image.image_environment import ImageVariable
from envcfg.image.image_facts import add_labels, variable_remarks
from envcfg.image.image_record import ImageFact, Inspection, Metadata, agree
from envcfg.image.metadata import FROM, words
from envcfg.image.spython_process import SECONDS, ask_spython

_MOST = 1 << 18  # bytes of a recipe
_LONGEST = 2000  # characters of a value or command
_SHOWN = 100  # characters of a command in reports
_PARSE = """\
from spython.main.parse.parsers import get_parser
stages = get_parser(sys.argv[2])("recipe").recipe
answer = {"stages": [dict(stage.json(), name=name) for name, stage in stages.items()]}
"""
_FORMS = {"dockerfile": "Dockerfile", "singularity": "definition file"}
_COMMENT = re.compile(r"(?m)^[ \t]*#.*\n?")
_CONTINUED = re.compile(r"\\[ \t]*\n[ \t]*")
_DEFINITION = re.compile(r"(?i)\s*(?:bootstrap|from)[ \t]*:")
_DOCKERFILE = re.compile(r"(?i)\s*(?:ARG[ \t][^\n]*\n\s*)*FROM[ \t]")
_STAGE = re.compile(
    r"(?im)^[ \t]*FROM[ \t]+(?:--\S+[ \t]+)*(\S+)(?:[ \t]+AS[ \t]+(\S+))?.*$"
)
_OLD_ENV = re.compile(r"(?im)^ENV[ \t]+(\w+)[ \t]+([^=\s].*)$")
_LOCAL = re.compile(r"[./].*|.*\.(?:sif|simg|img|sqfs|sqsh)")
_ASSIGNED = re.compile(r"(?:^|(?<=[\s;&]))([\w.-]+)=(\"[^\"]*\"|'[^']*'|[^\s;&]*)")
_VARIABLE = re.compile(r"\$(?:(\w+)|\{(\w+)(?::-([^}]*)|[^}]*)\})")
_INSTALLER = re.compile(
    r"\b(?:pip3?|conda|mamba|micromamba|uv)\b.*?\s(?:install|add|create)\s"
)
_PACKAGE = re.compile(
    r"[\"']?([A-Za-z][\w.-]*)(?:\[[\w,.-]*\])?(?:={1,3}v?(\d+(?:\.\d+)*))?"
)
_REPOSITORY = re.compile(r"github\.com/[\w.-]+/([\w-]+)(\S*)")
_BRANCH = re.compile(r"(?:-b|--branch)[ =][\"']?v?(\d+(?:\.\d+)+)")
_RELEASE = re.compile(r"v?(\d+(?:\.\d+)+)")

Stage = Mapping[str, Any]


def recipe_kind(text: str) -> str:
    """Return the kind of the recipe *text* as spython names it; empty if it is none.

    >>> recipe_kind("# syntax=docker/dockerfile:1\\nFROM ubuntu:24.04")
    'dockerfile'
    >>> recipe_kind("Bootstrap: docker"), recipe_kind("a text")
    ('singularity', '')
    """
    start = _COMMENT.sub("", text)
    if _DEFINITION.match(start):
        return "singularity"
    return "dockerfile" if _DOCKERFILE.match(start) else ""


def recipe_text(path: str) -> str | None:
    """Return the text of the file *path* if it is a recipe, else None.

    Raises:
        ImageError: it is too long.
    """
    if not os.path.isfile(path):
        return None
    with open(path, "rb") as file:
        data = file.read(_MOST + 1)
    text = data.decode(errors="replace")
    if "\0" in text or not recipe_kind(text):
        return None
    if len(data) > _MOST:
        msg = f"{path}: a recipe of more than {_MOST >> 10} KiB is not read"
        raise ImageError(msg, hint="build it, then: envcfg inspect IMAGE")
    return text


def inspect_recipe(path: str, text: str) -> Inspection:
    """Return the facts that the recipe *path* states in its *text*.

    Raises:
        ImageError: spython cannot read it.
    """
    kind = recipe_kind(text)
    text = _CONTINUED.sub(" ", _COMMENT.sub("", text))
    base = ""
    if kind == "dockerfile":
        text = _STAGE.sub(_named_stage, _OLD_ENV.sub(r'ENV \1="\2"', text))
    else:
        text = re.sub(r"\{\{ *(\w+) *\}\}", r"${\1}", text)
        base = ["", *FROM.findall(text)][-1].rstrip()
        text = re.sub(r"(?im)^[ \t]*bootstrap[ \t]*:.*", "Bootstrap: docker", text)
        text = re.sub(r"(?i)bootstrap(?!: docker)", "boot_strap", text)
    answer, fault = ask_spython(_PARSE, [kind], "recipe", text, SECONDS)
    stages = mappings(answer.get("stages"))
    if not stages:
        msg = f"{path}: spython cannot read this recipe: {fault}"
        raise ImageError(msg, hint="build it, then: envcfg inspect IMAGE")
    chain = _last_stages(stages)
    base = base or _header(chain[0])
    given = ("install", "comments")  # comments: %arguments of a definition file
    values = dict(_pairs(stages, *given))
    stated = [("base", _expand(base, values)), *_commands(chain, values)]
    environment = {k: _expand(v, values) for k, v in _pairs(chain, "environ")}
    metadata = Metadata(_FORMS[kind], "", dict(_pairs(chain, "labels")), environment)
    facts, findings = _facts(stated)
    facts, remarks = add_labels(facts, metadata)
    if _LOCAL.fullmatch(base):
        findings.append(finding_in("image", "recipe-base-local", path, base=base))
    evident = {k: ImageVariable(v, _FORMS[kind]) for k, v in environment.items()}
    findings = [*remarks, *findings, *variable_remarks(evident)]
    return Inspection(path, metadata, tuple(_in_order(facts)), (), tuple(findings))


def _named_stage(match: re.Match[str]) -> str:
    return f"FROM {match[1]} AS {match[2] or f'stage-{match.start()}'}"


def _header(stage: Stage) -> str:
    return str(stage.get("fromHeader", "")).strip()


def _last_stages(stages: list[Stage]) -> list[Stage]:
    """Return the last of *stages*, after those that it builds on."""
    by_name = {stage["name"]: stage for stage in stages}
    chain = [stages[-1]]
    while (stage := by_name.get(_header(chain[0]))) and stage not in chain:
        chain.insert(0, stage)
    return chain


def _lines(stages: list[Stage], *keys: str) -> Iterator[str]:
    """Yield the lines of *stages*; spython has those of LABEL in lists."""
    for stage in stages:
        for key in keys:
            entries = stage.get(key) or ()
            for entry in entries if isinstance(entries, list) else ():
                yield from words([entry]) or words(entry)


def _pairs(stages: list[Stage], *keys: str) -> Iterator[tuple[str, str]]:
    """Yield the names and values in lines with ``NAME=VALUE`` or ``NAME VALUE``."""
    for line in _lines(stages, *keys):
        pairs = _ASSIGNED.findall(line) or [line.strip().partition(" ")[::2]]
        yield from ((name, value.strip(" \"'")) for name, value in pairs)


def _expand(text: str, values: Mapping[str, str]) -> str:
    """Return *text* with the known values of variables; it stays below a limit."""

    def value(match: re.Match[str]) -> str:
        return values.get(match[1] or match[2], match[3] or match[0])

    return _VARIABLE.sub(value, text[:_LONGEST])[:_LONGEST]


def _commands(stages: list[Stage], values: dict[str, str]) -> Iterator[tuple[str, str]]:
    """Yield each simple command, with the values that were assigned before it."""
    for line in _lines(stages, "install"):
        for part in re.split(r"&&|\|\||[;\n]", line):
            command = _expand(part.strip(), values)
            values |= {k: v.strip("\"'") for k, v in _ASSIGNED.findall(command)}
            if not _ASSIGNED.fullmatch(command):
                yield "command", command


def _facts(stated: list[tuple[str, str]]) -> tuple[list[ImageFact], list[Finding]]:
    """Return the facts in a base and commands, and findings on contradictions."""
    facts = {"base": ImageFact("base", stated[0][1], "From")}
    findings = []
    for kind, text in stated:
        for name, value in _stated(kind, text):
            fact = ImageFact(name, value, text[:_SHOWN])
            before = facts.setdefault(name, fact).value
            if name in load_signs().once and not agree(value, before):
                more = {"fact": name, "value": value, "other": before}
                findings.append(
                    finding_in("image", "recipe-two-versions", fact.evidence, **more)
                )
            if value != "yes":  # else the earlier version stays installed
                facts[name] = fact
    return list(facts.values()), findings


def _stated(kind: str, text: str) -> Iterator[tuple[str, str]]:
    """Yield the facts in the name of a base, or in a command: names and values.

    >>> list(_stated("command", "pip install 'torch==2.6.0' vllm"))
    [('torch', '2.6.0'), ('vllm', 'yes')]
    >>> list(_stated("command", "git clone -b v2.22.3-1 https://github.com/NVIDIA/nccl"))
    [('nccl', '2.22.3')]
    """
    signs = load_signs()
    for sign in signs.recipes:
        if sign["of"] == kind and (match := re.search(sign["pattern"], text)):
            version = ".".join(filter(None, match.groups()))
            yield sign["fact"], sign.get("value") or version or "yes"
    if kind == "base":
        return
    names = {name: fact for fact, all_ in signs.packages.items() for name in all_}
    if installer := _INSTALLER.search(text):
        for word in text[installer.end() :].split():
            match = _PACKAGE.match(word)
            fact = names.get(match[1].lower().replace("_", "-")) if match else None
            if match and fact:
                yield fact, match[2] or "yes"
    for match in _REPOSITORY.finditer(text):
        if fact := signs.repositories.get(match[1]):
            release = _RELEASE.search(match[2]) or _BRANCH.search(text)
            yield fact, release[1] if release else "yes"


def _in_order(facts: list[ImageFact]) -> Iterator[ImageFact]:
    """Yield the facts in the order of reports; those that readers miss are unknown."""
    signs = load_signs()
    names = {fact.name for fact in facts}
    used = [vendor for vendor in signs.vendors if names & {*vendor}] or signs.vendors
    facts.sort(key=lambda fact: fact.value == "yes")  # a label may have the version
    valid = {fact.name: fact for fact in reversed(facts)}
    why = "the recipe does not state it"
    for name in (*signs.asked, *(name for vendor in used for name in vendor)):
        valid.setdefault(name, ImageFact(name, "unknown", "", why=why))
    order = [*signs.first, *sorted(names)]
    yield from sorted(valid.values(), key=lambda fact: order.index(fact.name))
