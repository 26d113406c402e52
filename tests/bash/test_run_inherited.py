"""What the job's environment sets otherwise than the profile is said, in one note."""

from __future__ import annotations

from pathlib import Path

import pytest

from support import Wrap, bash

pytestmark = pytest.mark.usefixtures("fakes")
LUMI = ("--profile", "lumi-g", "--container", "none", "--no-modules")
PROFILE = """\
name: odd
detect: {clusters: [odd]}
launch: {launchers: [srun, local]}
env:
  KEPT: {value: "a b", why: x, source: y, date: 2026-01-01}
  FORCED: {value: "2", force: true, why: x, source: y, date: 2026-01-01}
  GONE: {value: null, why: x, source: y, date: 2026-01-01}
  SURELY_GONE: {value: null, force: true, why: x, source: y, date: 2026-01-01}
  OF_RANK: {value: "r${RANK}", why: x, source: y, date: 2026-01-01}
  EXTENDED: {value: "/x:${EXTENDED:-}", why: x, source: y, date: 2026-01-01}
"""
ODD = ("--profile", "./odd.yaml", "--container", "none", "--launcher", "local")


@pytest.fixture
def odd(wrap: Wrap, tmp_path: Path) -> Wrap:
    (tmp_path / "odd.yaml").write_text(PROFILE)
    return wrap


def notes(stderr: bytes) -> list[str]:
    return [line for line in stderr.decode().splitlines() if "note: from " in line]


@pytest.mark.parametrize(
    ("options", "env", "expected"),
    [
        ((), {}, ""),
        ((), {"KEPT": "a b", "FORCED": "2", "UNKNOWN": "x", "EXTENDED": "/y"}, ""),
        ((), {"KEPT": "1"}, "from your environment: KEPT=1 (profile: 'a b')"),
        ((), {"KEPT": ""}, "from your environment: KEPT='' (profile: 'a b')"),
        ((), {"GONE": "1"}, "from your environment: GONE=1 (profile: unset)"),
        ((), {"OF_RANK": "1"}, "from your environment: OF_RANK=1 (profile: set in each task)"),
        ((), {"FORCED": "1"}, "from the profile: FORCED=2 (your environment: 1)"),
        ((), {"SURELY_GONE": "1"}, "from the profile: SURELY_GONE unset (your environment: 1)"),
        (("--set", "KEPT=3"), {"KEPT": "1"}, "from your options: KEPT=3 (your environment: 1)"),
        (("--unset", "KEPT"), {"KEPT": "1"}, "from your options: KEPT unset (your environment: 1)"),
        (
            ("--set", "MINE=3"), {"KEPT": "1", "FORCED": "1", "GONE": "x,y", "MINE": "5"},
            (
                "from your environment: KEPT=1 (profile: 'a b'), GONE=x,y (profile: unset); "
                "from the profile: FORCED=2 (your environment: 1); "
                "from your options: MINE=3 (your environment: 5)"
            ),
        ),
        ((), {"KEPT": "\x1b[2J\n\tenvcfg: error"}, r"from your environment: KEPT=$'\E[2J\n\tenvcfg: error' (profile: 'a b')"),
        ((), {"KEPT": "\u202e\x9b"}, r"from your environment: KEPT=$'\342\200\256\302\233' (profile: 'a b')"),
        ((), {"KEPT": "x" * 5000}, f"from your environment: KEPT={'x' * 80}... (profile: 'a b')"),
        ((), {"KEPT": "$(touch evil)`touch evil`"}, "from your environment: KEPT='$(touch evil)`touch evil`' (profile: 'a b')"),
    ],
)  # fmt: skip
def test_one_note_says_what_differs_and_who_wins(
    odd: Wrap, options: tuple[str, ...], env: dict[str, str], expected: str
) -> None:
    made = odd(*ODD, *options, "--", "sh", "-c", 'printf %s "$KEPT|$FORCED" >seen')
    assert made.code == 0, made.err
    done = bash(b"set -euo pipefail\n" + made.out, **env)
    assert done.returncode == 0, done.stderr.decode()
    assert notes(done.stderr) == ([f"envcfg: note: {expected}"] if expected else [])
    kept = "3" if "KEPT=3" in options else env.get("KEPT", "a b")
    if "--unset" not in options:
        assert Path("seen").read_text() == f"{kept}|2"
    assert not Path("evil").exists()


def test_each_step_says_it_of_what_it_starts_with(odd: Wrap) -> None:
    steps = b"\nenvcfg_run true; KEPT=1; envcfg_run true; KEPT='a b'; envcfg_run true"
    done = bash(odd(*ODD).out + steps)
    assert done.returncode == 0, done.stderr.decode()
    assert notes(done.stderr) == [
        "envcfg: note: from your environment: KEPT=1 (profile: 'a b')"
    ]


def test_on_lumi_the_interface_of_a_login_shell_is_named(wrap: Wrap) -> None:
    script = wrap(*LUMI, "--", "true").out
    done = bash(script, NCCL_SOCKET_IFNAME="lo", MIOPEN_USER_DB_PATH="/home/me")
    assert done.returncode == 0, done.stderr.decode()
    (note,) = notes(done.stderr)
    assert note == (
        "envcfg: note: from your environment: "
        "NCCL_SOCKET_IFNAME=lo (profile: hsn0,hsn1,hsn2,hsn3), "
        "MIOPEN_USER_DB_PATH=/home/me (profile: set in each task)"
    )


@pytest.mark.parametrize(
    ("given", "says"),
    [("node1", False), ("node1-hsn0", False), ("node1.site", False), ("node7", True)],
)
def test_an_address_of_another_job_is_named(wrap: Wrap, given: str, says: bool) -> None:
    script = wrap(*LUMI, "--", "true").out
    env = {"SLURM_NNODES": "2", "SLURMD_NODENAME": "node1", "MASTER_ADDR": given}
    done = bash(script, **env)
    assert done.returncode == 0, done.stderr.decode()
    said = (
        f"from your environment: MASTER_ADDR={given} (default: the step's first node)"
    )
    assert notes(done.stderr) == ([f"envcfg: note: {said}"] if says else [])
