"""The collective test of each rank in the image: bandwidth of the job's network.

The text of this module is handed to the image's own Python as an argument, so it needs
the standard library and, behind the first meeting, torch: nothing else. A line is

    envcfg-rank RANK HOST KEY WORD...

and is written at once, whole. Stages come in the order of ``STAGES``. ``progress.py``
watches them from outside and sees which rank is behind. Times are seconds, sizes bytes.
"""

from __future__ import annotations

import os
import socket
import sys
import time
from collections.abc import Callable
from functools import partial
from typing import Any

STAGES = ("began", "met", "imported", "joined", "paired", "done")
_MEET_SECONDS = 10.0  # seconds for a node to reach the first node
_ROUNDS = 3  # rounds of pairs, each with another node
_LEAST, _MOST = 3, 50  # tries of a transfer, of which the best counts
_SPENT = 0.3  # seconds of all tries of a transfer, after which it is not repeated
_ENOUGH = 1.0  # seconds of one try, after which it is not repeated
_SHARE = 0.6  # share of the time limit, after which no larger sum is begun
# Bytes of float32: the terms are whole numbers below 2 * 251, so that the sum over up to
# 2^15 ranks is exact.
_SUMS = {
    "cuda": (1 << 16, 1 << 20, 1 << 24, 1 << 27, 1 << 29),
    "cpu": (1 << 12, 1 << 20, 1 << 24),
}
_PAIRS = {"cuda": 1 << 27, "cpu": 1 << 23}
_PERIOD = 251  # period of the values, so that a shift or a lost block is noticed
_SIDE = 4096  # rows and columns of the matrices that each GPU multiplies

RANK = int(os.environ.get("RANK", "0"))
WORLD = int(os.environ.get("WORLD_SIZE", "1"))
LOCAL = int(os.environ.get("LOCAL_RANK", "0"))
NODE = int(os.environ.get("NODE_RANK", "0"))
HOST = os.environ.get("SLURMD_NODENAME") or socket.gethostname()


def say(key: str, *words: object) -> None:
    """Write a line at once, so that the lines of ranks do not mix."""
    text = " ".join(str(word) for word in words)
    text = "".join(character if character.isprintable() else "?" for character in text)
    os.write(1, f"envcfg-rank {RANK} {HOST} {key} {text[:600]}\n".encode())


def meet(nodes: int) -> None:
    """Connect one rank of each node to the first node, as torch will; compare clocks."""
    if LOCAL == 0 and RANK != 0:
        _greet()
    if RANK != 0 or nodes < 2:
        return
    guests = nodes - 1
    port = int(os.environ["MASTER_PORT"])
    both = socket.has_dualstack_ipv6()
    family = socket.AF_INET6 if both else socket.AF_INET
    with socket.create_server(
        ("", port), family=family, backlog=1024, dualstack_ipv6=both
    ) as door:
        end = time.monotonic() + 2 * _MEET_SECONDS
        while guests and (remaining := end - time.monotonic()) > 0:
            door.settimeout(remaining)
            try:
                guest, _ = door.accept()
                with guest:
                    guest.settimeout(2)
                    while guest.recv(1) == b"?":
                        guest.sendall(f"{time.time():020.6f}".encode())
                guests -= 1
            except OSError:
                continue
    if guests:
        say("absent", guests)


def _greet() -> None:
    address, port = os.environ["MASTER_ADDR"], int(os.environ["MASTER_PORT"])
    end, fault = time.monotonic() + _MEET_SECONDS, ""
    while (remaining := end - time.monotonic()) > 0:
        try:
            with socket.create_connection((address, port), timeout=remaining) as door:
                samples = [_ask(door) for _ in range(4)]
                offset, trip = min(samples, key=lambda sample: sample[1])
                say("clock", f"{offset:.6f}", f"{trip:.6f}")
                return
        except OSError as err:  # noqa: PERF203  # it is tried again
            fault = str(err)
            time.sleep(0.1)
    say("unmet", address, port, fault or "no answer")
    sys.exit(1)


