"""The start of a program that is read in its files, and not in the table."""

from __future__ import annotations

import shlex
from pathlib import Path

import pytest
import yaml

from envcfg.core.program_reading import read_program
from envcfg.job.plan.plan import Options
from envcfg.job.plan.program_file import start_as_read
from support import envcfg

WORKER = "import torch.distributed as dist\ndef work(rank):\n    dist.init_process_group('nccl')\n"
SPAWN = "import torch.multiprocessing as mp\n"
# name: files, command, the statement that decides with its kind; "?" before it: a note
READ: dict[str, tuple[dict[str, str], str, str]] = {
    "torchrun in a script": ({"t.sh": "set -e\ntorchrun t.py\n"}, "bash t.sh", "node: t.sh starts torchrun (line 2)"),
    "by its path": ({"t.sh": "#!/bin/sh\nexec torchrun t.py\n"}, "./t.sh", "node: ./t.sh starts torchrun (line 2)"),
    "after a wrapper": ({"t.sh": "accelerate launch t.py\n"}, "env A=1 numactl -l bash t.sh", "node: t.sh starts accelerate (line 1)"),
    "in a function": ({"t.sh": "go() {\n  torchrun $*\n}\ngo t.py\n"}, "bash t.sh", "node: t.sh starts torchrun (line 2)"),
    "in an uncalled function": ({"t.sh": "go() {\n  torchrun $*\n}\necho t.py\n"}, "bash t.sh", "?node: t.sh starts torchrun (line 2)"),
    "in a condition": ({"t.sh": "if [ -n \"$A\" ]; then\n  torchrun t.py\nfi\n"}, "bash t.sh", "?node: t.sh starts torchrun (line 2)"),
    "in both branches": ({"t.sh": "if [ -n \"$A\" ]; then\n  torchrun t.py\nelse torchrun u.py\nfi\n"}, "bash t.sh", "node: t.sh starts torchrun (line 2)"),
    "in another script": ({"t.sh": "cd sub\nbash ./u.sh\n", "u.sh": "deepspeed t.py\n"}, "bash t.sh", "node: u.sh starts deepspeed (line 1)"),
    "a quoted word": ({"t.sh": "echo 'torchrun t.py'\n"}, "bash t.sh", "?"),
    "the next job": ({"t.sh": "sbatch next.sh\ntorchrun t.py\n"}, "bash t.sh", "node: t.sh starts torchrun (line 2)"),
    "preparation": ({"t.sh": "hf download m\naxolotl preprocess c\ntorchrun t.py\n"}, "bash t.sh", "node: t.sh starts torchrun (line 3)"),
    "a job that is submitted": ({"t.py": "import subprocess\nsubprocess.check_output(['sbatch', f.name])\n"}, "python t.py", "once: t.py starts sbatch (line 2)"),
    "srun in a script": ({"t.sh": "srun python t.py\n"}, "bash t.sh", "once: t.sh starts srun (line 1)"),
    "a row of the table": ({"t.sh": "python3 -m verl.trainer.main_ppo a=b\n"}, "bash t.sh", "once: t.sh starts python3 (line 1)"),
    "Python in a script": ({"t.sh": "python w.py\n", "w.py": WORKER + "work(0)\n"}, "bash t.sh", "rank: w.py calls torch.distributed.init_process_group (line 3)"),
    "make": ({"Makefile": "N := 8\nall: train\ntrain:\n\t@torchrun --nproc-per-node=$(N) t.py\nother:\n\tray start\n"}, "make", "node: Makefile starts torchrun (line 4)"),
    "make with a target": ({"Makefile": "all:\n\ttorchrun t.py\nrl: data\n\techo\ndata:\n\tpython -m skyrl.train.main_sft\n"}, "make -s rl", "once: Makefile starts python (line 6)"),
    "make in another folder": ({"Makefile": "all:\n\ttorchrun t.py\n"}, "make -C sub all", ""),
    "a program in the text of a shell": ({"t.py": "import ray\nray.init()\n"}, "bash -c .\\ e.sh&&python\\ t.py", "once: t.py calls ray.init (line 2)"),
    "a launcher of a step of its own": ({"t.sh": "srun -n1 torchrun t.py\n"}, "bash t.sh", "once: t.sh starts srun (line 1)"),
    "spawn": ({"t.py": SPAWN + WORKER + "if __name__ == '__main__':\n    mp.spawn(work, nprocs=8)\n"}, "python t.py", "node: t.py calls torch.multiprocessing.spawn (line 6)"),
    "spawn by a module": ({"p/__init__.py": "", "p/t.py": SPAWN + WORKER + "mp.spawn(work)\n"}, "python3 -m p.t", "node: p/t.py calls torch.multiprocessing.spawn (line 5)"),
    "spawn in a condition": ({"t.py": SPAWN + WORKER + "if a.many:\n    mp.spawn(work)\n"}, "python t.py", "?node: t.py calls torch.multiprocessing.spawn (line 6)"),
    "a condition that the command decides": ({"t.py": SPAWN + WORKER + "if a.many:\n    mp.spawn(work)\n"}, "python t.py --many", "node: t.py calls torch.multiprocessing.spawn (line 6)"),
    "a value that the command gives": ({"t.py": SPAWN + WORKER + "n = a.n\nif n > 1 and a.backend != 'none':\n    mp.spawn(work)\n"}, "python t.py --n 2 --backend=x", "node: t.py calls torch.multiprocessing.spawn (line 7)"),
    "a value that the program changes": ({"t.py": SPAWN + WORKER + "a.many = check()\nif a.many:\n    mp.spawn(work)\n"}, "python t.py --many", "?node: t.py calls torch.multiprocessing.spawn (line 7)"),
    "a default": ({"t.py": SPAWN + WORKER + "p.add_argument('--debug', action='store_true')\nif a.debug:\n    work(0)\nelse:\n    mp.spawn(work)\n"}, "python t.py", "node: t.py calls torch.multiprocessing.spawn (line 9)"),
    "a check before a start": ({"t.py": "import ray\nif not ray.is_initialized():\n    ray.init()\n"}, "python t.py", "once: t.py calls ray.init (line 3)"),
    "processes": ({"t.py": "from multiprocessing import Process\n" + WORKER + "Process(target=work, args=(1,)).start()\n"}, "python t.py", "node: t.py starts processes: each calls torch.distributed.init_process_group (line 4)"),
    "loaders": ({"t.py": "from multiprocessing import Process\nimport os\ndef load(): pass\nr = os.environ['RANK']\nProcess(target=load).start()\n"}, "python t.py", "rank: t.py reads RANK (line 4)"),
    "a launcher in words": ({"t.py": "import subprocess\nsubprocess.run(['torchrun', '--nproc-per-node', str(n), 't.py'])\n"}, "python t.py", "node: t.py starts torchrun (line 2)"),
    "a launcher in a text": ({"t.py": "import os\nos.system(f'accelerate launch {x}.py')\n"}, "python t.py", "node: t.py starts accelerate (line 2)"),
    "another module": ({"t.py": "from lib.dist import setup\nsetup()\n", "lib/__init__.py": "", "lib/dist.py": "from .low import init as setup\n", "lib/low.py": "import torch\ndef init():\n    torch.distributed.init_process_group()\n"}, "python t.py", "rank: lib/low.py calls torch.distributed.init_process_group (line 3)"),
    "a method": ({"t.py": "class Run:\n    def go(self):\n        from accelerate import Accelerator\n        Accelerator()\nRun().go()\n"}, "python t.py", "rank: t.py calls accelerate.Accelerator (line 4)"),
    "a base class": ({"t.py": "from transformers import Trainer\nclass Mine(Trainer): pass\ndef main():\n    Mine().train()\nmain()\n"}, "python t.py", "rank: t.py calls transformers.Trainer (line 2)"),
    "an import alone": ({"t.py": "import accelerate, ray, submitit\nfrom torch.distributed import init_process_group\n"}, "python t.py", "?"),
    "ray": ({"t.py": "import ray\n@ray.remote\nclass A: pass\ndef main():\n    ray.init()\nmain()\n"}, "python t.py", "once: t.py calls ray.init (line 5)"),
    "an engine": ({"t.py": "from vllm import LLM\nm = LLM('m', tensor_parallel_size=8)\n"}, "python t.py", "node: t.py calls vllm.LLM (line 2)"),
    "an engine in ranks": ({"t.py": "from vllm import LLM\nm = LLM('m', distributed_executor_backend='external_launcher')\nimport torch\ntorch.distributed.get_rank()\n"}, "python t.py", "rank: t.py calls torch.distributed.get_rank (line 4)"),
    "submitit": ({"t.py": "import submitit\nex = submitit.AutoExecutor('log')\n"}, "python t.py", "once: t.py calls submitit.AutoExecutor (line 2)"),
    "Hydra's launcher": ({"t.py": "import os\nr = os.environ['RANK']\n"}, "python t.py -m hydra/launcher=submitit_slurm", "once: t.py has hydra/launcher=submitit_slurm"),
    "Hydra's launcher in a file": ({"t.py": "import hydra\n@hydra.main(version_base=None, config_path='conf', config_name='c')\ndef main(c): pass\n", "conf/c.yaml": "defaults:\n  - _self_\n  - override hydra/launcher: submitit_slurm\n"}, "python t.py -m", "once: t.py has conf/c.yaml:3: defaults.hydra/launcher=submitit_slurm"),
    "a file of Hydra by options": ({"t.py": "import hydra\n@hydra.main(config_path='conf', config_name='c')\ndef main(c): pass\n", "conf/c.yaml": "a: 1\n", "conf/d.yaml": "scheduler:\n  type: slurm\n"}, "python t.py --config-name d", "once: t.py has conf/d.yaml:2: scheduler.type=slurm"),
    "a scheduler in a file": ({"t.py": "from areal import PPOTrainer\nPPOTrainer()\n", "c.yaml": "scheduler:\n  type: ray\n"}, "python t.py --config c.yaml", "once: t.py has c.yaml:2: scheduler.type=ray"),
    "a scheduler on the command line": ({"t.py": "from areal import PPOTrainer\nPPOTrainer()\n", "c.yaml": "scheduler:\n  type: ray\n"}, "python t.py --config c.yaml scheduler.type=local", "once: t.py has scheduler.type=local"),
    "horovod": ({"t.py": "import horovod.torch as hvd\nhvd.init()\n"}, "python t.py", "rank: t.py calls horovod.torch.init (line 2)"),
    "an option of a launcher": ({"t.py": "import argparse\np = argparse.ArgumentParser()\np.add_argument('--local_rank')\n"}, "python t.py", "rank: t.py reads --local_rank (line 3)"),
    "no Python": ({"t.py": "this is no Python\n"}, "python t.py", "?"),
    "deeply nested": ({"t.py": "x = " + "-" * 9000 + "1\n"}, "python t.py", "?"),
    "a binary": ({"t.py": "import ray\nray.init()\n\0"}, "python t.py", ""),
    "a word that is no text": ({"t.sh": "torchrun t.py\n"}, "bash t.sh \udce9", "node: t.sh starts torchrun (line 1)"),
    "the name of a module, without -m": ({"t.py": "import ray\nray.init()\n"}, "tool t", ""),
    "the table wins": ({"t.py": "import ray\nray.init()\n"}, "torchrun t.py", ""),
    "not here": ({}, "python t.py", ""),
}  # fmt: skip


