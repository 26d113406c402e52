"""The lines of the probe, read into views of nodes; others, and torn ones, are passed over.

Lines of several nodes come mixed, and so do those of the parts of a probe that run beside
each other. What they hold comes from processes of the job: text that anybody may have made.
"""

import re
from collections.abc import Sequence

from envcfg.hang.records import NodeView, RankView, RasAnswer
from envcfg.probe.probes import words_of
from envcfg.probe.sample import GpuSample, SampleReader

TAG = "envcfg-hang"
_MOST_PARTS = 1 << 20  # characters of a text that came in parts
_MOST_LINES = 20_000  # of a node's answer of RAS
_MOST_FRAMES, _MOST_KERNEL = 400, 8  # of a stack, and of that in the kernel
_MOST_RANKS = 1 << 20  # of a job; what says more makes fun of us
_THREAD = re.compile(r'Thread .*?(?:: )?"(?P<name>[^"]*)"')


class HangReader:
    """Reads lines of all nodes, in any order."""

    def __init__(self, hosts: Sequence[str]) -> None:
        """Expect *hosts*; who else says something is passed over."""
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
                ours = tuple(each for each in sample.gpus if each.is_ours)
                self._change(sample.host, gpus=ours)
            return
        host, kind, text = words_of(line, TAG, 3) or ("", "", "")
        if host not in self._nodes:
            return
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
            return  # torn, or of a process that makes fun of us: it stays unknown

    @property
    def answering(self) -> tuple[str, ...]:
        """The nodes that have said something."""
        return tuple(host for host, node in self._nodes.items() if node.answers)

    @property
    def is_busy(self) -> bool:
        """Whether a node that has said something has not said all."""
        return any(node.answers and not node.whole for node in self._nodes.values())

    @property
    def is_whole(self) -> bool:
        """Whether every node has said all."""
        return all(node.whole for node in self._nodes.values())

    def nodes(self) -> tuple[NodeView, ...]:
        """Return what was read, by node in the order of their names as they were given."""
        found = []
        for host, node in self._nodes.items():
            ranks = [each for (at, _), each in self._ranks.items() if at == host]
            # a program that starts another of the same rank is seen twice
            first: dict[tuple[int, str, str], RankView] = {}
            for each in sorted(ranks, key=lambda each: (each.rank, -each.age)):
                frames, problem = _main_thread(self._stacks.get((host, each.pid), []))
                view = each._replace(stack=frames, stack_problem=problem)
                first.setdefault((each.rank, each.step, each.port), view)
            found.append(node._replace(ranks=tuple(first.values())))
        return tuple(found)

    def _change(self, host: str, **fields: object) -> None:
        self._nodes[host] = self._nodes[host]._replace(**fields)  # type: ignore[arg-type]

    def _take(self, host: str, kind: str, text: str) -> None:
        """Take what a node says of one *kind*.

        Raises:
            LookupError, ValueError: it is torn, or of a process that nobody knows.
        """
        port, _, said = text.partition(" ")
        match kind:
            case "processes":
                self._change(host, processes=int(text))
            case "rank":
                view = _rank(host, text.split(" ", 15))
                self._ranks[host, view.pid] = view
            case "kernel" | "stack" | "dump":
                view = self._ranks[host, int(port)]
                frames = self._stacks.setdefault((host, view.pid), [])
                if kind == "dump":
                    state, size, path = said.split(" ", 2)
                    view = view._replace(dump=state, dump_path=path)
                    view = view._replace(dump_size=_number(size))
                elif kind == "kernel" and len(view.kernel) < _MOST_KERNEL:
                    view = view._replace(kernel=(*view.kernel, said))
                elif kind == "stack" and len(frames) < _MOST_FRAMES:
                    frames.append(said)
                self._ranks[host, view.pid] = view
            case "ras":
                lines = self._ras.setdefault((host, port), [])
                if len(lines) < _MOST_LINES:
                    lines.append(said)
            case "ras-end":
                lines = self._ras.pop((host, port), [])
                answer = RasAnswer(port, said, "".join(f"{line}\n" for line in lines))
                self._change(host, ras=(*self._nodes[host].ras, answer))
            case "end":
                self._change(host, whole=True)


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
    """Return a number that may not be told; a word is not a number."""
    return int(word) if re.fullmatch(r"-?[0-9]{1,18}", word, re.ASCII) else None


def _main_thread(said: Sequence[str]) -> tuple[tuple[str, ...], str]:
    """Return the frames of the first thread as py-spy writes them, or what it says instead.

    The innermost frame stands first. A thread begins with
    ``Thread 12 (idle): "MainThread"``.
    """
    threads: dict[str, list[str]] = {}
    at: list[str] | None = None
    for line in said:
        match = _THREAD.match(line)
        if match or line.startswith("Thread "):  # one may be without a name
            at = threads.setdefault(match["name"] if match else "", [])
        elif line.startswith("    ") and at is not None:
            at.append(line.strip())
    frames = threads.get("MainThread") or next(iter(threads.values()), [])
    problem = "" if frames else next((line for line in said if line.strip()), "")
    return tuple(frames), problem
