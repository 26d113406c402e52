"""Read the files of a program: the statements that decide how it is started.

Shell is followed as lint follows it, Python by its tree, and a Makefile by the recipes
of its targets. Nothing is executed. A file that cannot be read decides nothing.
"""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import pairwise

from envcfg.backends.starters import STARTERS
from envcfg.common.budget import Budget
from envcfg.common.errors import EnvcfgError
from envcfg.common.findings import Finding
from envcfg.job.plan.command_launcher import (
    first_words,
    launcher_of,
    program_of_command,
    python_end,
    start_kind,
)
from envcfg.job.plan.parallel_degrees import config_values
from envcfg.job.plan.plan import Statement
from envcfg.job.plan.shell_text import SHELLS, plain_command

_LARGEST = 1 << 19  # bytes of a Python file
_MAKEFILES = ("GNUmakefile", "makefile", "Makefile")
_RULE = r"([\w./ -]+):(?![:=])([^=\n]*)$"


def read_program(
    command: Sequence[str],
) -> tuple[tuple[str, ...], tuple[Statement, ...], list[Finding]]:
    """Return the command without a needless shell, its statements, and notes.

    There is a statement for each program that it starts, as far as they are known; none
    for a program of the table, or if none of its files is here.
    """
    if plain := plain_command(command):
        inner, statements, notes = read_program(plain)
        if program_of_command(inner) or any(
            not statement.path for statement in statements
        ):
            message = "is left out: its text is one plain command"
            subject = f"{command[0].rpartition('/')[2]} -c"
            note = Finding("shell-left-out", "note", subject, message)
            return inner, statements, [note, *notes]
    statements = ()
    is_shell = command[0].rpartition("/")[2] in SHELLS
    path = next(iter(_texts(command)), "")
    if not program_of_command(command) and (
        _starts_known(command) or path or _makefile(command) or is_shell
    ):
        with suppress(EnvcfgError), Budget(command[0], seconds=10, megabytes=500):
            statements = tuple(_statements(command))
        if not statements and path and (is_shell or path == command[0]):
            statements = (Statement("", "", path, 0, False, {}),)
    return tuple(command), statements, []


def _starts_known(command: Sequence[str]) -> bool:
    """Return whether a launcher may be among the words, or in the text of a shell."""
    names = first_words()
    return any(
        word.rpartition("/")[2] in names
        or (" " in word and any(map(word.count, names)))
        for word in command
    )


def _texts(command: Sequence[str]) -> dict[str, bytes]:
    """Return the files among the words before the arguments of the program."""
    texts = {}
    for before, word in zip(("", *command[:20]), command, strict=False):
        if data := read_file(word):
            texts[word] = data
            break
        module = word.replace(".", "/")
        if before == "-m" and _find(f"{module}.py", f"{module}/__main__.py"):
            texts[word] = b""
    return texts


def _statements(command: Sequence[str]) -> Iterator[Statement]:
    # Import late: lint has a grammar and tables, which most steps do not need.
    from envcfg.lint.model_builder import read_script
    from envcfg.lint.script_source import Sources, decoded

    sources = Sources()
    for path, data in _texts(command).items():
        sources.add(path, data)
    line = sources.add("", shlex.join(command).encode(errors="surrogateescape"))
    if recipe := _makefile(command):
        line = sources.add(*recipe)
    model = read_script(line, sources)[0]
    called = {entry.name for entry in model.commands}
    for entry in model.commands:
        # A step that the script starts itself is started once, with all that it starts.
        if entry.parent is not None and model.commands[entry.parent].is_step:
            continue
        place = sources.place(entry.offset)
        words = [decoded(word.shown) for word in entry.words]
        context = entry.context
        is_sure = not context.is_chosen and context.function in {"", *called}
        # A wrapper without a program starts nothing.
        if (match := launcher_of(words)) and (place.path or match[1]):
            row, rest = match
            text = f"starts {entry.name}"
            if file := dict(pairwise(rest)).get(row.get("file", "")):
                text += f" with {file}"
                rest = [*rest, *_missing_words(rest, file)]
            number = place.line if place.path else 0
            yield Statement(
                start_kind(row), text, place.path, number, is_sure, row, rest
            )
        elif place.path and entry.name in STARTERS:
            text = f"starts {entry.name}"
            row = {"kind": "once", "steps": True}
            yield Statement("once", text, place.path, place.line, is_sure, row)
        elif entry.name.startswith("python") or entry.name.endswith(".py"):
            yield from _python(entry.name, words, is_sure=is_sure)


