"""What a new user is told for the slips that new users make, in every command."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from envcfg import cli
from envcfg.commands import NAMES
from envcfg.commands.arguments.usage_errors import option_aliases
from envcfg.commands.profiles import ACTIONS
from envcfg.common.characters import text_width
from support import envcfg

Said = Callable[..., tuple[int, str]]
IMAGE = ("--profile", "workstation", "--container", "x.sif")
JOB = (*IMAGE[2:], "--profile", "lumi-g", "--account", "project_465000001")
JOB = (*JOB, "--time", "30", "--partition", "standard-g")
LUMI = ("--profile", "lumi-g", "--no-inspect", "--container", "x.sif")
COMMANDS = ("", *NAMES)
EVERY = (*COMMANDS, *(f"profiles {action}" for action in ACTIONS))


@pytest.fixture
def said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> Iterator[Said]:
    """Run envcfg in this process, in a folder with few things; return code and stderr."""
    monkeypatch.chdir(tmp_path)
    for name in ("ENVCFG_PROFILE", "SLURM_CLUSTER_NAME", "SLURM_JOB_ID"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("ENVCFG_SITE", str(tmp_path / "no-site"))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "no-user"))
    (tmp_path / "folder").mkdir()
    for name in ("x.sif", "a.txt", "slurm-12.out"):
        (tmp_path / name).touch()
    (tmp_path / "t.py").write_text("raise SystemExit(1)\n")
    (tmp_path / "old.sh").write_text("#!/bin/bash\nsrun python t.py\n")

    def run(*words: str) -> tuple[int, str]:
        code = cli.main(words)
        return code, capfd.readouterr().err

    yield run
    text_width.cache_clear()


# Words, exit code, what is wrong, what to do.
Slip = tuple[tuple[str, ...], int, str, str]
SLIPS: dict[str, Slip] = {
    # the command
    "no command": ((), 2, "no command given", "envcfg wrap --help"),
    "misspelt command": (("wrp",), 2, "unknown command 'wrp'", "did you mean 'wrap'?"),
    "other command": (("frobnicate",), 2, "unknown command 'frobnicate'", "known: check-log, completion, doctor, environment,"),
    "command before the option": (("wrp", "--containr", "x"), 2, "unknown command 'wrp'", "'wrap'?"),
    "action without its command": (("list",), 2, "unknown command 'list'", "envcfg profiles list"),
    "option before the command": (("--profile", "lumi-g", "wrap"), 2, "unknown option --profile", "after what they"),
    "misspelt version": (("--verson",), 2, "unknown option --verson", "did you mean --version? envcfg --help"),
    "misspelt action": (("profiles", "lst"), 2, "unknown action 'lst'", "did you mean 'list'?"),
    "no action": (("profiles",), 2, "no action given", "list|show|validate"),
    # wrap
    "wrap: no container": (("wrap", "--", "true"), 2, "--container is missing", "; or envcfg wrap --from SCRIPT [options]; see"),
    "wrap: misspelt required option": (("wrap", "--containr", "x"), 2, "unknown option --containr", "did you mean --container? envcfg wrap --help"),
    "wrap: misspelt option": (("wrap", *IMAGE, "--prifile", "x"), 2, "unknown option --prifile", "did you mean --profile? envcfg wrap --help"),
    "wrap: misspelt option with =": (("wrap", *IMAGE, "--rank=4"), 2, "unknown option --rank", "did you mean --ranks?"),
    "wrap: long option with one dash": (("wrap", *IMAGE, "-profile", "x"), 2, "unknown option -profile", "did you mean --profile?"),
    "wrap: nothing like it": (("wrap", *IMAGE, "--zzz"), 2, "unknown option --zzz", "envcfg wrap --help-all lists all options"),
    "wrap: dash of a word processor": (("wrap", *IMAGE, "\u2014ranks", "2"), 2, "unknown option \u2014ranks", "is not a hyphen: write --ranks"),
    "wrap: separator of a word processor": (("wrap", *IMAGE, "\u2013-", "true"), 2, "unknown option \u2013-", "is not a hyphen: write --"),
    "wrap: no --": (("wrap", *IMAGE, "python", "train.py"), 2, "unexpected arguments: python train.py", "the command after --, as in -- python train.py"),
    "wrap: no -- and options of the program": (("wrap", *IMAGE, "python", "-u", "t.py", "--lr", "a b"), 2, "unexpected arguments: python -u t.py --lr 'a b'", "as in -- python -u t.py --lr 'a b'"),
    "submit: no --": (("submit", *JOB, "python", "train.py"), 2, "unexpected arguments: python train.py", "as in -- python train.py"),
    "submit: no -- and options of the program": (("submit", *JOB, "torchrun", "--nproc", "4", "t.py"), 2, "unexpected arguments: torchrun --nproc 4 t.py", "as in -- torchrun --nproc 4 t.py"),
    "submit: misspelt option of a script": (("submit", "job.sh", "--dry-rum", "x"), 2, "unknown option --dry-rum", "did you mean --dry-run?"),
    "wrap: a command in quotes": (("wrap", *IMAGE, "--", "python -m train"), 0, "python -m train: is one word", "leave out the quotes: -- python -m train"),
    "wrap: commands of a shell in quotes": (("wrap", *IMAGE, "--", "cd src && python t.py"), 0, "cd src && python t.py: is one word", "-- bash -c 'cd src && python t.py'"),
    "wrap: a command of a shell": (("wrap", *IMAGE, "--", "cd", "src"), 0, "warning: cd: is a command of a shell", "before the step"),
    "wrap: an assignment": (("wrap", *IMAGE, "--", "A=1", "python", "t.py"), 0, "warning: A=1: is an assignment", "--set A=1 --"),
    "wrap: a variable of the job": (("wrap", *IMAGE, "--", "python", "t.py", "--lr", "$SLURM_ARRAY_TASK_ID"), 0, "warning: $SLURM_ARRAY_TASK_ID: stays as it is written, because envcfg expands no variables, and only the job", """-- bash -c 'python t.py --lr "$SLURM_ARRAY_TASK_ID"'"""),
    "wrap: a value of an array by the job": (("wrap", *IMAGE, "--", "python", "t.py", "--lr=${LRS[$SLURM_ARRAY_TASK_ID]}"), 0, "warning: --lr=${LRS[$SLURM_ARRAY_TASK_ID]}: stays", """-- bash -c 'python t.py "--lr=${LRS[$SLURM_ARRAY_TASK_ID]}"'"""),
    "job: a variable of PBS": (("job", *JOB, "--", "python", "t.py", "-o", "out-$PBS_JOBID"), 0, "warning: out-$PBS_JOBID: stays", """-- bash -c 'python t.py -o "out-$PBS_JOBID"'"""),
    "wrap: conda of this machine": (("wrap", *IMAGE, "--", "conda", "activate", "x", "&&", "python", "t.py"), 0, "warning: conda activate: switches to an environment", "hint: leave it out"),
    "wrap: conda in a shell": (("wrap", *IMAGE, "--", "bash", "-c", "conda activate x && python t.py"), 0, "warning: conda activate: switches to an environment", "hint: leave it out"),
    "job: mpirun": (("job", *JOB, "--", "mpirun", "python", "t.py"), 2, "does not say which PMI", "without MPI, as PyTorch with NCCL or RCCL: --launcher srun -- PROGRAM"),
    "job: one -": (("job", *JOB, "-", "python", "t.py"), 2, "unexpected arguments: - python t.py", "as in -- python t.py"),
    "job: no -- and quotes": (("job", *JOB, "python t.py"), 2, "unexpected arguments: 'python t.py'", "as in -- python t.py"),
    "job: --gpu": (("job", *JOB, "--gpu", "8", "--", "true"), 2, "unknown option --gpu", "write --gpus-per-node 8"),
    "job: --email": (("job", *JOB, "--email", "a@b.fi", "--", "true"), 2, "unknown option --email", "--request-arg=--mail-user=ADDRESS"),
    "wrap: two --": (("wrap", *IMAGE, "--", "--", "true"), 0, "warning: --: is a second --", "leave one out"),
    "wrap: a container in the container": (("wrap", "--profile", "lumi-g", "--container", "x.sif", "--", "apptainer", "exec", "x.sif", "true"), 0, "warning: apptainer: starts a container in the container", "--launch-line"),
    "wrap: envcfg in a step": (("wrap", *IMAGE, "--", "envcfg", "wrap", "--", "true"), 0, "warning: envcfg: only writes the bash of a step", "source <(envcfg wrap"),
    "wrap: a setting without =": (("wrap", *IMAGE, "--set", "A", "7", "--", "true"), 2, "unexpected arguments: 7", "write --set A=7"),
    "wrap: a job script": (("wrap", *IMAGE, "old.sh"), 2, "unexpected arguments: old.sh", "envcfg submit old.sh; envcfg wrap --from old.sh converts it"),
    "wrap: a name of Docker": (("wrap", "--profile", "lumi-g", "--container", "pytorch/pytorch:latest", "--", "true"), 0, "pytorch/pytorch:latest: does not exist", "docker://pytorch/pytorch:latest"),
    "wrap: a home folder in quotes": (("wrap", *IMAGE[:3], "~/x.sif", "--", "true"), 0, "~/x.sif: does not exist", "write $HOME, in double quotes"),
    "job: an empty account": (("job", *JOB, "--account=", "--", "true"), 2, "--account: is empty", "is the variable set"),
    "wrap: nothing behind --": (("wrap", *IMAGE, "--"), 2, "no command after --", "-- python train.py"),
    "wrap: value forgotten": (("wrap", "--container", "--", "true"), 2, "--container lacks its value", "as in --container IMAGE"),
    "wrap: value like an option": (("wrap", *IMAGE, "--bind", "-x"), 2, "unknown option -x", "is the value of --bind, join them: --bind=-x"),
    "wrap: value like an option of another": (("wrap", *IMAGE, "--runtime-arg", "--nv"), 2, "unknown option --nv", "--runtime-arg=--nv"),
    "wrap: flag with a value": (("wrap", *IMAGE, "--json=x.json"), 2, "--json takes no value", "envcfg wrap --help"),
    "wrap: misspelt choice": (("wrap", *IMAGE, "--launcher", "sruns"), 2, "--launcher: unknown value 'sruns'", "did you mean 'srun'?"),
    "wrap: misspelt short choice": (("wrap", *IMAGE, "--print", "plam"), 2, "--print: unknown value 'plam'", "did you mean 'plan'?"),
    "wrap: option before a choice": (("wrap", "--containr", "x", "--print", "plam"), 2, "unknown option --containr", "--container?"),
    "wrap: word for a number": (("wrap", *IMAGE, "--ranks", "two"), 2, "'two' is not a number of processes", "wrap --help"),
    "wrap: number with a unit": (("wrap", *IMAGE, "--ranks", "8G"), 2, "'8G' is not a number of processes", "wrap --help"),
    "wrap: no pair": (("wrap", *IMAGE, "--set", "A"), 2, "--set: 'A' is not NAME=VALUE", "wrap --help"),
    "wrap: -p": (("wrap", *IMAGE, "-p", "small"), 2, "unknown option -p", "write --profile NAME; the job asks for a partition"),
    "wrap: -N": (("wrap", *IMAGE, "-N2"), 2, "unknown option -N2", "#SBATCH -N, or envcfg job"),
    "wrap: an option of sbatch": (("wrap", *IMAGE, "--nodes", "2"), 2, "unknown option --nodes", "#SBATCH --nodes, or envcfg job"),
    "wrap: an option of torchrun": (("wrap", *IMAGE, "--nproc-per-node=8"), 2, "unknown option --nproc-per-node", "write --ranks 8"),
    "wrap: an option of apptainer": (("wrap", *IMAGE, "--env", "A=1"), 2, "unknown option --env", "write --set A=1"),
    "wrap: option given twice": (("wrap", *IMAGE, "--ranks", "4", "--ranks", "8"), 0, "note: --ranks: is given twice", "the last one counts"),
    "wrap: misspelt profile": (("wrap", "--container", "none", "--profile", "lumi"), 2, "unknown profile 'lumi'", "did you mean 'lumi-g'? envcfg profiles list"),
    "wrap: path of no profile": (("wrap", "--container", "none", "--profile", "./no.yaml"), 2, "profile ./no.yaml: no such file", "envcfg profiles list"),
    "wrap: folder for a profile": (("wrap", "--container", "none", "--profile", "./folder"), 2, "this is a folder", "name a file in it"),
    "wrap: profile of an unset variable": (("wrap", "--container", "none", "--profile", ""), 2, "--profile is empty", "is the variable set"),
    "wrap: no such image": (("wrap", *IMAGE[:3], "no.sif"), 0, "warning: no.sif: does not exist", "give the path as"),
    "wrap: folder for an image": (("wrap", *IMAGE[:3], "folder"), 0, "folder, and no image unpacked", "name the image file"),
    "wrap: URI without slashes": (("wrap", *IMAGE[:3], "docker:pytorch"), 0, "docker:pytorch: does not exist", "a URI is written docker://"),
    "wrap: variable given twice": (("wrap", *IMAGE, "--set", "A=1", "--set", "A=2"), 0, "note: A: is given twice", "the last one counts"),
    # sbatch
    "sbatch: no --": (("sbatch", *JOB, "train.py"), 2, "unexpected arguments: train.py", "the command after --"),
    "sbatch: misspelt option": (("sbatch", *JOB, "--partion", "x", "--", "true"), 2, "unknown option --partion", "did you mean --partition? envcfg sbatch --help"),
    "sbatch: -n without -N": (("sbatch", *JOB, "-n", "16", "--", "true"), 2, "--ntasks counts on all nodes, and --nodes", "--ranks counts them per node"),
    "sbatch: -n and -N": (("sbatch", *JOB, "-N2", "-n15", "--", "true"), 2, "15 tasks are not the same number on each of 2 nodes", "--ntasks 16"),
    "sbatch: -n and --ranks": (("sbatch", *JOB, "-N2", "-n16", "--ranks", "8", "--", "true"), 2, "--ntasks and --ranks both", "leave one out"),
    "sbatch: -c and --cpus-per-gpu": (("sbatch", *JOB, "-c", "7", "--cpus-per-gpu", "7", "--", "true"), 2, "both say how many cores", "leave one out"),
    "sbatch: -c that GPUs cannot share": (("sbatch", *JOB, "-N1", "-n4", "-c", "7", "--", "true"), 2, "no whole number for each of 8 GPUs", "--cpus-per-gpu N"),
    "sbatch: -o of sbatch": (("sbatch", *JOB, "-o", "%x-%j.out", "--", "true"), 2, "-o names the script here", "--log=%x-%j.out"),
    "sbatch: -o of sbatch in a folder with a space": (("sbatch", *JOB, "-o", "my logs/%j.out", "--", "true"), 2, "-o names the script here", "'--log=my logs/%j.out'"),
    "sbatch: -D": (("sbatch", *JOB, "-D", "/x", "--", "true"), 2, "unknown option -D", "write --request-arg=--chdir=/x"),
    "qsub: -t": (("qsub", *JOB, "-t", "30", "--", "true"), 2, "unknown option -t", "write --time"),
    "qsub: -l": (("qsub", *JOB, "-l", "select=2", "--", "true"), 2, "unknown option -l", "write --nodes, --time"),
    "sbatch: --gres": (("sbatch", *JOB, "--gres=gpu:8", "--", "true"), 2, "unknown option --gres", "write --gpus-per-node 8"),
    "sbatch: --mem": (("sbatch", *JOB, "--mem", "60G", "--", "true"), 2, "unknown option --mem", "write --mem-per-gpu 60G"),
    "sbatch: --nodelist": (("sbatch", *JOB, "--nodelist=n1", "--", "true"), 2, "unknown option --nodelist", "write --request-arg=--nodelist=n1"),
    "sbatch: word for a number": (("sbatch", *JOB, "--nodes", "two", "--", "true"), 2, "'two' is not a number of nodes", "sbatch --help"),
    "sbatch: number with a unit": (("sbatch", *JOB, "--nvme", "100G", "--", "true"), 2, "'100G' is not a number of GiB", "sbatch --help"),
    "sbatch: GPUs with a unit": (("sbatch", *JOB, "--gpus", "8x", "--", "true"), 2, "'8x' is not a number of GPUs", "sbatch --help"),
    "sbatch: time with a unit": (("sbatch", *JOB, "--time", "2h", "--", "true"), 2, "'2h' is not a time: write 2:00:00", "sbatch --help"),
    "sbatch: misspelt profile": (("sbatch", *JOB, "--profile", "lumig", "--", "true"), 2, "unknown profile 'lumig'", "did you mean 'lumi-g'?"),
    "sbatch: option given twice": (("sbatch", *JOB, "--time", "60", "--", "true"), 0, "note: --time: is given twice", "the last one counts"),
    # check-log
    "check-log: no file": (("check-log",), 2, "no log given", "envcfg check-log slurm-123.out"),
    "check-log: no such file": (("check-log", "slurm-13.out"), 4, "slurm-13.out: no such file", "did you mean slurm-12.out?"),
    "check-log: job for a file": (("check-log", "12"), 4, "12: no such file", "did you mean slurm-12.out?"),
    "check-log: empty folder": (("check-log", "folder"), 4, "folder: no file in this folder", "name the log file"),
    "check-log: misspelt option": (("check-log", "--jsn", "a.txt"), 2, "unknown option --jsn", "did you mean --json? envcfg check-log --help"),
    "check-log: file for --json": (("check-log", "--json", "out.json", "a.txt"), 2, "--json takes no file, and out.json", ">out.json"),
    "check-log: -f": (("check-log", "-f", "a.txt"), 2, "unknown option -f", "write --follow"),
    "check-log: misspelt profile": (("check-log", "--profile", "lumi", "a.txt"), 2, "unknown profile 'lumi'", "did you mean 'lumi-g'?"),
    "check-log: word for a number": (("check-log", "--expect-nics", "many", "a.txt"), 2, "'many' is not a number of NICs", "check-log --help"),
    "check-log: number with a unit": (("check-log", "--follow", "--timeout", "10m", "a.txt"), 2, "'10m' is not a number of seconds", "check-log --help"),
    # monitor
    "monitor: no job": (("monitor",), 2, "no job given", "squeue --me lists yours"),
    "monitor: no number": (("monitor", "train"), 2, "'train' is not a job id", "4321"),
    "monitor: two jobs": (("monitor", "12", "13"), 2, "unexpected arguments: 13", "envcfg monitor [options] [JOBID]"),
    "monitor: misspelt option": (("monitor", "--onse", "12"), 2, "unknown option --onse", "did you mean --once? envcfg monitor --help"),
    "monitor: option of squeue": (("monitor", "-j", "12"), 2, "unknown option -j", "envcfg monitor JOBID"),
    "monitor: number with a unit": (("monitor", "--interval", "2s", "12"), 2, "'2s' is not a number of seconds", "monitor --help"),
    "monitor: misspelt profile": (("monitor", "--profile", "lumi", "12"), 2, "unknown profile 'lumi'", "did you mean 'lumi-g'?"),
    "monitor: a command": (("monitor", "12", "--", "true"), 2, "takes no command", "leave out -- true"),
    # hang
    "hang: no job": (("hang",), 2, "no job given", "envcfg hang JOBID; squeue --me lists yours"),
    "hang: no number": (("hang", "train"), 2, "'train' is not a job id", "4321"),
    "hang: misspelt option": (("hang", "--jsn", "12"), 2, "unknown option --jsn", "did you mean --json? envcfg hang --help"),
    "hang: a command": (("hang", "12", "--", "true"), 2, "takes no command", "leave out -- true"),
    # profiles
    "profiles: one too many": (("profiles", "list", "lumi"), 2, "unexpected arguments: lumi", "envcfg profiles list [--json]"),
    "profiles: none given": (("profiles", "show"), 2, "NAME|FILE is missing", "envcfg profiles show NAME|FILE"),
    "profiles: misspelt": (("profiles", "show", "frontire"), 2, "unknown profile 'frontire'", "did you mean 'frontier'?"),
    "profiles: second one missing": (("profiles", "diff", "lumi-g"), 2, "B is missing", "envcfg profiles diff A B"),
    "profiles: misspelt option": (("profiles", "list", "--jsn"), 2, "unknown option --jsn", "did you mean --json? envcfg profiles list --help"),
    "profiles: misspelt choice": (("profiles", "show", "lumi-g", "--launcher", "sruns"), 2, "unknown value 'sruns'", "did you mean 'srun'?"),
    "profiles: name for a file": (("profiles", "validate", "lumi-g"), 4, "lumi-g: cannot be read", "a profile is a file"),
    "profiles: empty folder": (("profiles", "validate", "folder"), 4, "folder: no profile in this folder", "its name ends in .yaml"),
    "profiles: unknown family": (("profiles", "new", "mine", "--extends", "lumi"), 2, "unknown profile 'lumi'", "did you mean 'lumi-g'?"),
    "profiles: family missing": (("profiles", "new", "mine", "--blank"), 2, "--extends is missing", "--extends FAMILY"),
    # explain
    "explain: misspelt rule": (("explain", "socket-falback"), 2, "unknown rule or variable", "did you mean 'socket-fallback'?"),
    "explain: misspelt variable": (("explain", "NCCL_DEBG"), 2, "unknown rule or variable 'NCCL_DEBG'", "did you mean NCCL_DEBUG?"),
    "explain: small letters": (("explain", "nccl_debug"), 2, "unknown rule or variable", "'NCCL_DEBUG'? upper and lower"),
    "explain: a profile": (("explain", "lumi-g"), 2, "unknown rule or variable 'lumi-g'", "envcfg profiles show lumi-g"),
    "explain: a command": (("explain", "NCCL_NET", "--", "true"), 2, "takes no command", "leave out -- true"),
    "explain: -p": (("explain", "-p", "lumi-g", "NCCL_NET"), 2, "unknown option -p", "write --profile lumi-g"),
    "a Python file for a command": (("t.py",), 2, "unknown command 't.py'", "envcfg submit --container IMAGE -- python t.py"),
    "a log for a command": (("slurm-12.out",), 2, "unknown command 'slurm-12.out'", "envcfg check-log slurm-12.out"),
    "a script for a command": (("old.sh",), 2, "unknown command 'old.sh'", "envcfg submit old.sh submits it"),
    "an image for a command": (("x.sif",), 2, "unknown command 'x.sif'", "envcfg inspect x.sif"),
    "wrap: the image without its option": (("wrap", "x.sif", "python", "t.py"), 2, "unexpected arguments: x.sif python t.py", "write --container x.sif -- python t.py"),
    "wrap: help as a word": (("wrap", "help"), 2, "unexpected arguments: help", "see envcfg wrap --help"),
    "wrap: a misspelt image": (("wrap", *IMAGE[:3], "y.sif", "--", "true"), 0, "y.sif: does not exist", "did you mean x.sif?"),
    "wrap: an option as the program": (("wrap", *IMAGE, "--", "--gpus", "8", "python", "t.py"), 0, "--gpus: is an option, and no program", "write it before the --"),
    "wrap: a program of terminals": (("wrap", *IMAGE, "--", "nohup", "python", "t.py"), 0, "nohup: is for a terminal", "leave it out"),
    "wrap: a redirection as a word": (("wrap", *IMAGE, "--", "python", "t.py", ">", "a.txt"), 0, ">: is a sign of a shell", "-- bash -c 'python t.py > a.txt'"),
    "wrap: an ampersand as a word": (("wrap", *IMAGE, "--", "true", "&"), 0, "&: is a sign of a shell", "-- bash -c 'true &'"),
    "wrap: quotes of a word processor": (("wrap", *IMAGE, "--", "python", "\u2018t.py\u2019"), 0, "has quotes of a word processor", "type it again: t.py"),
    "wrap: a home folder of the program": (("wrap", *IMAGE, "--", "python", "~/t.py"), 0, "~/t.py: does not exist", "write $HOME, in double quotes"),
    "wrap: spaces around =": (("wrap", *IMAGE, "--set", "A = 1"), 2, "'A = 1' has a space before the =: write A=1", "wrap --help"),
    "wrap: a file of variables": (("wrap", *IMAGE, "--env-file", ".env"), 2, "unknown option --env-file", "write --setup .env"),
    "wrap: mpirun as the launcher": (("wrap", *IMAGE, "--launcher", "mpirun"), 2, "--launcher: unknown value 'mpirun'", "--launcher mpi"),
    "wrap: Slurm as the launcher": (("wrap", *IMAGE, "--launcher", "slurm"), 2, "--launcher: unknown value 'slurm'", "--launcher srun"),
    "wrap: more ranks than GPUs": (("wrap", *LUMI, "--ranks", "16", "--", "true"), 0, "--ranks 16: counts on each node, and a node has 8 GPUs", "--ranks 8"),
    "job: a time of minutes": (("job", *JOB[:-3], "4:00", *JOB[-2:], "--", "true"), 0, "--time 4:00 is 4 minutes", "for hours and minutes: --time 4:00:00"),
    "job: a time of seconds": (("job", *JOB[:-3], "00:30", *JOB[-2:], "--", "true"), 0, "--time 0:30 is 0 minutes and 30 seconds", "for hours and minutes: --time 0:30:00"),
    "job: ranks that cannot meet": (("job", *JOB, "-N2", "--set", "MASTER_ADDR=localhost", "--", "true"), 0, "the ranks of 2 nodes cannot meet there", "leave it out"),
    "job: more ranks than GPUs": (("job", *JOB, "-N2", "--ranks", "16", "--", "true"), 0, "--ranks 16: counts on each node", "--ranks 8"),
    "job: a script with its own steps": (("job", *JOB, "-N2", "--", "bash", "old.sh"), 0, "old.sh starts srun (line 2): once per job; an image has no such program", "wrap --from old.sh"),
    "job: GPUs in the form of --gres": (("job", *JOB, "--gpus-per-node", "gpu:9", "--", "true"), 2, "9 GPUs on a node, but a node has 8", "8 at most"),
    "job: --ntasks-per-node": (("job", *JOB, "--ntasks-per-node", "8", "--", "true"), 2, "unknown option --ntasks-per-node", "write --ranks 8"),
    "job: an account of the program": (("job", *JOB, "--", "python", "t.py", "--qos=debug"), 0, "--qos: is after --, so the program gets it", "write --qos before the --"),
    "job: a log as the script": (("job", *JOB, "-o", "out.log", "--", "true"), 2, "-o names the script here", "--log=out.log"),
    "job: quotes of a word processor": (("job", *JOB, "--job-name", "\u201cx\u201d", "--", "true"), 2, "holds what a line of a job script cannot", "job --help"),
    "check-log: a program": (("check-log", "t.py"), 2, "t.py: a program or a script, not a log", "slurm-123.out"),
    "check-log: a script": (("check-log", "old.sh"), 2, "old.sh: a program or a script, not a log", "envcfg lint"),
    "hang: a log": (("hang", "slurm-12.out"), 2, "'slurm-12.out' is not a job id", "envcfg check-log slurm-12.out"),
    "jobs: --json": (("jobs", "--json", "folder"), 2, "unknown option --json", "write --format json"),
    "jobs: nothing fits": (("jobs", "--where", "node=nid9", "slurm-12.out"), 0, "no job with node=nid9", "without --where"),
    "jobs: a user": (("jobs", "--user", "anna", "folder"), 2, "unknown option --user", "--where user=anna"),
    "jobs: a program": (("jobs", "t.py"), 0, "0 logs; 1 other file left out", ""),
}  # fmt: skip


@pytest.mark.parametrize("name", SLIPS)
def test_a_slip_is_called_by_its_name_and_mended(said: Said, name: str) -> None:
    words, code, message, remedy = SLIPS[name]
    given, err = said(*words)
    assert given == code, err
    assert message in err
    assert remedy in err
    assert "adastra" not in err  # no list of all profiles
    assert all(len(line) < 240 for line in err.splitlines())


@pytest.mark.parametrize("command", EVERY)
def test_the_help_page_is_that_of_the_command(said: Said, command: str) -> None:
    words = [*command.split(), "--surely-not"]
    code, err = said(*words)
    assert (code, "unknown option --surely-not" in err) == (2, True)
    assert " ".join(["envcfg", *command.split(), "--help"]) in err


def test_values_that_are_negative_or_hold_a_space_are_no_options(said: Said) -> None:
    for value in ("-1", "-x y", "\u2014x"):
        _, err = said(
            "check-log", "--expect-provider", value, "--expect-nics", "x", "a.txt"
        )
        assert "'x' is not a number of NICs" in err


def test_the_same_value_given_twice_is_no_slip(said: Said) -> None:
    assert said(
        "wrap",
        *IMAGE,
        "--no-inspect",
        "--ranks",
        "4",
        "--ranks=4",
        "--set",
        "A=1",
        "--set",
        "A=1",
    ) == (0, "")


def test_aliases_are_of_commands_that_there_are_and_none_of_their_own_options() -> None:
    for line, words in option_aliases().items():
        name = line.removeprefix("envcfg").strip()
        assert name in COMMANDS
        parser = cli.build_parser(name or None)
        if name:
            (commands,) = parser._subparsers._group_actions  # type: ignore[union-attr]
            parser = commands.choices[name]  # type: ignore[index]
        parser.is_whole = True
        own = parser.format_help()
        known = set(re.findall(r"^ {2,}(-[\w-]+)|, (--[\w-]+)", own, re.M))
        assert not {each for pair in known for each in pair if each} & set(words)
        for right in words.values():
            if option := re.match(r"(--[a-z-]+)", right):
                assert option[1] in own, (line, right)


# Help


WORD = r"(?:'[^']*'|\"[^\"]*\"|[^\s'\"])+"  # as a shell splits them
WIDTHS = [*range(80, 124, 3), 81, 88, 200]


def help_at(width: int, *words: str) -> str:
    """Return a help as a terminal of this width shows it."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("COLUMNS", str(width))
        done = envcfg(*words)
    text_width.cache_clear()
    assert done.code == 0
    return done.text


