"""A cluster that no profile knows: read where jobs are submitted, kept, taken by itself."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from test_new import bin_folder, program, slurm

from support import envcfg, require_root

__all__ = ["bin_folder"]  # a fixture
JOB = ["job", "--container", "none", "--nodes", "2", "--time", "30", "-o", "-"]
COMMAND = ["--", "python", "train.py"]


@pytest.fixture
def profiles(bin_folder: Path) -> Path:
    for name in ("scontrol", "sinfo", "sacctmgr"):
        program(bin_folder, name, "touch asked; exit 1")
    slurm(bin_folder)
    program(bin_folder, "sbatch", "exit 1")
    return bin_folder.parent / "config/envcfg/profiles"


def test_a_cluster_is_read_once_saved_and_taken(
    bin_folder: Path, profiles: Path
) -> None:
    made = envcfg(*JOB, *COMMAND)
    assert made.code == 0, made.err
    for line in (
        "--gpus-per-node=4",
        "--cpus-per-task=32",
        "--mem=515000M",
        "--nodes=2",
    ):
        assert f"#SBATCH {line}" in made.text, made.text
    path = profiles / "here-mine.yaml"
    assert f"note: profile here-mine: no profile knew cluster mine: read from Slurm, saved in {path}" in made.err  # fmt: skip
    assert "--profile user:here-mine" in made.text
    (bin_folder / "node.txt").write_text("")  # it is not read again
    again = envcfg(*JOB, *COMMAND)
    assert again.code == 0, again.err
    assert "read from Slurm" not in again.err
    assert again.text == made.text
    assert envcfg("profiles", "validate", "--strict", str(path)).code == 0


def test_here_names_it(profiles: Path) -> None:
    shown = envcfg("profiles", "show", "here")
    assert shown.code == 0, shown.err
    for said in ("profile here-mine", "scontrol show node", "cores_per_gpu", "h100"):
        assert said in shown.text, said
    assert (profiles / "here-mine.yaml").exists()
    wrapped = envcfg("wrap", "--profile", "here", "--container", "none", "--json")
    assert json.loads(wrapped.text)["profile"]["name"] == "here-mine"
    detected = json.loads(envcfg("profiles", "detect", "--json").text)
    assert (detected["profile"], detected["found"][0]["evidence"]) == ("here-mine", "cluster")  # fmt: skip


def test_that_of_another_cluster_stays_and_is_not_taken(
    bin_folder: Path, profiles: Path
) -> None:
    assert envcfg(*JOB, *COMMAND).code == 0
    first = (profiles / "here-mine.yaml").read_bytes()
    slurm(bin_folder, cluster="other")
    made = envcfg(*JOB, *COMMAND)
    assert "--profile user:here-other" in made.text
    assert (profiles / "here-mine.yaml").read_bytes() == first
    slurm(bin_folder, cluster="../../x $(y)")
    assert envcfg(*JOB, *COMMAND).code == 0
    assert len(list(profiles.iterdir())) == 3


def test_it_counts_in_a_folder_of_a_group_if_that_is_accepted(profiles: Path) -> None:
    require_root()
    profiles.parent.mkdir(parents=True)
    os.chown(profiles.parent, 0, 4242)
    profiles.parent.chmod(0o775)
    assert envcfg(*JOB, "--allow-writable", *COMMAND).code == 0
    refused = envcfg(*JOB, *COMMAND)
    assert (refused.code, "--allow-writable" in refused.err) == (2, True), refused.err
    again = envcfg(*JOB, "--allow-writable", *COMMAND)
    assert (again.code, "read from Slurm" in again.err) == (0, False), again.err


PARTITIONS = """\
PartitionName=small MaxNodes=1 State=UP
PartitionName=many MaxNodes=6 State=UP
PartitionName=few MaxNodes=2 State=UP
"""


def test_where_none_is_the_default_the_one_for_most_nodes_is_taken(
    bin_folder: Path, profiles: Path
) -> None:
    (bin_folder / "partition.txt").write_text(PARTITIONS)
    nodes = (bin_folder / "node.txt").read_text()
    (bin_folder / "node.txt").write_text(
        nodes.replace("Partitions=gpu", "Partitions=small,many,few")
    )
    done = envcfg("job", "--container", "none", "--gpus-per-node", "16", *COMMAND)
    assert done.code == 2
    assert f"saved in {profiles}/here-mine.yaml" in done.err
    assert "#SBATCH --partition=many" in envcfg(*JOB, *COMMAND).text


@pytest.mark.parametrize("with_file", [False, True])
def test_in_a_job_nothing_is_asked(
    bin_folder: Path,
    profiles: Path,
    monkeypatch: pytest.MonkeyPatch,
    with_file: bool,
) -> None:
    if with_file:
        assert envcfg(*JOB, *COMMAND).code == 0
    program(bin_folder, "scontrol", "touch asked; exit 1")
    monkeypatch.setenv("SLURM_JOB_ID", "1")
    monkeypatch.setenv("SLURM_CLUSTER_NAME", "mine")
    wrapped = envcfg("wrap", "--container", "none", *COMMAND)
    named = envcfg("wrap", "--profile", "here", "--container", "none", *COMMAND)
    assert (wrapped.code, named.code) == ((0, 0) if with_file else (2, 2))
    assert with_file or "runs on a system that no profile knows" in wrapped.err
    assert with_file or "there is no profile here-mine yet" in named.err
    assert not Path("asked").exists()
    assert profiles.exists() is with_file


def test_a_profile_of_the_user_s_own_goes_before_it(profiles: Path) -> None:
    assert envcfg(*JOB, *COMMAND).code == 0
    made = envcfg("profiles", "new", "mycluster")
    assert made.code == 0, made.err
    assert "\ndetect:\n  clusters: [mine]\n" in Path(made.text.strip()).read_text()
    taken = envcfg(*JOB, *COMMAND)
    assert "--profile user:mycluster" in taken.text, taken.err
    assert (profiles / "here-mine.yaml").exists()


def test_it_is_read_again_when_its_file_is_removed(
    bin_folder: Path, profiles: Path
) -> None:
    assert envcfg(*JOB, *COMMAND).code == 0
    text = (bin_folder / "node.txt").read_text().replace("CPUTot=128", "CPUTot=64")
    (bin_folder / "node.txt").write_text(text)
    (profiles / "here-mine.yaml").unlink()
    assert "--cpus-per-task=16" in envcfg(*JOB, *COMMAND).text


@pytest.mark.parametrize("name", ["sbatch", "qsub", "flux"])
def test_where_a_scheduler_is_and_does_not_answer_nothing_is_guessed(
    bin_folder: Path, name: str
) -> None:
    program(bin_folder, name, "exit 1")
    made = envcfg("wrap", "--container", "none", *COMMAND)
    assert made.code == 2
    assert "the scheduler's configuration is unknown: " in made.err
    assert "--profile" in made.err
    alone = envcfg("wrap", "--container", "none", "--launcher", "local", *COMMAND)
    assert alone.code == 0, alone.err
    assert "profile workstation" in alone.err


def test_where_there_is_no_scheduler_it_is_a_workstation(bin_folder: Path) -> None:
    assert bin_folder.exists()
    made = envcfg("wrap", "--container", "none", *COMMAND)
    assert (made.code, "profile workstation" in made.err) == (0, True)


def test_a_folder_that_cannot_be_written_is_said(
    bin_folder: Path, profiles: Path
) -> None:
    assert bin_folder.exists()
    profiles.parent.parent.write_text("a file")
    made = envcfg(*JOB, *COMMAND)
    assert made.code == 4
    assert "cannot be saved: " in made.err


def test_a_known_cluster_is_known_on_its_login_node_by_asking(
    bin_folder: Path, profiles: Path
) -> None:
    slurm(bin_folder, cluster="perlmutter")
    detected = json.loads(envcfg("profiles", "detect", "--json").text)
    assert detected["profile"] == "perlmutter"
    assert not profiles.exists()


PBS = 'case "$*" in "-B -f") printf "Server: pbs1.example.org\\n    server_state = Active\\n";; *) exit 1;; esac'
FLUX = 'case "$*" in "getattr hostlist") echo "corona[1-200]";; *) exit 1;; esac'


@pytest.mark.parametrize(
    ("commands", "name", "launcher", "line"),
    [
        (
            {"qsub": "exit 1", "qstat": PBS},
            "here-pbs1",
            "pbs",
            "#PBS -l select=2:ngpus=4",
        ),
        ({"flux": FLUX}, "here-corona", "flux", "#flux: --nodes=2"),
    ],
)
def test_other_schedulers_name_their_clusters(
    bin_folder: Path, commands: dict[str, str], name: str, launcher: str, line: str
) -> None:
    for each, text in commands.items():
        program(bin_folder, each, text)
    first = envcfg("wrap", "--container", "none", *COMMAND)
    assert "could not read the GPUs of a node" in first.err
    assert "could not read" not in envcfg("wrap", "--container", "none", *COMMAND).err
    bare = envcfg(*JOB, *COMMAND)
    assert bare.code == 2
    assert "give --gpus-per-node N" in bare.err
    made = envcfg(*JOB, "--gpus-per-node", "4", *COMMAND)
    assert made.code == 0, made.err
    assert f"user:{name}" in made.text
    assert line in made.text, made.text
    plan = json.loads(envcfg("wrap", "--container", "none", "--json", *COMMAND).text)
    assert (plan["profile"]["name"], plan["launcher"]) == (name, launcher)


# In the forms of openpbs (src/cmds/pbsnodes.c, qstat.c) and flux-core (flux-resource.py).
VNODE = """\
%s
     Mom = gpu1.example.org
     ntype = PBS
     state = free
     comment = resources_available.ngpus = 9
     resources_available.arch = linux
     resources_available.gpu_model = %s
     resources_available.host = %s
     resources_available.mem = 263900000kb
     resources_available.ncpus = 32
     resources_available.ngpus = 2
     resources_assigned.ncpus = 5
     queue = gpuq
     last_state_change_time = Mon Nov 23 10:00:00 2026

