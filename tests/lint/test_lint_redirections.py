"""Redirections and here-documents as bash reads them: words, documents, commands behind."""

from __future__ import annotations

import subprocess
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from following import HEAD, model_of, words_of
from hypothesis import given
from hypothesis import strategies as st

from envcfg.lint.redirection import layout_of
from fuzzing import tries

REDIRECTIONS = (
    "2>&1", ">out", "> out", "2>err", "&>out", ">>out", "</dev/null", "<<<text", "2>&-",
    "{fd}>out", ">|out", ">&2", "1>'a b'", '>"$A"', ">$(echo x)", "2> >(cat)", "< <(echo)",
    "<<'E'", "<<-E", "<<\"E\"",
)  # fmt: skip
WORDS = ("a", "'b c'", '"$A"', "$A", "-n", "2", "x=y", "${A:-}", "a=b>o", "e\\>f")
AROUND = (
    ("", ""), ("! ", ""), ("true && ", ""), ("{ ", "; }"), ("( ", " )"), ("x=1; ", ""),
    ("if ", "; then :; fi"), ("time { ", "; }"), (":; X=1 ", ""), ("", " | cat"),
)  # fmt: skip


@tries(150)
@given(
    st.lists(st.sampled_from([*REDIRECTIONS, *WORDS]), min_size=1, max_size=8),
    st.sampled_from(AROUND),
)
def test_words_between_redirections_are_those_of_bash(
    parts: list[str], around: tuple[str, str]
) -> None:
    documents = "".join(
        "$A ' ( \"\n" + ("\tE\n" if part[:3] == "<<-" else "E\n")
        for part in parts
        if part.startswith("<<") and part != "<<<text"
    )
    line = f"{around[0]}probe {' '.join(parts)}{around[1]}"
    script = f"A=q\n{line}\n{documents}probe last\n"
    write = "probe() { { printf '[%s]' \"$@\"; echo; } >>words; }\n"
    with TemporaryDirectory() as folder:
        subprocess.run(
            ["bash", "-c", write + script], capture_output=True, check=False, cwd=folder
        )
        theirs = (Path(folder) / "words").read_text().splitlines()
    ours = [words[1:] for words in words_of(script) if words[0] == "probe"]
    assert ours[-1] == ["last"]
    if len(theirs) == 2:  # else bash has refused a redirection
        assert "".join(f"[{word}]" for word in ours[0] or [""]) == theirs[0]


# Texts that the grammar reads otherwise than bash, or loses the rest of the script for.
DOCUMENTS = [
    "cat > x << EOF\n$B\n  \nEOF\n",
    "cat << EOF\n\n EOF\nEOF \nEOF\n",
    "cat << 'A B'\nA\nA B\n",
    "cat << A << B > x\n(\nA\n`\nB\n",
    "x=$(cat << EOF\nit's (one\nEOF\n)\n",
    "cat << EOF | tee x\n'\"(\nEOF\n",
    "while read -r a; do cat << EOF\n$a ${a\nEOF\ndone < <(python3 << EOF\nprint('x')\nEOF\n)\n",
    "f() { cat << EOF\n  }\nEOF\n}\n",
    "case $x in a) cat << EOF ;;\n;;\nEOF\n b) : ;; esac\n",
    "cat <<-EOF\n\t\tx\n\tEOF\n",
    "cat <<EOF 2>&1 |\nx\nEOF\n  cat\n",
    "cat <<\\EOF\n$(\nEOF\n",
    "if cat << EOF; then :; fi\nx\nEOF\n",
    "(cat << EOF)\nx\nEOF\n",
    'echo "$(cat << EOF\n)\\"\nEOF\n)"\n',
]


@pytest.mark.parametrize("text", DOCUMENTS)
def test_commands_behind_a_document_are_read(text: str) -> None:
    assert subprocess.run(["bash", "-nc", text], check=False).returncode == 0
    assert ["probe", "behind"] in words_of(f"{HEAD}{text}probe behind\n")


@pytest.mark.parametrize(
    ("line", "names"),
    [
        ("srun 2>&1 -l bash -c 'p $X'", ["srun", "bash", "p"]),
        ("cd /x && srun >o -l p", ["cd", "srun", "p"]),
        ("cd /x && srun bash << 'E'\np a\nE", ["cd", "srun", "bash", "p"]),
        ("cat << 'E' | srun bash\np a\nE", ["cat", "srun", "bash", "p"]),
        ("echo 'p a' | srun -l bash -s", ["echo", "srun", "bash", "p"]),
        ("{ bash; } <<< 'q'", ["bash"]),
        ("> out", []),
        ("while read a; do p; done < <(q) 2> x", ["q", "read", "p"]),
        ("x=$(< file)", []),
        ("time { p > x; }", ["p"]),
        ("coproc S { p 2>&1; }", ["p"]),
        ("[[ a > b && c < d ]] 2> x && p", ["[[", "p"]),
        ("(( a < b )) && p", ["((", "p"]),
        ("echo $((1 << 2)) ${x/</>} '> q' \"< q\" \\> a > b", ["echo"]),
        ("a=(b c # >\n d) p > x", ["p"]),
    ],
)  # fmt: skip
def test_commands_are_found_around_redirections(line: str, names: list[str]) -> None:
    found = [each.name for each in model_of(f"{HEAD}{line}\n").commands]
    assert found == names


def test_a_file_that_a_shell_reads_is_followed(tmp_path: Path) -> None:
    model = model_of(f"{HEAD}srun bash < ./inner.sh\n", tmp_path, inner="p $X\n")
    assert [each.name for each in model.commands] == ["srun", "bash", "p"]


def test_the_grammar_gets_a_text_of_the_same_length() -> None:
    for text in DOCUMENTS:
        layout = layout_of(text)
        assert len(layout.bare) == len(text)
        assert all(each.is_ended for _, each in layout.documents()), text


def test_a_document_without_end_is_told_from_others() -> None:
    layout = layout_of("cat << A > x\nA \n  A\n")
    assert [each.is_ended for _, each in layout.documents()] == [False]
    assert [each.is_ended for _, each in layout_of("cat << A").documents()] == [False]


def test_a_text_that_is_nested_too_deep_is_said_to_be() -> None:
    assert not layout_of("$(" * 5000 + " <x").is_whole
    assert not layout_of("((" * 5000 + " <x").is_whole
