"""The lines of a script that its scheduler reads, with the place of each option."""

from __future__ import annotations

import re
from collections.abc import Iterator

from envcfg.backends.schedulers import SCHEDULERS
from envcfg.job.request.admission import (
    HOLE,
    GivenOption,
    Problem,
    check_needs,
    check_options,
    read_options,
)
from envcfg.job.request.gpu_counts import check_gpu_counts
from envcfg.job.request.scheduler_options import option_table
from envcfg.lint.grammar import parse
from envcfg.lint.traced_text import Flat

_LINE = re.compile("[^\n]*")
_COMMAND = re.compile(r"(?:\xef\xbb\xbf)?[ \t\r\f\v]*[^#\s\xef]")
_COMPONENT = re.compile(r"\s*(?:het|pack)job(?!\S)", re.IGNORECASE)
# A misspelled directive; more than one # usually disables a line on purpose.
_SLIP = re.compile(r"([ \t]*#[ \t]*)([A-Za-z]{4,8})[ \t:=]+--?([a-z][a-z-]*)")
_NEAR = 0.8  # similarity to the mark that makes a word a slip


class ScriptDirectives:
    """The directives of one script; offsets refer to the sources."""

    def __init__(self, flat: Flat, scheduler: str, dos: int = -1) -> None:
        """Read the lines of *flat*, up to the first that is not a comment.

        Args:
            flat: the text of the script.
            scheduler: its name in ``SCHEDULERS``.
            dos: offset of its first DOS line break; -1: it has none.
        """
        # Options of Slurm's directives, including those that come too late.
        self.directives: list[GivenOption] = []
        # All options that the scheduler reads, in its own interpretation.
        self.given: list[GivenOption] = []
        # Options that it rejects, overrides or ignores.
        self.problems: list[Problem] = []
        self._flat = flat
        self._scheduler = known = SCHEDULERS[scheduler]
        self._table = option_table(scheduler)
        self._mark = re.compile(f"{known.sign}|{known.old_mark or '(?!)'}")
        self._lines: dict[int, int] = {}
        end = self._read_lines()
        self.problems += check_options(self._table, self.given)
        self.problems += check_needs(self._table, self.given)
        if self._table.gpus:
            self.problems += check_gpu_counts(self._table, self.given)
        words = self._table.words
        if "first" in words:  # sbatch also checks the first line of the script
            self._read_unseen(end)
            # A hole in the first line may hold the "#!" of a template.
            if self.given and not re.match(f"#!|[^\n]*{HOLE}", flat.chars):
                fix = "move #! to the very beginning of the file"
                late = re.search("^#!", flat.chars, re.MULTILINE)
                offset = flat.origin(late.start()) if late else self.given[0].offset
                self.problems.append(Problem("refused", offset, words["first"], fix))
            if self.given and dos >= 0:
                fix = "sed -i 's/\\r$//' FILE"
                self.problems.append(Problem("refused", dos, words["breaks"], fix))
            self.directives = [
                option._replace(line_offset=self._lines[option.offset])
                for option in self.given
            ]
            self.directives += self._late(end)

    def _read_lines(self) -> int:
        """Read the options, and return the offset of the first command."""
        chars, part = self._flat.chars, 0
        parts: dict[int, list[tuple[str, int]]] = {}
        for line in _LINE.finditer(chars):
            if not (match := self._mark.match(line[0])):
                # The scheduler stops reading at the first command.
                if _COMMAND.match(line[0]):
                    break
                continue
            text = line[0][match.end() :]
            begin = line.start() + match.end()
            if component := _COMPONENT.match(text):
                # Each component of a heterogeneous job has its own options.
                part += 1
                begin, text = begin + component.end(), text[component.end() :]
            for word, index, wrong in split_line(text, begin):
                offset = self._flat.origin(index)
                if wrong:
                    fix = "close the quote" if wrong == "quote" else "leave it out"
                    if message := self._table.words[wrong].format(word=word):
                        self.problems.append(Problem("refused", offset, message, fix))
                    continue
                self._lines.setdefault(offset, self._flat.origin(line.start()))
                parts.setdefault(part, []).append((word, offset))
        else:
            line = re.compile(r"\Z").search(chars) or line
        for part, words in parts.items():
            options, problems = read_options(self._table, words, part)
            self.given += options
            self.problems += problems
        return line.start()

    def _read_unseen(self, end: int) -> None:
        """Add a problem for each misspelled directive, which becomes a comment."""
        names = {option.name for option in self.given}
        mark = self._scheduler.mark
        word = mark.strip("#:")
        for line in _LINE.finditer(self._flat.chars, 0, end):
            slip = _SLIP.match(line[0])
            if slip is None or self._mark.match(line[0]):
                continue
            from difflib import SequenceMatcher  # slow to load, and rarely needed

            like = SequenceMatcher(None, slip[2].upper(), word).ratio()
            # A comment may mention the mark; only a "#" directly before it is a slip.
            is_prose = slip[1][-1:] != "#" and (names or slip[2] != word)
            if like < _NEAR or is_prose or slip[3] in names:
                continue
            message = (
                f"{self._table.command} takes {slip[1].lstrip()}{slip[2]} for a comment"
            )
            fix = f"begin the line itself with {mark}; with #{mark} if it is not meant"
            offset = self._flat.origin(line.start() + line[0].index("#"))
            self.problems.append(Problem("unread", offset, message, fix, "warning"))

    def _late(self, end: int) -> Iterator[GivenOption]:
        """Yield options after the first command.

        Lines in here-documents or branches do not belong to this script's directives.
        """
        chars = self._flat.chars
        late = re.compile(rf"{self._scheduler.mark}[ \t]+(.*)", re.DOTALL)
        for node in parse(chars).children:
            line = late.match(chars, node.start_byte, node.end_byte)
            begin = node.start_byte
            if begin < end or node.type != "comment" or not line:
                continue
            # A mark after other text on its line is an ordinary comment.
            if chars[max(begin - 1, 0)] in "\n#":
                words = [
                    (word, self._flat.origin(index))
                    for word, index, wrong in split_line(line[1], line.start(1))
                    if not wrong
                ]
                offset = self._flat.origin(begin)
                for option in read_options(self._table, words)[0]:
                    yield option._replace(line_offset=offset, late=True)


def split_line(text: str, begin: int) -> Iterator[tuple[str, int, str]]:
    """Yield the words of a line as sbatch splits them, each with its index.

    Quotes and ``\\`` group; an empty word or a comment ends the line. The third value
    is the fault of the last word: ``quote``, ``colon``, else empty.
    """
    position = 0
    while position < len(text):
        if text[position].isspace():
            position += 1
            continue
        first, word, quote, is_escaped = position, "", "", False
        if text[position] == ":":
            yield ":", begin + position, "colon"
            return
        while position < len(text) and (quote or not text[position].isspace()):
            sign = text[position]
            if is_escaped:
                is_escaped = False
            elif sign == "\\":
                # An escaped blank is part of the word; other characters are literal.
                is_escaped = text[position + 1 : position + 2] != " "
                word += "" if is_escaped else " "
                position += 1 if is_escaped else 2
                continue
            elif sign in (quote or "\"'"):
                quote = "" if quote else sign
                position += 1
                continue
            elif sign == "#" and not quote:
                text = text[:position]
                break
            word += sign
            position += 1
        if quote:
            yield quote, begin + first, "quote"
            return
        if not word:
            return
        yield word, begin + first, ""
