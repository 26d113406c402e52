"""Containers that options of srun enter: Pyxis, and CSCS' Container Engine.

A stand-in keeps the rules that were tried with Pyxis 0.24.0, and those that CSCS documents:
tests/runtimes/README.md says how to run these tests with the real ones.
"""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import pytest

from cluster import Cluster
from forms import unpack
from job import Job
from support import environment, wrap_text, zero_separated

pytestmark = pytest.mark.nightly

NODES = ("-N2", "--gpus-per-node=8", "--partition=standard-g")
TASKS = (*NODES, "--ntasks-per-node=2")
OPTIONS = ("--profile", "lumi-g", "--fact", "rocm=6.2.4")
HOSTILE = [
    *(
        b"",
        b" ",
        b"a b",
        b"two\nlines\n",
        b"\t",
        b"'",
        b'"',
        b"\\",
        b"$HOME",
        b"${HOME}",
    ),
    *(b"$(touch canary)", b"`touch canary`", b"*", b"~", b"#", b"--", b"-u", b"-c"),
    *(
        b"--container-image=x",
        b"--environment=x",
        b"A=1",
        b"a,b",
        b"{{id}}",
        b"\xe9\xff",
    ),
]
# As `enroot import` writes what an image says of itself. With PYTORCH_VERSION, hooks of
# Enroot and Pyxis set what belongs to ranks.
IMAGE_ENVIRONMENT = """\
PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
NCCL_SOCKET_IFNAME=wrong0
EXPORTED=the image's
IMAGE_OWN=kept
PYTORCH_VERSION=2.13.0
"""
IMAGE_START = 'mkdir -p "/workspace" 2> /dev/null\ncd "/workspace"\nexec "$@"\n'
RUNTIMES = ("pyxis", "ce")


class Images(NamedTuple):
    """Images as Enroot has them: a squashfs file and no more.

    Attributes:
        full: with PyTorch; each step unpacks all of it on each node.
        small: with a shell alone.
    """

    full: Path
    small: Path


@pytest.fixture(scope="module")
def images(cluster: Cluster) -> Iterator[Images]:
    """Make them of those that Apptainer has."""
    made = Images(
        squashed(cluster.pytorch_image, cluster.home / "pytorch.sqsh"),
        squashed(cluster.busybox_image, cluster.home / "busybox.sqsh"),
    )
    yield made
    for file in made:
        file.unlink()


def squashed(image: Path, file: Path, start: str = IMAGE_START) -> Path:
    """Write what *image* holds, with what an image says of itself, as Enroot writes it."""
    root = file.with_suffix(".root")
    unpack(image, root)
    (root / "workspace").mkdir()
    (root / "etc/environment").write_text(IMAGE_ENVIRONMENT)
    (root / "etc/rc").write_text(start)
    do(["mksquashfs", root, file, "-comp", "lz4", "-noappend", "-no-progress"])
    do(["rm", "-rf", root])
    return file


def do(words: Sequence[str | Path]) -> None:
    subprocess.run(words, check=True, stdout=subprocess.DEVNULL)


Submit = Callable[..., Job]


@pytest.fixture(params=RUNTIMES)
def submit(
    request: pytest.FixtureRequest, cluster: Cluster, images: Images, workdir: Path
) -> Submit:
    """Return what runs a command by a runtime, in a job."""

    def submitted(
        *words: str | bytes,
        before: str = "",
        asked: tuple[str, ...] = TASKS,
        image: Path = images.small,
    ) -> Job:
        made = wrap_text(
            *(*OPTIONS, "--runtime", request.param, "--container", str(image)), *words
        )
        assert made.code == 0, made.err
        (workdir / "wrap.sh").write_bytes(made.out)
        return cluster.sbatch(
            f"#!/bin/bash\nset -euo pipefail\n{before}\nsource ./wrap.sh\n",
            *asked,
            timeout=180,
        )

    submitted.__name__ = request.param
    return submitted


def left(cluster: Cluster, workdir: Path, job: Job) -> list[str]:
    """Return what a job has left: processes, environments, caches."""
    found = [*map(str, cluster.left_running()), *map(str, workdir.glob(".envcfg*"))]
    for node in cluster.nodes:
        names = cluster.node(node, ["ls", "/tmp"]).stdout.split()
        found += [name for name in names if f"-{job.id}-" in name]
    return found


