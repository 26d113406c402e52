"""The text that starts a server and says when it is ready; the servers are real ones."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from envcfg.job.script import server_health

# It answers 503 at /health until there is a file, as vLLM and SGLang do while they load.
SERVER = """\
import http.server, os, sys, time
port, ready, seconds = int(sys.argv[1]), sys.argv[2], float(sys.argv[3])
class Answer(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        is_ready = self.path == "/health" and os.path.exists(ready)
        self.send_response(200 if is_ready else 503)
        self.end_headers()
    def log_message(self, *words):
        pass
server = http.server.HTTPServer(("127.0.0.1", port), Answer)
server.timeout = 0.1
end = time.monotonic() + seconds
print("pid", os.getpid(), flush=True)
while time.monotonic() < end:
    server.handle_request()
sys.exit(6)
"""


@pytest.fixture
def port() -> str:
    with socket.create_server(("127.0.0.1", 0)) as free:
        return str(free.getsockname()[1])


class Ended(NamedTuple):
    pid: int
    code: int
    out: str
    err: str


def run(folder: Path, *words: str, **variables: str) -> Ended:
    """Run to the end of the server; its watch may end later."""
    argv = [sys.executable, server_health.__file__, *words]
    environment = {**os.environ, "SLURMD_NODENAME": "nid1", **variables}
    out, err = folder / "out", folder / "err"
    with out.open("w") as to_out, err.open("w") as to_err:
        process = subprocess.Popen(argv, stdout=to_out, stderr=to_err, env=environment)
        code = process.wait(timeout=60)
    return Ended(process.pid, code, out.read_text(), err.read_text())


def server(port: str, ready: Path, seconds: str = "5") -> tuple[str, ...]:
    return (sys.executable, "-c", SERVER, port, str(ready), seconds)


def test_a_server_that_answers_is_ready_and_keeps_its_process_and_exit_code(
    tmp_path: Path, port: str
) -> None:
    (tmp_path / "ready").touch()
    words = ("sglang", port, "/health", *server(port, tmp_path / "ready"))
    ended = run(tmp_path, *words, http_proxy="http://192.0.2.1:1")
    assert (ended.code, ended.out) == (6, f"pid {ended.pid}\n")
    assert "sglang is ready after " in ended.err
    assert f"http://nid1:{port}\n" in ended.err
    assert f"ssh -L {port}:nid1:{port} LOGIN-NODE" in ended.err


@pytest.mark.nightly
def test_a_server_that_still_loads_is_not_ready(tmp_path: Path, port: str) -> None:
    ended = run(tmp_path, "vllm", port, "/health", *server(port, tmp_path / "never"))
    assert (ended.code, ended.err) == (6, "")


@pytest.mark.nightly
def test_a_server_that_is_not_ready_within_the_limit_is_reported(
    tmp_path: Path, port: str
) -> None:
    words = server(port, tmp_path / "never", "8")
    ended = run(tmp_path, "vllm", port, "/health", *words, ENVCFG_SERVER_SECONDS="1")
    warning = (
        f"envcfg: warning: vllm does not answer at http://nid1:{port}/health after"
    )
    assert ended.err.startswith(warning)
    assert "is ready" not in ended.err


@pytest.fixture
def other(tmp_path: Path, port: str) -> Iterator[str]:
    """Yield the port on which another server answers already."""
    (tmp_path / "ready").touch()
    argv = server(port, tmp_path / "ready", "30")
    with subprocess.Popen(argv, stdout=subprocess.PIPE) as process:
        assert process.stdout
        process.stdout.readline()
        yield port
        process.kill()


def test_another_server_on_that_port_is_not_taken_for_it(
    other: str, tmp_path: Path
) -> None:
    ended = run(tmp_path, "vllm", other, "/health", "sh", "-c", "sleep 3; exit 3")
    assert ended.code == 3
    assert "is ready" not in ended.err
    warning = f"envcfg: warning: another server answers at http://nid1:{other} already"
    assert ended.err.startswith(warning)


@pytest.mark.parametrize(("name", "code"), [("no-such-program", 127), ("/", 126)])
def test_a_server_that_cannot_be_started_is_named(
    tmp_path: Path, port: str, name: str, code: int
) -> None:
    ended = run(tmp_path, "vllm", port, "/health", name)
    assert ended.code == code
    assert ended.err.startswith(f"envcfg: error: {name}: ")
