"""The probe of a node itself, by every shell that an image may have, on this machine."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from contextlib import suppress
from pathlib import Path

import pytest

from envcfg.nodes.probe.node_answer import NodeAnswer, NodeReader
from envcfg.nodes.probe.probes import PREFLIGHT, SITE
from support import lint_shell, require

HOST = "nid001000"


@pytest.fixture(params=["bash", "dash", "busybox sh"])
def shell(request: pytest.FixtureRequest) -> str:
    name: str = request.param
    require(name.split(maxsplit=1)[0])
    return name


def probe(
    shell: str, *words: str, path: str = "", script: str = "", **env: str
) -> NodeAnswer:
    given = {"PATH": f"{path}:{os.environ['PATH']}", "SLURMD_NODENAME": HOST, **env}
    done = subprocess.run(
        [
            *shell.split(),
            "-c",
            script or PREFLIGHT.script(),
            "envcfg-preflight",
            *words,
        ],
        env=given,
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert done.returncode == 0, done.stderr
    reader = NodeReader((HOST,))
    for line in done.stdout.splitlines():
        assert reader.feed(line), line
    assert done.stderr == ""
    answer = reader.answers[HOST]
    assert answer.is_whole
    return answer


def write_tool(folder: Path, name: str, body: str) -> None:
    (folder / name).write_text(f"#!/bin/sh\n{body}\n")
    (folder / name).chmod(0o755)


def test_the_probe_is_clean_posix_shell() -> None:
    assert lint_shell(PREFLIGHT.script().encode(), "sh") == ""
    assert lint_shell(SITE.script().encode(), "sh") == ""


def test_a_node_tells_what_it_has(shell: str, tmp_path: Path) -> None:
    words = (
        "device=/dev/nul*",
        "device=/dev/none*",
        f"folder={tmp_path}",
        "folder=/no",
    )
    answer = probe(shell, *words, NCCL_SOCKET_IFNAME="hsn0, hsn1")
    assert answer.rows("device") == (("1", "/dev/nul*"), ("0", "/dev/none*"))
    mine, none = answer.rows("folder")
    assert (mine[2], mine[0], int(mine[1]) > 0) == (str(tmp_path), "yes", True)
    assert (none[2], none[0]) == ("/no", "no")
    assert list(tmp_path.iterdir()) == []
    assert answer.variables == {"NCCL_SOCKET_IFNAME": "hsn0, hsn1"}
    assert answer.memlock is not None
    names = sorted(row[0] for row in answer.rows("network"))
    assert names == sorted(os.listdir("/sys/class/net"))
    assert answer.gpus is not None


def test_a_node_tells_what_a_profile_is_held_against(
    shell: str, tmp_path: Path
) -> None:
    write_tool(tmp_path, "apptainer", "echo apptainer version 1.4.5")
    words = ("system", "runtime=apptainer=apptainer", "runtime=x=no-such", f"folder={tmp_path}", f"speed={tmp_path}")  # fmt: skip
    answer = probe(shell, *words, path=str(tmp_path), script=SITE.script())
    assert answer.rows("runtime") == (("apptainer", "apptainer version 1.4.5"),)
    for kind in ("kernel", "memory", "cpus", "rate", "kind"):
        assert answer.rows(kind), kind
    ((size, began, ended, path),) = answer.rows("speed")
    assert (size, float(ended) >= float(began), path) == ("268435456", True, str(tmp_path))  # fmt: skip
    assert [each.name for each in tmp_path.iterdir()] == ["apptainer"]


def test_a_folder_with_spaces_and_signs_is_one_word(shell: str, tmp_path: Path) -> None:
    folder = tmp_path / "a b $HOME;'*"
    folder.mkdir()
    (told,) = probe(shell, f"folder={folder}").rows("folder")
    assert (told[2], told[0]) == (str(folder), "yes")


# Who shares the folder knows the number of the shell that will look at it.
_GUESSED = """for name in envcfg-preflight-$$ .envcfg-$$ .envcfg-preflight-$$; do
  ln -s "$VICTIM" "$SHARED/$name"
