"""``envcfg config``: the defaults of options that files set, with file and line."""

from __future__ import annotations

import argparse
import os
import shlex
import sys
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from envcfg.commands.option_arguments import add_option
from envcfg.common.errors import UsageError
from envcfg.core.option import switch
from envcfg.core.selection import current_folder
from envcfg.profile.folders import default_files

if TYPE_CHECKING:
    from envcfg.core.defaults import Default


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of ``config``."""
    add_option(parser, switch("--json", "the same, as JSON"))


def run(options: argparse.Namespace) -> int:
    """Print every default and its place."""
    if options.command is not None:
        msg = "envcfg config takes no command"
        raise UsageError(msg, hint="envcfg wrap and envcfg job run one")
    user, (*strangers, project) = default_files(os.environ, current_folder())
    from envcfg.core.defaults import read_files, settle

    defaults = settle(read_files(user, project, os.environ), os.environ)
    if options.json:
        from envcfg.report.document import json_text

        names = ("text", "file", "line", "state")
        rows = [
            {"option": e.key, **{name: getattr(e, name) for name in names}}
            for e in defaults
        ]
        files = [path for path in (user, project) if path]
        document = {"files": files, "ignored": strangers, "defaults": rows}
        sys.stdout.write(json_text({"schema_version": 1, **document}))
    else:
        from envcfg.report.styled import put

        put(("", line) for line in _lines(defaults, strangers))
    sys.stdout.flush()
    return 0


def _lines(defaults: Sequence[Default], strangers: Sequence[str]) -> Iterator[str]:
    yield from (
        f"{stranger}: ignored, it belongs to another user" for stranger in strangers
    )
    if not defaults:
        yield "no defaults: neither ~/.config/envcfg/config.toml nor envcfg.toml sets any"
    for file in dict.fromkeys(default.file for default in defaults):
        yield file
        for default in defaults:
            folder = shlex.quote(os.path.realpath(os.path.dirname(file)))
            trust = f": envcfg profiles trust {folder}"
            state = default.state + ("" if default.is_trusted else trust)
            if default.file == file:
                yield f"  {default.line or '':>3}  {default.text}  [{state}]"
