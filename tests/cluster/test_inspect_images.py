"""Images of the real Apptainer and Podman are read as a container shows them."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

import pytest

from cluster import IMAGES, Cluster
from envcfg.common.errors import ImageError
from envcfg.image.command_imports import command_imports
from envcfg.image.open_image import open_image
from envcfg.image.tree import Tree
from forms import NAME, make_forms
from tool import PYTHON

pytestmark = pytest.mark.nightly

# Without /etc, /tmp and the like: there Apptainer binds files of the host.
FOLDERS = "/usr /opt /bin /.singularity.d"
LIST = f"find {FOLDERS} -type f 2>/dev/null | sort; true"
SUMS = f"find {FOLDERS} -type f -exec md5sum {{}} + 2>/dev/null; true"
CONTAINED = ("--contain", "--no-home", "--cleanenv")


def in_container(cluster: Cluster, image: Path, script: str) -> str:
    words = ["apptainer", "exec", *CONTAINED, image, "sh", "-c", script]
    return cluster.run(words, check=True, timeout=300).stdout


def files(tree: Tree, folder: str) -> list[str]:
    """Return the files below *folder*, no link followed, as find lists them."""
    found = []
    entry = tree.entry(folder)
    for name in tree.children(folder) if entry and entry.kind == "folder" else ():
        path = f"{folder}/{name}"
        entry = tree.entry(path)
        if entry and entry.kind == "file":
            found.append(path)
        found += files(tree, path)
    return found


def check_sums(tree: Tree, sums: str) -> int:
    """Compare what md5sum said of files with what is in them; return how many."""
    lines = sums.splitlines()
    for line in lines:
        expected, _, path = line.partition("  ")
        with tree.open_entry(path) as file:
            found = hashlib.md5(usedforsecurity=False)
            while data := file.read(1 << 20):
                found.update(data)
        assert found.hexdigest() == expected, path
    return len(lines)


@pytest.mark.parametrize("name", ["busybox", "pytorch", "frameworks"])
def test_a_sif_shows_what_a_container_sees(name: str, cluster: Cluster) -> None:
    image = getattr(cluster, f"{name}_image")
    script = LIST if name == "frameworks" else f"{LIST}; echo; {SUMS}"
    listed, _, sums = in_container(cluster, image, script).partition("\n\n")
    with open_image(str(image)) as (tree, metadata):
        seen = [path for folder in FOLDERS.split() for path in files(tree, folder)]
        assert sorted(seen) == sorted(listed.splitlines())
        assert check_sums(tree, sums) == (0 if name == "frameworks" else len(seen))
    assert metadata.architecture == "x86_64"
    told = cluster.run(
        ["apptainer", "inspect", "--labels", "--json", image], check=True
    )
    assert metadata.labels == json.loads(told.stdout)["data"]["attributes"]["labels"]


# What a container says of itself, by the names of facts.
SELF = """
import importlib.metadata as packages, json, platform, shutil
said = {name: "yes" for name in ("sh", "bash", "mkdir", "env") if shutil.which(name)}
said |= {
    "python": ".".join(platform.python_version_tuple()[:2]),
    "glibc": platform.libc_ver()[1],
    "architecture": platform.machine(),
    "distribution": platform.freedesktop_os_release()["PRETTY_NAME"],
}
for name in ("torch", "accelerate", "deepspeed", "jax", "lightning", "transformers"):
    try:
        said[name] = packages.version(name).partition("+")[0]
    except packages.PackageNotFoundError:
        pass
