"""How programs are started, by the table ``knowledge/programs.yaml``."""

from __future__ import annotations

import shlex

import pytest

from asking import asking
from envcfg.common.datafile import load_yaml
from envcfg.common.errors import UsageError
from envcfg.job.plan.command_launcher import recognise
from envcfg.job.plan.plan import ImageFacts, Options
from envcfg.job.plan.program_start import KINDS, ROLES
from support import envcfg

ACCELERATE = (
    "--num_machines={nodes} --num_processes={all_ranks} --machine_rank={node_rank} "
    "--main_process_ip={address} --main_process_port={port} --rdzv_backend=static "
    "--deepspeed_multinode_launcher=standard --same_network"
)
TORCHRUN = (
    "--nnodes={nodes} --nproc-per-node={ranks} --node-rank={node_rank} --rdzv-backend=c10d "
    "--rdzv-id={id} --rdzv-endpoint={address}:{port} --rdzv-conf=is_host={is_first}"
)
SWIFT = (
    "NNODES={nodes} NODE_RANK={node_rank} NPROC_PER_NODE={ranks} MASTER_ADDR={address} "
    "MASTER_PORT={port}"
)
FACTORY = f"FORCE_TORCHRUN=1 {SWIFT}"
VLLM = "--nnodes={nodes} --node-rank={node_rank} --master-addr={address} --master-port={port}"
SGLANG = "--nnodes={nodes} --node-rank={node_rank} --dist-init-addr={address}:{port}"
COMPOSER = (
    "--nproc={ranks} --world_size={all_ranks} --node_rank={node_rank} "
    "--base_rank={first_rank} --master_addr={address} --master_port={port}"
)
FABRIC = (
    "--devices={ranks} --num-nodes={nodes} --node-rank={node_rank} "
    "--main-address={address} --main-port={port}"
)
XTUNER = "NNODES={nodes} NODE_RANK={node_rank} NPROC_PER_NODE={ranks} ADDR={address} PORT={port}"
NODE, ONCE, RAY, RANK = "whole-node", "once", "ray", None
# command: launcher, the command that is left, "|" where options are put; the words
TABLE = {
    "axolotl train c.yaml": (NODE, "axolotl train c.yaml -- |", ACCELERATE),
    "/opt/venv/bin/axolotl train c.yaml --debug": (NODE, "/opt/venv/bin/axolotl train c.yaml --debug -- |", ACCELERATE),
    "python3 -m axolotl.cli.main train c.yaml -- --num_machines 2": (NODE, "python3 -m axolotl.cli.main train c.yaml -- |", ACCELERATE),
    "axolotl train c.yaml --launcher torchrun": (NODE, "axolotl train c.yaml --launcher torchrun -- |", TORCHRUN),
    "axolotl train --launcher=torchrun c.yaml -- --nnodes=2 --max-restarts=1": (NODE, "axolotl train --launcher=torchrun c.yaml -- --max-restarts=1 |", TORCHRUN),
    "axolotl train c.yaml --launcher python": (RANK, "axolotl train c.yaml --launcher python", ""),
    "axolotl train c.yaml --use-ray": (RAY, "axolotl train c.yaml --use-ray", ""),
    "axolotl preprocess c.yaml": (ONCE, "axolotl preprocess c.yaml", ""),
    "trl sft --model_name_or_path m": (NODE, "trl sft --model_name_or_path m |", ACCELERATE),
    "trl dpo --num_processes 16 --machine_rank 0 --config c.yaml": (NODE, "trl dpo --config c.yaml |", ACCELERATE),
    "env HF_HOME=/x trl grpo --accelerate_config fsdp2": (NODE, "env HF_HOME=/x trl grpo --accelerate_config fsdp2 |", ACCELERATE),
    "trl vllm-serve --model m": (ONCE, "trl vllm-serve --model m", ""),
    "tune run --nproc_per_node 8 full_finetune_distributed --config x": (NODE, "tune run | full_finetune_distributed --config x", TORCHRUN),
    "tune run full_finetune_distributed --config x --nnodes 3": (NODE, "tune run | full_finetune_distributed --config x --nnodes 3", TORCHRUN),
    "tune run --rdzv_endpoint=h:1 --standalone --max-restarts 2 a b": (NODE, "tune run | --max-restarts 2 a b", TORCHRUN),
    "tune run lora_finetune_single_device --config x": (ONCE, "tune run lora_finetune_single_device --config x", ""),
    "llamafactory-cli train c.yaml": (NODE, "llamafactory-cli train c.yaml |", FACTORY),
    "env FORCE_TORCHRUN=1 NNODES=2 NODE_RANK=0 llamafactory-cli train c.yaml": (NODE, "env FORCE_TORCHRUN=1 llamafactory-cli train c.yaml |", FACTORY),
    "lmf train c.yaml lr=1": (NODE, "lmf train c.yaml lr=1 |", FACTORY),
    "llamafactory-cli export c.yaml": (ONCE, "llamafactory-cli export c.yaml", ""),
    "swift sft --model m": (NODE, "swift sft --model m |", SWIFT),
    "/usr/bin/env NPROC_PER_NODE=8 /opt/bin/swift rlhf --model m": (NODE, "/usr/bin/env /opt/bin/swift rlhf --model m |", SWIFT),
    "megatron sft --load m": (NODE, "megatron sft --load m |", SWIFT),
    "swift deploy --model m": (ONCE, "swift deploy --model m", ""),
    "xtuner train c.py --deepspeed deepspeed_zero2": (NODE, "xtuner train c.py --deepspeed deepspeed_zero2 |", XTUNER),
    "composer -n 8 train.py --n 3": (NODE, "composer | train.py --n 3", COMPOSER),
    "python -u -m composer.cli.launcher --world_size=16 t.py": (NODE, "python -u -m composer.cli.launcher | t.py", COMPOSER),
    "fabric run --accelerator=cuda --devices=8 t.py": (NODE, "fabric run | --accelerator=cuda t.py", FABRIC),
    "oumi distributed torchrun -m oumi train -c c.yaml": (NODE, "oumi distributed torchrun -m oumi train -c c.yaml", ""),
    "oumi train -c c.yaml": (RANK, "oumi train -c c.yaml", ""),
    "python3 -m verl.trainer.main_ppo trainer.nnodes=2": (RAY, "python3 -m verl.trainer.main_ppo trainer.nnodes=2", ""),
    "env PYTHONUNBUFFERED=1 python -m verl.trainer.main_ppo a=b": (RAY, "env PYTHONUNBUFFERED=1 python -m verl.trainer.main_ppo a=b", ""),
    "python -m verl.trainer.sft_trainer a=b": (RANK, "python -m verl.trainer.sft_trainer a=b", ""),
    "ray job submit --address=http://h:8265 -- python3 -m openrlhf.cli.train_ppo_ray": (RAY, "ray job submit --address=http://h:8265 -- python3 -m openrlhf.cli.train_ppo_ray", ""),
    "python3 -m openrlhf.cli.train_ppo_ray --x 1": (RAY, "python3 -m openrlhf.cli.train_ppo_ray --x 1", ""),
    "python -m skyrl.train.entrypoints.main_base trainer=x": (RAY, "python -m skyrl.train.entrypoints.main_base trainer=x", ""),
    "autotrain --config c.yaml": (ONCE, "autotrain --config c.yaml", ""),
    "litgpt pretrain pythia --devices 8 --num_nodes 2": (RANK, "litgpt pretrain pythia --devices 8 --num_nodes 2", ""),
    "python -m torchtitan.train --module llama3": (RANK, "python -m torchtitan.train --module llama3", ""),
    "python -m open_clip_train.main --model ViT": (RANK, "python -m open_clip_train.main --model ViT", ""),
    "vllm serve m --tensor-parallel-size 8": (NODE, "vllm serve m --tensor-parallel-size 8 |", VLLM),
    "vllm serve m --nnodes 2 --node-rank=1 --port 9000": (NODE, "vllm serve m --port 9000 |", VLLM),
    "vllm serve m -tp 16 --distributed-executor-backend ray": (RAY, "vllm serve m -tp 16 --distributed-executor-backend ray |", ""),
    "vllm serve m --distributed_executor_backend=ray": (RAY, "vllm serve m --distributed_executor_backend=ray |", ""),
    "python3 -m vllm.entrypoints.openai.api_server --model m": (NODE, "python3 -m vllm.entrypoints.openai.api_server --model m |", ""),
    "python3 -m sglang.launch_server --model m --tp 16": (NODE, "python3 -m sglang.launch_server --model m --tp 16 |", SGLANG),
    "sglang serve --model m": (NODE, "sglang serve --model m |", SGLANG),
    "env HF_HOME=/x ray start --head": (NODE, "env HF_HOME=/x ray start --head", ""),
    "lm_eval --model hf": (RANK, "lm_eval --model hf", ""),
    "lm-eval run --model vllm": (NODE, "lm-eval run --model vllm", ""),
    "lm_eval --model hf --model_args pretrained=m,parallelize=True": (ONCE, "lm_eval --model hf --model_args pretrained=m,parallelize=True", ""),
    "lighteval vllm m t": (NODE, "lighteval vllm m t", ""),
    "lighteval accelerate m t": (RANK, "lighteval accelerate m t", ""),
    "python -m MaxText.train c.yml": (NODE, "python -m MaxText.train c.yml |", "JAX_COORDINATOR_IP={address} JAX_COORDINATOR_PORT={port} NNODES={nodes} NODE_RANK={node_rank}"),
    "nnUNetv2_train 1 3d_fullres 0 -num_gpus 4": (NODE, "nnUNetv2_train 1 3d_fullres 0 -num_gpus 4", ""),
    "nnUNetv2_train 1 3d_fullres 0": (ONCE, "nnUNetv2_train 1 3d_fullres 0", ""),
    "yolo train model=m device=0,1": (NODE, "yolo train model=m device=0,1", ""),
    "dask cuda worker s:1": (NODE, "dask cuda worker s:1", ""),
    "trtllm-llmapi-launch trtllm-serve m": (RANK, "trtllm-llmapi-launch trtllm-serve m", ""),
    "python -m areal.launcher.ray t.py": (RAY, "python -m areal.launcher.ray t.py", ""),
    "python -m dinov2.run.train.train --nodes 4": (ONCE, "python -m dinov2.run.train.train --nodes 4", ""),
    "rl @ c.toml": (ONCE, "rl @ c.toml", ""),
    "litgpt finetune_adapter m": (RANK, "litgpt finetune_adapter m", ""),
}  # fmt: skip


