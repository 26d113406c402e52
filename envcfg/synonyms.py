"""What other programs call what envcfg has; read only where a command line is wrong.

Keys are command lines of envcfg without options, then words that are none of theirs.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

_PLAN = "--print plan shows what would be set, and why"
_STEP = {
    "--image": "--container IMAGE",
    "-B": "--bind SOURCE[:TARGET]",
    "--mount": "--bind SOURCE[:TARGET]",
    "-e": "--set NAME=VALUE",
    "--env": "--set NAME=VALUE",
    "--nv": "the profile says what GPUs need; by hand: --runtime-arg=--nv",
    "--rocm": "the profile says what GPUs need; by hand: --runtime-arg=--rocm",
    "--cleanenv": "--runtime-arg=--cleanenv",
    "-n": "--ranks N, which counts processes per node",
    "--ntasks": "--ranks N, which counts processes per node",
    "--ntasks-per-node": "--ranks N",
    "--nproc-per-node": "--ranks N",
    "--nproc_per_node": "--ranks N",
    "--mpi": "--srun-arg=--mpi=TYPE",
    "--cpu-bind": "--srun-arg=--cpu-bind=TYPE",
    "--gpu-bind": "--srun-arg=--gpu-bind=TYPE",
}
_ASKED = {
    "-N": "--nodes",
    "-p": "--partition",
    "-A": "--account",
    "-t": "--time",
    "-G": "--gpus",
    "-J": "--job-name",
    "-q": "--qos",
    "-C": "--constraint",
    "-a": "--array",
    "-c": "--cpus-per-gpu",
    "--cpus-per-task": "--cpus-per-gpu",
    "--gres": "--gpus-per-node",
    "--gpus-per-task": "--gpus-per-node",
    "--mem": "--mem-per-gpu",
    "--mem-per-cpu": "--mem-per-gpu",
}
# What job and sbatch take as it is.
_TAKEN = {
    "-n",
    "--ntasks",
    "--cpus-per-task",
    *(each for each in _ASKED if len(each) == 2),
}
_MORE = (
    "--begin --chdir --comment --dependency --error --exclude --export --hint --licenses "
    "--mail-type --mail-user --nice --nodelist --open-mode --reservation --switches "
    "--tmp --wckey"
).split()


def _by_sbatch(options: Iterable[str]) -> dict[str, str]:
    return {
        option: f"the job asks for it: #SBATCH {option}, or envcfg job"
        for option in options
    }


_SCRIPT = {
    **{name: right for name, right in (_STEP | _ASKED).items() if name not in _TAKEN},
    **{option: f"--request-arg={option}=VALUE" for option in _MORE},
    "-e": "--request-arg=--error=FILE; a variable: --set NAME=VALUE",
    "-d": "--request-arg=--dependency=LIST",
    "-D": "--request-arg=--chdir=FOLDER",
    "-w": "--request-arg=--nodelist=LIST",
    "-x": "--request-arg=--exclude=LIST",
    "--dry-run": "envcfg submits nothing; it prints the job script",
    "--print": "envcfg wrap --print plan shows what would be set, and why",
}
SYNONYMS: Mapping[str, Mapping[str, str]] = {
    "envcfg": {
        "version": "envcfg --version",
        **{
            action: f"envcfg profiles {action}"
            for action in "list show validate diff new detect".split()
        },
    },
    "envcfg wrap": {
        **_by_sbatch((*_ASKED, *_ASKED.values(), *_MORE)),
        **_STEP,
        "-p": "--profile NAME; the job asks for a partition: #SBATCH --partition",
        "--dry-run": f"wrap runs nothing; {_PLAN}",
        "--verbose": _PLAN,
        "-v": _PLAN,
    },
    "envcfg job": _SCRIPT,
    "envcfg sbatch": _SCRIPT,
    "envcfg qsub": {
        **_SCRIPT,
        **{letter: _ASKED[letter] for letter in ("-t", "-p", "-G", "-C")},
        "-n": "--ntasks N",
        "-c": "--cpus-per-task N",
        "-l": "--nodes, --time; a resource: --request-arg=--filesystems=home:eagle",
        "-r": "--request-arg=-r=y",
        "-W": "--request-arg=-W=depend=afterok:ID",
    },
    "envcfg check-log": {
        "-p": "--profile NAME",
        "-f": "--follow",
        "-o": "--html FILE, --junit FILE, or --json and a redirection",
        "--output": "--html FILE, --junit FILE, or --json and a redirection",
        "--ranks": "--expect-ranks N",
        "--watch": "--follow",
    },
    "envcfg monitor": {
        "-p": "--profile NAME",
        "-j": "the job's number alone: envcfg monitor JOBID",
        "--job": "the job's number alone: envcfg monitor JOBID",
        "--jobid": "the job's number alone: envcfg monitor JOBID",
        "-w": "--nodes LIST",
        "-n": "--interval SECONDS",
    },
    "envcfg explain": {"-p": "--profile NAME"},
}
