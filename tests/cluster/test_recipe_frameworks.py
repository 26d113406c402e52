"""The recipes of DeepSpeed and Horovod for ROCm, built without their part for GPUs.

Their ``%post`` runs on the image of pytorch-cpu.def, which has no ROCm. README.md of
container-recipes lists what is left out, with the reasons. Horovod takes minutes: it is built
with ``ENVCFG_BUILD_HOROVOD=1``.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import tempfile
from collections.abc import Mapping
from pathlib import Path

import pytest

import test_recipe_image as base
from cluster import HERE, Cluster
from forms import CACHE, unpack
from scripts.locks import read_lock

pytestmark = pytest.mark.nightly

RECIPES = HERE.parent.parent / "container-recipes"
WITH_HOROVOD = os.environ.get("ENVCFG_BUILD_HOROVOD") == "1"
LOCKS = {
    name: HERE.parent.parent / f"requirements/{name}.txt"
    for name in ("images-cpu", "recipes", "sources")
}
# What the recipes install, and what that needs.
PACKAGES = frozenset(
    "annotated-types cffi cloudpickle cmake einops hjson msgpack ninja packaging psutil "
    "py-cpuinfo pycparser pydantic pydantic-core pyyaml setuptools tqdm typing-extensions "
    "typing-inspection wheel".split()
)
LOCAL = "Bootstrap: localimage\nFrom: pytorch-rocm.sif\n"
# Parts for GPUs, by recipe, and what a build for CPUs has in their place.
CHANGES: Mapping[str, Mapping[str, str]] = {
    "horovod-rocm": {
        r" +export HOROVOD_GPU=ROCM\n": "",
        r" +export HOROVOD_GPU_OPERATIONS=NCCL\n": "",
        r" +find .*FindHIP.*\n": "",
        r"g\+\+ libmpich-dev": "g++ python3-dev libmpich-dev",  # ROCm's Python is conda's
        r" MPI NCCL;": " MPI;",
    },
    "deepspeed-rocm": {
        # ROCm's image has a compiler.
        r"  # 1\. The packages": "  apt-get update\n  apt-get install -y"
        " --no-install-recommends g++ python3-dev\n  # 1. The packages",
        r"DS_ACCELERATOR=cuda": "DS_ACCELERATOR=cpu",
        r"DS_BUILD_CCL_COMM=1": "DS_BUILD_CCL_COMM=0",
        r"fused_adam fused_lion fused_lamb stochastic_transformer;": "fused_adam;",
    },
}
NAMES = [name for name in CHANGES if WITH_HOROVOD or name != "horovod-rocm"]
PROGRAM = """\
import horovod.torch as hvd, torch
hvd.init()
number = hvd.allreduce(torch.tensor(float(hvd.rank() + 1)), op=hvd.Sum)
print('sum', number.item(), 'of', hvd.size(), flush=True)
"""


def for_cpus(name: str, below: Path) -> str:
    """Return a recipe without its part for GPUs, on top of the folder *below*."""
    text = (RECIPES / f"{name}.def").read_text(encoding="utf-8")
    assert text.startswith(LOCAL)
    text = text.replace("From: pytorch-rocm.sif", f"From: {below}", 1)
    for pattern, replacement in CHANGES[name].items():
        text, count = re.subn(pattern, replacement, text)
        assert count, f"{name} has no {pattern}"
    return text


@pytest.fixture(scope="module")
def frameworks(cluster: Cluster) -> Path:
    """Return a folder with the image of the recipes; about a minute the first time."""
    assert cluster.is_up
    image = base.recipe_image()
    inputs = [
        *(for_cpus(name, Path("/image")) for name in NAMES),
        image.parent.name,
        (HERE / "build").read_text(),
        *(lock.read_text() for lock in LOCKS.values()),
    ]
    key = hashlib.sha256(repr(inputs).encode()).hexdigest()
    target = CACHE / f"recipe-frameworks-{key[:16]}" / "frameworks"
    if target.exists():
        target.parent.touch()
    else:
        with tempfile.TemporaryDirectory(dir=CACHE, prefix="tmp.") as folder:
            made = build(Path(folder), image)
            target.parent.mkdir()
            made.rename(target)
    return target


def build(folder: Path, image: Path) -> Path:
    """Build the image in *folder*, of packages and sources that the locks name."""
    home, below = folder / "root", folder / "pytorch"
    (home / ".config/pip").mkdir(parents=True)
    (home / ".config/pip/pip.conf").write_text(base.PIP_CONF)
    pins = {pin.name: pin.line() for lock in LOCKS.values() for pin in read_lock(lock)}
    wheels, sources = home / "wheels.txt", home / "sources.txt"
    wheels.write_text("\n".join(pins[name] for name in sorted(PACKAGES)) + "\n")
    packages = [name.removesuffix("-rocm") for name in NAMES]
    sources.write_text("\n".join(pins[name] for name in packages) + "\n")
    fetch = f"pip download --no-deps --require-hashes --dest {home}/wheels"
    base.run("bash", "-c", f"{base.SOURCE} {fetch} -r {wheels}")
    base.run("bash", "-c", f"{base.SOURCE} {fetch} --no-binary :all: -r {sources}")
    unpack(image, below)
    for name in NAMES:
        recipe, made = folder / f"{name}.def", folder / name
        recipe.write_text(for_cpus(name, below))
        base.run(HERE / "build", "--sandbox", "--bind", f"{home}:/root", made, recipe)
        shutil.rmtree(below)
        below = made
    return below


if WITH_HOROVOD:

    def test_two_ranks_of_horovod_add_up_over_mpi(
        cluster: Cluster, frameworks: Path, workdir: Path
    ) -> None:
        (workdir / "train.py").write_text(PROGRAM)
        mpiexec = ["mpiexec", "-n", "2", "python", "train.py"]
        argv = ["apptainer", "exec", frameworks, *mpiexec]
        done = cluster.run(argv, timeout=120)
        assert done.stdout.splitlines() == ["sum 3.0 of 2"] * 2, done.stderr


def test_the_report_of_deepspeed_lists_the_compiled_operator(
    cluster: Cluster, frameworks: Path
) -> None:
    argv = ["apptainer", "exec", "--env", "DS_ACCELERATOR=cpu", frameworks, "ds_report"]
    done = cluster.run(argv, timeout=120, check=True)
    text = re.sub(r"\x1b\[\d*m", "", done.stdout)
    assert re.search(r"^fused_adam \.+ \[YES\]", text, re.MULTILINE), text
    assert re.search(r"^cpu_adam \.+ \[NO\]", text, re.MULTILINE), text


def test_inspect_reports_the_parts_of_the_image(
    cluster: Cluster, frameworks: Path, tool: Path
) -> None:
    done = cluster.run([tool / "envcfg", "inspect", "--json", frameworks], check=True)
    facts = {
        fact["name"]: fact["value"]
        for fact in json.loads(done.stdout)["facts"]
        if fact["taken"]
    }
    assert facts["deepspeed"] == "0.19.8"
    assert facts["deepspeed-ops"] == "fused_adam"
    if WITH_HOROVOD:
        assert facts["horovod"] == "0.28.1"
        assert facts["horovod-torch"] == "MPI"
        assert facts["mpich"].startswith("4.")
    assert "horovod-tensorflow" not in facts


def test_the_readme_names_each_part_that_is_left_out() -> None:
    text = (RECIPES / "README.md").read_text(encoding="utf-8")
    _, _, table = text.partition("that CI does not build\n")
    for word in (
        *("HOROVOD_GPU=ROCM", "HOROVOD_GPU_OPERATIONS=NCCL", "FindHIP"),
        *("DS_BUILD_CCL_COMM=1", "FUSED_LION", "FUSED_LAMB", "STOCHASTIC_TRANSFORMER"),
    ):
        assert word in table.partition("\n## ")[0]
