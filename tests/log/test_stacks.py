"""Stacks of Python's faulthandler, as several ranks write them."""

from __future__ import annotations

from envcfg.log.read.stacks import describe_stacks

LIBRARY = '  File "/opt/venv/lib/python3.11/site-packages/torch/distributed/distributed_c10d.py", line 2501 in all_reduce\n'


def stack(*frames: str, thread: str = "Current thread") -> list[str]:
    """Return the lines of one thread."""
    head = f"{thread} 0x00007f04e7be1b80 (most recent call first):\n"
    files = [each.split() for each in frames]
    lines = [f'  File "{f}", line {n} in {name}\n' for f, n, name in files]
    return [head, *lines, "\n"]


def waits(line: int = 64) -> list[str]:
    """Return the stack of a rank that waits in a collective."""
    head, *rest = stack(
        f"/home/me/train.py {line} step", "/home/me/train.py 99 <module>"
    )
    return [head, LIBRARY, *rest]


BEATS = stack(
    "/home/me/train.py 4 beat",
    "/usr/lib/python3.11/threading.py 1002 _bootstrap",
    thread="Thread",
)


def test_ranks_are_counted_by_the_line_of_the_users_program() -> None:
    loads = stack("/home/me/data.py 12 load", "/home/me/train.py 90 <module>")
    lines = ["Fatal Python error: Aborted\n", "\n", *BEATS, *waits()] * 3
    found = describe_stacks([*lines, *BEATS, *loads])
    assert found == (
        "3 ranks stood at train.py:64 in step; 1 rank stood at data.py:12 in load"
    )


def test_what_stands_in_front_tells_stacks_apart() -> None:
    one, other = waits(64), waits(70)
    mixed = [
        f"{rank}: {line}"
        for lines in zip(one, other, strict=True)
        for rank, line in enumerate(lines)
    ]
    assert describe_stacks(mixed) == (
        "1 rank stood at train.py:64 in step; 1 rank stood at train.py:70 in step"
    )


def test_a_stack_that_another_tore_is_not_read() -> None:
    head, *rest = waits(64)
    torn = describe_stacks([head, *waits(70), *rest])
    assert torn == "1 rank stood at train.py:70 in step; 1 other stack not told"
    # The thread of another rank, whose head is further up.
    assert describe_stacks([head, *BEATS[1:], *rest]) == "1 other stack not told"


def test_where_no_line_is_the_users_the_innermost_is_told() -> None:
    assert describe_stacks(stack("/usr/lib/python3.11/runpy.py 88 <module>")) == (
        "1 rank stood at runpy.py:88 in <module>"
    )
    assert describe_stacks(["no stack\n"]) == ""
