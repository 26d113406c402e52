"""The libraries whose sources say their variables, and how each says them."""

from __future__ import annotations

import ast
import re
import subprocess
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

_TEXT = r'"(?:[^"\\]|\\.)*"'
_GIVEN = {"true": "1", "false": "0", "NULL": None, "nullptr": None}


class Library(NamedTuple):
    """A repository, which of its tags are releases, and what names a variable in it.

    Attributes:
        title: as it is written in front of what is known of its releases.
        pattern: one macro with groups ``name`` and, where it says one, ``default``; the
            group ``prefix``, or *prefixes* by ``owner``, stands in front of the name.
        default: what of the text of a description is the default.
    """

    repository: str
    title: str
    releases: str
    paths: tuple[str, ...]
    pattern: str
    prefixes: Mapping[str, str] = {}
    default: str | None = None


LIBRARIES = {
    "nccl": Library(
        "NVIDIA/nccl",
        "NCCL",
        r"v(2\.\d+\.\d+)-1",
        ("src",),
        r'(?P<owner>NCCL)_PARAM\(\s*\w+\s*,\s*"(?P<name>\w+)"\s*,\s*(?P<default>[^;]*?)\)\s*(?:;|$)'
        r'|(?:(?:ncclGetEnv|getenv)\(\s*"|DEFINE_NCCL_PARAM\(\s*\w+\s*,\s*[\w:* ]+,\s*)'
        r"(?P<plain>NCCL_\w+)",
        {"NCCL": "NCCL_"},
    ),
    "rccl": Library(
        "ROCm/rccl",
        "RCCL of ROCm",
        r"rocm-(\d\.\d+\.\d+)",
        ("src",),
        r'(?P<owner>[NR]CCL)_PARAM\(\s*\w+\s*,\s*"(?P<name>\w+)"\s*,\s*(?P<default>[^;]*?)\)\s*(?:;|$)'
        r'|(?:ncclGetEnv|getenv)\(\s*"(?P<plain>[NR]CCL_\w+)"\s*\)',
        {"NCCL": "NCCL_", "RCCL": "RCCL_"},
    ),
    "aws-ofi-nccl": Library(
        "aws/aws-ofi-nccl",
        "aws-ofi-nccl",
        r"v(\d+\.\d+\.\d+)(?:-?aws)?",
        ("include", "src"),
        r"(?P<owner>OFI_NCCL)_PARAM(?:_INT|_STR|_UINT|_SIZE)?\(\s*(?:[\w: ]+,)?\s*\w+\s*,"
        r'\s*"(?P<name>\w+)"\s*,\s*(?P<default>[^;]*?)\)\s*;',
        {"OFI_NCCL": "OFI_NCCL_"},
    ),
    "libfabric": Library(
        "ofiwg/libfabric",
        "libfabric",
        r"v(\d+\.\d+\.\d+)",
        (
            "src",
            "prov/util",
            "prov/hook",
            "prov/shm",
            "prov/efa",
            "prov/cxi",
            "include",
        ),
        r'fi_param_define\(\s*(?P<owner>[^,"]+?)\s*,\s*"(?P<name>\w+)"\s*,\s*FI_PARAM_\w+\s*,'
        rf"\s*(?P<help>(?:{_TEXT}\s*|[A-Z_]+\s*)+)[^;]*?\)\s*;",
        {
            "NULL": "FI_",
            "&core_prov": "FI_",
            "provider": "FI_",
            "&efa_prov": "FI_EFA_",
            "&efa_util_prov.prov": "FI_EFA_",
            "&rxr_prov": "FI_EFA_",
            "&cxip_prov": "FI_CXI_",
            "&smr_prov": "FI_SHM_",
        },
        r"(?i)\(default:? (?P<default>[\w/-]+)\)",
    ),
    "miopen": Library(
        "ROCm/MIOpen",
        "MIOpen of ROCm",
        r"rocm-(\d\.\d+\.\d+)",
        ("src",),
        r"MIOPEN_DECLARE_ENV_VAR(?:_BOOL|_STR|_UINT64)?\(\s*(?P<name>MIOPEN_\w+)\s*"
        r"(?:,\s*(?P<default>[^;]*?))?\)",
    ),
}