def started(line: str, **more: object) -> Options:
    options = Options(command=tuple(shlex.split(line)))._replace(**more)
    return recognise(options, 8)[0]


@pytest.mark.parametrize("line", TABLE)
def test_a_program_is_started_by_its_kind(line: str) -> None:
    launcher, left, words = TABLE[line]
    found = started(line)
    command = list(found.command)
    if found.program:
        command.insert(found.program.place, "|")
    assert (found.launcher, shlex.join(command).replace("'|'", "|")) == (launcher, left)
    assert " ".join(found.program.words if found.program else ()) == words


@pytest.mark.parametrize("line", [line for line in TABLE if TABLE[line][0]])
def test_the_user_s_launcher_wins(line: str) -> None:
    for launcher in ("srun", "torchrun"):
        found = started(line, launcher=launcher)
        assert (found.launcher, found.program) == (launcher, None)
        assert found.command == tuple(shlex.split(line))


# command and options: the beginning of the error, and its remedy
WRONG: dict[str, tuple[dict[str, object], str, str]] = {
    "tune run --nproc_per_node 4 r": ({}, "tune --nproc_per_node 4: the job has 8 on each node", "--ranks 4"),
    "tune run --nproc_per_node=4 r": ({"ranks": 2}, "tune --nproc_per_node 4: the job has 2", "leave out --nproc_per_node"),
    "env NPROC_PER_NODE=4 swift sft": ({}, "swift NPROC_PER_NODE 4: the job has 8", "--ranks 4"),
    "composer -n 4 t.py": ({}, "composer -n 4: the job has 8", "--ranks 4"),
    "tune run --nnodes 3 r": ({"facts": {"nodes": "2"}}, "tune --nnodes 3: the job has 2 nodes", "leave out --nnodes"),
    "trl sft --main_process_ip 127.0.0.1": ({"facts": {"nodes": "2"}}, "trl --main_process_ip 127.0.0.1: 2 nodes cannot meet", "first node"),
    "tune run --rdzv-endpoint localhost:0 r": ({"facts": {"nodes": "4"}}, "tune --rdzv-endpoint localhost:0: 4 nodes", "leave out"),
    "tune run --standalone r": ({"facts": {"nodes": "4"}}, "tune --standalone: 4 nodes", "leave out"),
    "torchrun --standalone t.py": ({"nodes": 2}, "torchrun --standalone: 2 nodes cannot meet", "leave out --standalone"),
    "python3 -u -m torch.distributed.run --standalone t.py": ({"nodes": 2}, "torch.distributed.run --standalone: 2 nodes", "leave out"),
    "torchrun --nnodes=1 --nproc-per-node=8 t.py": ({"nodes": 2}, "torchrun --nnodes 1: the job has 2 nodes", "leave out --nnodes"),
    "torchrun --rdzv_endpoint=localhost:29500 t.py": ({"facts": {"nodes": "2"}}, "torchrun --rdzv_endpoint localhost:29500: 2 nodes", "first node"),
    "accelerate launch --num_processes 8 t.py": ({"nodes": 2}, "accelerate --num_processes 8: the job has 16 ranks on 2 nodes", "--ranks 4"),
    "accelerate launch --num_machines 1 t.py": ({"nodes": 2}, "accelerate --num_machines 1: the job has 2 nodes", "leave out"),
    "accelerate launch --main_process_ip 127.0.0.1 t.py": ({"nodes": 2}, "accelerate --main_process_ip 127.0.0.1: 2 nodes", "first node"),
    "deepspeed --num_nodes 1 t.py": ({"nodes": 2}, "deepspeed --num_nodes 1: the job has 2", "leave out"),
    "deepspeed --include=localhost:0,1 t.py": ({"nodes": 2}, "deepspeed --include localhost:0,1: 2 nodes", "leave out"),
    "horovodrun -np 4 -H localhost:4 python t.py": ({"nodes": 2}, "horovodrun -np 4: the job has 16 ranks", "--ranks 2"),
    "mpirun -np 4 -npernode 4 ./a": ({"nodes": 2}, "mpirun -np 4: the job has 8 ranks on 2 nodes", "--ranks 2"),
    "trl sft --num_processes 7": ({"nodes": 2}, "trl --num_processes 7: the job has 16 ranks", "leave out --num_processes"),
    "composer --world_size=8 t.py": ({"nodes": 2}, "composer --world_size 8: the job has 16", "--ranks 4"),
    "ray job submit --no-wait -- python t.py": ({}, "ray --no-wait: the cluster ends with this command", "leave out --no-wait"),
    "ray job submit --working-dir . --no-wait python t.py": ({"launcher": "ray"}, "ray --no-wait: the cluster", "leave out"),
    "python -m ray.scripts.scripts job submit --no-wait -- t": ({"ranks": 1}, "ray.scripts.scripts --no-wait: the", "leave out"),
    "env A=b /x/ray job submit --no-wait -- t": ({}, "ray --no-wait: the cluster", "leave out"),
    "serve run --non-blocking app:app": ({}, "serve --non-blocking: the cluster", "leave out"),
    "ray start --head --block": ({"nodes": 2}, "ray --head: the command runs on every node", "--launcher ray -- python PROGRAM"),
    "axolotl train c.yaml -- --num_machines": ({}, "axolotl --num_machines: a value is missing", "leave"),
}  # fmt: skip


