"""Node-local caches: there in time, private, and gone afterwards."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from support import CACHED, Wrap, bash

LIST = 'for d in "$ENVCFG_CACHE" "$MIOPEN_USER_DB_PATH" "$AITER_JIT_DIR/build"; do stat -c "%a %F %n" "$d"; done'


def test_caches_are_private_there_in_time_and_gone_afterwards(wrap: Wrap) -> None:
    made = wrap(*CACHED, "--ranks", "4", "--fact", "rocm=6.2", "--", "sh", "-c", LIST)
    done = bash(b"umask 022\n" + made.out)
    assert done.returncode == 0, done.stderr.decode()
    lines = [line.split(" ", 2) for line in done.stdout.decode().splitlines()]
    assert len(lines) == 12
    assert {line[0] for line in lines} == {"700"}
    folders = {line[2].removeprefix("directory ") for line in lines}
    assert len(folders) == 2 + 4  # AITER has one for each rank
    assert all(f"/envcfg-{os.getuid()}-local-" in folder for folder in folders)
    assert not any(Path(folder).exists() for folder in folders)


def test_caches_stay_between_steps_and_go_with_the_shell(wrap: Wrap) -> None:
    made = wrap(*CACHED, "--fact", "rocm=6.2")
    steps = b"""
envcfg_run sh -c 'echo warm >"$ENVCFG_CACHE/x"; echo "$ENVCFG_CACHE"'
(envcfg_run sh -c 'cat "$ENVCFG_CACHE/x"') &
wait
"""
    done = bash(made.out + steps)
    folder, warm = done.stdout.decode().splitlines()
    assert warm == "warm"
    assert not Path(folder).exists()
    done = bash(b"trap 'echo mine' EXIT\n" + made.out + steps + b"envcfg_end\n")
    assert b"call envcfg_end" in done.stderr
    folder, _, mine = done.stdout.decode().splitlines()
    assert mine == "mine"
    assert not Path(folder).exists()


def test_sourcing_again_leaves_the_caches_of_a_running_step_alone(wrap: Wrap) -> None:
    steps, other = wrap(*CACHED, "--fact", "rocm=6.2"), wrap(*CACHED, "--", "true")
    hold = b"envcfg_run sh -c 'sleep 2; ls -d $ENVCFG_CACHE' & pid=$!\n"
    done = bash(steps.out + hold + b"sleep 1\n" + other.out + b"\nwait $pid")
    assert done.returncode == 0, done.stderr.decode()
    folder = done.stdout.decode().strip()
    assert folder.startswith("/tmp/envcfg-")
    assert not Path(folder).exists()


def test_without_a_step_the_caches_of_this_node_are_removed(wrap: Wrap) -> None:
    steps = wrap(*CACHED, "--fact", "rocm=6.2").out
    # As at a time limit, when Slurm starts no step any more.
    refuse = b"""
envcfg_run sh -c 'echo "$ENVCFG_CACHE"'
envcfg_host() { return 1; }
"""
    done = bash(b"set -euo pipefail\n" + steps + refuse)
    folder = done.stdout.decode().strip()
    assert done.returncode == 0
    assert folder.startswith("/tmp/envcfg-")
    assert not Path(folder).exists()
    assert b"on all nodes" in done.stderr


def test_a_subshell_removes_its_own_caches_only(wrap: Wrap) -> None:
    steps = wrap(*CACHED, "--fact", "rocm=6.2").out
    show = b"envcfg_run sh -c 'echo $ENVCFG_CACHE'\n"
    done = bash(steps + show + b"(" + steps + show + b"\n)\n" + show)
    mine, inner, again = done.stdout.decode().split()
    assert mine == again != inner
    assert not Path(mine).exists()
    assert not Path(inner).exists()


def test_a_cache_that_is_set_otherwise_is_made_too(wrap: Wrap) -> None:
    sets = ("--set", "TRITON_CACHE_DIR=${ENVCFG_CACHE}/mine")
    made = wrap(*CACHED, *sets, "--", "sh", "-c", 'ls -d "$TRITON_CACHE_DIR"')
    assert bash(made.out).returncode == 0


def test_a_folder_outside_the_cache_is_made_too(wrap: Wrap, tmp_path: Path) -> None:
    reason = "why: w, source: s, date: 2026-01-01"
    (tmp_path / "p.yaml").write_text(
        f"name: p\nlaunch: {{launchers: [local]}}\n"
        f"env: {{T: {{value: {tmp_path}/a/b, directory: in/, {reason}}}}}\n"
    )
    made = wrap(
        "--profile",
        "./p.yaml",
        "--container",
        "none",
        "--",
        "sh",
        "-c",
        'ls -d "$T/in"',
    )
    assert bash(made.out).returncode == 0


def test_jobs_side_by_side_share_neither_cache_nor_port(wrap: Wrap) -> None:
    made = wrap(*CACHED, "--", "sh", "-c", 'echo "$ENVCFG_CACHE $MASTER_PORT"; sleep 1')
    done = bash(b"for i in 1 2 3; do (\n" + made.out + b"\n) & done; wait")
    caches, ports = zip(
        *(line.split() for line in done.stdout.splitlines()), strict=True
    )
    assert len(set(caches)) == 3
    assert all(10000 <= int(port) < 32768 for port in ports)


@pytest.mark.parametrize(
    "make",
    [
        'ln -s "$PWD" "$cache"',
        'ln -s /nowhere "$cache"',
        'touch "$cache"',
        pytest.param(
            'mkdir "$cache" && chown 12345 "$cache"',
            marks=pytest.mark.skipif(
                os.getuid() != 0, reason="only root gives away folders"
            ),
        ),
    ],
    ids=["link", "dangling link", "file", "foreign folder"],
)
def test_what_stands_in_a_cache_s_place_is_refused(wrap: Wrap, make: str) -> None:
    made = wrap(*CACHED, "--", "echo", "started")
    script = f"""
        cache=/tmp/envcfg-$UID-local-$$.0-local
        {make} || exit 99
        trap 'rm -rf -- "$cache"' EXIT
    """.encode()
    # As it was before, it is afterwards: what was refused is not removed.
    look = b'\nlook() { stat -c "%F %U %i %Z" -- "$cache"; }; before=$(look)\n'
    done = bash(
        script
        + look
        + made.out
        + b'\ncode=$?; [[ $(look) == "$before" ]] || code=98; exit $code'
    )
    assert done.returncode == 4, done.stderr.decode()
    assert b"started" not in done.stdout
    assert b"envcfg: error:" in done.stderr
