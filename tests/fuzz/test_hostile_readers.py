"""Texts that are made to break a reader: each command ends by itself, and says so.

A reader may find nothing, or refuse a text with a clear error. It never ends as a bug (70),
and never needs the time or memory at which a ``Budget`` stops it.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from envcfg import cli

pytestmark = pytest.mark.nightly

JOB = "#!/bin/bash\n#SBATCH -N2 --ntasks-per-node=4\n"
DIGITS = "9" * 5000  # Python converts 4,300
SIGNS = "\u00b2"  # a digit to str.isdigit, and no number to int


def nested(before: str, after: str, depth: int, inside: str = "x") -> str:
    return JOB + "srun echo " + before * depth + inside + after * depth + "\n"


def numbers(number: str) -> str:
    """Return a job script with *number* wherever one may stand."""
    names = "nodes ntasks ntasks-per-node cpus-per-task gpus-per-node time mem array gres=gpu"
    lines = "".join(
        f"#SBATCH --{each}{':' if '=' in each else '='}{number}\n"
        for each in names.split()
    )
    return f"""\
#!/bin/bash
{lines}
export MASTER_PORT={number} OMP_NUM_THREADS={number} NCCL_BUFFSIZE={number}K
export NCCL_IB_TC={number} NCCL_NET_GDR_LEVEL={number}
set -- a b
shift {number}
echo $1 ${{{number}}} $(({number}+1))
srun -N {number} -n{number} -c {number} --gres=gpu:{number} python train.py
srun --cpu-bind=mask_cpu:{number} torchrun --nnodes={number} --nproc_per_node={number} \\
  --master_port {number} --rdzv-endpoint=a:{number} train.py
accelerate launch --num_processes {number} --num_machines {number} train.py
"""


SCRIPTS = {
    "defaults": nested('"${a:-', '}"', 400),
    "defaults without quotes": nested("${a:-", "}", 3000),
    "defaults that do not end": nested("${a:-", "", 3000),
    "arithmetic": nested("$((", "))", 400, "1"),
    "substitutions": nested("$(", ")", 3000),
    "substitutions in quotes": nested('"$(', ')"', 300),
    "conditions": JOB + "if a; then\n" * 5000 + "fi\n" * 5000,
    "tests": JOB + "[[ " + "( " * 5000 + "a" + " )" * 5000 + " ]]\n",
    "arrays": JOB + "A[" * 2000 + "1" + "]" * 2000 + "=1\n",
    "settings of containers": JOB
    + "export SINGULARITYENV_X="
    + '"${a:-' * 300
    + '}"' * 300,
    "names of this script": JOB + '"${0' * 10_000,
    "here-documents without end": JOB + "cat <<EOF\n" * 5000,
    "here-documents with long ends": JOB + f"cat <<{'a' * 200}b\nfoo\n" * 500,
    "other here-documents": JOB
    + "".join(f"cat <<{'a' * 200}{n}\nfoo\n" for n in range(1500)),
    "srun in one line": "srun " * 50_000 + "\n",
    "if in one line": "if " * 30_000 + "-z " * 30_000 + "\n",
    "srun at the end of a line": "srun " * 50_000 + "\\\n",
    "srun after srun": JOB + "srun " * 30_000 + "x\n",
    "an array that doubles": JOB
    + "A=(a)\n"
    + 'A=("${A[@]}" "${A[@]}")\n' * 60
    + 'srun "${A[@]}"\n',
    "defaults that double": JOB
    + "A0=x\n"
    + "".join(f'A{n + 1}="${{B{n}:-$A{n}$A{n}}}"\n' for n in range(40))
    + "srun $A40 --x=$A40\n",
    "defaults in a chain": JOB
    + "A0=x\n"
    + "".join(f'A{n + 1}="${{B{n}:-$A{n}}}"\n' for n in range(3000))
    + "srun $A3000\n",
    "many digits": numbers(DIGITS),
    "digits that are none": numbers(SIGNS),
}
DUMPS = {
    "digits in a dump": "PATH=/bin\nHOME=/\n"
    + "".join(
        f"{name}={DIGITS}\n"
        for name in ("NCCL_BUFFSIZE", "SLURM_NNODES", "MASTER_PORT", "OMP_NUM_THREADS")
    ),
    "names in a dump": "PATH=/bin\n" + "".join(f"A{n}=1\n" for n in range(20_000)),
}

Command = Callable[[str], list[str]]
READERS: dict[str, Command] = {
    "lint": lambda path: ["lint", path],
    "lint of a system": lambda path: ["lint", "--profile", "lumi-g", path],
    "lint --diff": lambda path: ["lint", "--diff", path],
    "wrap --from": lambda path: ["wrap", "--profile", "lumi-g", "--from", path],
    "check-log": lambda path: ["check-log", path],
    "environment": lambda path: ["environment", path],
    "validate": lambda path: ["profiles", "validate", path],
}


@pytest.mark.parametrize("text", [*SCRIPTS, *DUMPS])
@pytest.mark.parametrize("reader", READERS)
def test_no_text_breaks_a_reader(
    reader: str, text: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "text"
    path.write_text((SCRIPTS | DUMPS)[text])
    code = cli.main(READERS[reader](str(path)))
    said = capfd.readouterr().err
    assert code in {0, 1, 2, 3, 4}, said[-2000:]
    assert "reading it takes more than" not in said
