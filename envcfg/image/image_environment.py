"""The environment and start of an image, read without running it.

Files of an image may be hostile. Anything except a plain assignment is left out, and
nothing is ever evaluated.
"""

import re
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from envcfg.common.characters import split_lines
from envcfg.image.image_record import ImageFact, Metadata
from envcfg.image.tree import Tree

_SHELL = "/.singularity.d/env/*.sh"  # Apptainer's files, in the order of their names
_MOST = 1 << 18  # bytes of one of these files
_LONGEST = 1 << 14  # characters of a value
# The search path of a program if nothing sets it, as in Apptainer and the OCI
# tools.
DEFAULT_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
_ASSIGNMENT = r"(?:export\s+)?(?P<name>[A-Za-z_]\w*)=(?P<word>.*)"
_SIMPLE = r"\$(?:([A-Za-z_]\w*)|\{([A-Za-z_]\w*)\})"
_REFERENCE = (
    r"\$(?:(?P<plain>[A-Za-z_]\w*)"
    r"|\{(?P<name>[A-Za-z_]\w*)"
    r"(?:(?P<sign>:?[-+])"
    # A name is matched completely. Otherwise the expression could backtrack without
    # end.
    r"(?P<other>(?:[^{}$`]|\$[A-Za-z_]\w*(?!\w)|\$\{[A-Za-z_]\w*\})*))?\})"
)
_OPENING = ("if ", "for ", "while ", "until ", "case ")
_CLOSING = ("fi", "done", "esac", "}")
_RUNSCRIPT = "/.singularity.d/runscript"


class ImageVariable(NamedTuple):
    """A variable in the image: its value, and the file or form that sets it."""

    value: str
    evidence: str


def folders_of(path: str) -> list[str]:
    """Return the absolute folders of a search path such as ``LD_LIBRARY_PATH``."""
    return [part.rstrip("/") for part in path.split(":") if part.startswith("/")]


def read_environment(tree: Tree, metadata: Metadata) -> dict[str, ImageVariable]:
    """Return the variables that the image sets, later files over earlier ones."""
    variables = {
        name: ImageVariable(value, f"environment of the {metadata.form}")
        for name, value in metadata.environment.items()
    }
    # `PATH=/opt/venv/bin:$PATH` extends the runtime's initial value.
    variables_before = {"PATH": ImageVariable(DEFAULT_PATH, "the runtime"), **variables}
    for path in tree.glob(_SHELL):
        text = tree.text(path, _MOST) or ""
        for name, value in shell_assignments(text, variables_before | variables):
            variables[name] = ImageVariable(value, path)
    return variables


def shell_assignments(
    text: str, variables: Mapping[str, ImageVariable]
) -> Iterator[tuple[str, str]]:
    r"""Yield names and values of the plain assignments of a shell script.

    Assignments inside ``if`` and similar blocks may not be executed, so they are left
    out. So are values with commands, open quotes, or other syntax.

    Args:
        text: the text of the script.
        variables: the variables set so far, which values may refer to.

    >>> list(shell_assignments('export A="/x:${B:-y}"\nC=$(date)\n', {}))
    [('A', '/x:y')]
    """
    values = {name: variable.value for name, variable in variables.items()}
    depth = 0
    for raw in split_lines(text):
        line = raw.strip()
        if line.startswith(_OPENING) or line.endswith("{"):
            depth += 1
        if line.startswith(_CLOSING) or line.endswith(("; fi", "; done", "; esac")):
            depth = max(0, depth - 1)
            continue
        if depth or len(line) > _LONGEST:
            continue
        match = re.fullmatch(_ASSIGNMENT, line)
        value = _value(match["word"], values) if match else None
        if match and value is not None and len(value) < _LONGEST:
            values[match["name"]] = value
            yield match["name"], value


def _value(word: str, values: Mapping[str, str]) -> str | None:
    """Return the shell's value of *word*; None if it is not a plain word."""
    head, semicolon, tail = word.rpartition(";")
    if semicolon and re.fullmatch(r"\s*export\s+\w+\s*", tail):  # A=1; export A
        word = head
    word = word.rstrip()
    if len(word) >= 2 and word[0] == word[-1] == "'" and "'" not in word[1:-1]:
        return word[1:-1]
    if len(word) >= 2 and word[0] == word[-1] == '"':
        word = word[1:-1]
        # The form of spython and Apptainer: "${NAME:-"VALUE"}".
        word = re.sub(r'^(\$\{\w+:-)"(.*)"\}$', r"\1\2}", word)
        if '"' in word:
            return None
    elif re.search(r"[\s;&|<>()'\"*?\[~]", word):
        return None
    return None if "`" in word or "\\" in word else _expanded(word, values)


def _expanded(word: str, values: Mapping[str, str]) -> str | None:
    """Return *word* with its references resolved; None if one of them is not plain."""

    def simple(match: re.Match[str]) -> str:
        return values.get(match[1] or match[2], "")

    def refer(match: re.Match[str]) -> str:
        name, sign = match["plain"] or match["name"], match["sign"] or ""
        value = values.get(name, "")
        counts = bool(value) if sign.startswith(":") else name in values
        alternative = re.sub(_SIMPLE, simple, match["other"] or "", flags=re.ASCII)
        if sign.endswith("-"):
            return value if counts else alternative
        return (alternative if counts else "") if sign else value

    if "$" in re.sub(_REFERENCE, "", word, flags=re.ASCII):
        return None
    return re.sub(_REFERENCE, refer, word, flags=re.ASCII)


def start_fact(tree: Tree, metadata: Metadata) -> ImageFact:
    """Return whether the image needs ``run`` or ``exec``, with the evidence."""
    text = tree.text(_RUNSCRIPT, _MOST)
    if text is None and metadata.starts:
        why = "the entrypoint of an image of OCI gets the command as its arguments"
        return ImageFact("start", "exec", "entrypoint", why=why)
    if text is None:
        return ImageFact("start", "exec", "no runscript", why="nothing else to start")
    lines = [line.strip() for line in split_lines(text)]
    lines = [line for line in lines if line and not line.startswith("#")]
    joined = "\n".join(lines)
    # The words of Apptainer and SingularityCE for an OCI image (oci2sif,
    # docker://).
    entrypoint = re.search(r"^OCI_ENTRYPOINT=(.*)$", joined, re.MULTILINE)
    if entrypoint and entrypoint[1].strip("'\""):
        how, why = "run", "the entrypoint gets the command as its arguments"
    elif entrypoint:
        how, why = "exec", "the image has no entrypoint"
    elif not re.search(r"\$[@*]|\$\{[@*]", joined):
        how, why = "exec", "the runscript does not run what it is given"
    elif len(lines) > 1:
        how, why = "run", "the runscript prepares something, then runs what it is given"
    else:
        how, why = "exec", "the runscript adds nothing"
    return ImageFact("start", how, _RUNSCRIPT, why=why)