def _ask(door: socket.socket) -> tuple[float, float]:
    """Return how far this node's clock is ahead of the first one's, and the round trip."""
    before = time.time()
    door.sendall(b"?")
    answer = door.makefile("rb").read(20)
    if len(answer) < 20:
        msg = "the first node hung up"
        raise OSError(msg)
    after = time.time()
    return (before + after) / 2 - float(answer), after - before


class Group:
    """The ranks of this job, joined by torch."""

    def __init__(self, torch: Any, count: int, nodes: int, seconds: float) -> None:  # noqa: ANN401
        """Join the ranks.

        Args:
            torch: the imported module.
            count: number of GPUs that torch sees here; 0: the ranks use CPUs and gloo.
            nodes: number of nodes of the job.
            seconds: time for all measurements.
        """
        from datetime import timedelta

        import torch.distributed as dist

        self.torch, self.dist, self.nodes, self.seconds = torch, dist, nodes, seconds
        self.kind = "cuda" if count else "cpu"
        if count:
            torch.cuda.set_device(LOCAL % count)
        self.device = torch.device(self.kind, LOCAL % count) if count else self.kind
        address, port = os.environ["MASTER_ADDR"], int(os.environ["MASTER_PORT"])
        limits = [timedelta(seconds=limit) for limit in (60, max(60, seconds))]
        self.store = dist.TCPStore(address, port, WORLD, RANK == 0, limits[0])
        own = {"rank": RANK, "world_size": WORLD, "timeout": limits[1]}
        dist.init_process_group("nccl" if count else "gloo", store=self.store, **own)
        self.began = time.monotonic()
        self.store.set(f"rank/{NODE}/{LOCAL}", str(RANK))
        self.store.set(f"host/{RANK}", HOST)
        self.wait("known")

    def wait(self, name: str) -> None:
        """Wait for all ranks by the store, which does not use the network under test."""
        if self.store.add(name, 1) == WORLD:
            self.store.set(f"{name}/all", "1")
        self.store.wait([f"{name}/all"])

    def part(self) -> None:
        """Leave the group, rank 0 last, because the others use its store."""
        self.wait("end")
        gone, end = self.store.add("gone", 1), time.monotonic() + 5
        while RANK == 0 and gone < WORLD and time.monotonic() < end:
            time.sleep(0.02)
            gone = self.store.add("gone", 0)

    def settle(self) -> None:
        """Wait for pending work on this rank's device."""
        if self.kind == "cuda":
            self.torch.cuda.synchronize()

    def timed(self, do: Callable[[], object], count: int = 1) -> float:
        """Return the seconds for *count* calls of *do* on this rank's device."""
        self.settle()
        began = time.monotonic()
        for _ in range(count):
            do()
        self.settle()
        return time.monotonic() - began

    def empty(self, size: int) -> Any:  # noqa: ANN401  # a tensor
        """Return *size* bytes of zeros on this rank's device."""
        return self.torch.zeros(size // 4, dtype=self.torch.float32, device=self.device)

    def partner(self, number: int) -> int | None:
        """Return the rank with which this one talks in round *number*, if it has one."""
        even = self.nodes + self.nodes % 2
        if even - 1 == NODE:
            slot = number % (even - 1)
        elif number % (even - 1) == NODE:
            slot = even - 1
        else:
            slot = (2 * number - NODE) % (even - 1)
        name = f"rank/{slot}/{LOCAL}"
        return int(self.store.get(name)) if self.store.check([name]) else None


def pairs(group: Group) -> None:
    """Measure both directions between this rank and the same rank of other nodes."""
    for number in range(min(_ROUNDS, group.nodes + group.nodes % 2 - 1)):
        peer = group.partner(number)
        if peer is not None:
            host = group.store.get(f"host/{peer}").decode()
            say("with", peer, host)
            for sends in (peer > RANK, peer < RANK):
                _transfer(group, peer, host, sends=sends)
            say("with", "-", "-")
        group.wait(f"round{number}")


def _transfer(group: Group, second: int, host: str, *, sends: bool) -> None:
    buffer, token = group.empty(_PAIRS[group.kind]), group.empty(4)
    if sends:
        group.dist.recv(token, second)
        while token.item():  # the other rank, which measures, wants another transfer
            group.dist.send(buffer, second)
            group.settle()
            group.dist.recv(token, second)
        return
    tried, spent, best = 0, 0.0, float("inf")
    while tried < _LEAST or (tried < _MOST and spent < _SPENT):
        token.fill_(1)
        group.dist.send(token, second)
        took = group.timed(lambda: group.dist.recv(buffer, second))
        tried, spent, best = tried + 1, spent + took, min(best, took)
        if took > _ENOUGH:
            break
    token.fill_(0)
    group.dist.send(token, second)
    say("pair", second, host, buffer.numel() * 4, f"{best:.6f}")


def multiply(group: Group) -> None:
    """Print the speed of matrix products, because a throttled GPU is slower than others."""
    kind = {"dtype": group.torch.bfloat16, "device": group.device}
    matrix = group.torch.ones((_SIDE, _SIDE), **kind)
    matrix @ matrix
    # Other load may disturb one measurement: the best counts, as for pairs.
    seconds = min(group.timed(lambda: matrix @ matrix, 20) for _ in range(2)) / 20
    say("multiply", f"{2 * _SIDE**3 / seconds / 1e12:.3f}")


def sums(group: Group) -> None:
    """Test the sum and measure the time of an all-reduce over all ranks, for each size."""
    for size in _SUMS[group.kind]:
        wrong, took = _sum_once(group, size)
        if wrong:
            say("wrong", size, wrong)
        remaining = group.seconds * _SHARE - _most(
            group, time.monotonic() - group.began
        )
        count = max(0, min(20, int(min(remaining, 1.0) / max(took, 1e-6))))
        if count:
            add = partial(group.dist.all_reduce, group.empty(size))
            took = _most(group, group.timed(add, count)) / count
        if RANK == 0:
            part = 2 * (WORLD - 1) / WORLD
            say("sum", size, f"{took:.6f}", f"{part * size / took / 1e9:.4f}")
        if remaining < 8 * took:
            return


def _sum_once(group: Group, size: int) -> tuple[int, float]:
    torch = group.torch
    base = torch.arange(size // 4, dtype=torch.int32, device=group.device) % _PERIOD
    value = (base + RANK % _PERIOD).to(torch.float32)
    took = _most(group, group.timed(lambda: group.dist.all_reduce(value)))
    more = sum(rank % _PERIOD for rank in range(WORLD))
    right = (base * WORLD + more).to(torch.float32)
    return int((value != right).sum().item()), took


def _most(group: Group, seconds: float) -> float:
    """Return the longest time of all ranks, which is then the same for all."""
    value = group.torch.tensor(
        [seconds], dtype=group.torch.float64, device=group.device
    )
    group.dist.all_reduce(value, op=group.dist.ReduceOp.MAX)
    return float(value.item())


def main(nodes: int, seconds: float) -> None:
    """Run the stages on *nodes* nodes, with *seconds* for measurements."""
    say("began", WORLD, LOCAL)
    meet(nodes)
    say("met")
    try:
        import torch
    except ImportError as err:
        say("lacks", err)
        return
    build = getattr(torch.version, "hip", None) or torch.version.cuda or "cpu"
    count = torch.cuda.device_count() if torch.cuda.is_available() else 0
    say("torch", torch.__version__, build, count)
    say("imported")
    group = Group(torch, count, nodes, seconds)
    say("joined")
    if group.kind == "cuda":
        multiply(group)
    pairs(group)
    say("paired")
    sums(group)
    say("done")
    group.part()


if __name__ == "__main__":
    code = 0
    try:
        main(int(sys.argv[1]), float(sys.argv[2]))
    except Exception as err:  # noqa: BLE001  # the watching process must see every error
        say("failed", type(err).__name__, str(err).strip().partition("\n")[0])
        code = 1
    import ctypes

    # Exit at once: a normal exit waits for threads of a broken network. NCCL's lines
    # are flushed first, because they are still in a buffer of C.
    sys.stdout.flush()
    sys.stderr.flush()
    ctypes.CDLL(None).fflush(None)
    os._exit(code)
