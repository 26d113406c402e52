"""Commands of the shell itself: they change what it knows, and start nothing."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence

from envcfg.characters import whole_number
from envcfg.lint.follow import Follower, Frame
from envcfg.lint.locate import find_file, find_written
from envcfg.lint.model import Opaque
from envcfg.lint.state import set_options
from envcfg.lint.text import Word, holes, spaced, unknown

Builtin = Callable[[Follower, Sequence[Word], Frame], None]
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_DEEPEST = 40


def _eval(follower: Follower, words: Sequence[Word], frame: Frame) -> None:
    follower.run_text(spaced(words[1:]), frame)


def _source(follower: Follower, words: Sequence[Word], frame: Frame) -> None:
    if len(words) < 2:
        return
    word = words[1]
    written = find_written(word, frame)
    if written is not None:
        follower.run_text(written, frame)
        return
    source = find_file(follower, word, frame)
    if any("envcfg wrap" in hole.text for hole in holes(word.text)):
        return  # what it prints is known
    if source is None or source.kind == "other" or frame.depth > _DEEPEST // 2:
        said = f"source {word.shown}"
        follower.model.opaque.append(Opaque(said, word.at, frame.scope))
        return
    follower.run_source(source, frame._replace(depth=frame.depth + 1))


def _module(follower: Follower, words: Sequence[Word], frame: Frame) -> None:
    verbs = {each.shown for each in words[1:2]}
    if words[0].literal == "ml" or verbs & {"load", "use", "add", "swap", "restore"}:
        said = " ".join(each.shown for each in words)
        follower.model.opaque.append(Opaque(said, words[0].at, frame.scope))


def _set(follower: Follower, words: Sequence[Word], frame: Frame) -> None:
    del follower
    said = [each.shown for each in words[1:]]
    if "--" in said:
        frame.state.arguments = tuple(words[said.index("--") + 2 :])
    frame.state.options = set_options(said, frame.state.options)


def _shift(follower: Follower, words: Sequence[Word], frame: Frame) -> None:
    del follower
    arguments = frame.state.arguments
    if arguments is None:
        return
    gone = whole_number(words[1].literal) if len(words) > 1 else 1
    known = gone is not None and not frame.context.conditions
    known = known and not any(each.is_loose for each in arguments[:gone])
    frame.state.arguments = arguments[gone:] if known else None


def _read(follower: Follower, words: Sequence[Word], frame: Frame) -> None:
    for word in words[1:]:
        said = word.literal or ""
        if _NAME.fullmatch(said):
            value = unknown(f"${said}", frame.scope, word.at)
            follower.assign(
                said, value, frame, at=word.at, value_at=word.at, how="read"
            )


def _printf(follower: Follower, words: Sequence[Word], frame: Frame) -> None:
    if len(words) > 2 and words[1].literal == "-v":
        _read(follower, words[1:3], frame)


def _end(follower: Follower, words: Sequence[Word], frame: Frame) -> None:
    del follower, words
    frame.state.ended = True


def _trap(follower: Follower, words: Sequence[Word], frame: Frame) -> None:
    if len(words) > 2 and words[1].shown not in ("-", "--"):
        state = frame.state.fork()
        inside = frame.inside(function="trap")
        follower.run_text(words[1].text, inside._replace(state=state))


BUILTINS: Mapping[str, Builtin] = {
    "eval": _eval,
    "source": _source,
    ".": _source,
    "module": _module,
    "ml": _module,
    "set": _set,
    "shift": _shift,
    "read": _read,
    "mapfile": _read,
    "readarray": _read,
    "getopts": _read,
    "printf": _printf,
    "exit": _end,
    "return": _end,
    "trap": _trap,
}
