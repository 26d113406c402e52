"""The command in a fake job: two nodes, whose ranks say what a test lets them say."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import jobs
import pytest

from schemas import errors
from support import Wrapped, envcfg

WHY = "why: a test, source: a test, date: 2026-11-22"
PROFILE = f"""\
name: site
node: {{gpus: 2, {WHY}}}
expect: {{networks: [AWS Libfabric], provider: cxi, {WHY}}}
"""
NVIDIA = """\
#!/bin/sh
case "$*" in *utilization*) ;; *) exit 0 ;; esac
printf '0, 0, 1, 2, 3, A\\n'
[ -e "lost-$SLURMD_NODENAME" ] || printf '1, 0, 1, 2, 3, A\\n'
"""
# As a rank, each prints a file of its own.
PYTHON = '#!/bin/sh\necho "${NCCL_DEBUG_FILE-none}" >"file-$RANK"\ncat "rank-$RANK"\n[ ! -e hangs ] || [ "$RANK" = 0 ] || exec sleep 60\n'


class Nodes(NamedTuple):
    """The fake job: *folder* is the current one."""

    folder: Path

    def say(self, log: jobs.Job, *more: str) -> None:
        """Let the ranks say that all is well, with NCCL's lines of *log*, and *more*."""
        log = replace(log, hosts=("node1", "node2"))
        for rank in range(2):
            own = f"envcfg-rank {rank} node{rank + 1} "
            lines = [each.text for each in jobs.lines(log) if each.rank == rank]
            said = ["began 2 0", "met", "torch 2.9 12.8 2", "imported", "joined"]
            said += [f"pair {1 - rank} node{2 - rank} 100000000 0.01", "paired"]
            said += ["sum 1048576 0.001 90.0"] if rank == 0 else []
            text = [*(own + each for each in said), *lines, own + "done"]
            text += [f"{own}{each}" for each in more]
            (self.folder / f"rank-{rank}").write_text("\n".join(text) + "\n")


def preflight(*options: str) -> Wrapped:
    return envcfg(
        *("preflight", "--profile", "./site.yaml", "--container", "none"),
        *("--ranks", "1", *options),
    )


@pytest.fixture
def nodes(
    fakes: Path,
    wrap: Callable[..., Wrapped],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> Nodes:
    assert fakes.is_dir() and wrap  # noqa: PT018
    folder = tmp_path / "bin"
    folder.mkdir()
    for name, body in (
        ("nvidia-smi", NVIDIA),
        ("python3", PYTHON),
        ("scontrol", "#!/bin/sh\nprintf 'node1\\nnode2\\n'\n"),
    ):
        (folder / name).write_text(body)
        (folder / name).chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder}:{_path()}")
    monkeypatch.setenv("SLURM_JOB_NUM_NODES", "2")
    monkeypatch.setenv("FAKE_NODES", "2")
    monkeypatch.setenv("FAKE_NODELIST", "node[1-2]")
    (tmp_path / "site.yaml").write_text(PROFILE)
    made = Nodes(tmp_path)
    made.say(jobs.Job(nodes=2, ranks_per_node=1))
    return made


def _path() -> str:
    import os

    return os.environ["PATH"]


def summary(done: Wrapped) -> str:
    return done.text.partition(" (")[0]


@pytest.mark.usefixtures("nodes")
def test_good_nodes_on_the_fast_network_pass() -> None:
    for more in ((), ("--require", "fast")):
        done = preflight(*more)
        assert (done.code, summary(done)) == (0, "2 nodes: 2 passed, 0 failed"), done
        assert "network     fast: ok: all 2 ranks on 2 nodes use AWS" in done.text
        assert "all-reduce     1 MiB      1.000 ms     90.00 GB/s" in done.text


def test_a_node_that_lacks_a_gpu_ends_it_before_the_ranks_start(nodes: Nodes) -> None:
    (nodes.folder / "lost-node2").touch()
    (nodes.folder / "rank-0").unlink()
    done = preflight()
    assert (done.code, summary(done)) == (1, "2 nodes: 1 passed, 1 failed"), done
    assert "error: node2: nvidia-smi shows 1 of 2 GPUs (profile site)" in done.text


def test_a_bad_node_is_added_to_the_list(nodes: Nodes) -> None:
    (nodes.folder / "lost-node2").touch()
    done = preflight("--exclude-from", "bad.txt")
    line = (nodes.folder / "bad.txt").read_text().splitlines()[1]
    name, _, reason = line.split(" ", 2)
    assert (done.code, name) == (1, "node2")
    assert reason == "gpu-missing: nvidia-smi shows 1 of 2 GPUs (profile site)"
    # A fault of all nodes is that of the job.
    (nodes.folder / "lost-node1").touch()
    assert preflight("--exclude-from", "other.txt").code == 1
    assert not (nodes.folder / "other.txt").exists()


def test_the_slow_network_of_a_node_is_its_fault(nodes: Nodes) -> None:
    nodes.say(jobs.Job(nodes=2, ranks_per_node=1, fallen=frozenset({1})))
    done = preflight()
    assert (done.code, summary(done)) == (1, "2 nodes: 1 passed, 1 failed"), done
    assert "error: node2: rank 1: " in done.text
    assert "[network-degraded]" in done.text
    assert "network     slow: degraded: " in done.text