def test_settings_words_and_folder_arrive_whatever_image_and_hooks_say(
    submit: Submit, cluster: Cluster, workdir: Path
) -> None:
    """The stand-in is seen to have its way with what is not a setting."""
    (workdir / "data").mkdir()
    (workdir / "data/it").write_text("bound")
    done = submit(
        *("--set", "V=a,b='$$c'\n\"\\", "--set", "OMP_NUM_THREADS=8"),
        *("--bind", f"{workdir}/data:/mnt/data:ro", "--", "/bin/sh", "-c", NOTES, "sh"),
        *HOSTILE,
        before="export EXPORTED=job MASTER_PORT=12345 LC_ALL=C.UTF-8\n"
        "export PYXIS_CONTAINER_IMAGE=/nowhere.sqsh",  # not for steps on the host
    )
    assert (done.state, done.exit_code) == ("COMPLETED", 0), done.stdout
    assert "nowhere" not in done.stdout
    for rank in range(4):
        assert (workdir / f"it.{rank}").read_text() == "bound"
        assert zero_separated(workdir / f"args.{rank}") == HOSTILE
        seen = environment(workdir / f"env.{rank}")
        expected = EXPECTED | {
            "RANK": str(rank),
            "LOCAL_RANK": str(rank % 2),
            "MASTER_ADDR": cluster.nodes[0],
            "PWD": str(workdir),
        }
        assert expected == {
            name: seen.get(name.encode(), b"none").decode() for name in expected
        }
        assert seen[b"MIOPEN_USER_DB_PATH"].startswith(b"/tmp/envcfg-")
    assert left(cluster, workdir, done) == []
    assert not list(workdir.rglob("canary"))


NOTES = """\
cp /mnt/data/it "it.$RANK"
printf '%s\\0' "$@" >"args.$RANK"
cat /proc/self/environ >"env.$RANK"
"""
EXPECTED = {
    "NCCL_SOCKET_IFNAME": "hsn0,hsn1,hsn2,hsn3",  # the profile's over the image's
    "V": "a,b='$c'\n\"\\",
    "OMP_NUM_THREADS": "8",  # over a hook's
    "MASTER_PORT": "12345",  # the job's over a hook's
    "EXPORTED": "the image's",  # as nobody has told envcfg of it
    "IMAGE_OWN": "kept",
    "LC_ALL": "none",
    "WORLD_SIZE": "4",
}


@pytest.mark.parametrize(
    ("submit", "options", "command", "asked"),
    [
        ("pyxis", (), ["python3"], TASKS),
        ("pyxis", ("--ranks", "2"), ["torchrun"], NODES),
        ("ce", ("--ranks", "2"), ["torchrun"], NODES),
    ],
    ids=["pyxis", "pyxis-torchrun", "ce-torchrun"],
    indirect=["submit"],
)
def test_ranks_of_two_nodes_train_together(
    submit: Submit,
    cluster: Cluster,
    images: Images,
    programs: Path,
    options: tuple[str, ...],
    command: list[str],
    asked: tuple[str, ...],
) -> None:
    done = submit(
        *(*options, "--bind", str(programs.parent)),
        *("--", *command, str(programs / "ddp.py")),
        asked=asked,
        image=images.full,
    )
    assert (done.state, done.exit_code) == ("COMPLETED", 0), done.stdout
    said = [json.loads(line) for line in done.stdout.splitlines() if line[:2] == '{"']
    assert sorted(int(each["RANK"]) for each in said) == [0, 1, 2, 3]
    assert {each["WORLD_SIZE"] for each in said} == {"4"}
    assert len({(each["loss"], each["weights"]) for each in said}) == 1
    assert cluster.left_running() == []


def test_the_first_rank_that_fails_ends_the_step_with_its_code(
    submit: Submit, cluster: Cluster, workdir: Path
) -> None:
    program = 'if [ "$RANK" = 2 ]; then sleep 2; exit 37; fi; exec sleep 60'
    done = submit("--", "/bin/sh", "-c", program)
    assert (done.state, done.exit_code) == ("FAILED", 37), done.stdout
    assert left(cluster, workdir, done) == []


