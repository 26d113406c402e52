"""Other runtimes than Apptainer over two nodes: each is real, or a stand-in that says so.

tests/runtimes/README.md says which is which, and how to run these with the real ones.
"""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import time
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

import pytest

import forms
from cluster import LOGIN, UID, Cluster
from forms import Forms
from job import Job
from support import environment, wrap_text, zero_separated
from tool import install_locked

pytestmark = pytest.mark.nightly

HERE = Path(__file__).parent
PYTHON = "/usr/bin/python3"
REAL = os.environ.get("ENVCFG_REAL", "").split(",")
TWO_NODES = ("-N2", "--ntasks-per-node=2", "--partition=small-g")
HOSTILE = [
    "", " ", "a b", " a", "two\nlines\n", "\t", "'", '"', "\\", "\\n", "$HOME", "$(touch canary)",
    "`touch canary`", "; touch canary", "&&", "*", "~", "#", "--", "-u", "-c", "-e", "--help",
    "--gpu", "--rm", "A=B", "{{.Id}}", "%s", "äö€𝄞", "x" * 5000,
]  # fmt: skip
NO_TEXT = b"a\xe9\xff"
LUMI = ("--profile", "lumi-g", "--fact", "rocm=6.2.4")
PERLMUTTER = ("--profile", "perlmutter", "--allow", "cluster")
# Small limits, as some machines' are; files for what systemd would keep elsewhere.
CONTAINERS = """\
[containers]
default_ulimits = ["nproc=8192:8192", "nofile=4096:4096"]
[engine]
runtime = "runc"
cgroup_manager = "cgroupfs"
events_logger = "file"
"""
# Images are read from one store by all; what changes stays on the node. No subuid.
STORAGE = """\
[storage]
driver = "overlay"
graphroot = "/tmp/podman/graph"
runroot = "/tmp/podman/run"
rootless_storage_path = "/tmp/podman/user"
[storage.options]
additionalimagestores = ["{0}"]
[storage.options.overlay]
ignore_chown_errors = "true"
"""
# Modules of the site, whose options the profile gives; their value must lose.
MODULE = """\
name: {0}
cli_arg: {0}
help: as on Perlmutter
env: ENABLE_{0}
additional_args: ["-e", "NCCL_SOCKET_IFNAME=module0"]
"""


class Kind(NamedTuple):
    """A runtime with an image of one form.

    Attributes:
        image: the image, with ``{0}`` for the folder of its forms.
        options: more for ``envcfg wrap``.
        passes: the job's own variables reach the program.
        is_text: bytes that are not UTF-8 are refused.
        hears: a signal to a rank reaches the program.
        has_env: the image's own variables come along.
        waits: by TERM the client waits for the program, and has its code; Podman's of a plain
            user ends at once.
        by_root: root submits the job.
    """

    runtime: str
    image: str
    options: tuple[str, ...] = LUMI
    passes: bool = True
    is_text: bool = False
    hears: bool = True
    has_env: bool = True
    waits: bool = True
    by_root: bool = False


# Ranks that do not hear what srun sends when one fails; it kills them after KillWait.
DEAF = """\
trap '' TERM
echo "deaf $RANK"
if [ "$RANK" = 3 ]; then
  sleep 1
  exit 3
fi
while :; do sleep 0.2; done
"""
CHARLIECLOUD = (*LUMI, "--runtime-arg=--set-env", "--bind", "/run/envcfg-cluster/home")
OCI = {"passes": False, "is_text": True}
KINDS = {
    "charliecloud-folder": Kind("charliecloud", "{0}/pytorch", CHARLIECLOUD),
    "charliecloud-file": Kind("charliecloud", "{0}/pytorch.sqfs", CHARLIECLOUD, hears=False),
    "podman-name": Kind("podman", forms.NAME, waits=False, **OCI),
    "podman-folder": Kind("podman", "{0}/pytorch", has_env=False, waits=False, **OCI),
    "podman-root": Kind("podman", forms.NAME, by_root=True, **OCI),
    "podman-hpc": Kind("podman-hpc", forms.NAME, PERLMUTTER, waits=False, **OCI),
    "shifter": Kind("shifter", "docker:pytorch:1.0", PERLMUTTER),
}  # fmt: skip
HEARING = [name for name, kind in KINDS.items() if kind.hears and not kind.by_root]
# Where Podman and podman-hpc list containers, of users and of root.
LISTS = ("/tmp/podman/user", "/tmp/podman/graph", f"/tmp/{UID}_hpc/storage")


class Place(NamedTuple):
    """What the jobs need: the image's forms, and variables that they export."""

    forms: Forms
    env: Mapping[str, str]


