"""Losses that are no number (NaN or infinite), and the step from which on they are."""

import re

from envcfg.log.read.attempt_steps import step_in
from envcfg.log.read.prefix import without_colours
from envcfg.log.read.process_facts import Sighting, Spot, clip

RULE = "loss-not-finite"
_LEAST = 3  # values in a row: a single one may be of a skipped step
_MOST = 64  # files, and names of losses
_TAIL = 1 << 13  # bytes at the end of a block in which its last loss is searched
_WIDE = 400  # bytes of a line before a loss in which its step is searched
# Other losses, such as that of a validation or of an auxiliary head, may be undefined at
# first, and a name of a file may hold one.
_LOSS = re.compile(
    rb"(?i)(?<![\w./-])(train_loss|total_loss|lm loss|loss)[\"']?[ \t]{0,3}[:=|]?[ \t]{0,6}"
    rb"(?:tensor\()?[\"']?"
    rb"(?:([-+]?(?:nan|inf(?:inity)?)(?:\.0)?)|([-+]?\d[\d.]*(?:e[-+]?\d+)?))(?![\w/-]|\.[a-z])"
)
_OTHER = re.compile(rb"(?i)\b(?:val|valid|validation|eval|test|dev|aux)\w*[ :|]{1,3}$")
# Whether a block may have a loss that is no number. Patterns with a fixed begin are fast.
_NOT_FINITE = [
    re.compile(
        begin + rb"[\"']?[ \t]{0,3}[:=|]?[ \t]{0,6}(?:tensor\()?[\"']?[-+]?"
        rb"(?:[nN][aA][nN]|[iI][nN][fF])"
    )
    for begin in (b"oss", b"OSS")
]


class _Series:
    """The values of one loss in one file."""

    def __init__(self) -> None:
        self.finite = ""  # the last number
        self.count = 0  # values since then that are no number
        self.first: Sighting | None = None  # the line of the first of these
        self.value = ""


class Losses:
    """The losses of a job, in the order of its lines."""

    def __init__(self) -> None:
        """Begin without a loss."""
        self._series: dict[tuple[int, bytes], _Series] = {}

    def take(self, text: bytes, spot: Spot) -> bool:
        """Read a block; return whether a line of it is kept.

        Of a block without NaN and infinity only the last losses matter.
        """
        if b"oss" not in text and b"OSS" not in text:
            return False
        is_whole = any(
            series.count
            for (source, _), series in self._series.items()
            if source == spot.source
        ) or any(pattern.search(text) for pattern in _NOT_FINITE)
        start = 0 if is_whole else max(0, len(text) - _TAIL)
        for match in _LOSS.finditer(text, start):
            if not _OTHER.search(text, max(0, match.start() - 16), match.start()):
                self._see(match, text, spot)
        kept = (series.first for series in self._series.values() if series.first)
        return any(line.spot[:2] == spot[:2] for line in kept)

    def _see(self, match: re.Match[bytes], text: bytes, spot: Spot) -> None:
        key = spot.source, match[1].lower()
        if key not in self._series and len(self._series) >= _MOST:
            return
        series = self._series.setdefault(key, _Series())
        if match[2] is None:
            series.finite = match[3].decode()
            series.count, series.first = 0, None
            return
        series.count += 1
        if series.first is None:
            begin = max(text.rfind(b"\n", 0, match.start()), match.start() - _WIDE) + 1
            end = text.find(b"\n", match.end())
            line = text[begin : end if end >= 0 else len(text)].decode(
                "utf-8", "replace"
            )
            place = spot._replace(line=text.count(b"\n", 0, match.start()))
            series.first = Sighting(place, clip(without_colours(line).strip()))
            series.value = match[2].decode().lower().removesuffix(".0")

    @property
    def lost(self) -> tuple[str, Sighting] | None:
        """The first loss that is no number until the end of the log, with its line; None
        without one."""
        found = [
            (series.first, key[1].decode(), series)
            for key, series in self._series.items()
            if series.first and series.count >= _LEAST
        ]
        if not found:
            return None
        sighting, name, series = min(found, key=lambda item: item[0].spot)
        step = step_in([sighting.text.encode()])
        since = f" from {step} on" if step else ""
        last = f"; its last number was {series.finite}" if series.finite else ""
        return f"the {name} is {series.value}{since}{last}", sighting
