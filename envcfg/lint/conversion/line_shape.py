"""The shape of a launch line: the words that are certain, and the values from the job.

A step is planned once, when the script is converted. The job then compares its launch line
with the shape. The words that the plan depends on must be the same; all others are taken
from the job.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from envcfg.common.errors import UsageError
from envcfg.job.plan.launch_line import (
    ParsedLaunch,
    begins_line,
    deciding_options,
    read_line,
    whole_words,
)
from envcfg.lint.conversion.launch_lines import LaunchLine
from envcfg.lint.traced_text import Piece, Word, literal, shown

LINE = "ENVCFG_LINE"  # the array of the values that the job decides
REST = "ENVCFG_REST"  # the array of options that only the job knows
MARK = re.compile(r"ENVCFG-WORD-(\d+)-")
# Runtimes that read a list of binds themselves, so that the job can hand one on.
_BINDERS = {
    "singularity": re.compile(r"-B|--bind=?"),
    "apptainer": re.compile(r"-B|--bind=?"),
    "shifter": re.compile(r"-V|--volume=?"),
}
_VERBS = frozenset({"exec", "run"})


class LinePart(NamedTuple):
    """One word of a launch line, before its program."""

    before: str  # the text of the line itself before the value
    # The value, if the script decides it; None if only the job knows it.
    value: str | None = None
    after: str = ""
    is_fixed: bool = False  # True if the plan depends on the whole word
    shown: str = ""  # the word for readers

    def text(self, number: int) -> str:
        """Return the word for ``wrap``, with a mark for the value from the job."""
        value = self.value if self.is_fixed else f"ENVCFG-WORD-{number}-"
        return f"{self.before}{value or ''}{self.after}"


class LineShape(NamedTuple):
    """The shape of a launch line."""

    parts: tuple[LinePart, ...]  # the words before the program
    program: str | None  # the program; None if only the job knows it
    line: ParsedLaunch  # what `wrap` reads in these words
    # The image as the script names it; None if only the job knows it.
    image: str | None = None
    # Number of the part that is the image; None: it is in no part alone.
    image_part: int | None = None
    # Numbers of the parts with binds that the runtime reads.
    binds: tuple[int, ...] = ()
    # Number of the part before which the job has options of the starter that only the
    # job knows; None if there are none.
    rest: int | None = None

    @property
    def refused(self) -> list[str]:
        """Options of the starter that change the plan."""
        return deciding_options(self.parts[0].text(0))

    @property
    def words(self) -> list[str]:
        """The launch line for ``wrap``: the words, and the name of the program."""
        words = [
            part.text(number)
            for number, part in enumerate(self.parts)
            if number not in self.binds
        ]
        return [
            *words,
            *(whole_words(self.line.command) or [self.program or "program"]),
        ]


def shape_of(line: LaunchLine) -> LineShape | None:
    """Return the shape of a launch line; None if only the job can read the line."""
    parts = [_part(word, line) for word in line.words]
    # A value is part of the shape only if the line cannot be read without it.
    for certain in (_is_structure, lambda part: part.value is not None):
        chosen = [
            part._replace(is_fixed=part.is_fixed or certain(part)) for part in parts
        ]
        if shape := _read(chosen, line):
            return shape
    return None


def _is_structure(part: LinePart) -> bool:
    value = part.value
    if value is None or part.before:
        return False
    return value[:1] in ("-", "") or value in _VERBS or begins_line(value)


def _part(word: Word, line: LaunchLine) -> LinePart:
    """Return a word as the text of the line itself, around the value of a variable."""
    is_own = [_is_own(piece, line) for piece in word.text]
    if all(is_own):
        return LinePart(decoded(word.shown), is_fixed=True, shown=decoded(word.shown))
    first = is_own.index(False)
    last = len(is_own) - is_own[::-1].index(False)
    before, middle, after = (
        word.text[:first], word.text[first:last], word.text[last:],
    )  # fmt: skip
    value = literal(middle)
    return LinePart(
        decoded(shown(before)),
        None if value is None else decoded(value),
        decoded(shown(after)),
        shown=decoded(shown(middle)),
    )


def decoded(chars: str) -> str:
    """Return the characters of a source, each of them a byte, as command-line arguments."""
    return chars.encode("latin-1").decode("utf-8", "surrogateescape")


def _is_own(piece: Piece, line: LaunchLine) -> bool:
    return piece.hole is None and line.begin <= piece.offset < line.end


def _read(parts: list[LinePart], line: LaunchLine) -> LineShape | None:
    """Return the shape with these parts, if ``wrap`` and lint read the same program."""
    rest = None
    while True:
        texts = [part.text(number) for number, part in enumerate(parts)]
        try:
            read = read_line([text for n, text in enumerate(texts) if n != rest])
        except UsageError:
            return None
        count = len(texts) - len(read.command) - (rest is not None)
        begin = count + (rest is not None)
        if begin in line.programs:
            break
        # An unquoted value in the place of the program is more options, or none.
        is_value = parts[begin].value is None and not parts[begin].is_fixed
        is_rest = line.words[begin].is_loose and is_value and not parts[begin].before
        if rest is not None or not is_rest or read.container or count < 1:
            return None
        rest = begin
    program = parts[begin]
    if rest is not None:
        # The options end where the next word of the line itself is found again.
        if not program.is_fixed or not parts[rest + 1].is_fixed:
            return None
        parts = parts[:rest] + parts[rest + 1 :]
        begin -= 1
    return _checked(parts[:begin], program, read, rest)


def _checked(
    parts: list[LinePart], program: LinePart, read: ParsedLaunch, rest: int | None
) -> LineShape | None:
    """Return a shape if its plan is independent of values from the job."""
    name = program.before if program.is_fixed and not program.value else None
    image, image_part = read.container, None
    for number, part in enumerate(parts):
        if part.text(number) == read.container:
            image_part = number
            image = part.before if part.is_fixed else part.value
            parts[number] = LinePart("", image, shown=part.shown)
    if image_part is None and MARK.search(image or ""):
        image = None
    shape = LineShape(tuple(parts), name, read, image, image_part, rest=rest)
    if any(map(MARK.search, (*read.settings, *read.exports))):
        return None
    if any(map(MARK.search, read.binds)):
        return _with_binds(shape)
    return shape


def _with_binds(shape: LineShape) -> LineShape | None:
    """Return the shape in which the runtime itself reads binds that the job decides."""
    option = _BINDERS.get(shape.line.runtime or "")
    if option is None:
        return None
    numbers = []
    for number, part in enumerate(shape.parts):
        if part.is_fixed:
            continue
        before = shape.parts[number - 1]
        if option.fullmatch(before.before) and not before.before.endswith("="):
            numbers += [number - 1, number]
        elif option.match(part.before):
            numbers.append(number)
    shape = shape._replace(binds=tuple(numbers))
    line = read_line(shape.words)
    return None if any(map(MARK.search, line.binds)) else shape._replace(line=line)