def _python(name: str, words: Sequence[str], *, is_sure: bool) -> Iterator[Statement]:
    """Yield the statement of a Python program that decides."""
    from envcfg.job.plan.python_program import read_python

    is_module, path, rest = False, words[0], words[1:]
    if name.startswith("python"):
        end = python_end(words)
        if end is None or end.name == "c" or end.value is None:
            return
        is_module, path, rest = end.name == "m", end.value, words[end.end :]
    package = path.rpartition(".")[0] if is_module else ""
    if is_module:
        module = path.replace(".", "/")
        path = _find(f"{module}.py", f"{module}/__main__.py") or ""
    data = read_file(path)
    if data is None:
        return
    folder = os.path.dirname(path)
    roots = (folder, os.curdir, os.path.dirname(folder), "src")

    def read(module: str) -> tuple[str, str] | None:
        name = module.replace(".", "/")
        paths = (
            os.path.normpath(os.path.join(root, f"{name}{end}"))
            for root in roots
            for end in (".py", "/__init__.py")
        )
        path = _find(*paths)
        text = read_file(path) if path else None
        return (path, text.decode(errors="replace")) if path and text else None

    text = data.decode(errors="replace")
    settings = _settings(folder, text, rest)
    statements = read_python(path, text, rest, read, package, settings)
    # A start decides before the ranks that it starts, unless it is weak.
    first = min(
        statements,
        key=lambda statement: (
            not statement.is_sure,
            2 * statement.row.get("weak", 0) or statement.kind == "rank",
        ),
        default=Statement("", "", path, 0, False, {}),
    )
    yield first._replace(is_sure=first.is_sure and is_sure)


def _missing_words(words: Sequence[str], file: str) -> Iterator[str]:
    """Yield the options in a launcher's file that its words lack, which come first."""
    names = {word.partition("=")[0].replace("-", "_") for word in words}
    for *_, name, value in config_values(file, read_file):
        if f"__{name}" not in names:
            yield f"--{name}={value}"


def _settings(folder: str, text: str, words: Sequence[str]) -> Mapping[str, str]:
    """Return the settings in configuration files of a Python program, with places.

    Args:
        folder: that of the program.
        text: the program, which names a configuration of Hydra.
        words: its arguments, with the names of other files.
    """
    files = [word.rpartition("=")[2] for word in words]
    if hydra := re.search(r"hydra\.main\(([^)]*)\)", text):
        names = dict(re.findall(r"(config_\w+)\s*=\s*[\"']([^\"']+)", hydra[1]))
        names |= {a.lstrip("-").replace("-", "_"): b for a, b in pairwise(words)}
        name = names.get("config_name", "").removesuffix(".yaml")
        files.append(os.path.join(folder, names.get("config_path", ""), f"{name}.yaml"))
    return {
        f"{parents}.{name}={value}": place
        for file in files
        for place, parents, name, value in config_values(file, read_file)
    }


def _makefile(command: Sequence[str]) -> tuple[str, bytes] | None:
    """Return a Makefile as a script: the recipes of its targets, in their lines."""
    # With another folder or file, another Makefile counts.
    others = ("-C", "-f", "--directory", "--file", "--makefile")
    is_make = command[0].rpartition("/")[2] in {"make", "gmake"}
    if not is_make or any(word.startswith(others) for word in command):
        return None
    words = [word for word in command[1:] if not word.startswith("-")]
    path = _find(*_MAKEFILES)
    data = read_file(path) if path else None
    if path is None or data is None:
        return None
    lines = data.decode(errors="replace").split("\n")
    wanted = {word for word in words if "=" not in word}
    values = dict(word.partition("=")[::2] for word in words if "=" in word)
    # A prerequisite may come before or after its target.
    for _ in range(10):
        kept, is_wanted = [], False
        for line in lines:
            if rule := re.match(_RULE, line):
                targets = rule[1].split()
                if not wanted and not targets[0].startswith("."):
                    wanted = {targets[0]}
                is_wanted = not wanted.isdisjoint(targets)
                wanted |= {*rule[2].split()} if is_wanted else set()
            elif assigned := re.match(r"(\w+)\s*[:?+]?=\s*(.*)", line):
                values.setdefault(*assigned.groups())
            is_recipe = line.startswith("\t") and is_wanted
            kept.append(line.lstrip("\t@-+") if is_recipe else "")
    text = re.sub(
        r"\$[({](\w+)[)}]",
        lambda name: values.get(name[1], "$" + name[1]),
        "\n".join(kept),
    )
    return path, text.replace("$$", "$").encode()


def _find(*paths: str) -> str | None:
    return next(filter(os.path.isfile, paths), None)


def read_file(path: str) -> bytes | None:
    """Return the text of a file; None for any other."""
    try:
        if not os.path.isfile(path) or os.path.getsize(path) > _LARGEST:
            return None
        with open(path, "rb") as file:
            data = file.read()
    except (OSError, ValueError):
        return None
    return None if b"\0" in data else data