def letters_of(text: str) -> str:
    """Return a help without blanks, and without the signs of a line that goes on."""
    return re.sub(r"[\s\\#]", "", text)


@pytest.mark.parametrize("command", EVERY)
def test_no_word_of_a_help_is_cut_at_any_width(command: str) -> None:
    whole = help_at(120, *command.split(), "--help-all")
    ((codes,),) = [re.findall(r"(?ms)^exit codes: .*?(?=\n\n|\Z)", whole) or [""]]
    for width in WIDTHS:
        text = help_at(width, *command.split(), "--help-all")
        assert letters_of(text) == letters_of(whole), width
        screen = help_at(width, *command.split(), "--help")
        assert letters_of(codes) in letters_of(screen), width
        for line in (*text.splitlines(), *screen.splitlines()):
            # What cannot be folded: a word, or an option with its value.
            longest = max(map(len, re.findall(WORD, line)), default=0)
            assert len(line) <= max(width, longest + 30), (width, line)


@pytest.mark.parametrize("width", [200, 88, 80])
@pytest.mark.parametrize("command", EVERY)
def test_help_is_no_wider_than_the_terminal(
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    command: str,
    width: int,
) -> None:
    monkeypatch.setenv("COLUMNS", str(width))
    text_width.cache_clear()
    assert cli.main([*command.split(), "--help"]) == 0
    text_width.cache_clear()
    text = capsys.readouterr().out
    longest = max(map(len, text.splitlines()))
    # What cannot be folded: the names of an option, a word.
    assert longest <= min(width, 120)


@pytest.mark.parametrize("columns", ["", "0", "-5", "wide", None])
def test_help_has_its_own_width_where_the_terminal_has_none(
    monkeypatch: pytest.MonkeyPatch, columns: str | None
) -> None:
    if columns is None:
        monkeypatch.delenv("COLUMNS", raising=False)
    else:
        monkeypatch.setenv("COLUMNS", columns)

    def no_terminal(_: int) -> os.terminal_size:
        raise OSError

    monkeypatch.setattr(os, "get_terminal_size", no_terminal)
    text_width.cache_clear()
    assert text_width() == 80
    text_width.cache_clear()