def test_a_log_that_is_bad_for_certain_ends_ranks_that_go_on(nodes: Nodes) -> None:
    nodes.say(jobs.Job(nodes=2, ranks_per_node=1, fallen=frozenset({1})))
    path = nodes.folder / "rank-1"
    path.write_text(path.read_text().replace("envcfg-rank 1 node2 done\n", ""))
    (nodes.folder / "hangs").touch()
    done = preflight()
    assert (done.code, summary(done)) == (1, "2 nodes: 1 passed, 1 failed"), done
    assert "[network-degraded]" in done.text
    assert "collective-stuck" not in done.text


@pytest.mark.parametrize(
    ("more", "code", "said"),
    [
        ((), 3, "network     unknown: NCCL was not used"),
        (("--require", "fast"), 1, "the fast network is not proven: NCCL was not used"),
        (("--nodes-only",), 0, "network     unknown: not checked"),
    ],
)
def test_what_is_not_proven_is_inconclusive_or_an_error_where_it_is_wanted(
    nodes: Nodes, more: tuple[str, ...], code: int, said: str
) -> None:
    for rank in range(2):
        path = nodes.folder / f"rank-{rank}"
        lines = path.read_text().splitlines()
        kept = [line for line in lines if line.startswith("envcfg-rank")]
        path.write_text("\n".join(kept) + "\n")
    done = preflight(*more)
    assert done.code == code, done
    assert said in done.text


def test_a_rank_that_says_nothing_more_is_named(nodes: Nodes) -> None:
    path = nodes.folder / "rank-1"
    path.write_text("envcfg-rank 1 node2 began 2 0\n")
    done = preflight("--patience", "1")
    assert done.code == 1
    assert "error: node2: rank 1 is waited for at the rendezvous" in done.text


@pytest.mark.parametrize("lost", [False, True])
@pytest.mark.parametrize("more", [(), ("--nodes-only",)])
def test_the_json_is_as_its_schema_says(
    nodes: Nodes, lost: bool, more: tuple[str, ...]
) -> None:
    if lost:
        (nodes.folder / "lost-node2").touch()
    done = preflight("--json", *more)
    document = json.loads(done.text)
    assert errors("preflight", done.text) == []
    assert document["failed"] == ("node2" if lost else "")


def test_findings_come_in_the_forms_of_all_checks(nodes: Nodes) -> None:
    (nodes.folder / "lost-node2").touch()
    done = preflight("--format", "github")
    assert done.code == 1
    assert done.text.startswith("::error title=envcfg gpu-missing::node2%3A") or (
        "envcfg gpu-missing" in done.text
    )


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (("--require", "fast", "--nodes-only"), 2, "--require needs the collective"),
        (("--patience", "0"), 2, "is not a number of seconds"),
        (("--measure", "30"), 2, "is not a number of seconds, 1 to 20"),
        (("--", "python", "x"), 2, "takes no command"),
        (("--json", "--format", "text"), 2, "both write to stdout"),
        (("--launcher", "flux"), 2, "does not allow"),
    ],
)
@pytest.mark.usefixtures("nodes")
def test_what_cannot_be_right_is_said(
    words: tuple[str, ...], code: int, said: str
) -> None:
    done = preflight(*words)
    assert (done.code, said in done.err) == (code, True), done


@pytest.mark.usefixtures("nodes")
def test_outside_a_job_it_says_so(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "bin/scontrol").write_text("#!/bin/sh\necho no job >&2; exit 1\n")
    done = preflight()
    assert (done.code, "not known: no job" in done.err) == (4, True), done
    (tmp_path / "bin/scontrol").write_text("#!/bin/sh\necho node1\n")
    monkeypatch.delenv("SLURM_JOB_ID")
    done = preflight()
    assert done.code == 4
    assert "this is not a Slurm job" in done.err
    assert "no node has answered: the step could not start" in done.err


def test_here_alone_one_node_needs_no_network(
    wrap: Callable[..., Wrapped], tmp_path: Path
) -> None:
    assert wrap
    (tmp_path / "site.yaml").write_text(PROFILE.replace("gpus: 2", "gpus: 0"))
    done = preflight("--launcher", "local", "--require", "fast")
    assert done.code == 3, done
    assert "network     unneeded: one node" in done.text
    assert "no collective: the image lacks a module: No module" in done.text


def test_sockets_of_processes_whose_ranks_are_not_named_fail_it(nodes: Nodes) -> None:
    from scenarios import SCENARIOS

    text = SCENARIOS["sockets-of-processes-without-ranks"][0]
    for rank in range(2):
        path = nodes.folder / f"rank-{rank}"
        said = path.read_text().splitlines()
        own = [line for line in said if line.startswith("envcfg-rank")]
        path.write_text("\n".join([*(text.splitlines() if rank else ()), *own]) + "\n")
    done = preflight()
    assert done.code == 1, done
    assert "[network-degraded]" in done.text


def test_the_log_comes_here_whatever_file_the_job_names(
    nodes: Nodes, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NCCL_DEBUG_FILE", "/tmp/nccl.%h")
    assert preflight("--set", "NCCL_DEBUG_FILE=x").code == 0
    assert (nodes.folder / "file-0").read_text() == "none\n"
