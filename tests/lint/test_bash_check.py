"""Text that bash refuses: in its own words, without running anything of the text."""

from __future__ import annotations

import subprocess
from contextlib import suppress
from pathlib import Path

import pytest
from following import HEAD, model_of
from hypothesis import given
from hypothesis import strategies as st

from envcfg.lint.bash_check import NoBashError, find_refusal
from envcfg.lint.rule_runner import judge
from envcfg.lint.script_source import Sources
from fuzzing import tries

SLIP = "if [ $SLURM_PROCID -eq 2 ] then\n  echo\nfi\n"
PARTS = st.sampled_from(
    ["if ", "[ a ]", "; then", " then", "\nfi", "echo ", "'", '"', "$(", ")", "(", "`",
     "\n", "<<E\n", "E\n", "case a in ", "b) ", ";;", "esac", "{ ", "; }", "do ", "done",
     "while a", "&&", "|", "$((", "))", "[[ ", " ]]", "f() ", "#", "\\", "> x", "x=(", "é"]
)  # fmt: skip


def found(
    text: str, rule: str = "EC748", shown: str = ""
) -> list[tuple[int, str, str]]:
    """Return line, severity and message of what a rule, or *shown*, finds in a text."""
    sources = Sources()
    remarks = judge([sources.add("-", text.encode())], sources, rules=[rule])["-"]
    return [
        (each.finding.place.line, each.finding.severity, each.finding.message)
        for each in remarks
        if each.finding.place and each.finding.rule == (shown or rule)
    ]


@tries(150)
@given(st.lists(PARTS, max_size=12))
def test_bash_decides_and_its_words_are_shown(parts: list[str]) -> None:
    text = "".join(parts)
    done = subprocess.run(
        ["bash", "-n"],
        input=text.encode(),
        capture_output=True,
        check=False,
        env={"LC_ALL": "C"},
    )
    ours = find_refusal(text.encode().decode("latin-1"))
    said = done.stderr.decode("utf-8", "replace")
    assert (ours is not None) == bool(said)
    if ours is not None:
        assert ours.message in said
        assert ours.is_warning == (done.returncode == 0)


@pytest.mark.parametrize("line", ["srun <app>", "srun -n 8 <app> <arguments>"])
def test_a_placeholder_after_srun_is_one_fault(line: str) -> None:
    script = f"{HEAD}{line}\n"
    assert len(found(script)) == 1
    assert found(script, "EC753") == []
    assert len(found(f"{HEAD}srun -n 8\n", "EC753")) == 1


def test_the_slip_of_the_training_material_is_shown_where_it_is() -> None:
    [(line, severity, message)] = found(f"{HEAD}\n{SLIP}")
    assert (line, severity) == (4, "error")
    assert "syntax error near unexpected token `fi'" in message


@pytest.mark.parametrize(
    "line",
    [
        "srun bash -c '{}'", "srun -l sh -c '{}'", "singularity exec x.sif bash -c '{}'",
        "eval '{}'", "trap '{}' EXIT", "echo '{}' | srun bash", "srun bash <<< '{}'",
        "srun bash << 'E'\n{}E", "cat > r.sh << 'E'\n{}E\nsrun bash r.sh",
        "cat > r.sh << 'E'\n#!/bin/bash\n{}E\nsrun ./r.sh", 'srun bash -c "{}"',
        "f() {{ srun bash -c '{}'; }}\nf", "X='{}'\nsrun bash -c \"$X\"",
    ],
)  # fmt: skip
def test_it_is_found_in_what_shells_are_given(line: str) -> None:
    assert [each[1] for each in found(f"{HEAD}{line.format(SLIP)}\n")] == ["error"]


@pytest.mark.parametrize(
    "first", ["#!/bin/zsh", "#!/bin/tcsh", "#!/usr/bin/env python3", "#!/bin/dash"]
)
def test_scripts_of_others_are_not_judged_by_bash(first: str) -> None:
    assert found(f"{first}\n#SBATCH --nodes=2\n{SLIP}") == []


def test_a_script_that_no_shell_reads_is_said_to_be_unread() -> None:
    text = "#!/usr/bin/env -S python3 -u\n#SBATCH --nodes=2\nsrun = f('a')\n"
    model = model_of(text)
    assert model.commands == []
    assert list(model.unread) == ["python3 reads it, and not a shell"]
    assert [each.name for each in model.directives] == ["nodes"]


# Places in which a shell runs a command; ``-n`` must leave all of them alone.
RUNS = (
    "$(touch M)", "`touch M`", "x=$(touch M)", "<(touch M)", "echo {{a..$(touch M)}}", "touch M",
    "[[ -v x[$(touch M)] ]]", "(( x[$(touch M)] ))", "$[ x[$(touch M)] ]", "${{x:=$(touch M)}}",
    "cat << E\n$(touch M)\nE", "declare -i y='x[$(touch M)]'", "trap 'touch M' EXIT DEBUG ERR",
    "exec touch M", "source <(echo touch M)", "eval touch M", "set +n; touch M", "> M",
    "shopt -s extglob; touch M", "x=(); x[$(touch M)]=1", "${{x@P}}", "coproc touch M",
    "set +o noexec\ntouch M", "if touch M; then :; fi", "f() {{ touch M; }}; f",
)  # fmt: skip


@pytest.mark.parametrize("text", RUNS)
def test_nothing_of_a_text_is_run(
    text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    mark, code = tmp_path / "mark", tmp_path / "code"
    code.write_text(f"touch {mark}\n")
    monkeypatch.setenv("BASH_ENV", str(code))
    monkeypatch.setenv("ENV", str(code))
    monkeypatch.setenv("SHELLOPTS", "xtrace:posix")
    monkeypatch.setenv("PS4", f"$(touch {mark})")
    monkeypatch.setenv("BASH_FUNC_ulimit%%", f"() {{ touch {mark}; }}")
    monkeypatch.setenv("PROMPT_COMMAND", f"touch {mark}")
    text = text.format().replace("M", str(mark))
    for script in (text, f"#!/bin/bash -x\n{text}\n", f"{text}\nif\n"):
        find_refusal(script)
    assert not mark.exists()


@pytest.mark.parametrize(
    "text", ["(" * 100_000, "$(" * 60_000, "`" * 9_999, "x" * 250_000]
)
def test_a_text_made_to_be_long_ends(text: str) -> None:
    with suppress(NoBashError):  # a note then names the part
        find_refusal(text)


def test_without_bash_a_note_names_what_the_grammar_cannot_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    notes = found(f"{HEAD}{SLIP}", shown="part-not-read")
    assert [each[:2] for each in notes] == [(3, "note")]
    assert found(f"{HEAD}srun python t.py\n", shown="part-not-read") == []


def test_an_old_bash_decides_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    old = tmp_path / "bash"
    old.write_text(
        "#!/bin/sh\ncase $* in *BASH_VERSINFO*) printf 3.2 >&2;; "
        "*) echo 'bash: line 1: syntax error' >&2; exit 2;; esac\n"
    )
    old.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(NoBashError):
        find_refusal("a |& b\n")


def test_a_text_is_read_by_the_bash_of_the_path_of_today(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as without:
        without.setenv("PATH", str(tmp_path))
        with pytest.raises(NoBashError):
            find_refusal(SLIP)
    assert find_refusal(SLIP)
