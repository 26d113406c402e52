"""Words as bash makes them of a script: against bash itself, and what is not known of them."""

from __future__ import annotations

import subprocess

import pytest
from following import model_of, words_of
from hypothesis import given
from hypothesis import strategies as st

from envcfg.lint.traced_text import Flat, Piece, plain
from envcfg.lint.word_expansion import closing
from fuzzing import tries

# The grammar loses a blank behind a backslash that begins a word; nobody writes that.
# Pieces of words whose value bash and we must agree on.
PIECES = st.sampled_from(
    [
        "a", "b-c", "x=", "/", " ", "'x y'", '"x y"', "''", '""', "\\$", "'\\$A'",
        '"\\$A"', '"\\x"', '"$A"', "${A}", '"${A}b"', "${A:-z}", "${E:-z}", "${B:+y}", "${E:+y}", "${E-q}",
        '"${E:-a b}"', "${B}", '"$B"', "${L[@]}", '"${L[@]}"', '"${L[*]}"', "${L[0]}",
        "$((1))", "\\\n", '"a\\\nb"', "\"'\"", "'\"'", '"${L[@]}"x', "%s", ":", ",",
    ]
)  # fmt: skip
SET = "A='p  q' B=r E= L=(one 'two words' three)\n"


@tries(150)
@given(pieces=st.lists(PIECES, min_size=1, max_size=7))
def test_words_are_those_of_bash(pieces: list[str]) -> None:
    line = "probe " + "".join(pieces)
    script = f"{SET}probe() {{ printf '%s\\0' \"$@\"; }}\n{line}\n"
    done = subprocess.run(["bash", "-c", script], capture_output=True, check=False)
    if done.returncode or done.stderr:
        return
    theirs = done.stdout.decode().split("\0")[:-1]
    ours = words_of(f"{SET}{line}\n")[-1][1:]
    assert (theirs or [""]) == (
        ours or [""]
    )  # printf writes once where there is nothing


@pytest.mark.parametrize(
    ("script", "words"),
    [
        ("A=x; A+=y; p $A", ["p", "xy"]),
        ("A=(1 2); A+=(3); p \"${A[@]}\"", ["p", "1", "2", "3"]),
        ("f() { p \"$2\"; }; f 1 '2 3'", ["p", "2 3"]),
        ("set -- a 'b c'; p \"$@\"", ["p", "a", "b c"]),
        ("set -- a b; shift; p $1", ["p", "b"]),
        ("if x; then A=1; else A=1; fi; p $A", ["p", "1"]),
        ("x && A=1; p $A", ["p", "$A"]),
        ("A=1 B=2\np $A $B", ["p", "1", "2"]),
        ("eval 'p \"a b\"'", ["p", "a b"]),
        ("B=$OUTSIDE; p $B", ["p", "$OUTSIDE"]),
        ("read A; p $A", ["p", "$A"]),
        ("A=1; ( A=2 ); p $A", ["p", "1"]),
        ("A=1; x | A=2; p $A", ["p", "1"]),
        ("A=1; unset A; p $A", ["p", "$A"]),
        ("local A=1; p $A", ["p", "1"]),
        ("A=1 x; p $A", ["p", "$A"]),
        ("for A in 1; do :; done; p $A", ["p", "1"]),
        ("case $X in a) A=1;; *) A=1;; esac; p $A", ["p", "1"]),
        ("exit 1; p a", ["p", "a"]),
        ("if x; then exit; A=2; else A=1; fi; p $A", ["p", "1"]),
    ],
)  # fmt: skip
def test_variables_are_followed(script: str, words: list[str]) -> None:
    model = model_of(script)
    first = next(
        each for each in model.commands if each.name == "p" and not each.variant
    )
    assert [word.shown for word in first.words] == words


def test_words_without_end_are_one_that_is_not_known() -> None:
    (last,) = model_of("A='" + "x " * 5000 + "'\np $A\n").commands
    assert 100 < len(last.words) < 1000
    assert last.words[-1].is_loose


def test_each_way_through_a_branch_is_a_variant() -> None:
    model = model_of("if x; then A=1 B=2; else A=3 B=4; fi\np $A $B\n")
    last = [each for each in model.commands if each.name == "p"]
    assert [[w.shown for w in each.words] for each in last] == [
        ["p", "1", "2"],
        ["p", "3", "4"],
    ]
    assert {each.offset for each in last} == {last[0].offset}


def test_characters_know_where_they_were_typed() -> None:
    script = 'A="torchrun --port 29500"\nCMD="$A x"\nsrun bash -c "$CMD"\n'
    command = model_of(script).commands[-1]
    assert [w.shown for w in command.words] == ["torchrun", "--port", "29500", "x"]
    for word in command.words:
        assert script.startswith(word.shown, word.offset)


def test_a_text_is_cut_with_its_origins() -> None:
    flat = Flat((Piece("abc", 10), Piece("de", 40)))
    assert flat.cut(1, 4) == (Piece("bc", 11), Piece("d", 40))
    assert [flat.origin(at) for at in range(5)] == [10, 11, 12, 40, 41]
    assert Flat(plain("")).origin(0) == -1


@pytest.mark.parametrize(
    ("text", "close", "at"),
    [
        ("a)", ")", 1),
        ("a $(b) c)", ")", 8),
        ("')' )", ")", 4),
        ('"$(echo ")")" )', ")", 14),
        ("a\\)b)", ")", 4),
        ("x:-${y}}", "}", 7),
        ("(1+2)*3))", "))", 7),
        ("never", ")", 5),
    ],
)
def test_what_is_opened_is_closed_where_bash_does(
    text: str, close: str, at: int
) -> None:
    assert closing(text, 0, len(text), close) == at
