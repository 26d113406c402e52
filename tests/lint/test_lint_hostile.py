"""Scripts that are cut, mixed and spoilt: lint ends, soon, and says nothing but findings."""

from __future__ import annotations

import time

import pytest

from envcfg.lint.lint_rule import load_rules
from envcfg.lint.rule_runner import judge
from envcfg.lint.script_source import Sources
from fuzzing import chance, times

RULES = load_rules()
SAMPLES = [
    sample.script.encode()
    for rule in RULES.values()
    for sample in (*rule.bad, *rule.good)
]
BITS = [
    b"$(", b"${", b'"', b"'", b"`", b"<<EOF\n", b"EOF\n", b"))", b"}", b"{", b";;", b"do\n",
    b"fi\n", b"if ", b"$@", b"\\", b"\x00", b"\xff", b"|", b"&", b"(( ", b"[[ ", b"\x01", b"\r\n",
    b'eval "$X"; X="$X$X"', b"f() { f; }; f\n", b'A+=("${A[@]}")\n', b"source $0\n", b"X+=$X;",
    b'srun bash -c "', b"#SBATCH -N2 --x", b"export ", b"A[1]=", b"${A[", b"${X:-", b"$((",
]  # fmt: skip
TRIES = 5_000
LONGEST = 20  # seconds, of which a script takes some milliseconds


def lint(data: bytes) -> int:
    sources = Sources()
    found = judge([sources.add("-", data)], sources, rules=list(RULES))
    return sum(map(len, found.values()))


@pytest.mark.nightly
def test_spoilt_scripts_are_read_without_a_fault_of_ours() -> None:
    random = chance()
    for _ in range(TRIES * times):
        data = bytearray(random.choice(SAMPLES))
        for _ in range(random.randint(1, 8)):
            at, kind = random.randrange(len(data) + 1), random.random()
            if kind < 0.4:
                data[at:at] = random.choice(BITS) * random.choice([1, 1, 1, 3, 50])
            elif kind < 0.6:
                del data[at : at + random.randint(1, 40)]
            elif kind < 0.8:
                other = random.choice(SAMPLES)
                begin = random.randrange(len(other))
                data[at:at] = other[begin : begin + random.randint(1, 200)]
            else:
                data[at : at + 1] = bytes([random.randrange(256)])
        lint(bytes(data))


@pytest.mark.nightly
@pytest.mark.parametrize(
    "script",
    [
        "X=aa\n" + 'X="$X$X"\n' * 60 + "srun $X\n",
        'X+=" $Y"\n' * 5000,
        "".join(f"f{n}() {{ f{n + 1}; f{n + 1}; }}\n" for n in range(60)) + "f0\n",
        'bash -c "' * 300,
        "if a; then b\n" + "elif c; then d\n" * 3000 + "fi\n",
        "a && " * 5000 + "b\n",
        "$(" * 20000,
        "{ " * 5000,
        "(" * 5000,
        "export NCCL_X=1\n" * 5000,
        "".join(
            f'if a; then A{n}="$A{n - 1}x"; else A{n}="$A{n - 1}y"; fi\n'
            for n in range(500)
        ),
        "case x in\n" + "a) b;;\n" * 5000 + "esac\n",
    ],
    ids=range(12),
)
def test_scripts_made_to_be_long_are_read(script: str) -> None:
    start = time.monotonic()
    lint(b"#!/bin/bash\n#SBATCH -N2\n" + script.encode())
    assert time.monotonic() - start < LONGEST
