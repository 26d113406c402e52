"""Numbers of options: each read and held against its bounds; imports nothing heavy."""

from collections.abc import Callable


def number_of(things: str) -> Callable[[str], int]:
    """Return what reads a number of *things*, at least one."""

    def read(text: str) -> int:
        from envcfg.log.process import MOST_RANKS

        if text.startswith("$"):
            msg = (
                f"{text} is not known before the job runs: give the number of {things}"
            )
            raise ValueError(msg)
        digits = text.isascii() and text.isdigit() and len(text) <= len(str(MOST_RANKS))
        if not (digits and 0 < int(text) <= MOST_RANKS):
            msg = f"{text!r} is no number of {things}, 1 to {MOST_RANKS}"
            raise ValueError(msg)
        return int(text)

    return read


def within(least: float, most: float, things: str) -> Callable[[str], float]:
    """Return what reads a number of *things*, fractions too, in these bounds."""

    def read(text: str) -> float:
        try:
            number = float(text)
        except ValueError:
            number = float("nan")
        if not least <= number <= most:
            msg = f"{text!r} is no number of {things}, {least:g} to {most:g}"
            raise ValueError(msg)
        return number

    return read
