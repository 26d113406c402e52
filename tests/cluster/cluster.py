"""The test cluster as an object: run commands, submit jobs, look at the network.

The scripts beside this file do the work; this module calls them and reads what they
say. It knows nothing of `envcfg` and nothing of pytest.
"""

from __future__ import annotations

import json
import os
import subprocess
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from job import POLL_SECONDS, ClusterError, Job

HERE = Path(__file__).resolve().parent
STATE = Path("/run/envcfg-cluster")
IMAGES = STATE / "images"
LOGIN = "login"
PORTS = ("nmn0", "hsn0", "hsn1", "hsn2", "hsn3")  # of a node like LUMI's
NODES = ("nid001000", "nid001001")
MAHTI_NODES = ("g1101", "g1102")
# Not the caller's: folders of a test in /tmp are not there on the nodes.
ROOT_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
_MOUNTERS = ("squashfuse", "fuse-overlayfs")
# As which Podman keeps a user's namespaces: itself, or Debian's catatonit where there is one.
_KEEPERS = {("podman",), ("catatonit", "-P")}
USER = "envcfg"
UID = 327000100


@dataclass(frozen=True)
class Process:
    """A process that runs on one of the hosts.

    Attributes:
        is_keeper: Podman keeps its namespaces by it: it does nothing else, and outlives
            what has started it.
    """

    pid: int
    argv: tuple[str, ...]
    is_keeper: bool = False