class Release(NamedTuple):
    """What a release reads, with defaults; one that is no plain number or text is None.

    Attributes:
        words: all short texts of its sources: a name that is known is read if it is there.
    """

    names: dict[str, str | None]
    words: frozenset[str]

    def reads(self, name: str) -> bool:
        """Tell whether a name of another release is read by this one, too."""
        own = re.sub(r"^(?:OFI_NCCL|[NR]CCL|FI(?:_EFA|_SHM)?)_", "", name)
        spelled = {name, own.lower() if name.startswith("FI_") else own}
        return name in self.names or not self.words.isdisjoint(spelled)


def read_releases(library: Library, git: Path) -> dict[str, Release]:
    """Return what each release reads, by version, in order."""
    tags = _run(git, "tag").split()
    found = [
        (hit[1], tag) for tag in tags if (hit := re.fullmatch(library.releases, tag))
    ]
    order = sorted(found, key=lambda each: [*map(int, each[0].split("."))])
    pattern = re.compile(library.pattern, re.DOTALL | re.MULTILINE)
    releases = {}
    for version, tag in order:
        words = _run(git, "grep", "-ohE", r'"\w+"', tag, "--", *library.paths)
        if names := dict(_names(library, pattern, _sources(library, git, tag))):
            releases[version] = Release(
                names, frozenset(words.replace('"', "").split())
            )
    return releases


def _sources(library: Library, git: Path, tag: str) -> Iterator[str]:
    """Yield the text around each macro of a release; comments count for nothing."""
    macro = r"_PARAM|DECLARE_ENV_VAR|fi_param_define|ncclGetEnv *\(|getenv *\("
    words = ("grep", "-hE", "-A9", macro, tag, "--", *library.paths)
    text = re.sub(r"(^|[\s;])//.*$", r"\1", _run(git, *words), flags=re.MULTILINE)
    yield from re.split(r"^--$", text, flags=re.MULTILINE)


def _names(
    library: Library, pattern: re.Pattern[str], texts: Iterator[str]
) -> Iterator[tuple[str, str | None]]:
    for text in texts:
        for found in pattern.finditer(text):
            said = found.groupdict()
            if plain := said.get("plain"):
                yield plain, None
                continue
            owner = said.get("owner")
            prefix = library.prefixes.get(owner) if owner else ""
            if prefix is None:
                continue
            name = f"{prefix}{said['name'].upper()}"
            yield name, _default(library, said)


def _default(library: Library, said: dict[str, str | None]) -> str | None:
    if library.default is None:
        return plain(said.get("default"))
    text = "".join(each[1:-1] for each in re.findall(_TEXT, said["help"] or ""))
    found = re.search(library.default, text)
    return found["default"] if found else None


def plain(expression: str | None) -> str | None:
    """Return the value of a C expression without names; None where it has some."""
    text = (expression or "").strip()
    if text in _GIVEN or not text:
        return _GIVEN.get(text)
    if re.fullmatch(_TEXT, text):
        return text[1:-1]
    text = re.sub(r"\((?:size_t|int|int64_t|uint64_t|long)\)\s*", "", text)
    text = re.sub(r"(?<=\d)(?:[uU]?[lL]{1,2}|[uU])\b", "", text)
    if not re.fullmatch(r"[\dxXa-fA-F\s()*+<-]+", text):
        return None
    try:
        return str(_value(ast.parse(text.strip(), mode="eval").body))
    except (SyntaxError, ValueError):
        return None


def _value(node: ast.expr) -> int:
    match node:
        case ast.Constant(value=int() as value):
            return value
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            return -_value(operand)
        case ast.BinOp(left=left, op=ast.Mult(), right=right):
            return _value(left) * _value(right)
        case ast.BinOp(left=left, op=ast.Add(), right=right):
            return _value(left) + _value(right)
        case ast.BinOp(left=left, op=ast.Sub(), right=right):
            return _value(left) - _value(right)
        case ast.BinOp(left=left, op=ast.LShift(), right=right):
            return _value(left) << _value(right)
    raise ValueError


def _run(git: Path, *words: str) -> str:
    done = subprocess.run(
        ["git", "-C", str(git), *words], capture_output=True, check=False
    )
    return done.stdout.decode(errors="replace")