@pytest.mark.parametrize("sent", ["USR1", "TERM"])
def test_a_signal_to_the_step_reaches_every_program(
    submit: Submit, cluster: Cluster, workdir: Path, sent: str
) -> None:
    program = f"trap 'touch heard.$RANK; exit 5' {sent}; touch on.$RANK; "
    program += "while :; do sleep 0.1; done"
    signalled = (
        "(until set -- on.?; [[ $# == 4 ]]; do sleep 0.1; done\n"
        f"scancel --signal={sent} $SLURM_JOB_ID) &"
    )
    done = submit("--", "/bin/sh", "-c", program, before=signalled)
    assert (done.state, done.exit_code) == ("FAILED", 5), done.stdout
    assert len([*workdir.glob("heard.*")]) == 4
    assert left(cluster, workdir, done) == []


def test_what_the_container_cannot_have_is_refused_before_the_step(
    submit: Submit,
) -> None:
    folder = "mkdir 'a,b'; cd 'a,b'; ln -s ../wrap.sh ."
    done = submit("--", "echo", "started", before=folder)
    assert done.exit_code == 4, done.stdout
    assert "the container cannot have the folder of the job: " in done.stdout
    assert "started" not in done.stdout


def test_the_user_s_own_environment_is_kept_and_what_it_says_is_as_it_was(
    cluster: Cluster, images: Images, workdir: Path
) -> None:
    """An EDF by its name, and annotations, which the stand-in reads with a TOML library."""
    (workdir / "mine.toml").write_text(
        f'image = "{images.small}"\nmounts = ["${{DATA}}:/mnt/mine"]\n[env]\nOWN = "$${{EDF}}"\n'
    )
    (workdir / "data").mkdir()
    (workdir / "data/it").write_text("from the environment")
    made = wrap_text(
        *(*OPTIONS, "--runtime", "ce", "--container", "mine"),
        *("--runtime-arg=--annotation=com.hooks.cxi.enabled=false",),
        *("--runtime-arg=--annotation=com.hooks.cxi.enabled=tr$ue",),
        *("--", "/bin/sh", "-c", 'echo "$OWN $(cat /mnt/mine/it) $PWD"'),
    )
    assert made.code == 0, made.err
    (workdir / "wrap.sh").write_bytes(made.out)
    done = cluster.sbatch(
        "#!/bin/bash\nexport EDF_PATH=$PWD DATA=$PWD/data SCRATCH=$PWD\nsource ./wrap.sh\n",
        *("-N1", "--ntasks-per-node=1", "--partition=small-g"),
    )
    assert (done.state, done.exit_code) == ("COMPLETED", 0), done.stdout
    assert f"${{EDF}} from the environment {workdir}\n" in done.stdout
    assert os.listdir(workdir / "data") == ["it"]
    assert not list(workdir.glob(".envcfg*"))


def test_an_extended_image_of_alps_brings_its_own_variables_by_its_entrypoint(
    cluster: Cluster, workdir: Path, tmp_path: Path
) -> None:
    """Of the profile it gets no variable of the network, and srun the image's option."""
    image = squashed(
        cluster.busybox_image,
        workdir / "ngc-pytorch-26.02-py3-alps6.sqsh",
        "export NCCL_CROSS_NIC=0 FROM_ENTRY=point\n" + IMAGE_START,
    )
    (tmp_path / "clariden.yaml").write_text(
        "name: clariden\nextends: alps-clariden\nnode: {gpus: 4, why: another "
        "architecture, source: this machine, date: 2026-11-29}\n"
    )
    made = wrap_text(
        *("--profile", str(tmp_path / "clariden.yaml"), "--allow", "cluster"),
        *("--runtime", "ce", "--container", str(image)),
        *("--", "/bin/sh", "-c", 'env > "env.$SLURM_PROCID"'),
    )
    assert made.code == 0, made.err
    assert b"--network=disable_rdzv_get" in made.out
    (workdir / "wrap.sh").write_bytes(made.out)
    done = cluster.sbatch(
        "#!/bin/bash\nset -euo pipefail\nsource ./wrap.sh\n",
        *(*NODES, "--ntasks-per-node=1"),  # those of Clariden are names alone
        timeout=100,
    )
    assert (done.state, done.exit_code) == ("COMPLETED", 0), done.stdout
    for rank in range(2):
        seen = (workdir / f"env.{rank}").read_text().splitlines()
        assert {"FROM_ENTRY=point", "NCCL_CROSS_NIC=0"} <= set(seen)
        assert not [each for each in seen if each.startswith(("NCCL_NET=", "FI_CXI_"))]
    assert left(cluster, workdir, done) == []