@pytest.mark.parametrize("line", WRONG)
def test_a_contradiction_is_an_error_with_its_remedy(line: str) -> None:
    more, message, remedy = WRONG[line]
    with pytest.raises(UsageError) as caught:
        started(line, **more)
    assert str(caught.value).startswith(message)
    assert remedy in (caught.value.hint or "")


# commands that agree with a job of two nodes with 8 GPUs each, or give it its ranks
RIGHT = (
    "torchrun --nnodes 2 --nproc_per_node 8 --rdzv_endpoint=$HOST:1 t.py",
    "torchrun --nnodes=1:4 --nproc-per-node=4 t.py",
    "accelerate launch --num_processes 16 --num_machines=2 t.py",
    "mpirun -np 8 -npernode 4 ./a",
    "mpirun -npernode 4 -np 8 ./a",
    "trl sft --num_processes $N",
    "ray job submit -- python t.py --no-wait",
    "ray job submit -- serve run --non-blocking a",
    "ray start --address head:6379 --block",
)


@pytest.mark.parametrize(
    "line",
    [
        "mpirun -np 8 a.out",
        "horovodrun -np 8 python t.py",
        "accelerate launch --num_processes 8 t.py",
        "composer -n 4 t.py",
        "tune run --nproc_per_node 4 r",
    ],
)
@pytest.mark.parametrize("request_words", [("--gpus-per-node", "4"), ("--gpus", "8")])
def test_the_ranks_of_a_command_are_compared_with_the_gpus_that_the_job_requests(
    line: str, request_words: tuple[str, ...]
) -> None:
    words = (*asking("lumi-g"), "--container", "none", "--srun-arg=--mpi=pmi2")
    command = shlex.split(line)
    made = envcfg("job", *words, "--nodes", "2", *request_words, "--", *command)
    assert made.code == 0, made.err
    whole = envcfg("job", *words, "--nodes", "2", "--", *command)
    assert whole.code == 2
    assert "the job has" in whole.err


