"""What a machine says as a word of YAML, or in a comment of one line."""

import re

from envcfg.profile.words import quote_comment

_PLAIN = re.compile(r"--?[A-Za-z][A-Za-z-]*|[A-Za-z_][A-Za-z0-9_./-]*|[1-9][0-9]{0,8}")
_RESERVED = frozenset("null true false yes no on off y n".split())
_LONG = 200  # characters of a word


def scalar(text: str) -> str:
    """Return *text* as a scalar of YAML, on one line."""
    if _PLAIN.fullmatch(text) and text.lower() not in _RESERVED:
        return text
    import json

    return json.dumps(one_word(text), ensure_ascii=False)


def one_word(text: str) -> str:
    """Return *text* with all written out that would not show, and not too long."""
    return quote_comment(text.encode("utf-8", "backslashreplace").decode())[:_LONG]


def comment(text: str, indent: str = "") -> str:
    """Return *text* as a comment of one line."""
    return f"{indent}# {one_word(text)}"
