"""Start a server in place of this process, and report when it answers.

The module ``served`` contains the text of this file. It runs in the container on the
first node, and needs only Python 3.8. Arguments: the name of the server, the port, the
path that it answers when it is ready, and the command.
"""

from __future__ import annotations

import os
import sys
import time
import urllib.error
import urllib.request

# A large model takes half an hour to load and to compile.
LIMIT = int(os.environ.pop("ENVCFG_SERVER_SECONDS", "") or 3600)


def is_running(pid: int) -> bool:
    """Return whether the server has not ended."""
    try:
        os.kill(pid, 0)
    except OSError:
        return False
    return True


def answers(url: str) -> bool:
    """Return whether the server is ready."""
    # A proxy of the site cannot reach this node.
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    try:
        with opener.open(url, timeout=10) as reply:
            return bool(reply.status == 200)
    except (OSError, urllib.error.URLError, ValueError):
        return False


def node_name() -> str:
    """Return the name of this node."""
    return os.environ.get("SLURMD_NODENAME") or os.uname().nodename


def watch(pid: int, name: str, port: str, path: str) -> None:
    """Write one line when the server is ready, or when it is not after the limit."""
    begin = time.monotonic()
    node = node_name()
    while is_running(pid):
        seconds = int(time.monotonic() - begin)
        if answers(f"http://127.0.0.1:{port}{path}"):
            sys.stderr.write(
                f"envcfg: note: {name} is ready after {seconds} s: http://{node}:{port}\n"
                f"  hint: from your machine: ssh -L {port}:{node}:{port} LOGIN-NODE, then "
                f"http://localhost:{port}\n"
            )
            return
        if seconds > LIMIT:
            sys.stderr.write(
                f"envcfg: warning: {name} does not answer at http://{node}:{port}{path} "
                f"after {seconds} s\n"
            )
            return
        time.sleep(2)


def start_watch(pid: int, name: str, port: str, path: str) -> None:
    """Watch in a process of its own."""
    child = os.fork()
    if child == 0:
        # The server must not get a child that it does not know, so this one ends.
        if os.fork() == 0:
            os.setsid()
            watch(pid, name, port, path)
        os._exit(0)
    os.waitpid(child, 0)


def main(name: str, port: str, path: str, *command: str) -> None:
    """Start the watch, then become the server."""
    # That answer would be taken for this server's.
    if answers(f"http://127.0.0.1:{port}{path}"):
        sys.stderr.write(
            f"envcfg: warning: another server answers at http://{node_name()}:{port} "
            f"already\n  hint: give {name} another port\n"
        )
    else:
        start_watch(os.getpid(), name, port, path)
    try:
        os.execvp(command[0], command)
    except OSError as error:
        sys.stderr.write(f"envcfg: error: {command[0]}: {error.strerror}\n")
        sys.exit(126 if isinstance(error, PermissionError) else 127)


if __name__ == "__main__":
    main(*sys.argv[1:])