@pytest.mark.parametrize("name", READ)
def test_the_statement_that_decides_is_read(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    files, command, expected = READ[name]
    for path, text in files.items():
        (tmp_path / path).parent.mkdir(exist_ok=True)
        (tmp_path / path).write_text(text)
    monkeypatch.chdir(tmp_path)
    _, found, _ = read_program(shlex.split(command))
    options, _ = start_as_read(Options(statements=found), 8) if found else (None, [])
    one = options.statements[0] if options and options.statements else None
    sign = "" if one else "?"
    one = one or (found[0] if found else None)
    line = f"{sign}{one.kind}: {one}".rpartition(": once")[0] if one else ""
    if expected == "?":
        assert one
        assert not one.kind
    else:
        assert line == expected


# files, options before the command: the launcher, and a part of the message
DECIDED: dict[str, tuple[str, str, str, str]] = {
    "once per node": ("torchrun --nnodes=$NNODES --rdzv_endpoint=$HEAD:$PORT t.py", "", "whole-node", "note: launcher whole-node: is used, because t.sh starts torchrun (line 1): once per node\n"),
    "alone": ("torchrun t.py", "", "whole-node", "warning: launcher whole-node: is used, because t.sh starts torchrun (line 1): once per node; on several nodes each works alone"),
    "one node": ("torchrun t.py", "--fact nodes=1", "whole-node", "note: launcher"),
    "the user's choice of one": ("torchrun t.py", "--launcher whole-node", "whole-node", ""),
    "the user's launcher": ("torchrun t.py", "--launcher srun", "", "error: t.sh starts torchrun (line 1): once per node, but --launcher srun starts it per rank\n  hint: --launcher whole-node"),
    "the user's ranks": ("torchrun t.py", "--ranks 4", "", "but --ranks 4 starts it per rank"),
    "one rank": ("torchrun t.py", "--ranks 1 --launcher srun", "srun", ""),
    "localhost": ("torchrun --nnodes 2 --rdzv_endpoint=localhost:29500 t.py", "--fact nodes=2", "", "error: t.sh:1: torchrun --rdzv_endpoint localhost:29500: 2 nodes cannot meet on one of them"),
    "standalone": ("torchrun --standalone t.py", "--fact nodes=2", "", "error: t.sh:1: torchrun --standalone: 2 nodes"),
    "port 0": ("torchrun --nnodes=2 --master-port 0 t.py", "--fact nodes=2", "", "error: t.sh:1: torchrun --master-port 0: 2 nodes cannot meet at a port"),
    "other nodes": ("torchrun --nnodes 4 t.py", "--fact nodes=2", "", "error: t.sh:1: torchrun --nnodes 4: the job has 2 nodes"),
    "a number for each node": ("torchrun --nnodes=2 --node-rank=0 --rdzv-endpoint=$A:1 t.py", "--fact nodes=2", "", "error: t.sh:1: torchrun --node-rank 0: each node would have this number"),
    "accelerate's file": ("accelerate launch --config_file c.yaml t.py", "--fact nodes=2", "", "error: t.sh:1: accelerate with c.yaml --num_machines 1: the job has 2 nodes"),
    "its number of a node": ("accelerate launch --config_file c.yaml --num_machines 2 t.py", "--fact nodes=2", "", "error: t.sh:1: accelerate with c.yaml --machine_rank 0: each node"),
    "accelerate's file on unknown nodes": ("accelerate launch --config_file c.yaml t.py", "", "whole-node", "starts accelerate with c.yaml (line 1)"),
    "accelerate's file on one node": ("accelerate launch --config_file c.yaml t.py", "--fact nodes=1", "whole-node", "because t.sh starts accelerate with c.yaml (line 1): once per node"),
    "localhost on one node": ("torchrun --rdzv-endpoint=localhost:0 t.py", "--fact nodes=1", "whole-node", "note: launcher"),
    "two kinds": ("torchrun t.py\npython -m verl.trainer.main_ppo", "", "", "error: t.sh starts torchrun (line 1): once per node, but t.sh starts python (line 2): once per job\n"),
    "ray": ("python -m verl.trainer.main_ppo", "", "ray", "t.sh starts python (line 1): once per job"),
    "unknown": ("python t.py", "", "srun", "note: t.py: starts no processes and joins none"),
    "jobs of its own": ("python s.py", "", "once", "warning: launcher once: is used, because s.py calls submitit.SlurmExecutor (line 2): once per job; it needs the scheduler's commands"),
    "horovod": ("python h.py", "", "horovod", ""),
}  # fmt: skip


@pytest.mark.parametrize("name", DECIDED)
def test_the_start_is_decided_aloud(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    line, words, launcher, message = DECIDED[name]
    (tmp_path / "t.sh").write_text(line)
    (tmp_path / "t.py").write_text("print()\n")
    (tmp_path / "c.yaml").write_text("num_machines: 1\nmachine_rank: 0\n")
    (tmp_path / "s.py").write_text("import submitit\nsubmitit.SlurmExecutor('x')\n")
    (tmp_path / "h.py").write_text("import horovod.torch as h\nh.init()\n")
    monkeypatch.chdir(tmp_path)
    options = ("--profile", "lumi-g", "--container", "none", *words.split())
    made = envcfg("wrap", *options, "--print", "plan", "--", "bash", "t.sh")
    assert made.code == (0 if launcher else 2), made.err
    assert message in made.err
    if launcher:
        assert f"launcher   {launcher}\n" in made.out.decode()
    if not message:
        assert "launcher" not in made.err


def test_a_script_gets_the_variables_that_its_line_reads(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "t.sh").write_text(
        "N=${N:-1}\ntorchrun --nnodes $N --node_rank=$NODE_RANK --nproc_per_node=${GPUS} "
        "--rdzv_endpoint $HEAD:$MASTER_PORT --rdzv-id $SLURM_JOB_ID t.py\n"
    )
    options = ("--profile", "lumi-g", "--container", "none", "--", "bash", "t.sh")
    plan = envcfg("wrap", "--print", "plan", *options).out.decode()
    words = [line for line in plan.splitlines() if line.startswith("whole-node ")]
    assert words == [
        "whole-node N={nodes}",
        "whole-node GPUS={ranks}",
        "whole-node HEAD={address}",
    ]
    assert "(the launcher of this job: t.sh starts torchrun (line 2): once per" in plan
    assert (
        "# t.sh starts torchrun (line 2): once per node\n"
        in envcfg("wrap", *options).out.decode()
    )


def test_a_row_of_the_user_wins_over_the_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "t.sh").write_text("torchrun t.py\n")
    folder = tmp_path / "settings" / "envcfg"
    folder.mkdir(parents=True)
    (folder / "programs.yaml").write_text("mine: {kind: rank, begins: [bash t.sh]}\n")
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "settings"))
    made = envcfg(
        "wrap", "--profile", "lumi-g", "--container", "none", "--", "bash", "t.sh"
    )
    assert "torchrun" not in made.out.decode() + made.err


SAMPLES = yaml.safe_load(Path(__file__).with_name("program_samples.yaml").read_text())


@pytest.mark.parametrize("name", SAMPLES)
def test_programs_in_the_manner_of_public_ones_have_their_kind(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sample = SAMPLES[name]
    for path, text in sample["files"].items():
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text(text)
    monkeypatch.chdir(tmp_path)
    _, found, _ = read_program(sample["command"].split())
    options, _ = start_as_read(Options(statements=found), 8)
    kinds = [one.row.get("needs") or one.kind for one in options.statements]
    assert [*kinds, "unknown"][0] == sample["kind"]
