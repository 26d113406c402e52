"""Redirections and here-documents as bash reads them, and the text without them.

The grammar reads here-documents differently from bash, and loses words after a
redirection. It therefore gets a text of the same length, with blanks in their place. A
command finds its redirections by the offset of its begin or, if it is compound, its end.
"""

from __future__ import annotations

import re
from functools import lru_cache

from envcfg.lint.layout import Layout, Redirection, Row
from envcfg.lint.word_scanner import COMMENT, TooDeepError, WordScanner

_NEEDED = re.compile(r"[<>]|;;&|[?*+@!]\(|\(\(|\[\[|(?<![\w-])(?:time|coproc)[ \t]")
_PATTERN_BEGINS = frozenset({"=", "==", "!="})
_BLANK = re.compile(r"(?:[ \t]|\\\n)+")
_SIGN = re.compile(
    r"(?:[0-9]+|\{[A-Za-z_]\w*\})?(<<<|<<-?|<&|<>|>>|>&|>\||<(?!\()|>(?!\())|(&>>?)"
)
_COMMENT_IN_BACKQUOTES = re.compile(r"[^\n`]*")
_ESCAPE = re.compile(r"['\"\\]")
_TEST_END = re.compile(r"[ \t\n]\]\](?![^ \t\n;&|()<>])")
_PARENTHESES = re.compile(r"[ \t]*\([ \t]*\)")
# Words before a command, and words that end a command of several lines.
_BEGINS = frozenset("if then elif else while until do { !".split())
_ENDS = frozenset("fi done esac }".split())
# Words that the grammar reads as a command, even before a compound command.
_PREFIXES = frozenset({"time", "coproc"})
_COMPOUND = re.compile(
    r"(?:[ \t]+-p)?(?:[ \t]+\w+(?=[ \t]+[{(]))?[ \t]+"
    r"(?=\(|(?:if|while|until|for|select|case|\{|!|\[\[)[ \t\n])"
)


@lru_cache(maxsize=64)
def layout_of(chars: str) -> Layout:
    """Return the layout of a script, or of a text within it."""
    layout = Layout(chars)
    # Most texts in a script have no redirection, and are left unchanged.
    if _NEEDED.search(chars):
        _Scanner(layout).read()
        layout.hide()
    return layout


class _Command:
    """The current command."""

    def __init__(self) -> None:
        # Offsets of its first word, and of the end of a compound command; -1: none.
        self.first = self.last = -1
        self.word = ""  # its first word
        self.row: Row = {}  # its redirections

    @property
    def begins(self) -> bool:
        """Whether no word of the command has been read yet."""
        return self.first < 0 and self.last < 0