@pytest.fixture(scope="module")
def place(cluster: Cluster) -> Place:
    """Make what is needed, and let no node have what an earlier job has left."""
    made = forms.make_forms(cluster.pytorch_image)
    home = cluster.home / "runtimes"
    programs, modules = home / "bin", home / "modules.d"
    for folder in (programs, modules, home / "hooks.d"):
        folder.mkdir(parents=True, exist_ok=True)
    (home / "containers.conf").write_text(CONTAINERS)
    (home / "storage.conf").write_text(STORAGE.format(made.store))
    for name in ("gpu", "nccl"):
        (modules / f"{name}.yaml").write_text(MODULE.format(name))
    (home / "podman-hpc.yaml").write_text(
        f"modules_dir: {modules}\nhooks_dir: {home}/hooks.d\n"
    )
    install_podman_hpc(home, programs)
    for standin in (HERE / "standins").iterdir():
        if standin.name not in REAL:
            (programs / standin.name).write_bytes(standin.read_bytes())
            (programs / standin.name).chmod(0o755)
    subprocess.run(["chmod", "-R", "a+rX", home], check=True)
    # Charliecloud's folders are not in /tmp, so not the node's alone.
    subprocess.run(["rm", "-rf", f"/var/tmp/{cluster.user}.ch"], check=True)
    return Place(
        made,
        {
            "PATH": f"{programs}:/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin",
            "CONTAINERS_CONF": f"{home}/containers.conf",
            "CONTAINERS_STORAGE_CONF": f"{home}/storage.conf",
            "PODMANHPC_CONFIG_FILE": f"{home}/podman-hpc.yaml",
            "PODMANHPC_ADDITIONAL_STORES": str(made.store),
            "STANDIN_IMAGES": str(made.images),
            "OWN": "the job's",
        },
    )


def install_podman_hpc(home: Path, programs: Path) -> None:
    """Install the real podman-hpc for the hosts' Python, with what it wants on PATH."""
    if "podman-hpc" in REAL or (programs / "podman-hpc").exists():
        return
    library = home / "lib"
    install_locked("runtimes", library)
    (programs / "mksquashfs.static").symlink_to("/usr/bin/mksquashfs")
    (programs / "fuse-overlayfs-wrap").symlink_to("/usr/bin/fuse-overlayfs")
    (programs / "podman-hpc").write_text(
        f'#!/bin/sh\nPYTHONPATH={library} exec {PYTHON} -m podman_hpc.podman_hpc "$@"\n'
    )
    (programs / "podman-hpc").chmod(0o755)


@pytest.fixture
def kind(request: pytest.FixtureRequest, place: Place, workdir: Path) -> Kind:
    """Return a kind; what a job wants of it lies in the job's folder."""
    found = KINDS[request.param]
    base = (*found.options, "--runtime", found.runtime, "--container", found.image.format(place.forms.root))  # fmt: skip
    settings = ("--set", "MINE=$$'\n\" é", "--set", "GLOO_SOCKET_IFNAME=hsn0")
    torchrun = ("--launcher", "torchrun", "--ranks", "2", "--", "python3", "ddp.py")
    for name, more in (("steps", ()), ("torchrun", torchrun)):
        made = wrap_text(*base, *settings, *more)
        assert made.code == 0, made.err
        (workdir / f"{name}.sh").write_bytes(made.out)
    for name in ("dump", "ddp", "wait"):
        (workdir / f"{name}.py").write_bytes(
            (HERE / f"programs/{name}.py").read_bytes()
        )
    (workdir / "words").write_bytes(b"".join(f"{word}\0".encode() for word in HOSTILE))
    (workdir / "deaf.sh").write_text(DEAF)
    return found


def script(place: Place, *lines: str) -> str:
    exports = "".join(
        f"export {name}={shlex.quote(value)}\n" for name, value in place.env.items()
    )
    return (
        "#!/bin/bash\n"
        + exports
        + "source ./steps.sh\n"
        + "".join(f"{line}\n" for line in lines)
    )


def run(cluster: Cluster, text: str, *, by_root: bool) -> Job:
    """Run a batch script to its end."""
    if not by_root:
        return cluster.sbatch(text, *TWO_NODES)
    (cluster.workdir / "job.sh").write_text(text)
    submit = 'cd "$1" && exec sbatch --parsable "${@:2}" job.sh'
    argv = ["bash", "-c", submit, "bash", cluster.workdir, *TWO_NODES]
    sent = cluster.node(LOGIN, argv)
    assert sent.returncode == 0, sent.stderr
    return Job(cluster, int(sent.stdout)).refresh().wait(timeout=120)


def wait_for(job: Job, text: str, times: int) -> None:
    """Wait until the job has written *text* as often as *times*."""
    end = time.monotonic() + 60
    while job.stdout.count(text) < times:
        assert time.monotonic() < end, job.stdout
        time.sleep(0.1)


def left_over(cluster: Cluster, job: Job) -> list[str]:
    """Return what a job has left on the nodes: caches, containers, processes."""
    left = []
    for node in cluster.nodes:
        names = cluster.node(node, ["ls", "/tmp"]).stdout.split()
        left += [f"{node}: {name}" for name in names if f"-{job.id}-" in name]
        lists = [f"{each}/overlay-containers/containers.json" for each in LISTS]
        shown = cluster.node(node, ["cat", *lists]).stdout
        left += re.findall(r'"id":"\w+', shown)
        for process in cluster.processes(node):
            # Of a user, Podman keeps one for its namespaces: where Slurm knows processes by
            # cgroup, it goes with the job, as does what Apptainer has mounted for others.
            if not process.argv or process.is_keeper:
                continue
            if not process.argv[0].endswith("squashfuse_ll"):
                left.append(f"{node}: {process.argv}")
    return left


