"""What is found of nodes, by what their probes say."""

from __future__ import annotations

import pytest
from said import HOSTS, WANTED, answers, node_lines

from envcfg.common.findings import Finding
from envcfg.nodes.preflight.node_judge import judge_nodes, not_seen
from envcfg.nodes.preflight.preflight_records import Requirements

ILL = HOSTS[1]
FAST = WANTED._replace(is_fast=True)


def found(
    *changed: str,
    wanted: Requirements = WANTED,
    all_nodes: bool = False,
    gpus: int = 2,
    tool: str = "nvidia-smi",
    code: int = 0,
) -> dict[str, list[Finding]]:
    """Return what is found where the second node, or all, say *changed* lines."""
    lines = []
    for host in HOSTS:
        is_ill = all_nodes or host == ILL
        mine = changed if is_ill else ()
        count = gpus if is_ill else 2
        lines += node_lines(
            host, *mine, gpus=count, tool=tool, code=code if is_ill else 0
        )
    return judge_nodes(wanted, answers(lines), {})


def test_nodes_where_all_is_well_have_no_findings() -> None:
    assert found(wanted=FAST) == {host: [] for host in HOSTS}


CASES: dict[str, tuple[tuple[str, ...], str, str, str]] = {
    "down": (("network hsn1 down address",), "interface-down", "error", "interface hsn1 is down"),
    "no address": (("network hsn1 up -",), "interface-down", "error", "has no address"),
    "no such interface": (("network hsn1 GONE",), "interface-down", "error", "has no interface hsn1"),
    "device": (("device 0 /dev/cxi*",), "device-missing", "error", "has no /dev/cxi*"),
    "unwritable": (("folder no 12 /tmp",), "folder-unwritable", "error", "12 KiB are left"),
    "unwritable, unknown": (("folder no - /tmp",), "folder-unwritable", "error", "cannot store a file of 1 MiB"),
    "nearly full": (("folder yes 2048 /tmp",), "folder-full", "warning", "/tmp has 2 MiB left"),
    "little shared memory": (("folder yes 1024 /dev/shm",), "folder-full", "warning", "/dev/shm has 1 MiB"),
    "less memlock than others": (("memlock 65536",), "memlock-small", "error", "64 KiB of memory, on other nodes all"),
    "memory errors": (("gpu 1, 0, 100, 65536, 90, 700, 1980, 0, 3, 0x0, A GPU",), "gpu-memory-errors", "error", "GPU 1 has had memory errors"),
    "held down": (("gpu 0, 0, 100, 65536, 90, 700, 1980, 0, 0, 0x000000000000000C, A GPU",), "gpu-held-down", "warning", "clocks of GPU 0"),
    "plugin": (("plugin no libcxi.so.1,FABRIC_1.7 /opt/p/librccl-net.so",), "plugin-unloadable", "error", "lacks libcxi.so.1, FABRIC_1.7"),
}  # fmt: skip


@pytest.mark.parametrize(
    ("changed", "rule", "severity", "said"), CASES.values(), ids=list(CASES)
)
def test_the_node_that_is_ill_is_named_and_no_other(
    changed: tuple[str, ...], rule: str, severity: str, said: str
) -> None:
    by_host = found(*changed)
    (one,) = by_host.pop(ILL)
    assert (one.rule, one.severity, one.subject) == (rule, severity, ILL)
    assert said in one.message
    assert one.fix
    assert by_host == {host: [] for host in HOSTS if host != ILL}


WELL: dict[str, tuple[str, ...]] = {
    "nobody knows whether it can be written": ("folder unknown - /tmp",),
    "an interface that no rank uses": ("network nmn0 down -",),
    "no memory errors": ("gpu 0, 0, 100, 65536, 90, 700, 1980, 9, 0, 0x4, A GPU",),
    "a card that says nothing": (
        "gpu 0, 0, 100, 65536, 90, [N/A], [N/A], [N/A], [N/A], [N/A], A GPU",
    ),
    "a plugin that loads": ("plugin yes - /opt/librccl-net.so",),
    "a plugin that nobody looked into": ("plugin unknown - /opt/librccl-net.so",),
    "torn lines": ("memlock", "network hsn9", "folder yes", "device"),
    "unknown lines": ("colour blue", "folder maybe 1 /tmp"),
}


@pytest.mark.parametrize("changed", WELL.values(), ids=list(WELL))
def test_what_is_no_fault_is_not_one(changed: tuple[str, ...]) -> None:
    assert found(*changed)[ILL] == []


