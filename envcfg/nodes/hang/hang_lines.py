"""The answers of the probe, as views of nodes; pure."""

import re
from collections.abc import Iterator, Mapping, Sequence

from envcfg.log.numbers import grouped
from envcfg.nodes.hang.hang_records import HangNode, HangRank, RasAnswer
from envcfg.nodes.probe.node_answer import NodeAnswer

_MOST_KERNEL = 8  # frames of a stack in the kernel
_MOST_RANKS = 1 << 20  # ranks of a job; a larger number is invented
_THREAD = re.compile(r'Thread .*?(?:: )?"(?P<name>[^"]*)"')


def node_views(
    hosts: Sequence[str], answers: Mapping[str, NodeAnswer]
) -> tuple[HangNode, ...]:
    """Return the answers by node, in the order of *hosts*."""
    return tuple(
        _view(answers[host]) if host in answers else HangNode(host) for host in hosts
    )


def _view(answer: NodeAnswer) -> HangNode:
    numbers = {
        kind: int(rows[-1][0])
        for kind in ("processes", "ray")
        if (rows := answer.rows(kind))
    }
    # A program that starts another one of the same rank appears twice.
    ranks: dict[tuple[int, str, str], HangRank] = {}
    for rank in sorted(_ranks(answer), key=lambda view: (view.rank, -view.age)):
        ranks.setdefault((rank.rank, rank.step, rank.port), rank)
    sample = answer.gpus
    return HangNode(
        answer.host,
        answers=True,
        is_complete=answer.is_whole,
        processes=numbers.get("processes", 0),
        ranks=tuple(ranks.values()),
        ras=tuple(_ras_answers(answer)),
        gpus=tuple(gpu for gpu in sample.gpus if gpu.is_ours) if sample else (),
        tool=sample.tool if sample else "",
        ray=numbers.get("ray"),
        links={row[0]: row[1] for row in answer.rows("link")},
    )


def _ras_answers(answer: NodeAnswer) -> Iterator[RasAnswer]:
    lines: dict[str, str] = {}
    for port, text, *end in answer.rows("ras"):
        if end:
            yield RasAnswer(port, text, lines.pop(port, ""))
        else:
            lines[port] = f"{lines.get(port, '')}{text}\n"


def _ranks(answer: NodeAnswer) -> Iterator[HangRank]:
    stacks, traces = (
        grouped(answer.rows(kind), lambda row: row[0]) for kind in ("stack", "trace")
    )
    dumps = {pid: words for pid, *words in answer.rows("dump")}
    for words in answer.rows("rank"):
        pid, rank, local, world_text, state, *_ = words
        world = _number(world_text)
        step, _, port = words[11].partition(":")
        spent, passed, worked, moment = (_number(words[n]) for n in (5, 6, 13, 14))
        frames, problem = _main_thread([text for _, text in stacks.get(pid, ())])
        dump, size, path = dumps.get(pid, ("", "", ""))
        yield HangRank(
            rank=int(rank),
            host=answer.host,
            pid=int(pid),
            local_rank=_number(local),
            world=world if world is not None and world <= _MOST_RANKS else None,
            state=state[:1],
            use=spent / passed if spent is not None and passed else None,
            age=int(words[7]),
            threads=int(words[8]),
            # The kernel prints "0" for a process that waits in no named function.
            call=_number(words[9]),
            channel="" if words[10] in ("-", "0") else words[10],
            step="" if step == "-" else step,
            port="" if port == "-" else port,
            turns=_number(words[12]),
            worked=None if worked is None else worked / 100,
            moment=None if moment is None else moment / 100,
            name=words[15],
            stack=frames,
            stack_problem=problem,
            kernel=tuple(text for _, text in traces.get(pid, ())[:_MOST_KERNEL]),
            dump=dump,
            dump_size=_number(size),
            dump_path=path,
        )


def _number(word: str) -> int | None:
    """Return a number, or None for a word that is not a number."""
    return int(word) if re.fullmatch(r"-?[0-9]{1,18}", word) else None


def _main_thread(words: Sequence[str]) -> tuple[tuple[str, ...], str]:
    """Return the frames of the main thread in py-spy's format, or py-spy's message.

    The innermost frame is first. A thread begins with
    ``Thread 12 (idle): "MainThread"``.
    """
    threads: dict[str, list[str]] = {}
    current: list[str] | None = None
    for line in words:
        match = _THREAD.match(line)
        if match or line.startswith("Thread "):  # some threads have no name
            current = threads.setdefault(match["name"] if match else "", [])
        elif line.startswith("    ") and current is not None:
            current.append(line.strip())
    # The main thread runs the training; other threads are helpers of libraries.
    frames = threads.get("MainThread") or next(iter(threads.values()), [])
    problem = "" if frames else next((line for line in words if line.strip()), "")
    return tuple(frames), problem
