"""What is wrong with an image, found while its bytes are read."""

from __future__ import annotations

from typing import NoReturn

_WHOLE = "copy or build it once more; is the file as large as where it comes from?"


class FormError(OSError):
    """An image that cannot be read, or a part of it; ``open`` puts its name before.

    Attributes:
        hint: what to do about it.
    """

    def __init__(self, message: str, hint: str) -> None:
        """Keep what is wrong, in words for people, and what to do about it."""
        super().__init__(message)
        self.hint = hint


def refuse(why: str) -> NoReturn:
    """Say that the bytes of an image cannot be right.

    Raises:
        FormError: always.
    """
    raise FormError(f"the image is damaged: {why}", _WHOLE)  # noqa: EM102  # one place