@pytest.mark.parametrize("line", RIGHT)
def test_a_command_that_agrees_with_the_job_is_taken(line: str) -> None:
    assert started(line, nodes=2).command


# the words of a server, and its port
PORTS = {
    "vllm serve m": "8000",
    "vllm serve m --port 9000": "9000",
    "vllm serve m --port=9001 --port 9002": "9002",
    "vllm serve m --port": "",
    "vllm serve m --port $PORT": "",
    "sglang serve --model m": "30000",
    "axolotl train c.yaml": "",
}


@pytest.mark.parametrize("line", PORTS)
def test_the_port_of_a_server_is_known(line: str) -> None:
    program = started(line).program
    assert program
    assert program.port == PORTS[line]


def test_one_server_per_gpu_is_the_user_s_choice() -> None:
    found = started("vllm serve m", ranks=8)
    assert (found.launcher, found.program, found.ranks) == (None, None, 8)


def test_ranks_of_the_user_may_repeat_those_of_the_command() -> None:
    found = started("tune run --nproc_per_node 4 r", ranks=4)
    assert found.ranks == 4
    assert found.program
    found, _ = recognise(Options(command=("composer", "-n", "2", "t.py")))
    assert found.ranks == 2


def test_each_row_has_its_kind_its_source_and_known_values() -> None:
    rows = load_yaml("knowledge/programs.yaml")
    for name, row in rows.items():
        assert row["kind"] in KINDS, name
        assert row["begins"], name
        assert row["source"], name
        assert row["date"], name
        assert not ("options" in row and row["kind"] != "node"), name
        for value in (*row.get("options", {}).values(), *row.get("variables", {}).values()):  # fmt: skip
            value.format(**ROLES)
    assert len(rows) >= 40


