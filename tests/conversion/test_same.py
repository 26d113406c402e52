"""``wrap --from``: the new script starts what the old one did, or there is none."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from compare import differences, run
from hypothesis import given, settings
from hypothesis import strategies as st
from old_scripts import (
    HEAD,
    PIECES_AFTER,
    PIECES_BEFORE,
    PIECES_LINE,
    PIECES_WORDS,
    scripts,
)

from support import envcfg

PROFILE = "name: plain\n"
SCRIPTS = scripts()


def compared(script: str, folder: Path) -> str:
    """Return what differs where a script and its conversion run; "" where nothing does.

    "refused: REASON" where there is no conversion.
    """
    work = folder / "work"
    for name in ("work", "old", "new"):
        (folder / name).mkdir()
    (folder / "plain.yaml").write_text(PROFILE)
    for name in ("x.sif", "x.sqsh"):
        (work / name).touch()
    job = work / "job.sh"
    job.write_text(script)
    made = envcfg("wrap", "--from", str(job), "--profile", f"{folder}/plain.yaml")
    if made.code:
        return f"refused: {made.err}"
    old = run(job, folder / "old", arguments=("one", "t wo"))
    job.write_bytes(made.out)
    new = run(job, folder / "new", arguments=("one", "t wo"))
    found = differences(old, new)
    return "\n".join([*found, new.err.decode()]) if found else ""


@pytest.mark.parametrize("before", [*PIECES_BEFORE, "", ";"])
def test_a_script_starts_the_same(before: str, tmp_path: Path) -> None:
    """In groups: what stands before the line; its forms; the faults that were found."""
    chosen = {
        name: script
        for name, script in SCRIPTS.items()
        if (
            name.startswith(f"{before}, ")
            if before not in {"", ";"}
            else (";" in name) == (before == ";") and ", " not in name
        )
    }
    assert chosen
    found = {}
    for number, (name, script) in enumerate(chosen.items()):
        (tmp_path / str(number)).mkdir()
        if said := compared(script, tmp_path / str(number)):
            found[name] = said
    assert found == {}


def test_there_are_as_many_scripts_as_promised() -> None:
    assert len(SCRIPTS) >= 400


EXIT_CODES = st.sampled_from(["", "export NOTE_CODE=3"])


@settings(deadline=None, max_examples=300)
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
    with TemporaryDirectory() as folder:
        said = compared(script, Path(folder))
    assert not said or said.startswith("refused: "), f"{script}\n{said}"
