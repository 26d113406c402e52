"""What a command that begins with a launcher becomes."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from envcfg import knowledge
from envcfg.backends.launchers import LAUNCHERS
from envcfg.common.datafile import load_yaml
from envcfg.common.errors import UsageError
from envcfg.job.plan.command_launcher import recognise
from envcfg.job.plan.plan import Options

PYTHON = ("python3", "-u")

# command: launcher, ranks, options that are kept, the program
TAKEN = {
    "torchrun t.py --lr 3": ("torchrun", None, "", (*PYTHON, "t.py", "--lr", "3")),
    "torchrun --nproc-per-node=4 --nnodes 2 t.py": ("torchrun", 4, "", (*PYTHON, "t.py")),
    "torchrun --nproc_per_node gpu --standalone t.py": ("torchrun", None, "", (*PYTHON, "t.py")),
    "torchrun --max-restarts=3 --tee 3 -m pkg.train -x": (
        *("torchrun", None, "--max-restarts=3 --tee 3"),
        (*PYTHON, "-m", "pkg.train", "-x"),
    ),
    "torchrun --nproc-per-node=${SLURM_GPUS_PER_NODE} t.py": (
        *("torchrun", None, ""),
        (*PYTHON, "t.py"),
    ),
    "torchrun --nproc_per_node $SLURM_GPUS_ON_NODE t.py": ("torchrun", None, "", (*PYTHON, "t.py")),
    "torchrun --no-python ./a.out b": ("torchrun", None, "", ("./a.out", "b")),
    "/opt/venv/bin/torchrun t.py": ("torchrun", None, "", (*PYTHON, "t.py")),
    "/opt/bin/python3.11 -m torch.distributed.run --rdzv-id 7 t.py": (
        *("torchrun", None, ""),
        ("/opt/bin/python3.11", "-u", "t.py"),
    ),
    "python -m torch.distributed.launch --nproc_per_node=8 t.py": (
        *("torchrun", 8, ""),
        ("python", "-u", "t.py"),
    ),
    "python3 -u -X dev -m torch.distributed.run t.py -m x": (
        *("torchrun", None, ""),
        ("python3", "-u", "-X", "dev", "t.py", "-m", "x"),
    ),
    "python -mtorch.distributed.run t.py": ("torchrun", None, "", ("python", "-u", "t.py")),
    "python -Bum torch.distributed.run t.py": (
        *("torchrun", None, ""),
        ("python", "-Bu", "-u", "t.py"),
    ),
    "python -B -m deepspeed.launcher.runner t.py": (
        *("deepspeed", None, ""),
        ("python", "-B", "-u", "t.py"),
    ),
    "accelerate launch --num_processes 16 --mixed_precision bf16 --use_fsdp t.py": (
        *("accelerate", None, "--mixed_precision bf16 --use_fsdp"),
        (*PYTHON, "t.py"),
    ),
    "accelerate launch --fsdp_sharding_strategy=1 -m pkg": (
        *("accelerate", None, "--fsdp_sharding_strategy=1"),
        (*PYTHON, "-m", "pkg"),
    ),
    "deepspeed --num_gpus 4 --hostfile h t.py --deepspeed ds.json": (
        *("deepspeed", 4, ""),
        (*PYTHON, "t.py", "--deepspeed", "ds.json"),
    ),
    "horovodrun -np 16 -H a:8,b:8 python t.py": ("horovod", None, "", ("python", "t.py")),
    "mpirun -np 16 --map-by slot -npernode 8 ./a": ("mpi", 8, "", ("./a",)),
    "mpiexec -n 2 -- ./a -n 3": ("mpi", None, "", ("./a", "-n", "3")),
}  # fmt: skip


def test_launchers_that_begin_commands_are_known() -> None:
    known = load_yaml("knowledge/programs.yaml").values()
    launchers = {each["launcher"] for each in known if "launcher" in each}
    assert launchers <= LAUNCHERS.keys()


@pytest.mark.parametrize("line", TAKEN)
def test_the_launcher_is_taken_out_of_the_command(line: str) -> None:
    launcher, ranks, kept, program = TAKEN[line]
    found, (note,) = recognise(Options(command=tuple(line.split())))
    assert (found.launcher, found.ranks) == (launcher, ranks)
    assert " ".join(found.agent_options) == kept
    assert found.command == program
    assert (note.rule, note.subject) == ("launcher-recognised", f"launcher {launcher}")


WHOLE = (
    "vllm serve model --tensor-parallel-size 8",
    "/opt/venv/bin/vllm serve model",
    "python3 -m vllm.entrypoints.openai.api_server --model m",
    "sglang serve --model-path m",
    "python -u -m sglang.launch_server --model-path m --tp 8",
    "ray start --head --block",
    "ray symmetric-run --address a:6379 -- python t.py",
)


@pytest.mark.parametrize("line", WHOLE)
def test_a_program_that_takes_a_whole_node_starts_once_on_each(line: str) -> None:
    command = tuple(line.split())
    found, (note,) = recognise(Options(command=command))
    assert found._replace(program=None) == Options(
        command=command, launcher="whole-node"
    )
    assert note.rule == "launcher-recognised"
    program = command[command.index("-m") + 1] if "-m" in command else command[0]
    assert note.message.startswith(
        f"is used, because {program.rpartition('/')[2]} takes"
    )
    for given in (Options(launcher="srun"), Options(ranks=4)):
        asked = given._replace(command=command)
        assert recognise(asked) == (asked, [])


LEFT_ALONE = (
    "vllm collect-env",
    "ray status",
    "python -m vllm.collect_env",
    "python train.py",
    "python -m train",
    "python -u -m train -m torch.distributed.run",
    "python train.py -m torch.distributed.run",
    "python -m",
    "python -W",
    "python -m torch.utils.collect_env",
    "accelerate help",
    "bash -c torchrun",
    "./torchrun.sh",
    "python torchrun",
    "env torchrun t.py",
)


@pytest.mark.parametrize("line", LEFT_ALONE)
def test_any_other_command_stays(line: str) -> None:
    options = Options(command=tuple(line.split()))
    assert recognise(options) == (options, [])


def test_what_the_job_decides_is_named_and_what_is_asked_for_wins() -> None:
    words = (
        "torchrun",
        "--nnodes=2",
        "--rdzv_endpoint",
        "h:1",
        "--nproc-per-node=4",
        "t",
    )
    found, (note,) = recognise(Options(command=words, ranks=2, launcher="torchrun"))
    assert found.ranks == 2
    assert "the job decides it: --nnodes, --rdzv-endpoint" in note.message


def test_a_launcher_with_a_path_does_not_bring_the_python_beside_it() -> None:
    (_, (note,)) = recognise(Options(command=("/opt/venv/bin/torchrun", "t.py")))
    assert "python3 is then that of PATH, whatever /opt/venv/bin has" in note.message


def test_the_older_name_of_torchrun_spells_the_local_rank_with_a_dash() -> None:
    line = "python -m torch.distributed.launch t.py"
    found, _ = recognise(Options(command=tuple(line.split())))
    assert found.local_rank_option == "--local-rank"


@pytest.mark.parametrize(
    ("line", "after"),
    [
        ("python -u -m torch.distributed.launch t.py", 3),
        ("python -m torch.distributed.launch -m pkg a", 4),
        ("python -m torch.distributed.launch --use_env t.py", None),
        ("deepspeed t.py a", 3),
        ("deepspeed --module pkg a", 4),
        ("deepspeed --no_python ./a b", 1),
        ("deepspeed --no_local_rank t.py", None),
        ("torchrun t.py", None),
    ],
)
def test_deepspeed_gives_programs_their_local_rank(
    line: str, after: int | None
) -> None:
    found, _ = recognise(Options(command=tuple(line.split())))
    assert found.local_rank_at == after


WRONG = {
    "srun python t.py": "begins with srun",
    "/usr/bin/srun -n 8 t": "begins with srun",
    "flux run ./a": "begins with flux",
    "torchrun --new-option t.py": "does not know this option",
    "accelerate launch --cpu t.py": "does not know this option",
    "torchrun --nnodes": "a value is missing",
    "torchrun --nproc-per-node=many t.py": "'many' is not a number of ranks",
    "torchrun --nproc-per-node=${WORKERS} t.py": "WORKERS. is not known before the job runs",
    "torchrun --nnodes=2": "no program after torchrun",
    "horovodrun --fusion-threshold-mb 32 python t.py": "does not know this option",
    "mpirun -x NCCL_DEBUG=INFO ./a": "does not know this option",
    "mpirun -m ./a": "does not know this option",
    "mpirun -np 1 ./a x : -np 3 ./b": "one step runs one",
}


@pytest.mark.parametrize("line", WRONG)
def test_what_cannot_be_understood_is_refused_with_a_remedy(line: str) -> None:
    with pytest.raises(UsageError, match=WRONG[line]) as caught:
        recognise(Options(command=tuple(line.split())))
    assert caught.value.hint


def test_what_is_said_is_as_reviewed(request: pytest.FixtureRequest) -> None:
    parts = []
    for line in (*TAKEN, *WRONG):
        parts.append(f"$ {line}")
        try:
            _, notes = recognise(Options(command=tuple(line.split())))
        except UsageError as err:
            parts += err.lines()
        else:
            parts += [text for note in notes for text in note.lines()]
    with pytest.raises(UsageError) as caught:
        recognise(Options(command=("torchrun", "t.py"), launcher="srun"))
    parts += ["$ torchrun t.py, and --launcher srun", *caught.value.lines()]
    text = "\n".join(parts) + "\n"
    golden = Path(__file__).parent / "golden/recognise.txt"
    if request.config.getoption("--update-golden"):
        golden.write_text(text, encoding="utf-8")
    assert text == golden.read_text(encoding="utf-8")


def test_another_launcher_than_the_command_shows_is_refused() -> None:
    with pytest.raises(UsageError, match="which --launcher srun is not"):
        recognise(Options(command=("torchrun", "t.py"), launcher="srun"))


def test_each_known_program_has_a_source_and_options_that_are_named_once() -> None:
    path = f"{knowledge.__path__[0]}/programs.yaml"
    with open(path, encoding="utf-8") as file:
        known = yaml.safe_load(file)
    for name, entry in known.items():
        assert entry["source"]
        assert entry["date"]
        kinds = (
            "ranks",
            "decided",
            "decided_flags",
            "kept",
            "kept_flags",
            "mode",
            "mode_flags",
        )
        lists = [entry.get(kind, []) for kind in kinds]
        words = [
            w
            for each in lists
            for w in (each.split() if isinstance(each, str) else each)
        ]
        assert len(words) == len(set(words)), name
        assert not [word for word in words if "_" in word or not word.startswith("-")]