class Cluster:
    """Nodes, a login host and an ordinary user; see README.md.

    Attributes:
        nodes: the two like LUMI's.
        mahti_nodes: the two like Mahti's.
        workdir: where commands run and jobs are submitted, unless told otherwise.
    """

    def __init__(self) -> None:
        self.nodes = NODES
        self.mahti_nodes = MAHTI_NODES
        self.user = USER
        self.home = STATE / "home" / USER
        self.workdir = self.home
        self.pytorch_image = IMAGES / "pytorch.sif"
        self.busybox_image = IMAGES / "busybox.sif"
        self.dash_image = IMAGES / "dash.sif"

    @cached_property
    def frameworks_image(self) -> Path:
        """The image with the frameworks, made when it is first asked for."""
        self._manage("frameworks")
        return IMAGES / "frameworks.sif"

    # Coming and going

    @property
    def is_up(self) -> bool:
        """Whether somebody has brought the cluster up."""
        return (STATE / "ready").exists()

    def up(self) -> None:
        """Bring the cluster up, or do nothing."""
        self._manage("up")

    def down(self) -> None:
        """Take the cluster down; fails when anything is left behind."""
        self._manage("down")

    def _manage(self, script: str) -> None:
        done = subprocess.run(
            [HERE / script],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            check=False,
        )
        if done.returncode != 0:
            raise ClusterError(f"{script} failed ({done.returncode}):\n{done.stderr}")

    def new_folder(self, name: str) -> Path:
        """Make a folder of the user that every host sees."""
        number = len(list(self.home.glob("work/*")))
        letters = "".join(c if c.isalnum() else "-" for c in name)[:60]
        folder = self.home / "work" / f"{number:03}-{letters.strip('-')}"
        self.run(["mkdir", "-p", folder], cwd=self.home, check=True)
        return folder

    # Commands

    def run_bytes(
        self,
        argv: Sequence[str | bytes | Path],
        *,
        env: Mapping[str, str] | None = None,
        cwd: Path | None = None,
        stdin: bytes = b"",
        timeout: float = 60,
    ) -> subprocess.CompletedProcess[bytes]:
        """Run *argv* as the user on the login host, in a new login's environment."""
        added = [f"{name}={value}" for name, value in (env or {}).items()]
        return subprocess.run(
            [HERE / "run", *(["env", "--", *added] if added else []), *argv],
            cwd=cwd or self.workdir,
            input=stdin,
            capture_output=True,
            timeout=timeout,
            check=False,
        )

    def run(
        self,
        argv: Sequence[str | bytes | Path],
        *,
        env: Mapping[str, str] | None = None,
        cwd: Path | None = None,
        stdin: str = "",
        timeout: float = 60,
        check: bool = False,
    ) -> subprocess.CompletedProcess[str]:
        """Do as `run_bytes`, in text; with *check* a failure is a `ClusterError`."""
        done = _as_text(
            self.run_bytes(
                argv, env=env, cwd=cwd, stdin=stdin.encode(), timeout=timeout
            )
        )
        if check and done.returncode != 0:
            raise ClusterError(f"{argv!r} failed ({done.returncode}):\n{done.stderr}")
        return done

    @contextmanager
    def cut_off(self, node: str) -> Iterator[None]:
        """Take away every network of *node*, and give it back."""
        ports = [f"{node.removeprefix('nid')}-{port}" for port in PORTS]
        try:
            for port in ports:
                self.node(LOGIN, ["ip", "link", "set", port, "down"])
            yield
        finally:
            for port in ports:
                self.node(LOGIN, ["ip", "link", "set", port, "up"])

    def node(
        self, host: str, argv: Sequence[str | Path], *, timeout: float = 60
    ) -> subprocess.CompletedProcess[str]:
        """Run *argv* as root on a host."""
        done = subprocess.run(
            [HERE / "node", host, *argv],
            env={**os.environ, "PATH": ROOT_PATH},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=timeout,
            check=False,
        )
        return _as_text(done)

    # Jobs

    def submit(
        self,
        script: str,
        *options: str,
        env: Mapping[str, str] | None = None,
        cwd: Path | None = None,
    ) -> Job:
        """Submit a batch script as the user and return at once.

        *env* is what the user has exported when submitting.
        """
        sent = self.run(
            ["sbatch", "--parsable", *options],
            env=env,
            cwd=cwd,
            stdin=script,
            check=True,
        )
        return Job(self, int(sent.stdout.split(";")[0])).refresh()

    def sbatch(
        self,
        script: str,
        *options: str,
        env: Mapping[str, str] | None = None,
        cwd: Path | None = None,
        timeout: float = 120,
    ) -> Job:
        """Submit a batch script as the user and wait until the job has ended."""
        return self.submit(script, *options, env=env, cwd=cwd).wait(timeout=timeout)

    def test_only(
        self, script: str, *options: str, partition: str | None = None
    ) -> subprocess.CompletedProcess[str]:
        """Ask Slurm whether it would take a batch script; nothing is submitted.

        The nodes of most systems exist in name only, so this is all they are good for.
        Answers on stderr: when and where the job would start, or why not (then the exit
        code is not 0). *partition* is for a system on which a job names none: its
        profile's name.
        """
        env = {"SBATCH_PARTITION": partition} if partition else None
        return self.run(["sbatch", "--test-only", *options], env=env, stdin=script)

    def cancel_jobs(self, *, timeout: float = 30) -> None:
        """Cancel all jobs and wait until the nodes are free again."""
        deadline = time.monotonic() + timeout
        while self.node(LOGIN, ["squeue", "--noheader"]).stdout.strip():
            if time.monotonic() > deadline:
                raise ClusterError(f"jobs do not end within {timeout} s")
            self.node(LOGIN, ["scancel", f"--user={USER}"])
            time.sleep(POLL_SECONDS)

    # Looking

    def counters(self) -> dict[str, dict[str, int]]:
        """Return for each node and interface the bytes sent plus received."""
        every = (*self.nodes, *self.mahti_nodes)
        return {node: self._counters_of(node) for node in every}

    def _counters_of(self, node: str) -> dict[str, int]:
        links = json.loads(self.node(node, ["ip", "-json", "-stats", "link"]).stdout)
        return {
            link["ifname"]: sum(link["stats64"][way]["bytes"] for way in ("rx", "tx"))
            for link in links
        }

    def left_running(self) -> list[tuple[str, ...]]:
        """Return the user's processes on the nodes, but for those of runtimes themselves.

        What mounts images, and the process that Podman keeps for its namespaces, outlive
        a step here, as this Slurm knows processes by group; where it knows them by cgroup
        they go with the job.
        """
        nodes = (*self.nodes, *self.mahti_nodes)
        return [
            process.argv
            for node in nodes
            for process in self.processes(node)
            if process.argv
            and not process.is_keeper
            and not any(mounter in process.argv[0] for mounter in _MOUNTERS)
        ]

    def processes(self, host: str) -> list[Process]:
        """Return the user's processes on a host: those in its network."""
        found = []
        for pid in _pids_in_network_of(host):
            try:
                if Path(f"/proc/{pid}").stat().st_uid == UID:
                    argv = Path(f"/proc/{pid}/cmdline").read_bytes()
                    words = argv.decode(errors="replace").split("\0")[:-1]
                    found.append(Process(pid, tuple(words), _is_keeper(pid, words)))
            except (FileNotFoundError, ProcessLookupError):
                continue  # it has ended meanwhile
        return found

    def pids(self, host: str) -> list[int]:
        """Return the process ids of `processes`."""
        return [process.pid for process in self.processes(host)]


def _is_keeper(pid: int, words: Sequence[str]) -> bool:
    """Tell by more than the name: the program, a user's namespace, nobody waiting for it.

    Raises:
        OSError: it has ended meanwhile.
    """
    if tuple(words) not in _KEEPERS:
        return False
    status = Path(f"/proc/{pid}/status").read_text()
    parent = next(x.split()[1] for x in status.splitlines() if x.startswith("PPid:"))
    return (
        Path(os.readlink(f"/proc/{pid}/exe")).name == words[0]
        and os.readlink(f"/proc/{pid}/ns/user") != os.readlink("/proc/self/ns/user")
        and Path(f"/proc/{parent}").stat().st_uid != UID
    )


def _pids_in_network_of(host: str) -> list[int]:
    found = subprocess.run(
        ["ip", "netns", "pids", host], capture_output=True, text=True, check=True
    )
    return [int(pid) for pid in found.stdout.split()]


def _as_text(
    done: subprocess.CompletedProcess[bytes],
) -> subprocess.CompletedProcess[str]:
    """Decode; unlike ``text=True`` this leaves carriage returns as they are."""
    return subprocess.CompletedProcess(
        done.args,
        done.returncode,
        done.stdout.decode(errors="replace"),
        done.stderr.decode(errors="replace"),
    )
