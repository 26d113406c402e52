"""``wrap --from``: scripts that are put together at random."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from compare import compared
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from old_scripts import HEAD, PIECES_AFTER, PIECES_BEFORE, PIECES_LINE, PIECES_WORDS

pytestmark = pytest.mark.nightly

REFUSED = "this here-document has no line that ends it"
EXIT_CODES = st.sampled_from(["", "export NOTE_CODE=3"])


@settings(deadline=None, max_examples=120)
@given(
    st.lists(st.sampled_from([*PIECES_BEFORE.values()]), max_size=3),
    EXIT_CODES,
    st.lists(
        st.tuples(
            st.sampled_from([*PIECES_LINE.values()]),
            st.sampled_from([*PIECES_WORDS.values()]),
            st.sampled_from([*PIECES_AFTER]),
        ),
        min_size=1,
        max_size=2,
    ),
    st.sampled_from(
        [
            "{}",
            "f() {{\n{}\n}}\nf a 'b c'",
            "for i in 1 2; do\n{}\ndone",
            "if true; then\n{}\nfi",
        ]
    ),
)
def test_scripts_put_together_at_random_start_the_same(
    before: list[str], code: str, lines: list[tuple[str, str, str]], around: str
) -> None:
    steps = []
    for line, words, after in lines:
        behind = "" if "\n" in words else PIECES_AFTER[after]
        gap = "; " if after == "code" and behind else " "
        steps.append(f"{line} {words}{gap}{behind}")
    script = "\n".join([HEAD, *before, code, around.format("\n".join(steps)), ""])
    # After a function that was called with its input redirected, bash 5.2 gives the next
    # command in the background the script's own input: that of a batch job is /dev/null.
    assume(not ("&\n" in script and "<" in script))
    with TemporaryDirectory() as folder:
        said = compared(script, Path(folder))
    is_refused = said.startswith("refused: ") and REFUSED in said
    assert not said or is_refused, f"{script}\n{said}"
