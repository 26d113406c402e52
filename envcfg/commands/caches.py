"""``envcfg caches``: the compile caches that ``--keep-caches`` has kept."""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from envcfg.commands.option_arguments import add_option
from envcfg.commands.printing import tell
from envcfg.common.errors import EXIT_CANNOT, OutputError, UsageError
from envcfg.core.option import Option, switch, within

if TYPE_CHECKING:
    from envcfg.core.kept_caches import Key
    from envcfg.log.cold_start import KeptStart

_DAY = 86400  # seconds
_SHORT = 12  # letters of a key


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of ``caches``."""
    parser.add_argument(
        "operation",
        metavar="ACTION",
        nargs="?",
        default="list",
        choices=("list", "show", "prune"),
        help="list (default); show: list, with each archive; prune: remove",
    )
    parser.add_argument(
        "keys", metavar="KEY", nargs="*", help="only these keys; a few letters suffice"
    )
    add_option(
        parser,
        Option(
            "--folder",
            "the folder of --keep-caches (default: ~/.cache/envcfg/kept)",
            metavar="DIR",
        ),
    )
    add_option(
        parser,
        Option(
            "--unused",
            "only keys with which no job has started for DAYS days",
            metavar="DAYS",
            read=within(0, 36500, "days"),
        ),
    )
    add_option(
        parser,
        Option(
            "--log",
            "the output of a job: its seconds to the first step; may be repeated",
            metavar="FILE",
            kind="many",
        ),
    )
    add_option(parser, switch("--json", "list, as JSON"))


def run(options: argparse.Namespace) -> int:
    """Print or remove keys."""
    from envcfg.core.kept_caches import (
        choose_keys,
        default_folder,
        read_keys,
        with_starts,
    )

    if options.command is not None:
        msg = "envcfg caches takes no command"
        raise UsageError(msg, hint="envcfg caches list")
    is_prune = options.operation == "prune"
    if is_prune and options.unused is None and not options.keys:
        msg = "prune needs a KEY, or --unused"
        raise UsageError(msg, hint="envcfg caches prune --unused 30")
    folder = options.folder or default_folder()
    keys, foreign = read_keys(folder)
    if options.keys:
        keys = choose_keys(keys, options.keys)
    if options.unused is not None:
        first = time.time() - options.unused * _DAY
        keys = [key for key in keys if key.used is not None and key.used <= first]
    if foreign:
        tell(f"{folder}: not a kept cache, and left alone: {', '.join(foreign)}")
    if is_prune:
        return _prune(folder, keys)
    keys = with_starts(keys, [*_starts(options.log)])
    if options.json:
        from envcfg.report.document import json_text

        rows = [
            key._asdict() | {"packed": key.packed, "saved": key.saved} for key in keys
        ]
        document = {"schema_version": 1, "folder": folder, "keys": rows}
        sys.stdout.write(json_text(document))
    else:
        from envcfg.report.styled import put

        is_long = options.operation == "show"
        put(("", line) for line in _lines(folder, keys, is_long))
    sys.stdout.flush()
    return 0


def _starts(logs: Sequence[str]) -> Iterator[KeptStart]:
    from envcfg.log.cold_start import read_start

    for log in logs:
        if start := read_start(log):
            yield start
        else:
            tell(
                f"{log}: shows no key of kept caches, or not the time of the first step"
            )


def _prune(folder: str, keys: Sequence[Key]) -> int:
    are_removed = [_is_removed(folder, key) for key in keys]
    sys.stdout.flush()
    return 0 if all(are_removed) else EXIT_CANNOT


def _is_removed(folder: str, key: Key) -> bool:
    from envcfg.core.kept_caches import remove_key

    try:
        remove_key(folder, key)
    except OutputError as err:
        tell(err.message, err.hint, severity="error")
        return False
    sys.stdout.write(f"removed {key.key[:_SHORT]}, {_size(key.packed)}\n")
    return True


def _lines(folder: str, keys: Sequence[Key], is_long: bool) -> Iterator[str]:
    if not keys:
        yield f"no compile cache is kept in {folder}"
    for key in keys:
        day = time.strftime("%Y-%m-%d", time.gmtime(key.used)) if key.used else "?"
        software = key.software or "unknown software"
        saves = "" if is_long or key.saved is None else f"saves {key.saved} s  "
        row = f"{key.key[:_SHORT]}  {_size(key.packed):>9}  last used {day}"
        yield f"{row}  {saves}{software}"
        for archive in key.archives if is_long else ():
            size = "missing" if archive.packed is None else _size(archive.packed)
            yield (
                f"  {archive.kind:<10}  {size:>9}  {archive.files} files, "
                f"{_size(archive.size)} unpacked, written {archive.date}"
            )
        if is_long:
            yield f"  {_savings(key)}"


def _savings(key: Key) -> str:
    if key.saved is None:
        return "savings unknown: --log FILE, for a first and a later job, shows them"
    cold = f"without kept caches after {key.cold} s"
    return f"saves {key.saved} s: first step after {key.warm} s, {cold}"


def _size(count: int) -> str:
    return f"{count / (1 << 20):.1f} MiB"
