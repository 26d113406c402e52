import pytest
from hypothesis import given
from hypothesis import strategies as st

from envcfg.profile.words import (
    Ref,
    Word,
    WordError,
    format_word,
    parse_word,
    references,
)

TEXTS = st.text(st.characters(exclude_characters="\0"), max_size=20)
NAMES = st.from_regex(r"[A-Za-z_][A-Za-z0-9_]{0,8}", fullmatch=True)
DEFAULTS = st.none() | st.from_regex(r"[A-Za-z0-9_./:@%+=,-]{0,8}", fullmatch=True)
REFS = st.builds(Ref, NAMES, DEFAULTS)


@st.composite
def words(draw: st.DrawFn) -> Word:
    """Words as ``parse_word`` makes them: no empty literal, no two side by side."""
    parts: list[str | Ref] = []
    for part in draw(st.lists(TEXTS | REFS, max_size=5)):
        if isinstance(part, Ref) or not parts or isinstance(parts[-1], Ref):
            parts.append(part)
        else:
            parts[-1] += part
    return tuple(part for part in parts if part != "")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", ()),
        ("hsn0,hsn1", ("hsn0,hsn1",)),
        ("AWS Libfabric", ("AWS Libfabric",)),
        ("$$5", ("$5",)),
        ("$$$$", ("$$",)),
        ("${A}", (Ref("A"),)),
        ("${A:-}", (Ref("A", ""),)),
        ("${TMPDIR:-/tmp}/x", (Ref("TMPDIR", "/tmp"), "/x")),
        ("a${B}c${D}", ("a", Ref("B"), "c", Ref("D"))),
        ("$${A}", ("${A}",)),
        ("`id` \\ \" '", ("`id` \\ \" '",)),
    ],
)
def test_text_is_split_into_literals_and_references(text: str, expected: Word) -> None:
    assert parse_word(text) == expected


@pytest.mark.parametrize(
    ("text", "offset", "message"),
    [
        ("$(id)", 0, "stands alone"),
        ("ab$HOME", 2, "stands alone"),
        ("a$", 1, "stands alone"),
        ("${A", 0, "stands alone"),
        ("${1A}", 0, "not a variable name"),
        ("${}", 0, "not a variable name"),
        ("${A:=b}", 0, "stands alone"),
        ("${A:-$B}", 0, "default"),
        ("${A:-a b}", 0, "default"),
        ("a\0", 1, "NUL"),
    ],
)
def test_any_other_dollar_is_an_error_with_its_place(
    text: str, offset: int, message: str
) -> None:
    with pytest.raises(WordError, match=message) as caught:
        parse_word(text)
    assert caught.value.offset == offset
    assert caught.value.hint


@given(words())
def test_what_is_written_reads_back_the_same(word: Word) -> None:
    assert parse_word(format_word(word)) == word


def test_references_are_named_once_and_in_order() -> None:
    word = parse_word("${B}${A}${B:-x}")
    assert references(word) == ["B", "A"]