done
exec "$@"
"""


def test_what_somebody_else_has_put_into_a_folder_is_not_written(
    shell: str, tmp_path: Path
) -> None:
    shared, victim = tmp_path / "shared", tmp_path / "victim"
    shared.mkdir()
    shared.chmod(0o1777)
    victim.write_text("mine")
    victim.chmod(0o600)
    script = (*shell.split(), "-c", PREFLIGHT.script(), "envcfg-preflight")
    done = subprocess.run(
        ["sh", "-c", _GUESSED, "sh", *script, f"folder={shared}"],
        env={**os.environ, "SHARED": str(shared), "VICTIM": str(victim)},
        capture_output=True,
        text=True,
        check=True,
    )
    assert "folder yes" in done.stdout
    assert victim.read_text() == "mine"
    left = sorted(each.name for each in shared.iterdir())
    assert [name for name in left if not name.endswith(tuple("0123456789"))] == []
    assert len(left) == 3


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_a_signal_leaves_nothing_in_a_folder(
    shell: str, tmp_path: Path, number: signal.Signals
) -> None:
    """It comes when there is something in the folder, or, seen too late, just after."""
    words = [
        *shell.split(),
        "-c",
        PREFLIGHT.script(),
        "sh",
        *[f"folder={tmp_path}"] * 3,
    ]
    caught = 0
    for _ in range(3):
        probing = subprocess.Popen(
            words,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        while not os.listdir(tmp_path) and probing.poll() is None:
            time.sleep(0.0005)
        with suppress(ProcessLookupError):
            os.killpg(probing.pid, number)
        probing.communicate(timeout=60)  # until all that it has started has ended
        caught += probing.returncode != 0
        assert os.listdir(tmp_path) == []
    assert caught


def test_without_ip_addresses_are_known_by_their_routes(
    shell: str, tmp_path: Path
) -> None:
    for name in ("rm", "df", "cat", "timeout"):
        source = subprocess.run(
            ["sh", "-c", f"command -v {name}"],
            capture_output=True,
            text=True,
            check=True,
        ).stdout.strip()
        (tmp_path / name).symlink_to(source)
    found = subprocess.run(
        ["sh", "-c", f"command -v {shell.split(maxsplit=1)[0]}"],
        capture_output=True,
        text=True,
        check=True,
    ).stdout.strip()
    with_ip = probe(shell)
    bare = " ".join([found, *shell.split()[1:]])
    without = probe(bare, PATH=str(tmp_path))
    if shell.startswith("busybox"):  # it has an ip of its own
        return
    both = zip(with_ip.rows("network"), without.rows("network"), strict=True)
    for one, other in both:
        assert one[0] == other[0]
        assert one[2] == "-" or one[0] == "lo" or other[2] != "-"


@pytest.mark.parametrize(
    ("said", "lacks"),
    [
        ("\tlibc.so.6 => /lib/libc.so.6 (0x1)\n", ()),
        ("\tlibcxi.so.1 => not found\n\tlibm.so.6 => /m (0x1)\n", ("libcxi.so.1",)),
        (
            "./p.so: /lib/libfabric.so.1: version `FABRIC_1.7' not found (by ./p.so)\n",
            ("FABRIC_1.7",),
        ),
    ],
)
def test_libraries_that_a_plugin_lacks_are_told(
    shell: str, tmp_path: Path, said: str, lacks: tuple[str, ...]
) -> None:
    write_tool(tmp_path, "ldd", f"cat <<'EOF'\n{said}EOF")
    plugin = tmp_path / "librccl-net.so"
    plugin.touch()
    library = f"/none:{tmp_path}"
    (told,) = probe(shell, path=str(tmp_path), LD_LIBRARY_PATH=library).rows("plugin")
    assert told == ("no" if lacks else "yes", ",".join(lacks) or "-", str(plugin))


@pytest.mark.parametrize(
    ("variable", "name"),
    [
        ("ofi", "libnccl-net-ofi.so"),
        ("libmine.so", "libmine.so"),
        ("none", None),
        ("other", None),
    ],
)
def test_the_plugin_is_the_one_that_nccl_would_load(
    shell: str, tmp_path: Path, variable: str, name: str | None
) -> None:
    for each in ("libnccl-net-ofi.so", "libmine.so"):
        (tmp_path / each).touch()
    env = {"NCCL_NET_PLUGIN": variable, "LD_LIBRARY_PATH": str(tmp_path)}
    told = [Path(row[2]).name for row in probe(shell, **env).rows("plugin")]
    assert told == ([name] if name else [])


def test_a_gpu_with_errors_is_told(shell: str, tmp_path: Path) -> None:
    body = 'printf "0, 0, 1, 2, 3, 700, 1980, 0, 0, 0x8, A\\n1, 0, 1, 2, 3, 700, 1980, 9, 3, 0x0, A\\n"'
    write_tool(tmp_path, "nvidia-smi", body)
    answer = probe(shell, path=str(tmp_path))
    assert answer.gpus is not None
    first, second = answer.gpus.gpus
    assert (first.uncorrected, first.throttle) == (0, 8)
    assert (second.corrected, second.uncorrected, second.throttle) == (9, 3, 0)
