"""``envcfg profiles new`` on machines that say much, little, or what is hostile."""

from __future__ import annotations

import os
import shlex
from pathlib import Path

import pytest

from support import Wrapped, envcfg

CONFIG = "ClusterName = {cluster}\nSelectType = select/cons_tres\n"
PARTITION = "PartitionName={name} Default=YES MaxTime=1-00:00:00 State=UP\n"
NODES = (
    "NodeName=n{{}} CPUTot=128 Gres=gpu:h100:4 RealMemory=515000 Partitions={name}\n"
)


@pytest.fixture
def bin_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A PATH with nothing of this machine but the shell's own; no profiles of others."""
    for name in ("ENVCFG_PROFILE", "SLURM_CLUSTER_NAME", "SLURM_JOB_ID", "MODULEPATH"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("ENVCFG_SITE", str(tmp_path / "site"))
    for name in ("CONFIG", "STATE", "DATA"):
        monkeypatch.setenv(f"XDG_{name}_HOME", str(tmp_path / name.lower()))
    folder = tmp_path / "bin"
    folder.mkdir()
    for name in ("sh", "cat", "touch", "sleep"):
        (folder / name).symlink_to(f"/bin/{name}")
    monkeypatch.setenv("PATH", str(folder))
    monkeypatch.chdir(tmp_path)
    return folder


def slurm(folder: Path, name: str = "gpu", cluster: str = "mine") -> None:
    """Put a Slurm there that has one partition."""
    answers = {
        "config": CONFIG.format(cluster=cluster),
        "partition": PARTITION.format(name=name),
        "node": "".join(NODES.format(name=name).format(n) for n in range(10)),
    }
    for each, text in answers.items():
        (folder / f"{each}.txt").write_text(text)
    at = shlex.quote(str(folder))
    program(folder, "scontrol", f'for each; do :; done; cat {at}/"$each".txt')


def program(folder: Path, name: str, text: str) -> None:
    (folder / name).write_text(f"#!{folder}/sh\n{text}\n")
    (folder / name).chmod(0o755)


def new(*words: str) -> Wrapped:
    return envcfg("profiles", "new", "mine", *words)


def works(path: str) -> str:
    """See that a profile is valid and can be used; return its text."""
    checked = envcfg("profiles", "validate", path)
    assert checked.code == 0, checked.text
    wrapped = envcfg(
        "wrap", "--profile", path, "--container", "none", "--launcher", "local", "--", "true"
    )  # fmt: skip
    assert wrapped.code in {0, 2}, wrapped.err
    assert wrapped.code == 0 or "it allows: " in wrapped.err
    return Path(path).read_text()


def test_on_a_laptop_it_builds_on_the_workstation(bin_folder: Path) -> None:
    program(bin_folder, "podman", ":")
    made = new("-o", "mine.yaml")
    assert made.code == 0, made.err
    text = works("./mine.yaml")
    if "Built on workstation" in text:  # no adapters of a cluster here
        assert "runtimes: [podman]\n" in text
        assert "# node:\n" in text


def test_what_slurm_says_stands_in_it(bin_folder: Path) -> None:
    slurm(bin_folder)
    program(bin_folder, "apptainer", ":")
    assert new("--extends", "infiniband-cuda", "-o", "mine.yaml").code == 0
    text = works("./mine.yaml")
    for said in (
        "# Built on infiniband-cuda: as it was asked for.\n",
        "detect:\n  clusters: [mine]\n",
        "node:\n  gpus: 4\n  cores_per_gpu: 32\n  memory_per_gpu: 128750M\n",
        "  partitions:\n    gpu:\n      time: \"1-00:00:00\"\n",
        "container:\n  runtimes: [apptainer]\n",
    ):  # fmt: skip
        assert said in text, said
    job = envcfg(
        "sbatch", "--profile", "./mine.yaml", "--container", "none", "--partition", "gpu",
        "--nodes", "2", "--gpus-per-node", "4", "--time", "30", "--", "python", "train.py",
    )  # fmt: skip
    assert job.code == 0, job.err
    over = envcfg(
        "sbatch", "--profile", "./mine.yaml", "--container", "none", "--partition", "gpu",
        "--nodes", "2", "--gpus-per-node", "4", "--time", "2-00", "--", "python", "train.py",
    )  # fmt: skip
    assert over.code != 0


@pytest.mark.parametrize(
    ("options", "cores", "memory"),
    [
        (("--partition", "h100", "--gpus-per-node", "8"), 16, 125000),
        (("--partition", "a100", "--gpus-per-node", "4"), 18, 120000),
        (("--gpus-per-node", "4"), 18, 120000),
    ],
)
def test_the_first_job_of_each_kind_of_node_is_right(
    bin_folder: Path, options: tuple[str, ...], cores: int, memory: int
) -> None:
    slurm(bin_folder)
    answers = {
        "partition": "PartitionName=a100 Default=YES MaxTime=1-00:00:00 State=UP\n"
        "PartitionName=h100 MaxTime=1-00:00:00 State=UP\n",
        "node": "NodeName=a1 CPUTot=72 Gres=gpu:a100:4 RealMemory=480000 Partitions=a100\n"
        "NodeName=h1 CPUTot=128 Gres=gpu:h100:8 RealMemory=1000000 Partitions=h100\n",
    }
    for name, text in answers.items():
        (bin_folder / f"{name}.txt").write_text(text)
    assert new("--extends", "infiniband-cuda", "-o", "mine.yaml").code == 0
    works("./mine.yaml")
    job = envcfg(
        "job", "--profile", "./mine.yaml", "--container", "none", *options,
        "--nodes", "1", "--time", "30", "--", "python", "train.py",
    )  # fmt: skip
    assert job.code == 0, job.err
    gpus = 8 if "h100" in options else 4
    assert (
        f"--cpus-per-task={cores}" in job.text or f"--cpus-per-gpu={cores}" in job.text
    )
    assert f"={gpus * memory}M" in job.text or f"={memory}M" in job.text


def test_a_cluster_of_another_profile_stays_its_own(bin_folder: Path) -> None:
    slurm(bin_folder, cluster="lumi")
    assert new("--extends", "slingshot-rocm", "-o", "mine.yaml").code == 0
    text = works("./mine.yaml")
    assert "# lumi-g takes this cluster already" in text
    assert "\ndetect:" not in text


@pytest.mark.parametrize(
    "name",
    ["gpu\x1b[2J", "a:b", "$(touch ran)", "`touch\u00a0ran`", "\u202egpu", "'", '"', "-x", "null"],
)  # fmt: skip
def test_hostile_partitions_say_nothing_else(bin_folder: Path, name: str) -> None:
    slurm(bin_folder, name=name, cluster=name)
    made = new("--extends", "infiniband-cuda", "-o", "mine.yaml")
    assert made.code == 0, made.err
    text = works("./mine.yaml")
    assert text.replace("\n", "").isprintable()
    assert not Path("ran").exists()


@pytest.mark.parametrize(
    "how", ["exit 1", "echo nonsense", "cat /dev/zero | head -c 99"]
)
def test_a_slurm_that_does_not_answer_is_none(bin_folder: Path, how: str) -> None:
    program(bin_folder, "scontrol", how)
    made = new("--extends", "infiniband-cuda", "-o", "mine.yaml")
    assert made.code == 0, made.err
    assert "\nrequest:" not in works("./mine.yaml")


def test_modules_are_seen_and_none_is_run(
    bin_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    modules = bin_folder.parent / "modules"
    (modules / "apptainer").mkdir(parents=True)
    (modules / "apptainer/1.4.lua").write_text("os.execute('touch ran')")
    (modules / "zlib").mkdir()
    monkeypatch.setenv("MODULEPATH", f":{modules}:/nowhere")
    assert new("--extends", "infiniband-cuda", "-o", "mine.yaml").code == 0
    text = works("./mine.yaml")
    assert "\nmodules:\n  apptainer/1.4:\n    action: load\n" in text
    assert "zlib" not in text
    assert not Path("ran").exists()


def test_blank_asks_nothing(bin_folder: Path) -> None:
    program(bin_folder, "scontrol", "touch ran")
    assert new("--blank", "--extends", "slingshot", "-o", "mine.yaml").code == 0
    assert not Path("ran").exists()
    assert "Built on" not in works("./mine.yaml")
    done = new("--blank", "-o", "-")
    assert (done.code, "--extends is missing" in done.err) == (2, True)


def test_where_nothing_tells_the_network_nothing_is_expected_of_a_log(
    bin_folder: Path,
) -> None:
    slurm(bin_folder)
    if not os.path.exists("/sys/class/infiniband"):
        assert new("-o", "mine.yaml").code == 0
        assert "\nexpect: null\n" in works("./mine.yaml")
