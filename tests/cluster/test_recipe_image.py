"""The recipe that can be built here is built by the real Apptainer, and looked into.

Docker Hub is not reached from every machine, so the base comes from Debian's mirror; all
below the first two lines is the recipe as it is.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import subprocess
import tempfile
from pathlib import Path

import pytest

from cluster import HERE, Cluster
from forms import CACHE, drop_unused

pytestmark = pytest.mark.nightly

RECIPE = HERE.parent.parent / "container-recipes/pytorch-cpu.def"
HUB = "Bootstrap: docker\nFrom: debian:bookworm-"
# From the mirror and the index of this machine, which images.sh knows to find.
MIRROR = "Bootstrap: debootstrap\nOSVersion: bookworm\nMirrorURL: {}\n"
LOCKS = [
    HERE.parent.parent / f"requirements/images-{kind}.txt" for kind in ("cpu", "cuda")
]
SOURCE = f"source {HERE}/lib.sh && source {HERE}/images.sh && "
PIP_CONF = "[global]\nno-index = true\nfind-links = /root/wheels\n"
FACTS = {"architecture": os.uname().machine, "torch": "2.13.0"}


@pytest.fixture(scope="module")
def image(cluster: Cluster) -> Path:
    """Return the image that the recipe makes."""
    assert cluster.is_up
    return recipe_image()


def recipe_image() -> Path:
    """Return the image that the recipe makes; some three minutes the first time."""
    inputs = [
        RECIPE.read_bytes(),
        (HERE / "build").read_bytes(),
        MIRROR,
        *(lock.read_bytes() for lock in LOCKS),
    ]
    key = hashlib.sha256(repr(inputs).encode()).hexdigest()
    target = CACHE / f"recipe-{key[:16]}" / "pytorch-cpu.sif"
    drop_unused("recipe-*")  # also those of test_recipe_frameworks.py
    if target.exists():
        target.parent.touch()
    else:
        with tempfile.TemporaryDirectory(dir=CACHE, prefix="tmp.") as folder:
            made = build(Path(folder))
            target.parent.mkdir()
            made.rename(target)
    return target


def build(folder: Path) -> Path:
    """Build the image in *folder*, of locked wheels: the image's Python is the machine's."""
    home, sif = folder / "root", folder / "recipe.sif"
    (home / ".config/pip").mkdir(parents=True)
    (home / ".config/pip/pip.conf").write_text(PIP_CONF)
    run("bash", "-c", f"{SOURCE} download_wheels {home}")
    recipe = folder / "recipe.def"
    mirror = run("bash", "-c", f"{SOURCE} debian_mirror").strip()
    recipe.write_text(from_mirror(RECIPE.read_text(encoding="utf-8"), mirror))
    quick = ["--mksquashfs-args", "-comp lz4"]
    run(HERE / "build", *quick, "--bind", f"{home}:/root", sif, recipe)
    sif.chmod(0o644)
    return sif


def from_mirror(recipe: str, mirror: str) -> str:
    """Return a recipe with Debian's mirror for its base."""
    assert recipe.startswith(HUB)
    return MIRROR.format(mirror) + recipe.split("\n", maxsplit=2)[2]


def run(*argv: str | Path) -> str:
    """Return what a command prints; a failure has its last lines, whole."""
    done = subprocess.run(argv, capture_output=True, text=True, check=False)
    if done.returncode:
        output = f"{done.stdout[-9000:]}\n{done.stderr[-9000:]}"
        pytest.fail(f"{argv}\n{output}", pytrace=False)
    return done.stdout


@pytest.fixture
def empty(workdir: Path) -> Path:
    """Return an empty folder, to stand in the place of something."""
    folder = workdir / "empty"
    folder.mkdir()
    folder.chmod(0o755)
    return folder


def test_its_labels_are_the_facts(cluster: Cluster, image: Path) -> None:
    said = cluster.run(
        ["apptainer", "inspect", "--labels", "--json", image], check=True
    )
    labels = json.loads(said.stdout)["data"]["attributes"]["labels"]
    facts = {
        name.removeprefix("org.envcfg."): value
        for name, value in labels.items()
        if name.startswith("org.envcfg.")
    }
    assert facts == FACTS


