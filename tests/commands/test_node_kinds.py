"""The kind of node of a job: which options choose it, and where its name is shown."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from envcfg.commands.completion.completion_values import values
from envcfg.core.log_checking import expected_by
from support import ROOT, Wrapped, envcfg

JOB = ("job", "--container", "none", "--time", "1:00:00", "--nodes", "1")


def job(profile: str, *options: str) -> Wrapped:
    return envcfg(*JOB, "--profile", profile, *options, "--", "true")


@pytest.mark.parametrize(
    ("profile", "options", "kind", "directives", "cost"),
    [
        (
            "snellius",
            ("--partition", "gpu_h100"),
            "gpu_h100 (--partition)",
            "64 720G",
            768,
        ),
        ("snellius", (), "gpu_h100 (the default)", "64 720G", 768),
        (
            "snellius",
            ("--partition", "gpu_a100"),
            "gpu_a100 (--partition)",
            "72 480G",
            512,
        ),
        ("snellius/gpu_a100", (), "gpu_a100 (--profile)", "72 480G", 512),
        (
            "snellius",
            ("--gpus-per-node", "a100:4"),
            "gpu_a100 (--gpus-per-node)",
            "72 480G",
            512,
        ),
        ("snellius", ("-G", "a100:4"), "gpu_a100 (--gpus)", "72 480G", 512),
        ("builtin:snellius/gpu_a100", (), "gpu_a100 (--profile)", "72 480G", 512),
    ],
)
def test_a_job_gets_cores_memory_and_price_of_its_kind_of_node(
    profile: str, options: tuple[str, ...], kind: str, directives: str, cost: int
) -> None:
    done = job(profile, *options, "--ranks", "1")
    assert done.code == 0, done.err
    assert f"# kind of node: {kind}\n" in done.text
    assert f"#SBATCH --partition={kind.split(maxsplit=1)[0]}\n" in done.text
    cores, memory = directives.split()
    assert re.search(
        rf"#SBATCH --cpus-per-task={cores}\n(.*\n)*#SBATCH --mem={memory}\n", done.text
    )
    assert f"cost: {cost} SBU per hour" in done.err
    assert f"profiles show snellius/{kind.split(maxsplit=1)[0]}\n" in done.text


@pytest.mark.parametrize(
    ("profile", "options"),
    [
        ("snellius", ("--partition", "gpu_h100", "--request-arg=--gres=gpu:a100:4")),
        ("snellius/gpu_a100", ("--partition", "gpu_h100")),
        ("snellius", ("--partition", "gpu_h100,gpu_a100")),
    ],
)
def test_a_contradiction_is_refused_before_anything_is_written(
    profile: str, options: tuple[str, ...]
) -> None:
    done = job(profile, *options)
    assert (done.code, done.text) == (2, "")
    assert "hint: " in done.err


def test_wrap_notes_a_kind_that_nothing_decides() -> None:
    words = ("--container", "none", "--", "true")
    note = "kind of node: for gpu_h100, the default: other nodes need other settings"
    done = envcfg("wrap", "--profile", "snellius", *words)
    assert note in done.err
    assert "hint: for them: --profile snellius/gpu_a100" in done.err
    for profile in ("snellius/gpu_h100", "perlmutter"):  # whose kinds differ in memory
        assert (
            "note: kind of node" not in envcfg("wrap", "--profile", profile, *words).err
        )
    assert "note: kind of node" not in job("snellius").err


def test_a_kind_by_name_is_refused_if_the_request_gets_another_one() -> None:
    words = ("--account", "m1234_g", "--qos", "regular")
    done = job("perlmutter/hbm80g", *words, "--constraint", "gpu")
    assert (done.code, done.text) == (2, "")
    assert "the request gets nodes of kind gpu, not of kind hbm80g" in done.err
    assert "hint: --constraint hbm80g" in done.err
    done = job("perlmutter/hbm80g", *words)
    assert "#SBATCH --constraint=gpu&hbm80g\n" in done.text, done.err


def test_kinds_are_completed_behind_the_name_of_their_profile() -> None:
    names = {"snellius/gpu_h100", "snellius/gpu_a100"}
    assert names <= set(values("profiles", ["envcfg", "job", "--profile", "snellius/"]))
    assert not names & set(values("profiles", ["envcfg", "job", "--profile", "snel"]))


def test_documents_name_the_kind() -> None:
    document = json.loads(job("snellius", "--partition", "gpu_a100", "--json").text)
    kind = {"name": "gpu_a100", "sign": "--partition"}
    assert document["profile"]["kind"] == kind
    shown = json.loads(envcfg("profiles", "show", "snellius/gpu_a100", "--json").text)
    assert shown["kind"]["name"] == "gpu_a100"
    (place,) = {
        value["place"]["line"]
        for value in shown["values"]
        if value["name"] == "cores_per_gpu"
    }
    assert place > 100  # in the kind, not in that of the H100
    listed = json.loads(envcfg("profiles", "list", "--json").text)["profiles"]
    kinds = {each["name"]: each["kinds"] for each in listed}
    assert (kinds["snellius"], kinds["lumi-g"]) == (["gpu_h100", "gpu_a100"], [])
    said = envcfg("explain", "NCCL_SOCKET_IFNAME").text
    assert "eno1np0" in said
    plan = envcfg(
        "wrap",
        "--profile",
        "snellius",
        "--container",
        "none",
        "--print",
        "plan",
        "--",
        "true",
    )
    assert "kind       gpu_h100 (the default)\n" in plan.text


@pytest.mark.parametrize(
    ("variables", "expected"),
    [
        ({"SLURM_JOB_PARTITION": "gpu_a100"}, "gpu_a100 (SLURM_JOB_PARTITION)"),
        ({"SLURM_GPUS_PER_NODE": "a100:2"}, "gpu_a100 (SLURM_GPUS_PER_NODE)"),
        ({"SLURM_JOB_PARTITION": "x"}, "gpu_h100 (the default)"),
    ],
)
def test_in_a_job_the_variables_of_its_scheduler_choose_the_kind(
    monkeypatch: pytest.MonkeyPatch, variables: dict[str, str], expected: str
) -> None:
    words = ("--container", "none", "--", "true")
    for name, value in {"SLURM_JOB_ID": "1", **variables}.items():
        monkeypatch.setenv(name, value)
    done = envcfg("wrap", "--profile", "snellius", *words)
    assert f"# kind of node: {expected}\n" in done.text, done.err
    # A name on the command line is never changed.
    done = envcfg("wrap", "--profile", "snellius/gpu_h100", *words)
    assert "# kind of node: gpu_h100 (--profile)\n" in done.text


SCRIPT = """\
#!/bin/bash
#SBATCH --partition={}
#SBATCH --nodes=1
#SBATCH --gpus-per-node=4
#SBATCH --ntasks-per-node=4
#SBATCH --cpus-per-task=18
#SBATCH --mem=480G
#SBATCH --time=1:00:00
export NCCL_SOCKET_IFNAME=eno1np0
srun python train.py
"""


@pytest.mark.parametrize(
    ("profile", "partition", "words"),
    [
        ("snellius", "gpu_a100", []),
        ("snellius/gpu_a100", "gpu_a100", []),
        # 72 cores are more than the share of four H100.
        ("snellius", "gpu_h100", ["72 cores are billed as 5 GPUs"]),
        (
            "snellius",
            "gpu_h100,gpu_a100",
            ["not compared with snellius: profile snellius has several"],
        ),
        (
            "snellius/gpu_h100",
            "gpu_a100",
            ["but --partition gpu_a100 those of kind gpu_a100", "EC628"],
        ),
    ],
)
def test_lint_compares_a_script_with_its_kind_of_node(
    tmp_path: Path, profile: str, partition: str, words: list[str]
) -> None:
    path = tmp_path / "job.sh"
    path.write_text(SCRIPT.format(partition))
    done = envcfg("lint", "--profile", profile, str(path))
    both = done.text + done.err
    assert [word for word in words if word not in both] == []
    is_h100 = words[:1] == ["72 cores are billed as 5 GPUs"] or "EC628" in words
    assert ("EC630" in both) == is_h100


@pytest.mark.parametrize(
    "options",
    [
        "--partition=gpu_a100 --gres=gpu:h100:4",
        "--partition=gpu_h100 --gpus-per-node=a100:4",
        "--gres=gpu:a100:4 --partition=gpu_h100",
    ],
)
def test_options_that_select_different_kinds_are_refused_before_the_queue(
    tmp_path: Path, options: str
) -> None:
    path = tmp_path / "job.sh"
    path.write_text(
        f"#!/bin/bash\n#SBATCH {options} --nodes=2 --time=1:00:00\nsrun python train.py\n"
    )
    done = envcfg("lint", "--profile", "snellius", str(path))
    assert done.code == 1
    assert "selects nodes of kind gpu_" in done.text
    assert "EC628" in done.text


def test_a_converted_script_has_the_settings_of_its_kind_of_node(
    tmp_path: Path,
) -> None:
    path = tmp_path / "job.sh"
    path.write_text(SCRIPT.format("gpu_a100"))
    done = envcfg("wrap", "--from", str(path), "--profile", "snellius")
    assert done.code == 0, done.err
    assert "envcfg_set GLOO_SOCKET_IFNAME eno1np0" in done.text
    path.write_text(SCRIPT.format("gpu_a100,gpu_h100"))
    done = envcfg("wrap", "--from", str(path), "--profile", "snellius")
    assert (done.code, done.text.partition("\n")[0]) != (0, "#!/bin/bash")
    assert "--partition gpu_h100 or --partition gpu_a100" in done.err


def test_check_log_requires_of_an_unknown_kind_only_what_all_kinds_have(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    h100, notes = expected_by("snellius/gpu_h100")
    assert (h100.interfaces, notes) == (("eno2np0",), [])
    unknown, notes = expected_by("snellius")
    assert unknown == h100._replace(interfaces=())
    assert [note.rule for note in notes] == ["kind-unknown"]
    monkeypatch.setenv("SLURM_JOB_ID", "1")
    monkeypatch.setenv("SLURM_JOB_PARTITION", "gpu_a100")
    a100, notes = expected_by("snellius")
    assert (a100.interfaces, notes) == (("eno1np0",), [])


@pytest.fixture
def two_systems(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Two profiles of one cluster, as for nodes with GPUs of two vendors."""
    folder = tmp_path / "config/envcfg/profiles"
    folder.mkdir(parents=True)
    why = "why: w, source: s, date: 2026-05-19"
    for name, partition, gpus in (("gpus-a", "part-a", 4), ("gpus-b", "part-b", 8)):
        (folder / f"{name}.yaml").write_text(
            f"name: {name}\nextends: infiniband-cuda\ndetect: {{clusters: [twins]}}\n"
            f"node: {{gpus: {gpus}, {why}}}\n"
            f"request: {{partitions: {{{partition}: {{nodes: 4, {why}}}}}}}\n"
        )
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.setenv("SLURM_CLUSTER_NAME", "twins")
    return tmp_path


