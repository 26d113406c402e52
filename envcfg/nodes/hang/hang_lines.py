"""The lines of the probe, parsed into views of nodes; other and torn lines are ignored.

Lines of several nodes are mixed, and so are those of parallel parts of a probe. Their
content comes from processes of the job, so it may be any text.
"""

import re
from collections.abc import Sequence

from envcfg.nodes.hang.hang_records import NodeView, RankView, RasAnswer
from envcfg.nodes.probe.probes import words_of
from envcfg.nodes.probe.sample import GpuSample, SampleReader

TAG = "envcfg-hang"
_MOST_PARTS = 1 << 20  # characters of a text in parts
_MOST_LINES = 20_000  # lines of a node's RAS answer
_MOST_FRAMES, _MOST_KERNEL = 400, 8  # frames of a stack, and of a stack in the kernel
_MOST_RANKS = 1 << 20  # ranks of a job; a larger number is invented
_THREAD = re.compile(r'Thread .*?(?:: )?"(?P<name>[^"]*)"')


class HangReader:
    """Reads lines of all nodes, in any order."""

    def __init__(self, hosts: Sequence[str]) -> None:
        """Expect answers of *hosts*; answers of other hosts are ignored."""
        self._nodes = {host: NodeView(host) for host in hosts}
        self._parts: dict[tuple[str, str], str] = {}
        self._ranks: dict[tuple[str, int], RankView] = {}
        self._stacks: dict[tuple[str, int], list[str]] = {}
        self._ras: dict[tuple[str, str], list[str]] = {}
        self._gpus = SampleReader()

    def feed(self, line: str) -> None:
        """Take a line of the step."""
        if sample := self._gpus.feed(line):
            if isinstance(sample, GpuSample) and sample.host in self._nodes:
                ours = tuple(gpu for gpu in sample.gpus if gpu.is_ours)
                self._change(sample.host, gpus=ours, tool=sample.tool)
            return
        host, kind, text = words_of(line, TAG, 3) or ("", "", "")
        if host not in self._nodes:
            return
        # A pipe writes only short lines atomically, so long texts come in parts.
        if kind.startswith("+"):
            before = self._parts.get((host, kind[1:]), "")
            if len(before) < _MOST_PARTS:
                self._parts[host, kind[1:]] = before + text
            return
        text = self._parts.pop((host, kind), "") + text
        self._change(host, answers=True)
        try:
            self._take(host, kind, text)
        except (LookupError, ValueError):
            return  # torn, or invented by a process: the value stays unknown

    @property
    def answering(self) -> tuple[str, ...]:
        """The nodes with at least one line."""
        return tuple(host for host, node in self._nodes.items() if node.answers)

    @property
    def is_busy(self) -> bool:
        """Whether a node has begun its answer and not finished it."""
        return any(
            node.answers and not node.is_complete for node in self._nodes.values()
        )

    @property
    def is_whole(self) -> bool:
        """Whether every node has finished its answer."""
        return all(node.is_complete for node in self._nodes.values())

    def nodes(self) -> tuple[NodeView, ...]:
        """Return the answers by node, in the given order of names."""
        views = []
        for host, node in self._nodes.items():
            ranks = [
                rank_view
                for (host_of_rank, _), rank_view in self._ranks.items()
                if host_of_rank == host
            ]
            # A program that starts another one of the same rank appears twice.
            first: dict[tuple[int, str, str], RankView] = {}
            for rank in sorted(
                ranks, key=lambda rank_view: (rank_view.rank, -rank_view.age)
            ):
                frames, problem = _main_thread(self._stacks.get((host, rank.pid), []))
                view = rank._replace(stack=frames, stack_problem=problem)
                first.setdefault((rank.rank, rank.step, rank.port), view)
            views.append(node._replace(ranks=tuple(first.values())))
        return tuple(views)

    def _change(self, host: str, **fields: object) -> None:
        self._nodes[host] = self._nodes[host]._replace(**fields)  # type: ignore[arg-type]

    def _take(self, host: str, kind: str, text: str) -> None:
        """Add the lines of one *kind* from a node.

        Raises:
            LookupError, ValueError: the line is torn, or of an unknown process.
        """
        # Each kind has a fixed number of words, and the last one may hold blanks.
        port, _, text_read = text.partition(" ")
        match kind:
            case "processes" | "ray":
                self._change(host, **{kind: int(text)})
            case "link":
                links = {**self._nodes[host].links, port: text_read}
                self._change(host, links=links)
            case "rank":
                view = _rank(host, text.split(" ", 15))
                self._ranks[host, view.pid] = view
            case "kernel" | "stack" | "dump":
                view = self._ranks[host, int(port)]
                frames = self._stacks.setdefault((host, view.pid), [])
                if kind == "dump":
                    state, size, path = text_read.split(" ", 2)
                    view = view._replace(dump=state, dump_path=path)
                    view = view._replace(dump_size=_number(size))
                elif kind == "kernel" and len(view.kernel) < _MOST_KERNEL:
                    view = view._replace(kernel=(*view.kernel, text_read))
                elif kind == "stack" and len(frames) < _MOST_FRAMES:
                    frames.append(text_read)
                self._ranks[host, view.pid] = view
            case "ras":
                lines = self._ras.setdefault((host, port), [])
                if len(lines) < _MOST_LINES:
                    lines.append(text_read)
            case "ras-end":
                lines = self._ras.pop((host, port), [])
                answer = RasAnswer(
                    port, text_read, "".join(f"{line}\n" for line in lines)
                )
                self._change(host, ras=(*self._nodes[host].ras, answer))
            case "end":
                self._change(host, is_complete=True)


def _rank(host: str, words: Sequence[str]) -> RankView:
    world = _number(words[3])
    step, _, port = words[11].partition(":")
    worked, moment = _number(words[13]), _number(words[14])
    spent, passed = _number(words[5]), _number(words[6])
    return RankView(
        rank=int(words[1]),
        host=host,
        pid=int(words[0]),
        local_rank=_number(words[2]),
        world=world if world is not None and world <= _MOST_RANKS else None,
        state=words[4][:1] or "?",
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
    )


def _number(word: str) -> int | None:
    """Return a number, or None for a word that is not a number."""
    return int(word) if re.fullmatch(r"-?[0-9]{1,18}", word, re.ASCII) else None


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