@pytest.mark.parametrize(
    ("variable", "changed", "said"),
    [
        ("hsn", "network hsn1 down address", "interface hsn1 is down"),
        ("=hsn1", "network hsn1 down address", "interface hsn1 is down"),
        ("=hsn0", "network hsn1 down address", None),
        ("^lo,nmn", "network hsn1 down address", "interface hsn1 is down"),
        ("nmn", "network hsn1 down address", None),
        ("ib", "network hsn1 up address", "has no interface ib"),
    ],
)
def test_interfaces_are_those_that_nccl_would_take(
    variable: str, changed: str, said: str | None
) -> None:
    name = f"variable NCCL_SOCKET_IFNAME {variable}"
    messages = [each.message for each in found(name, changed)[ILL]]
    assert messages == ([said] if said else [])


def test_interfaces_that_are_down_everywhere_are_faults_of_all() -> None:
    by_host = found("network hsn1 down -", all_nodes=True)
    assert [len(each) for each in by_host.values()] == [1, 1, 1]


@pytest.mark.parametrize(
    ("memlock", "severity"),
    [("unlimited", None), ("65536", "warning"), ("8589934592", "warning")],
)
def test_little_memory_to_lock_is_doubtful_for_a_fast_network(
    memlock: str, severity: str | None
) -> None:
    by_host = found(f"memlock {memlock}", wanted=FAST, all_nodes=True)
    severities = {each.severity for some in by_host.values() for each in some}
    assert severities == ({severity} if severity else set())
    slow = found(f"memlock {memlock}", all_nodes=True)
    assert not any(slow.values())


@pytest.mark.parametrize(
    ("gpus", "tool", "code", "more", "rules"),
    [
        (2, "nvidia-smi", 0, (), []),
        (1, "nvidia-smi", 0, (), ["gpu-missing"]),
        (0, "nvidia-smi", 9, (), ["gpu-missing"]),
        (2, "nvidia-smi", 9, (), ["gpu-tool-failed"]),
        (0, "none", 0, (), []),
        (1, "nvidia-smi", 0, ("variable SLURM_GPUS_ON_NODE 1",), []),
        (2, "nvidia-smi", 0, ("variable SLURM_GPUS_ON_NODE 4",), ["gpu-missing"]),
    ],
)
def test_gpus_are_counted_against_what_the_job_has(
    gpus: int, tool: str, code: int, more: tuple[str, ...], rules: list[str]
) -> None:
    by_host = found(*more, gpus=gpus, tool=tool, code=code)
    if tool == "none":
        assert not any(by_host.values())
    assert [each.rule for each in by_host[ILL]] == rules


def test_an_incomplete_answer_is_no_missing_gpu() -> None:
    lines = [line for line in node_lines(ILL) if "text 1, " not in line]
    assert len(lines) < len(node_lines(ILL))
    (one,) = judge_nodes(WANTED._replace(hosts=(ILL,)), answers(lines), {})[ILL]
    assert (one.rule, one.severity) == ("gpu-tool-failed", "warning")


def test_a_gpu_in_use_before_the_job_is_said() -> None:
    lines = node_lines(ILL)
    full = [line.replace("1, 0, 100,", "1, 0, 40000,") for line in lines]
    wanted = WANTED._replace(hosts=(ILL,))
    (one,) = judge_nodes(wanted, answers(full), {})[ILL]
    assert (one.rule, one.severity) == ("gpu-in-use", "warning")
    assert one.message.startswith("GPU 1 in use before the job")


def test_a_node_that_says_nothing_or_half_of_it_fails() -> None:
    lines = [*node_lines(HOSTS[0]), *node_lines(HOSTS[1])[:-1]]
    by_host = judge_nodes(WANTED, answers(lines), {HOSTS[2]: "Exited with exit code 4"})
    rules = [[each.rule for each in some] for some in by_host.values()]
    assert rules == [[], ["node-silent"], ["node-failed"]]
    assert "exit code 4" in by_host[HOSTS[2]][0].message


def test_what_nobody_could_look_at_is_told() -> None:
    lines = node_lines(
        HOSTS[0], "folder unknown - /tmp", "plugin unknown - /x.so", gpus=0, tool="none"
    )
    told = not_seen(WANTED, answers(lines))
    assert [each.partition(":")[0] for each in told] == [
        "the state of the GPUs",
        "the libraries of the network plugin",
        "whether folders can be written",
    ]
    assert not_seen(WANTED, answers(node_lines(HOSTS[0]))) == []