"""
CPU_NODE = "cpu1\n     resources_available.host = cpu1\n     resources_available.mem = 128gb\n     resources_available.ncpus = 64\n\n"
QUEUES = """\
Queue: gpuq
    queue_type = Execution
    resources_max.walltime = 24:00:00
    resources_max.nodect = 10
    hasnodes = True
    enabled = True
    started = True

Queue: routed
    queue_type = Execution
    from_route_only = True
    enabled = True
    started = True

Queue: workq
    queue_type = Execution
    enabled = True
    started = True

"""
SERVER = "Server: pbs1\n    server_state = Active\n    default_queue = workq\n"
RESOURCES = """\
pbatch,long|mi300a|30|2880|120
pdebug|mi300a|2|192|8
odd||3|100|4
torn
down||0|0|0
"""
LIMITS = "pbatch*|86400.0|inf\npdebug|3600.0|2.0\nlong|inf|inf\n"


def answering(folder: Path, name: str, answers: dict[str, str]) -> None:
    """Put a program there that answers where its words hold a text, and fails else."""
    cases = ""
    for number, (key, text) in enumerate(answers.items()):
        file = folder / f"{name}.{number}"
        file.write_text(text)
        cases += f"*'{key}'*) cat {file};; "
    program(folder, name, f'case "$*" in {cases}*) exit 1;; esac')


def saved(cluster: str) -> str:
    return Path(f"config/envcfg/profiles/here-{cluster}.yaml").read_text()


def test_nodes_of_pbs_are_read(bin_folder: Path) -> None:
    nodes = "".join(
        VNODE % (f"gpu{n}[{part}]", "A100", f"gpu{n}")
        for n in (1, 2)
        for part in (0, 1)
    )
    program(bin_folder, "qsub", "exit 1")
    answering(bin_folder, "qstat", {"-B": SERVER, "-Q": QUEUES})
    answering(bin_folder, "pbsnodes", {"-a -v": nodes + CPU_NODE})
    made = envcfg(*JOB, *COMMAND)
    assert made.code == 0, made.err
    text = saved("pbs1")
    for said in (
        "gpus: 4\n  cores_per_gpu: 16\n  memory_per_gpu: 128857M\n",
        "    --queue:\n      rule: must\n      default: gpuq\n",
        'why: "the default has no such nodes; this one has the most"',
        "2 nodes with 4 GPUs (A100)",
        'source: "pbsnodes, on ',
    ):
        assert said in text, text
    assert "scontrol" not in text
    assert "routed" not in text
    for line in ("#PBS -q gpuq", "#PBS -l select=2:ngpus=4:ncpus=64:mem=515428mb"):
        assert line in made.text, made.text


def test_nodes_of_flux_are_read(bin_folder: Path) -> None:
    answers = {"getattr": "tuolumne[1-32]\n", "resource": RESOURCES, "queue": LIMITS}
    answering(bin_folder, "flux", answers)
    made = envcfg(*JOB, *COMMAND)
    assert made.code == 0, made.err
    text = saved("tuolumne")
    assert "gpus: 4\n  cores_per_gpu: 24\n" in text
    assert "memory_per_gpu" not in text
    assert "odd" not in text
    assert "    pdebug:\n      nodes: 2\n      time: " in text
    assert "rule: must" not in text  # there is a default
    assert "could not read the GPUs" not in made.err


def test_flux_without_queues_has_nodes(bin_folder: Path) -> None:
    answers = {"getattr": "corona[1-8]\n", "resource": "||8|384|64\n", "queue": ""}
    answering(bin_folder, "flux", answers)
    made = envcfg(*JOB, *COMMAND)
    assert made.code == 0, made.err
    text = saved("corona")
    assert "gpus: 8\n  cores_per_gpu: 6\n" in text
    assert "Left out" not in text


def test_a_job_of_pbs_tells_its_server_by_its_number(
    bin_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program(bin_folder, "qsub", "exit 1")
    program(bin_folder, "qstat", PBS)
    assert envcfg("profiles", "show", "here").code == 0
    program(bin_folder, "qstat", "touch asked; exit 1")
    monkeypatch.setenv("PBS_JOBID", "12.pbs1.example.org")
    wrapped = envcfg("wrap", "--container", "none", "--json", *COMMAND)
    assert json.loads(wrapped.text)["profile"]["name"] == "here-pbs1"
    assert not Path("asked").exists()


def test_a_mark_of_the_site_tells_a_login_node_and_nothing_is_asked(
    bin_folder: Path, profiles: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program(bin_folder, "scontrol", "touch asked; exit 1")
    monkeypatch.setenv("NERSC_HOST", "perlmutter")
    detected = json.loads(envcfg("profiles", "detect", "--json").text)
    (found,) = detected["found"]
    assert found == {
        "name": "perlmutter",
        "evidence": "mark",
        "why": "NERSC_HOST says perlmutter",
    }
    assert "perlmutter: NERSC_HOST says perlmutter" in envcfg("profiles", "detect").text
    assert not Path("asked").exists()
    assert not profiles.exists()


@pytest.mark.parametrize("length", [201, 100_000])
def test_a_cluster_with_an_endless_name_has_no_profile(
    bin_folder: Path, profiles: Path, length: int
) -> None:
    (bin_folder / "config.txt").write_text(f"ClusterName = {'x' * length}\n")
    done = envcfg(*JOB, *COMMAND)
    assert done.code == 2
    assert f"the scheduler's name of this cluster has {length} characters" in done.err
    assert len(done.err) < 2000
    assert not list(profiles.glob("*"))