class _Scanner(WordScanner):
    """Reads a text as bash does, in the detail that redirections require."""

    def __init__(self, layout: Layout) -> None:
        super().__init__(layout.bare)
        self.layout = layout
        # Here-documents with a text that begins at the next line: offset, last line,
        # whether it is indented, and the redirections of its command.
        self.documents: list[tuple[int, str, bool, Row]] = []

    def read(self) -> None:
        """Read all of the text."""
        try:
            offset = 0
            while offset < self.size:
                offset = self.commands(offset, "")
            self.bodies(self.size)
        except TooDeepError:
            # Without a full layout the reader reports the script as partly unread.
            self.layout.is_whole = False

    # Commands

    def commands(self, offset: int, close: str) -> int:
        """Read commands up to *close*, and return the offset after it."""
        self.go_deeper()
        chars, command = self.chars, _Command()
        in_pattern: list[bool] = []  # for each "case" around
        while offset < self.size:
            sign, is_pattern = chars[offset], in_pattern[-1:] == [True]
            if blank := _BLANK.match(chars, offset):
                offset = blank.end()
            elif sign == "\n":
                command, offset = self.next_command(command), self.bodies(offset + 1)
            # In a pattern of "case" the parenthesis ends the pattern, not the subshell.
            elif sign == close and not is_pattern:
                offset += 1
                break
            elif sign == "#":
                # A backquote ends a substitution even inside a comment.
                comment = _COMMENT_IN_BACKQUOTES if close == "`" else COMMENT
                offset = comment.match(chars, offset).end()  # type: ignore[union-attr]
            elif match := _SIGN.match(chars, offset):
                offset = self.redirection(offset, match, command)
            elif sign in ";&|":
                command = self.next_command(command)
                # Only ";;" and its variants return to a pattern.
                if in_pattern and chars.startswith((";;", ";&"), offset):
                    in_pattern[-1] = True
                    is_next = chars.startswith(";;&", offset)
                    # The grammar does not accept ";;&" before "esac".
                    self.layout.mask(offset + 2, offset + 2 + is_next)
                    offset += 2 + is_next
                else:
                    offset += 1
            elif sign == ")":
                command, offset = self.next_command(command), offset + 1
                in_pattern[-1:] = [False] * bool(in_pattern)
            elif sign == "(":
                offset = offset + 1 if is_pattern else self.parenthesis(offset, command)
            else:
                offset = self.command_word(offset, command, in_pattern)
        self.next_command(command)
        self.depth -= 1
        return offset

    def next_command(self, command: _Command) -> _Command:
        """Record a command that ends, and return the next one."""
        self.layout.note(command.first, command.last, command.row)
        return _Command()

    def parenthesis(self, offset: int, command: _Command) -> int:
        """Read on from a parenthesis of arithmetic, of a subshell or of a function."""
        is_loop = command.word in ("for", "select")
        # "((" begins arithmetic only at the beginning of a command; elsewhere it is a
        # subshell.
        if self.chars.startswith("((", offset) and (command.begins or is_loop):
            # The interpreter reads the counter of a loop in the tree of the grammar.
            read_sum = super().sum if is_loop else self.sum
            end = read_sum(offset + 2)
            if end >= 0:
                command.last = -1 if is_loop else end
                command.first, command.word = -1, ""
                return end
        if command.begins:
            command.last = self.commands(offset + 1, ")")
            return command.last
        command.first = command.last = -1  # f () { ... }
        return self.skip_parentheses(offset, otherwise=offset + 1)

    def sum(self, offset: int) -> int:
        """Hide a sum from the grammar, which does not read each expansion in it."""
        end = super().sum(offset)
        if end >= 0:
            self.layout.fill(offset, end - 2)
        return end

    def test_patterns(self, offset: int, end: int) -> None:
        """Hide the patterns of a test, which the grammar reads in part only."""
        before = ""
        while offset < end:
            stop = self.word(offset)
            if before in _PATTERN_BEGINS and offset < stop <= end:
                self.layout.fill(offset, stop)
            before, offset = self.chars[offset:stop] or before, max(stop, offset + 1)

    def pattern(self, begin: int, end: int) -> None:
        """Hide a pattern from the grammar, which reads only some of them."""
        self.layout.fill(begin, end)

    def skip_parentheses(self, offset: int, otherwise: int) -> int:
        """Return the offset after ``()``, or *otherwise* without them."""
        match = _PARENTHESES.match(self.chars, offset)
        return match.end() if match else otherwise

    def command_word(
        self, offset: int, command: _Command, in_pattern: list[bool]
    ) -> int:
        """Read one word of a command, and return the offset after it."""
        end = self.word(offset)
        if end == offset:
            return offset + 1
        word = self.chars[offset:end]
        # "esac" may follow a missing ";;", so it also ends a branch.
        if in_pattern and word == "esac" and (in_pattern[-1] or command.begins):
            in_pattern.pop()
            command.last = end
        elif in_pattern[-1:] == [True]:
            pass
        elif not command.begins:
            if command.word == "case" and word == "in":
                in_pattern.append(True)
                command.first, command.word = -1, ""
            elif command.word == "function":
                command.first, command.word = -1, ""
                end = self.skip_parentheses(end, otherwise=end)
        elif word in _PREFIXES and (match := _COMPOUND.match(self.chars, end)):
            # The prefix is hidden, because it does not change the command after it.
            self.layout.mask(offset, match.end())
            end = match.end()
        elif word == "[[":
            close = _TEST_END.search(self.chars, end)
            begin, command.last = end, close.end() if close else self.size
            self.test_patterns(begin, close.start() if close else self.size)
            end = command.last
        elif word in _ENDS:
            command.last = end
        elif word not in _BEGINS:
            behind = self.skip_parentheses(end, otherwise=end)
            if behind == end:
                command.first, command.word = offset, word
            end = behind
        return end

    # Redirections

    def redirection(self, offset: int, sign: re.Match[str], command: _Command) -> int:
        """Read a redirection from *offset*, and return the offset after it."""
        operator = sign[1] or sign[2]
        blank = _BLANK.match(self.chars, sign.end())
        begin = blank.end() if blank else sign.end()
        end = self.word(begin)
        redirection = Redirection(operator, begin, end)
        if operator in ("<<", "<<-"):
            word = self.chars[begin:end]
            # Any quote in the delimiter turns expansion off, as in bash.
            redirection = redirection._replace(is_quoted=bool(_ESCAPE.search(word)))
            last, is_indented = _ESCAPE.sub("", word), operator == "<<-"
            self.documents.append((offset, last, is_indented, command.row))
        command.row[offset] = redirection
        self.layout.mask(offset, end)
        return end

    def bodies(self, offset: int) -> int:
        """Read the here-documents that begin here, and return the offset after them."""
        documents, self.documents = self.documents, []
        for start, ending, is_indented, row in documents:
            begin, end, is_ended = offset, self.size, False
            while offset < self.size and not is_ended:
                end = self.chars.find("\n", offset)
                end = end if end >= 0 else self.size
                line = self.chars[offset:end]
                line = line.lstrip("\t") if is_indented else line
                is_ended = line == ending
                # In a substitution bash accepts closing characters after the delimiter.
                if not is_ended and self.depth > 1 and line.startswith(ending):
                    rest = line[len(ending) :]
                    is_ended = bool(rest) and not rest.strip(' \t;)`"')
                    end -= len(rest) if is_ended else 0
                last, offset = offset, end + (self.chars[end : end + 1] == "\n")
            stop = last if is_ended else self.size
            row[start] = row[start]._replace(body=(begin, stop), is_ended=is_ended)
            self.layout.mask(begin, offset)
        return offset