print(json.dumps(said))
"""


def told_by_inspect(cluster: Cluster, tool: Path, image: Path) -> dict[str, str]:
    done = cluster.run([tool / "envcfg", "inspect", "--json", image])
    assert done.returncode in {0, 1}, done.stderr
    facts = json.loads(done.stdout)["facts"]
    return {each["name"]: each["value"] for each in facts if each["taken"]}


@pytest.mark.parametrize("name", ["pytorch", "frameworks"])
def test_inspect_tells_what_a_container_says_of_itself(
    name: str, cluster: Cluster, tool: Path
) -> None:
    image = getattr(cluster, f"{name}_image")
    words = ["apptainer", "exec", *CONTAINED, image, "python3", "-c", SELF]
    said = json.loads(cluster.run(words, check=True).stdout)
    found = told_by_inspect(cluster, tool, image)
    assert {each: found.get(each) for each in said} == said
    more = {"deepspeed-ops"} if name == "frameworks" else set()
    assert found.keys() - said.keys() == {"start", *more}


@pytest.mark.parametrize(
    ("name", "more"), [("busybox", {}), ("dash", {"glibc": "2.36"})]
)
def test_inspect_of_an_image_with_a_shell_alone(
    name: str, more: dict[str, str], cluster: Cluster, tool: Path
) -> None:
    found = told_by_inspect(cluster, tool, IMAGES / f"{name}.sif")
    assert found == {"architecture": "x86_64", "sh": "yes", "start": "exec", **more}


@pytest.mark.parametrize("compressor", ["gzip", "lzo", "lz4", "xz", "zstd"])
def test_what_apptainer_compresses_is_read(compressor: str, cluster: Cluster) -> None:
    image = cluster.workdir / "built.sif"
    make = "mkdir -p root/bin; cp /bin/busybox root/bin; for i in sh find md5sum; do "
    make += "ln -s busybox root/bin/$i; done"
    cluster.run(["sh", "-c", make], check=True)
    options = ["--mksquashfs-args", f"-comp {compressor}"]
    build = ["apptainer", "build", *options, image, "root"]
    cluster.run(build, check=True, timeout=120)
    with open_image(str(image)) as (tree, metadata):
        assert check_sums(tree, in_container(cluster, image, SUMS)) > 5
        assert metadata.form == "sif"


def test_the_runtime_tells_the_same_labels(cluster: Cluster, tool: Path) -> None:
    code = (
        "import json, sys; from envcfg.image.runtime_query import inspect_by_runtime as ask; "
        "print(json.dumps(ask(sys.argv[1], sys.argv[2])))"
    )
    image = cluster.busybox_image
    env = {"PYTHONPATH": str(tool.parent / "lib"), "MESSAGELEVEL": "odd"}
    words = [PYTHON, "-c", code, image, "apptainer"]
    done = cluster.run(words, env=env, check=True)
    assert done.stderr == ""
    told = json.loads(done.stdout)
    with open_image(str(image)) as (_, metadata):
        assert told[1] == metadata.architecture
        assert told[2] == metadata.labels


def test_a_store_of_podman_shows_its_image(
    cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    forms = make_forms(cluster.pytorch_image)
    configuration = cluster.workdir / "storage.conf"
    text = f'[storage]\ngraphroot = "{forms.store}"\n'
    cluster.run(["tee", configuration], stdin=text, check=True)
    monkeypatch.setenv("CONTAINERS_STORAGE_CONF", str(configuration))
    with (
        open_image(NAME) as (tree, metadata),
        open_image(str(cluster.pytorch_image)) as (same, _),
    ):
        for folder in FOLDERS.split():
            assert files(tree, folder) == files(same, folder)
    assert metadata.form == "podman"
    assert metadata.environment["IMAGE_OWN"] == "kept"
    assert metadata.starts


def test_of_the_commands_of_real_packages_those_with_a_launcher_are_named(
    cluster: Cluster,
) -> None:
    # Others import accelerate alone, as transformers does.
    with open_image(str(cluster.frameworks_image)) as (tree, metadata):
        found = command_imports(tree, metadata.environment)
    assert {name: launcher for name, (launcher, _) in found.items()} == {
        "fabric": "torch.distributed.run"
    }


def test_a_cut_sif_is_refused(cluster: Cluster) -> None:
    image = cluster.workdir / "cut.sif"
    script = 'head -c 700000 "$1" >"$2"'
    cluster.run(["sh", "-c", script, "sh", cluster.busybox_image, image], check=True)
    with pytest.raises(ImageError, match="the image is damaged: bytes"):
        open_image(str(image)).__enter__()
