"""What is too long to be started: said by envcfg, before the step, near the limit."""

from __future__ import annotations

from pathlib import Path

import pytest

from envcfg.common.errors import UsageError
from envcfg.job.script.rank_part import MOST_BYTES, checked_length
from support import LOCAL, Wrap, bash


def test_bytes_count_not_characters(wrap: Wrap, tmp_path: Path) -> None:
    long = wrap(*LOCAL, "--set", "V=${BIG}", "--", "true").out
    code, _, err = bash_file(tmp_path, long, before=f"BIG={'ä' * (MOST_BYTES // 2)}\n")
    assert code == 4
    assert f"has {MOST_BYTES + 1} bytes" in err


def test_settings_of_a_rank_fill_one_argument_together(
    wrap: Wrap, tmp_path: Path
) -> None:
    """They stand in the text of the rank part."""
    settings = [f"--set={name}=${{RANK}}{'x' * 64_000}" for name in "AB"]
    made = wrap(*LOCAL, *settings, "--", "sh", "-c", 'echo "${#A} ${#B}"')
    assert bash_file(tmp_path, made.out) == (0, "64001 64001", "")
    made = wrap(*LOCAL, *settings, f"--set=C=${{RANK}}{'x' * 4_000}", "--", "true")
    assert made.code == 2
    assert "what each rank does first" in made.err
    assert "put long texts into a file" in made.err
    assert "exit 2" in made.text


def test_the_text_of_a_rank_part_has_the_limit_of_its_argument() -> None:
    assert checked_length("x" * MOST_BYTES) == "x" * MOST_BYTES
    with pytest.raises(UsageError, match="what each rank does first"):
        checked_length("x" * (MOST_BYTES + 1))


@pytest.mark.parametrize("over", [0, 1])
def test_what_the_job_gives_is_checked_in_the_job(
    wrap: Wrap, tmp_path: Path, over: int
) -> None:
    made = wrap(*LOCAL, "--set", "V=${BIG}", "--", "sh", "-c", "echo ${#V}").out
    size = MOST_BYTES - len("V=") + over
    code, out, err = bash_file(tmp_path, made, before=f"BIG={'x' * size}\n")
    if over:
        assert (code, out) == (4, "")
        assert err.startswith("envcfg: error: V=xxx")
    else:
        assert (code, out, err) == (0, str(size), "")


def test_a_word_of_the_command_is_checked_in_the_job(
    wrap: Wrap, tmp_path: Path
) -> None:
    steps = wrap(*LOCAL).out
    for size, code in ((MOST_BYTES, 0), (MOST_BYTES + 1, 4)):
        step = f"printf -v word '%{size}s' x\nenvcfg_run true \"$word\"\n"
        assert bash_file(tmp_path, steps + step.encode())[0] == code


def test_what_is_too_long_together_is_said_and_nothing_starts(
    wrap: Wrap, tmp_path: Path
) -> None:
    """Two ranks, of which none starts; just below what fits, both do."""
    steps = wrap(*LOCAL, "--ranks", "2").out
    step = "printf -v word '%50000s' x\nwords=()\n"
    step += 'while /bin/true "${words[@]}" 2>/dev/null; do words+=("$word"); done\n'
    step += 'envcfg_run sh -c "echo \\$#" sh "${words[@]:LESS}"\n'
    for less, expected in ((0, 4), (2, 0)):
        text = steps + step.replace("LESS", str(less)).encode()
        code, out, err = bash_file(tmp_path, text)
        assert code == expected, err
        assert len(out.splitlines()) == (0 if expected else 2)
        assert bool(expected) == ("command and settings have" in err)


def bash_file(folder: Path, text: bytes, before: str = "") -> tuple[int, str, str]:
    """Run *text* from a file, as it may be too long for ``bash -c``."""
    (folder / "job.bash").write_bytes(before.encode() + text)
    done = bash(f"cd {folder}; source ./job.bash")
    return done.returncode, done.stdout.decode().strip(), done.stderr.decode()
