"""The lines of a script that its scheduler reads, with where each option stands."""

from __future__ import annotations

import re
from collections.abc import Iterator

from envcfg.lint.grammar import parse
from envcfg.lint.text import Flat
from envcfg.request.admission import HOLE, Given, Problem, check_options, read_options
from envcfg.request.options import option_table

_MARKS = {
    "slurm": re.compile("#(?:SBATCH|SLURM)"),
    "pbs": re.compile(r"#PBS(?=\s)"),
    "flux": re.compile("#[ \t]*(?:flux|FLUX):"),
}
_LATE = re.compile(r"#SBATCH[ \t]+(.*)", re.DOTALL)
_LINE = re.compile("[^\n]*")
_COMMAND = re.compile(r"(?:\xef\xbb\xbf)?[ \t\r\f\v]*[^#\s\xef]")
_COMPONENT = re.compile(r"\s*(?:het|pack)job(?!\S)", re.IGNORECASE)
# What was to be a directive; more than one # is how people take one away.
_SLIP = re.compile(r"([ \t]*#[ \t]*)([A-Za-z]{4,8})[ \t:=]+--?([a-z][a-z-]*)")
_NEAR = 0.8  # of SBATCH with a slip


class Read:
    """What the scheduler reads of one script; offsets are those of the sources.

    Attributes:
        directives: options of ``#SBATCH`` lines, with those that come too late.
        given: all options that the scheduler reads, as it counts them.
        problems: what it refuses, overrides or does not see.
    """

    def __init__(self, flat: Flat, scheduler: str, dos: int = -1) -> None:
        """Read the lines of *flat*, up to the first that is not a comment.

        Args:
            scheduler: by its name in ``SCHEDULERS``.
            dos: offset of its first line break of DOS; -1: it has none.
        """
        self.directives: list[Given] = []
        self.given: list[Given] = []
        self.problems: list[Problem] = []
        self._flat = flat
        self._table = option_table(scheduler)
        self._lines: dict[int, int] = {}
        end = self._read_lines(_MARKS[scheduler])
        self.problems += check_options(self._table, self.given)
        words = self._table.words
        if "first" in words:  # of the whole script, which sbatch looks at, too
            self._read_unseen(end)
            if self.given and not re.match(f"#!|[^\n]*{HOLE}", flat.chars):
                fix = "move #! to the very beginning of the file"
                late = re.search("^#!", flat.chars, re.MULTILINE)
                at = flat.origin(late.start()) if late else self.given[0].at
                self.problems.append(Problem("refused", at, words["first"], fix))
            if self.given and dos >= 0:
                fix = "sed -i 's/\\r$//' FILE"
                self.problems.append(Problem("refused", dos, words["breaks"], fix))
            self.directives = [
                each._replace(line_at=self._lines[each.at]) for each in self.given
            ]
            self.directives += self._late(end)

    def _read_lines(self, mark: re.Pattern[str]) -> int:
        """Read the options, and return where the first command stands."""
        chars, part = self._flat.chars, 0
        parts: dict[int, list[tuple[str, int]]] = {}
        for line in _LINE.finditer(chars):
            if not (found := mark.match(line[0])):
                if _COMMAND.match(line[0]):
                    break
                continue
            text = line[0][found.end() :]
            begin = line.start() + found.end()
            if component := _COMPONENT.match(text):
                part += 1
                begin, text = begin + component.end(), text[component.end() :]
            for word, index, wrong in split_line(text, begin):
                at = self._flat.origin(index)
                if wrong:
                    fix = "close the quote" if wrong == "quote" else "leave it out"
                    if message := self._table.words[wrong].format(word=word):
                        self.problems.append(Problem("refused", at, message, fix))
                    continue
                self._lines.setdefault(at, self._flat.origin(line.start()))
                parts.setdefault(part, []).append((word, at))
        else:
            line = re.compile(r"\Z").search(chars) or line
        for part, words in parts.items():
            given, problems = read_options(self._table, words, part)
            self.given += given
            self.problems += problems
        return line.start()

    def _read_unseen(self, end: int) -> None:
        """Note lines that were to be directives, and that sbatch takes for comments."""
        names = {each.name for each in self.given}
        for line in _LINE.finditer(self._flat.chars, 0, end):
            slip = _SLIP.match(line[0])
            if slip is None or _MARKS["slurm"].match(line[0]):
                continue
            from difflib import SequenceMatcher  # which most scripts do not need

            like = SequenceMatcher(None, slip[2].upper(), "SBATCH").ratio()
            is_prose = slip[1][-1:] != "#" and (names or slip[2] != "SBATCH")
            if like < _NEAR or is_prose or slip[3] in names:
                continue
            message = f"sbatch takes {slip[1].lstrip()}{slip[2]} for a comment"
            fix = "begin the line itself with #SBATCH; with ##SBATCH if it is not meant"
            at = self._flat.origin(line.start() + line[0].index("#"))
            self.problems.append(Problem("unread", at, message, fix, "warning"))

    def _late(self, end: int) -> Iterator[Given]:
        """Yield options behind the first command.

        Lines in here-documents are not of this script, nor are such within a branch.
        """
        chars = self._flat.chars
        for node in parse(chars).children:
            line = _LATE.match(chars, node.start_byte, node.end_byte)
            begin = node.start_byte
            if begin < end or node.type != "comment" or not line:
                continue
            if chars[max(begin - 1, 0)] in "\n#":
                words = [
                    (word, self._flat.origin(index))
                    for word, index, wrong in split_line(line[1], line.start(1))
                    if not wrong
                ]
                at = self._flat.origin(begin)
                for each in read_options(self._table, words)[0]:
                    yield each._replace(line_at=at, late=True)


def split_line(text: str, begin: int) -> Iterator[tuple[str, int, str]]:
    """Yield the words of a line as sbatch splits them, each with its index.

    Quotes and ``\\`` group; an empty word ends the line, as a comment does. The third is
    what is wrong with the last one: ``quote``, ``colon``, else nothing.
    """
    at = 0
    while at < len(text):
        if text[at].isspace():
            at += 1
            continue
        first, word, quote, is_escaped = at, "", "", False
        if text[at] == ":":
            yield ":", begin + at, "colon"
            return
        while at < len(text) and (quote or not text[at].isspace()):
            sign = text[at]
            if is_escaped:
                is_escaped = False
            elif sign == "\\":
                is_escaped = text[at + 1 : at + 2] != " "
                word += "" if is_escaped else " "
                at += 1 if is_escaped else 2
                continue
            elif sign in (quote or "\"'"):
                quote = "" if quote else sign
                at += 1
                continue
            elif sign == "#" and not quote:
                text = text[:at]
                break
            word += sign
            at += 1
        if quote:
            yield quote, begin + first, "quote"
            return
        if not word:
            return
        yield word, begin + first, ""