def test_the_labels_are_true(cluster: Cluster, image: Path) -> None:
    code = "import platform, torch; print(platform.machine(), torch.__version__)"
    done = cluster.run(["apptainer", "exec", image, "python", "-c", code], check=True)
    architecture, torch = done.stdout.split()
    assert architecture == FACTS["architecture"]
    assert torch.partition("+")[0] == FACTS["torch"]
    assert done.stderr == ""  # as NumPy is there


def test_its_test_fails_on_a_broken_image(
    cluster: Cluster, image: Path, empty: Path
) -> None:
    whole = cluster.run(["apptainer", "test", image])
    assert whole.returncode == 0, whole.stderr
    broken = cluster.run(["apptainer", "test", "--bind", f"{empty}:/opt/venv", image])
    assert broken.returncode != 0


def test_it_sets_no_variable_but_its_own(cluster: Cluster, image: Path) -> None:
    done = cluster.run(["apptainer", "inspect", "--environment", image], check=True)
    names = {
        line.strip().removeprefix("export ").partition("=")[0]
        for line in done.stdout.splitlines()
        if line.strip().startswith("export ")
    }
    assert names == {"PATH", "LC_ALL"}


def test_its_help_says_how_it_is_used(
    cluster: Cluster, image: Path, tool: Path, workdir: Path
) -> None:
    shown = cluster.run(["apptainer", "run-help", image], check=True).stdout
    lines = map(str.strip, shown.splitlines())
    (line,) = [each for each in lines if each.startswith("envcfg ")]
    (workdir / "train.py").write_text(
        "import torch, torch.distributed as dist\n"
        "dist.init_process_group('gloo')\n"
        "number = torch.tensor(float(dist.get_rank() + 1))\n"
        "dist.all_reduce(number)\n"
        "print('sum', number.item(), flush=True)\n"
        # Without it, gloo's threads sometimes abort the process when it ends.
        "dist.destroy_process_group()\n"
    )
    words = line.replace("THIS.sif", str(image)).split()
    script = cluster.run([tool / words[0], *words[1:]], check=True).stdout
    (workdir / "job.sh").write_text(script)
    done = cluster.run(["bash", "job.sh"], timeout=120)
    assert done.returncode == 0, done.stderr
    assert "sum 3.0" in done.stdout + done.stderr


def test_an_image_on_top_of_another_keeps_what_that_one_says(
    cluster: Cluster, workdir: Path, tmp_path: Path
) -> None:
    """As those of Horovod and DeepSpeed do."""
    root = tmp_path / "root"
    for folder in "bin dev etc proc root sys tmp var/tmp".split():
        (root / folder).mkdir(parents=True)
    for file in "group hosts passwd resolv.conf".split():
        (root / "etc" / file).touch()
    shutil.copy("/bin/busybox", root / "bin/sh")
    below, above = tmp_path / "below", tmp_path / "above"
    stack(
        root,
        below,
        "%post\n  :\n%environment\n  export A=1\n%labels\n  org.envcfg.torch 1\n",
    )
    stack(below, above, "%post\n  :\n%test\n  true\n")
    labels = json.loads((above / ".singularity.d/labels.json").read_text())
    assert labels["org.envcfg.torch"] == "1"
    seen = shutil.copytree(above, workdir / "above", symlinks=True)
    argv = ["apptainer", "exec", seen, "/bin/sh", "-c", 'echo "$A"']
    done = cluster.run(argv)
    assert done.stdout == "1\n", done.stderr


def stack(image: Path, target: Path, sections: str) -> None:
    """Build a folder with an image from another one."""
    recipe = target.with_suffix(".def")
    recipe.write_text(f"Bootstrap: localimage\nFrom: {image}\n\n{sections}")
    run(HERE / "build", "--sandbox", target, recipe)


def test_inspect_reads_the_same_facts(
    cluster: Cluster, image: Path, tool: Path
) -> None:
    done = cluster.run([tool / "envcfg", "inspect", "--json", image], check=True)
    found = {
        each["name"]: each["value"]
        for each in json.loads(done.stdout)["facts"]
        if each["taken"]
    }
    assert found | FACTS == found