@pytest.mark.usefixtures("two_systems")
def test_of_several_profiles_of_a_cluster_the_partition_chooses_one(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    done = envcfg(*JOB, "--partition", "part-b", "--json", "--", "true")
    assert json.loads(done.text)["profile"]["name"] == "gpus-b", done.err
    done = envcfg(*JOB, "--", "true")
    assert (done.code, done.text) == (2, "")
    assert "gpus-a and gpus-b both claim this system" in done.err
    assert "--partition" in done.err
    monkeypatch.setenv("SLURM_JOB_ID", "1")
    monkeypatch.setenv("SLURM_JOB_PARTITION", "part-a")
    done = envcfg("wrap", "--container", "none", "--json", "--", "true")
    assert json.loads(done.text)["profile"]["name"] == "gpus-a", done.err


def test_lint_takes_the_profile_of_the_partition_of_each_script(
    two_systems: Path,
) -> None:
    path = two_systems / "job.sh"
    for partition, is_wrong in (("part-a", True), ("part-b", False)):
        path.write_text(SCRIPT.format(partition).replace("node=4", "node=8"))
        done = envcfg("lint", str(path))
        assert ("8 GPUs on a node" in done.text) == is_wrong, done.text + done.err
    path.write_text(SCRIPT.format("other"))
    assert "both claim this system" in envcfg("lint", str(path)).err


def test_a_difference_of_a_kind_that_is_not_the_default_is_shown(
    tmp_path: Path,
) -> None:
    text = (ROOT / "profiles/snellius.yaml").read_text()
    for folder, memory in (("old", "120G"), ("new", "100G")):
        (tmp_path / folder).mkdir()
        changed = text.replace("memory_per_gpu: 120G", f"memory_per_gpu: {memory}")
        (tmp_path / folder / "snellius.yaml").write_text(changed)
    paths = [str(tmp_path / folder / "snellius.yaml") for folder in ("old", "new")]
    done = envcfg("profiles", "diff", *paths)
    assert done.code == 1
    assert "node of gpu_a100\n" in done.text
    assert "- memory_per_gpu 120G" in done.text
    assert "+ memory_per_gpu 100G" in done.text
    assert envcfg("profiles", "diff", *(f"{path}/gpu_h100" for path in paths)).code == 0