@pytest.mark.parametrize("kind", KINDS, indirect=True)
def test_ranks_get_what_is_meant_for_them_over_two_nodes(
    cluster: Cluster, place: Place, workdir: Path, kind: Kind
) -> None:
    fails = 'if [ "$RANK" = 3 ]; then exit 3; fi; exec sleep 60'
    text = script(
        place,
        "mapfile -d '' -t words <words",
        'envcfg_run python3 dump.py out "${words[@]}"; echo "words $?"',
        "envcfg_run --nodes=1 --ranks=1 -- sh -c 'exit 37'; echo \"code $?\"",
        "envcfg_run --nodes=1 --ranks=1 -- sh -c 'printf %s \"$1\" >bytes' sh $'a\\xe9\\xff'",
        'echo "bytes $?"',
        f'envcfg_run sh -c {shlex.quote(fails)}; echo "first $? after $SECONDS"',
        '(source ./torchrun.sh); echo "torchrun $?"',
    )
    job = run(cluster, text, by_root=kind.by_root)
    said = job.stdout
    assert job.state == "COMPLETED", said
    found = dict(re.findall(r"^(words|code|bytes|torchrun) (\d+)", said, re.M))
    assert found == {
        "words": "0",
        "code": "37",
        "bytes": "4" if kind.is_text else "0",
        "torchrun": "0",
    }, said
    assert re.search(r"^first 3 after \d+$", said, re.M), said
    for rank in range(4):
        words = zero_separated(workdir / f"out/{rank}.args")
        assert words == [word.encode() for word in HOSTILE]
        seen = environment(workdir / f"out/{rank}.env")
        assert seen[b"MINE"] == "$'\n\" é".encode()
        assert seen[b"NCCL_SOCKET_IFNAME"] in (b"hsn0,hsn1,hsn2,hsn3", b"hsn")
        assert seen[b"TRITON_CACHE_DIR"].startswith(b"/tmp/envcfg-")
        assert seen.get(b"IMAGE_OWN") == (b"kept" if kind.has_env else None)
        assert seen[b"PWD"] == str(workdir).encode()
        assert seen.get(b"OWN") == (b"the job's" if kind.passes else None)
        who = (
            seen[b"RANK"],
            seen[b"WORLD_SIZE"],
            seen[b"LOCAL_RANK"],
            seen[b"NODE_RANK"],
        )
        assert who == (b"%d" % rank, b"4", b"%d" % (rank % 2), b"%d" % (rank // 2))
    if kind.is_text:
        assert "not UTF-8" in said
        assert not (workdir / "bytes").exists()
    else:
        assert (workdir / "bytes").read_bytes() == NO_TEXT
    weights = set(re.findall(r'"weights": ([-.\d]+)', said))
    assert len(weights) == 1, said
    assert len(re.findall(r'"WORLD_SIZE": "4"', said)) == 4
    assert not list(workdir.rglob("canary"))
    assert left_over(cluster, job) == []


@pytest.mark.parametrize("kind", HEARING, indirect=True)
def test_signals_reach_the_program_and_what_is_killed_is_gone(
    cluster: Cluster, place: Place, kind: Kind
) -> None:
    job = cluster.submit(
        script(
            place,
            'for code in 50 55; do envcfg_run python3 wait.py; echo "wait $?"; done',
            'envcfg_run sh deaf.sh; echo "killed $?"',
            "sleep 1",
        ),
        *TWO_NODES,
    )
    for number, name in enumerate(("USR1", "TERM"), start=1):
        wait_for(job, "ready\n", 4 * number)
        job.cancel(f"--signal={name}")
        wait_for(job, "wait ", number)
    job.wait_output("killed ")
    job.wait(timeout=40)
    codes = re.findall(r"^(?:wait|killed) (\d+)$", job.stdout, re.M)
    assert codes[0] == "50", job.stdout
    assert codes[1] in (("55",) if kind.waits else ("0", "143")), job.stdout
    assert codes[2] in (("3",) if kind.waits else ("3", "137")), job.stdout
    got = re.findall(r"rank (\d) got (\w+)", job.stdout)
    assert sorted(got) == sorted(set(got)), job.stdout
    ranks = ["0", "1", "2", "3"]
    assert sorted(rank for rank, name in got if name == "SIGUSR1") == ranks, job.stdout
    ended = sorted(rank for rank, name in got if name == "SIGTERM")
    # Slurm kills the programs when the clients have ended, so some of them may say nothing.
    assert ended == ranks if kind.waits else ended, job.stdout
    assert left_over(cluster, job) == []