# command and options: whether the kind of the program is asked for
ASKED: dict[str, tuple[dict[str, object], bool]] = {
    "tool train": ({}, True),
    "/opt/venv/bin/tool train": ({}, True),
    "env A=1 tool train": ({}, True),
    "tool train ": ({"launcher": "srun"}, False),
    "tool  train": ({"ranks": 4}, False),
    "python tool": ({}, False),
    "axolotl train c.yaml": ({}, False),
    "": ({}, False),
}


@pytest.mark.parametrize("line", ASKED)
def test_the_kind_of_a_command_that_uses_a_launcher_is_asked_for(line: str) -> None:
    more, is_asked = ASKED[line]
    imports = dict.fromkeys(("tool", "axolotl"), ("ray", "/x.py"))
    options = Options(command=tuple(shlex.split(line)), image_facts=ImageFacts(imports=imports))  # fmt: skip
    found, notes = recognise(options._replace(**more), 8)
    warnings = [note for note in notes if note.rule == "launcher-unknown"]
    assert bool(warnings) == is_asked
    if is_asked:
        assert found.launcher is None
        assert "uses ray in the image (/x.py)" in warnings[0].message
        assert "--launcher" in (warnings[0].fix or "")


@pytest.mark.parametrize(
    ("line", "name"),
    {
        "other train": "other",
        "./other": "./other",
        "python -m other.train": "other.train",
        "python gone.py": "",
        "bash gone.sh": "",
        "simulate": "simulate",
        "hostname": "",
        "/usr/bin/nvidia-smi -L": "",
        "lmp -in x": "",
        "python -m lm_eval --model hf": "",
    }.items(),
)
def test_an_unknown_program_has_a_note(line: str, name: str) -> None:
    options = Options(command=tuple(line.split()))
    notes = recognise(options, 8)[1]
    assert [note.subject for note in notes] == [name] * bool(name)
    assert not recognise(options, 1)[1]
    assert not recognise(options._replace(ranks=2), 8)[1]
