"""The reader of Slurm's node lists, in the shells that run it.

That it agrees with ``scontrol show hostnames`` is shown in tests/cluster.
"""

import subprocess

import pytest
from ClusterShell.NodeSet import RESOLVER_NOGROUP, NodeSet
from hypothesis import given, settings
from hypothesis import strategies as st

from support import function_of, require

SHELLS = [["bash", "-u"], ["sh", "-u"], ["busybox", "sh", "-u"]]


def first_nodes(shell: list[str], lists: list[str]) -> list[str]:
    require(shell[0])
    script = function_of("srun", "envcfg_first_node") + (
        'for list; do envcfg_first_node "$list"; printf "%s\\n" "$envcfg_node"; done'
    )
    done = subprocess.run(
        [*shell, "-c", script, "sh", *lists],
        capture_output=True,
        text=True,
        check=True,
    )
    assert not done.stderr
    return done.stdout.split("\n")[:-1]


@pytest.mark.parametrize("shell", SHELLS, ids=" ".join)
@pytest.mark.parametrize(
    ("nodes", "first"),
    [
        ("nid005001", "nid005001"),
        ("nid[005001-005003]", "nid005001"),
        ("nid[005001,005007-005009]", "nid005001"),
        ("nid[005003,005001]", "nid005003"),
        ("b2,b1,a1", "b2"),
        ("gpu7,nid[005001-005002]", "gpu7"),
        ("nid[005001-005002],gpu7", "nid005001"),
        ("x1000c0s[0-1]b[0-1]n0", "x1000c0s0b0n0"),
        ("x[1000-1003]c[0-7]s0b[0,1]n[0-1],x2000c0s0b0n0", "x1000c0s0b0n0"),
        ("gpu[01-02]-ib", "gpu01-ib"),
        ("gpu-a100-[01-04]", "gpu-a100-01"),
        ("node[9-11]", "node9"),
        ("a-[1-2]-b", "a-1-b"),
        ("node1.site.org,node2.site.org", "node1.site.org"),
    ],
)
def test_the_first_node_is_that_of_the_text(
    shell: list[str], nodes: str, first: str
) -> None:
    assert first_nodes(shell, [nodes]) == [first]


BROKEN = [
    "", ",", ",n1", "n[1", "n1]", "n]1[", "n[", "n[]", "n[,]", "n[1,]", "n[,1]", "n[1-]", "n[-1]",
    "n[1-2-3]", "n[a-b]", "n[1;2]", "n[[1]]", "n[1][", "n 1", "n$HOME", "n;id", "n(2)", "[1",
]  # fmt: skip


@pytest.mark.parametrize("shell", SHELLS, ids=" ".join)
def test_a_broken_list_is_refused_not_guessed(shell: list[str]) -> None:
    require(shell[0])
    script = function_of("srun", "envcfg_first_node") + (
        'for list; do if envcfg_first_node "$list"; then printf "%s\\n" "$list"; fi; done'
    )
    done = subprocess.run(
        [*shell, "-c", script, "sh", *BROKEN],
        capture_output=True,
        text=True,
        check=True,
    )
    assert (done.stdout, done.stderr) == ("", "")


RANGES = st.tuples(st.integers(0, 50), st.integers(0, 20), st.integers(1, 5)).map(
    lambda t: f"{t[0]:0{t[2]}}-{t[0] + t[1]:0{t[2]}}" if t[1] else f"{t[0]:0{t[2]}}"
)
BRACKETS = st.lists(RANGES, min_size=1, max_size=4).map(lambda r: f"[{','.join(r)}]")
NAMES = st.from_regex(r"[a-z][a-z0-9]{0,3}[a-z]-?", fullmatch=True)
HOSTS = st.lists(st.tuples(NAMES, BRACKETS), min_size=1, max_size=3).map(
    lambda parts: "".join(name + bracket for name, bracket in parts)
)


@pytest.mark.parametrize("shell", SHELLS, ids=" ".join)
@given(st.lists(HOSTS | NAMES, min_size=1, max_size=4))
@settings(max_examples=60, deadline=None)
def test_the_first_node_is_one_that_clustershell_finds_in_the_first_part(
    shell: list[str], parts: list[str]
) -> None:
    (first,) = first_nodes(shell, [",".join(parts)])
    assert first in NodeSet(parts[0], resolver=RESOLVER_NOGROUP)
