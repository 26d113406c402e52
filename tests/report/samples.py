"""Reports of jobs that never ran: what the renderers are shown."""

from __future__ import annotations

from collections.abc import Iterable

from envcfg.common.findings import EvidenceLine, Finding
from envcfg.log.verdict import (
    Coverage,
    JobReport,
    JobRow,
    LogReport,
    OpenQuestion,
    Plugin,
    RankReport,
    Transport,
)

# What a log may hold: markup, ends of scripts and sections, escapes, broken UTF-8.
HOSTILE = (
    "<script>alert(1)</script>]]>\x1b[31m\x00\udcff\ud800\u202e\ufffe\"'&amp;{{title}}"
)


def host(node: int) -> str:
    return f"nid{1001 + node:06}"


def rank(number: int, per_node: int, *, slow: Iterable[int] = ()) -> RankReport:
    """A rank on Slingshot; one in *slow* fell back to TCP sockets."""
    fell = number in slow
    return RankReport(
        rank=number,
        host=host(number // per_node),
        pid=40_000 + number,
        device=number % per_node,
        verdict="degraded" if fell else "ok",
        reason="NCCL uses TCP sockets, not the NIC" if fell else "",
        network="Socket" if fell else "AWS Libfabric",
        provider=None if fell else "cxi",
        nics=None if fell else 4,
        gdr="no" if fell else "yes",
        plugin="failed" if fell else "loaded",
        interface="hsn0",
    )


def ring(nodes: int, per_node: int, slow: Iterable[int] = ()) -> list[Transport]:
    """A ring within each node, and one between nodes for each GPU index."""
    result = []
    for node in range(nodes):
        for local in range(per_node):
            me = node * per_node + local
            for step in (1, -1):
                near = node * per_node + (local + step) % per_node
                if near != me:
                    result.append(Transport(me, near, "P2P/IPC", None))
                far = (node + step) % nodes * per_node + local
                if far != me:
                    fell = me in slow or far in slow
                    kind = "NET/Socket" if fell else "NET/AWS Libfabric"
                    result.append(Transport(me, far, kind, not fell))
    return list(dict.fromkeys(result))


def job(
    nodes: int = 2, per_node: int = 8, *, slow_nodes: Iterable[int] = ()
) -> LogReport:
    """A job in which the nodes of *slow_nodes* fell back to sockets."""
    slow_nodes = set(slow_nodes)
    size = nodes * per_node
    slow = {each for each in range(size) if each // per_node in slow_nodes}
    ranks = tuple(rank(each, per_node, slow=slow) for each in range(size))
    networks = {"AWS Libfabric": size - len(slow), "Socket": len(slow)}
    verb = f"{len(slow)} of {size:,} ranks use TCP sockets instead of the NIC"
    return LogReport(
        verdict="degraded" if slow else "ok",
        network_verdict="degraded" if slow else "ok",
        summary=f"degraded: {verb}"
        if slow
        else f"ok: all {size:,} ranks use AWS Libfabric (cxi) with GPU RDMA",
        job=JobReport(
            world_size=size,
            ranks_seen=tuple(range(size)),
            ranks_missing=(),
            nodes=tuple(host(each) for each in range(nodes)),
            node_count=nodes,
            network="mixed" if slow else "AWS Libfabric",
            networks={name: number for name, number in networks.items() if number},
            provider="cxi",
            plugin=Plugin("aws-ofi-rccl", "1.4.0", "some" if slow else "all"),
            gdr="partial" if slow else "yes",
            interfaces={"bootstrap": ("hsn0",), "socket": ("hsn0", "hsn1")},
            versions={"rccl": ("2.22.3",), "hip": ("6.4.43482",), "rocm": ("6.4.0",)},
        ),
        ranks=ranks,
        transports=tuple(ring(nodes, per_node, slow)),
        findings=findings(sorted(slow), per_node) if slow else (),
        unknowns=(
            OpenQuestion(
                "CPU affinity of the ranks", "NCCL_DEBUG_SUBSYS=INIT,ENV,NET,GRAPH"
            ),
        ),
        coverage=Coverage(1, 2_345_678 * nodes, 220 * size, 1 if slow else 0),
    )


def findings(slow: list[int], per_node: int) -> tuple[Finding, ...]:
    first = host(slow[0] // per_node)
    text = f"{first}:4{slow[0]:04}:41201 [0] NCCL INFO"
    return (
        Finding(
            rule="plugin-open-failed",
            severity="error",
            subject=f"ranks {slow[0]}-{slow[-1]}",
            message="the network plugin could not be opened: libcxi.so.1 is not there",
            fix="bind the directory of libcxi.so.1 into the container on every node",
            source="https://docs.lumi-supercomputer.eu/software/containers/",
            why="NCCL found librccl-net.so, but the dynamic linker did not find a library"
            " that it needs, so NCCL went on with its own TCP sockets",
            evidence=EvidenceLine(
                "slurm-7412233.out",
                1184,
                f"{text} NET/Plugin: dlopen failed : libcxi.so.1: cannot open shared object"
                " file: No such file or directory",
            ),
            count=len(slow),
        ),
        Finding(
            rule="warning-unknown",
            severity="warning",
            subject=f"rank {slow[0]}",
            message="NCCL warns of something that no rule of envcfg knows",
            evidence=EvidenceLine("slurm-7412233.out", 2201, f"{text} something odd"),
        ),
        Finding(
            rule="net-socket-fallback",
            severity="error",
            subject=f"{len(slow)} ranks",
            message="NCCL uses TCP sockets between nodes",
            fix="mend the plugin",
            source="NCCL 2.22 src/net.cc",
            evidence=EvidenceLine(
                "slurm-7412233.out", 1190, f"{text} Using network Socket"
            ),
            count=len(slow),
            cause=False,
        ),
        Finding(
            rule="gdr-not-used",
            severity="note",
            subject=f"{len(slow)} ranks",
            message="messages between nodes go through the memory of the host",
            count=4 * len(slow),
            cause=False,
        ),
    )


def single_node() -> LogReport:
    """One node only, and half of its ranks: nothing is known of the network."""
    base = job(1, 4)
    ranks = tuple(
        each._replace(
            verdict="inconclusive",
            reason="one node: no network was used",
            network=None,
            provider=None,
            nics=None,
            gdr="unknown",
            plugin="unknown",
        )
        for each in base.ranks
    )
    return base._replace(
        verdict="inconclusive",
        summary="inconclusive: the job ran on one node, so it shows nothing of the network",
        job=base.job._replace(
            world_size=8,
            ranks_missing=(4, 5, 6, 7),
            network=None,
            networks={},
            provider=None,
            plugin=Plugin(None, None, "unknown"),
            gdr="unknown",
            interfaces={"bootstrap": ("hsn0",)},
        ),
        ranks=ranks,
        transports=tuple(ring(1, 4)),
        unknowns=(
            OpenQuestion("which network the job would use", "run the job on two nodes"),
            OpenQuestion(
                "what ranks 4-7 did",
                "give the output of all ranks: srun --output=%x-%t.out",
            ),
            OpenQuestion(
                "the libfabric provider", "NCCL_DEBUG=INFO NCCL_DEBUG_SUBSYS=INIT,NET"
            ),
        ),
    )


def broken() -> LogReport:
    """A job in which one rank of each kind is found, ranks unnamed by any host included."""
    base = job(2, 4, slow_nodes=[1])
    ranks = list(base.ranks)
    ranks[2] = ranks[2]._replace(verdict="broken", reason="init did not complete")
    ranks[3] = ranks[3]._replace(
        verdict="inconclusive", reason="no line after init", host="", pid=None
    )
    return base._replace(
        verdict="broken",
        summary="broken: rank 2 did not complete its init",
        ranks=tuple(ranks),
    )


def empty() -> LogReport:
    """A log in which nothing was found, every field as empty as it can be."""
    return LogReport(
        verdict="inconclusive",
        network_verdict="inconclusive",
        summary="inconclusive: there is no line of NCCL in the log",
        job=JobReport(
            world_size=None,
            ranks_seen=(),
            ranks_missing=(),
            nodes=(),
            node_count=None,
            network=None,
            networks={},
            provider=None,
            plugin=Plugin(None, None, "unknown"),
            gdr="unknown",
            interfaces={},
            versions={},
        ),
        ranks=(),
        transports=(),
        findings=(),
        unknowns=(),
        coverage=Coverage(0, 0, 0, 0),
    )


def bare_rank() -> LogReport:
    """One rank of which only the number is known, and a finding without any detail."""
    known = RankReport(
        rank=0,
        host="",
        pid=None,
        device=None,
        verdict="inconclusive",
        reason="",
        network=None,
        provider=None,
        nics=None,
        gdr="unknown",
        plugin="unknown",
        interface=None,
    )
    finding = Finding(rule="bare", severity="note", subject="", message="")
    return empty()._replace(ranks=(known,), findings=(finding,))


def hostile(text: str = HOSTILE) -> LogReport:
    """A job in which every text of the log is *text*."""
    base = job(2, 2, slow_nodes=[1])
    evidence = EvidenceLine(text, 1, text)
    return base._replace(
        summary=f"degraded: {text}",
        jobs=(JobRow(text, "ok", f"ok: {text}"), JobRow(text, "broken", text)),
        job=base.job._replace(
            nodes=(text, text + "2"),
            network=text,
            networks={text: 4},
            provider=text,
            plugin=Plugin(text, text, "some"),
            interfaces={"bootstrap": (text,), "socket": (text,)},
            versions={text: (text, f"{text}2")},
        ),
        ranks=tuple(
            each._replace(
                host=text + "2" * (each.rank // 2),
                reason=text,
                network=text,
                provider=text,
                plugin=text,
                interface=text,
            )
            for each in base.ranks
        ),
        transports=(Transport(0, 2, f"NET/{text}", False), Transport(2, 0, text, None)),
        findings=tuple(
            Finding(
                text,
                "error",
                text,
                text,
                text,
                f"https://{text}",
                text,
                evidence,
                2,
                each,
            )
            for each in (True, False)
        ),
        unknowns=(OpenQuestion(text, text),),
    )
