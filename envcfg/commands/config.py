"""``envcfg config``: the defaults of options that files give, and where they stand."""

from __future__ import annotations

import argparse
import os
import shlex
import sys
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from envcfg.commands.options import add_option
from envcfg.core.option import switch
from envcfg.core.selection import current_folder
from envcfg.errors import UsageError
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

    found = settle(read_files(user, project, os.environ), os.environ)
    if options.json:
        from envcfg.report.document import json_text

        names = ("text", "file", "line", "state")
        rows = [
            {"option": e.option.flag[2:], **{name: getattr(e, name) for name in names}}
            for e in found
        ]
        files = [each for each in (user, project) if each]
        document = {"files": files, "ignored": strangers, "defaults": rows}
        sys.stdout.write(json_text({"schema_version": 1, **document}))
    else:
        from envcfg.report.styled import put

        put(("", line) for line in _lines(found, strangers))
    sys.stdout.flush()
    return 0


def _lines(found: Sequence[Default], strangers: Sequence[str]) -> Iterator[str]:
    yield from (f"{each}: ignored, it belongs to another user" for each in strangers)
    if not found:
        yield "no defaults: neither ~/.config/envcfg/config.toml nor envcfg.toml sets any"
    for file in dict.fromkeys(each.file for each in found):
        yield file
        for each in found:
            trust = f": envcfg profiles trust {shlex.quote(file)}"
            state = each.state + ("" if each.is_trusted else trust)
            if each.file == file:
                yield f"  {each.line or '':>3}  {each.text}  [{state}]"
