"""Sizes of parallel groups that the GPUs of the job contradict."""

from __future__ import annotations

from pathlib import Path

import pytest

from envcfg.common.errors import UsageError
from envcfg.core.step import check_degrees
from envcfg.job.plan.plan import Options, Statement

MEGATRON = "torchrun pretrain.py --tensor-model-parallel-size"
# nodes and GPUs of each, the command, the file c.yaml: a part of the error, or nothing
CASES: dict[str, tuple[int, int, str, str, str]] = {
    "too many": (3, 4, f"{MEGATRON} 8 --pipeline-model-parallel-size 2", "", "--tensor-model-parallel-size 8 x --pipeline-model-parallel-size 2: groups of 16 GPUs do not fit the job: 3 nodes with 4 GPUs each"),
    "no divisor": (3, 4, f"{MEGATRON}=8", "", "groups of 8 GPUs do not"),
    "a divisor": (3, 4, f"{MEGATRON}=2 --pipeline-model-parallel-size=3", "", ""),
    "context": (2, 8, f"{MEGATRON} 4 --context-parallel-size 3", "", "groups of 12 GPUs"),
    "vllm": (1, 8, "vllm serve m -tp 8 -pp 2", "", "-tp 8 x -pp 2: groups of 16 GPUs"),
    "vllm, a part": (3, 4, "vllm serve m --tensor-parallel-size 8", "", ""),
    "vllm, data": (1, 8, "vllm serve m --tensor_parallel_size=4 --data_parallel_size=4", "", "groups of 16 GPUs"),
    "sglang": (2, 4, "sglang serve --tp-size 8 --dp-size 8 --enable-dp-attention", "", ""),
    "sglang, data": (2, 4, "sglang serve --tp-size 8 --dp-size 2", "", "groups of 16 GPUs"),
    "lm-eval": (1, 4, "lm_eval --model vllm --model_args pretrained=m,tensor_parallel_size=8", "", "groups of 8 GPUs"),
    "verl, groups": (1, 8, "python m a.rollout.tensor_model_parallel_size=4 a.actor.tensor_model_parallel_size=8", "", ""),
    "verl, nodes": (1, 8, "python m trainer.nnodes=2 trainer.n_gpus_per_node=8", "", "trainer.nnodes=2 does not fit the job: 1 nodes with 8"),
    "verl, gpus": (2, 4, "python m trainer.n_gpus_per_node=8", "", "trainer.n_gpus_per_node=8 does not fit the job: 2 nodes with 4 GPUs each"),
    "titan": (1, 8, "torchrun t.py --parallelism.tensor_parallel_degree 8 --parallelism.pipeline_parallel_degree=2", "", "groups of 16 GPUs"),
    "a file": (3, 4, "nemo c.yaml", "model:\n  tensor_model_parallel_size: 8\n  pipeline_model_parallel_size: 2\n", "c.yaml:2: tensor_model_parallel_size=8 x c.yaml:3: pipeline_model_parallel_size=2: groups of 16 GPUs"),
    "other parents": (1, 8, "nemo c.yaml", "a:\n  tensor_model_parallel_size: 8\nb:\n  pipeline_model_parallel_size: 2\n", ""),
    "experts": (2, 4, "torchrun p.py --expert-model-parallel-size 4 --expert-tensor-parallel-size 4", "", "groups of 16 GPUs"),
    "experts, no divisor": (3, 4, "torchrun p.py --expert-model-parallel-size 8", "", "groups of 8 GPUs"),
    "experts of all GPUs": (2, 4, "torchrun p.py --tensor-model-parallel-size 4 --expert-model-parallel-size 8 --expert-tensor-parallel-size 1", "", ""),
    "sglang, experts": (1, 8, "sglang serve --tp 8 --ep-size 16", "", "--ep-size 16: groups of 16 GPUs"),
    "titan, shards": (1, 8, "t --parallelism.data_parallel_shard_degree=-1 --parallelism.tensor_parallel_degree=8", "", ""),
    "titan, all": (2, 8, "t c.toml", "[parallelism]\ndata_parallel_shard_degree = 8\ntensor_parallel_degree = 4\n", "c.toml:2: data_parallel_shard_degree=8"),
    "batch": (2, 4, "deepspeed t.py --deepspeed_config=c.json", '{\n "train_batch_size": 64,\n "train_micro_batch_size_per_gpu": 4,\n "gradient_accumulation_steps": 4\n}', "c.json:2: train_batch_size=64 is not c.json:3: train_micro_batch_size_per_gpu=4 x c.json:4: gradient_accumulation_steps=4 x 8 ranks of the job: 2 nodes with 4 GPUs each"),
    "batch that fits": (2, 4, "t.py --deepspeed_config c.json", '{\n "train_batch_size": 64,\n "train_micro_batch_size_per_gpu": 4\n}', ""),
    "batch without a factor": (3, 4, "t.py --deepspeed_config c.json", '{\n "train_batch_size": 64,\n "train_micro_batch_size_per_gpu": 4\n}', "is not c.json:3: train_micro_batch_size_per_gpu=4 x 12 ranks"),
    "batch, automatic": (3, 4, "t.py --deepspeed_config c.json", '{\n "train_batch_size": "auto",\n "train_micro_batch_size_per_gpu": 4\n}', ""),
    "batch of tensor groups": (3, 4, "t.py --deepspeed_config c.json --model-parallel-size 4", '{\n "train_batch_size": 64,\n "train_micro_batch_size_per_gpu": 4\n}', ""),
    "accelerate, one process": (2, 4, "accelerate launch --config_file c.yaml t.py", "compute_environment: LOCAL_MACHINE\ndistributed_type: 'NO'\nnum_processes: 8\n", "c.yaml:2: distributed_type=NO starts one process; the job: 2 nodes"),
    "accelerate, CPU": (2, 4, "accelerate launch --config_file=c.yaml t.py", "distributed_type: MULTI_GPU\nuse_cpu: true\n", "c.yaml:2: use_cpu=true starts one process"),
    "accelerate, ranks": (2, 4, "accelerate launch --config_file c.yaml t.py", "distributed_type: FSDP\nnum_machines: 9\nuse_cpu: false\n", ""),
    "accelerate, told": (2, 4, "accelerate launch --config_file c.yaml --use_fsdp t.py", "distributed_type: 'NO'\n", ""),
    "accelerate, one GPU": (1, 1, "accelerate launch --config_file c.yaml t.py", "distributed_type: 'NO'\n", ""),
    "a variable": (1, 8, f"{MEGATRON} $TP", "", ""),
    "unknown nodes": (0, 8, f"{MEGATRON} 64", "", ""),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_sizes_are_compared_with_the_gpus_of_the_job(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    nodes, gpus, command, text, error = CASES[name]
    monkeypatch.chdir(tmp_path)
    for name in {"c.yaml", *command.replace("=", " ").split()}:
        if name.startswith("c."):
            (tmp_path / name).write_text(text)
    options = Options(command=tuple(command.split()), nodes=nodes or None)
    if not error:
        check_degrees(options, gpus)
        return
    with pytest.raises(UsageError) as caught:
        check_degrees(options, gpus)
    assert error in str(caught.value)


def test_a_line_of_a_script_is_named() -> None:
    words = ("--tensor-parallel-size", "16")
    one = Statement("node", "starts vllm", "t.sh", 7, True, {}, words)
    options = Options(command=("bash", "t.sh"), statements=(one,), nodes=1)
    with pytest.raises(
        UsageError, match=r"t\.sh:7: --tensor-parallel-size 16: groups of 16 GPUs"
    ):
        check_degrees(options, 8)
    check_degrees(options._replace(launcher="ray"), 16)


def test_a_file_that_a_file_names_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "c.yaml").write_text("deepspeed: d.json\n")
    (tmp_path / "d.json").write_text(
        '{\n "train_batch_size": 9,\n "gradient_accumulation_steps": 1\n}'
    )
    options = Options(command=("llamafactory-cli", "train", "c.yaml"), nodes=1)
    with pytest.raises(
        UsageError, match=r"d\.json:2: train_batch_size=9 is not d\.json:3"
    ):
        check_degrees(options, 8)
