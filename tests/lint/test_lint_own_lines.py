"""Lines of envcfg in a script are read by its own parser; other scripts do not load it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from support import envcfg

OPTIONS = "--container x.sif"
LINES = [
    ("source <(envcfg wrap --contaner x.sif -- a || echo exit $?)", "--container?"),
    ('eval "$(envcfg wrap --ranks x -- a || echo exit $?)"', "--ranks"),
    ('source <(envcfg wrap "$A" --contaner=$B -- a || echo exit $?)', "--container?"),
    (f"source <(envcfg wrap {OPTIONS} -- a)", "continues without its step"),
    (f"envcfg wrap {OPTIONS} --set NCLL_DEBUG=INFO -o x -- a", "mean NCCL_DEBUG?"),
    ("envcfg wrp --from a", "mean 'wrap'?"),
    ("if envcfg check-log --folow x; then echo; fi", "mean --follow?"),
    (
        'go() { source <(envcfg wrap --launch-lin -- "$@" || echo exit $?); }',
        "mean --launch-line?",
    ),
    ("export NCLL_DEBUG=INFO", "mean NCCL_DEBUG?"),
    ("srun --export=ALL,TOCH_NCCL_DEBUG=1 python t.py", ""),
    (f"source <(envcfg wrap {OPTIONS} -- a --contaner || echo exit $?)", ""),
    ('source <(envcfg wrap "${OPTIONS[@]}" -- a || echo exit $?)', ""),
    ("source <(envcfg wrap $OPTIONS || echo exit $?)", ""),
    (
        'source <(envcfg wrap --container "$IMAGE" --ranks "$N" -- a || echo exit $?)',
        "",
    ),
    ("envcfg wrap --help", ""),
    ("export CCL_LOG_LEVEL=info HCCL_DEBUG=1", ""),
]


@pytest.mark.parametrize(("line", "hint"), LINES)
def test_a_line_is_read_as_envcfg_reads_it(line: str, hint: str) -> None:
    script = f"#!/bin/bash\n#SBATCH --nodes=2\n{line}\n"
    done = envcfg("lint", "--select", "EC742,EC207", "-", stdin=script.encode())
    assert (done.code, hint in done.text) == (bool(hint), True), done.text
    assert done.text.count(":3:") == bool(hint)


def test_a_profile_is_told_of_a_wrong_beginning(tmp_path: Path) -> None:
    entry = "{value: INFO, why: w, source: s, date: 2026-01-01}"
    (tmp_path / "p.yaml").write_text(f"name: p\nenv:\n  NCLL_DEBUG: {entry}\n")
    done = envcfg("profiles", "validate", "--strict", f"{tmp_path}/p.yaml")
    assert (done.code, "did you mean NCCL_DEBUG?" in done.text) == (1, True), done.text


def test_other_scripts_do_not_load_the_parsers_of_commands(tmp_path: Path) -> None:
    (tmp_path / "job.sh").write_text("#!/bin/bash\n#SBATCH -N 2\nsrun python t.py\n")
    code = "import sys; from envcfg.cli import main; main(['lint', sys.argv[1]]); print(*sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", code, f"{tmp_path}/job.sh"],
        capture_output=True,
        check=True,
        text=True,
    )
    loaded = {*done.stdout.split()}
    assert "envcfg.commands.lint" in loaded
    assert not loaded & {"envcfg.commands.wrap", "envcfg.core.step"}
