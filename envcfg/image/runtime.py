"""What the runtime says of an image that envcfg does not read: the one use of spython.

Only for forms whose files are not read here (an encrypted SIF, a root in ext3). Of all
others the runtime says nothing more than the files, in 0.3 s and several processes where
reading takes a few milliseconds, and not at all on a login node without user namespaces.
Files are not fetched through it: that would start the image's own programs, once a file.

spython asks ``singularity`` by that name, ends the process that it runs in, prints what it
likes, knows no time limit and fails to import by an odd MESSAGELEVEL: so it runs in a
process of its own, with a folder on PATH where that name is the program of the profile.
"""

import os
import shutil
import signal
import sys
from contextlib import ExitStack, suppress

from envcfg.datafile import ARCHIVE
from envcfg.image.metadata import BUILD_ARCHITECTURE, machine, parse_object, texts
from envcfg.image.record import Metadata
from envcfg.image.tree import MOST_BYTES
from envcfg.interrupts import raise_signals

SECONDS = 20.0  # a large image on a busy file system takes 5

_ASK = """\
import json, os, sys
sys.path[:] = sys.argv[1].split(os.pathsep)
from spython.main import Client
found = Client.inspect(sys.argv[2], quiet=True)
with open(sys.argv[3], "w") as file:
    json.dump(found, file)
"""


def inspect_by_runtime(
    path: str, program: str, *, seconds: float = SECONDS
) -> Metadata | None:
    """Return labels and architecture of the SIF *path* as *program* tells them.

    It is ended after *seconds*. None where there is no such program, or it cannot tell.
    """
    import shlex
    from tempfile import TemporaryDirectory

    whole = shutil.which(program)
    if whole is None:
        return None
    with ExitStack() as stack:  # the folder goes, also by a signal
        stack.callback(raise_signals, raise_signals())
        folder = stack.enter_context(TemporaryDirectory(prefix="envcfg-inspect-"))
        named = f"{folder}/singularity"
        with open(named, "w", encoding="utf-8", errors="surrogateescape") as file:
            file.write(f'#!/bin/sh\nexec {shlex.quote(os.path.abspath(whole))} "$@"\n')
        os.chmod(named, 0o700)
        answer = f"{folder}/answer.json"
        _run([os.path.abspath(path), answer], folder, seconds)
        try:
            with open(answer, "rb") as told:
                found = parse_object(told.read(MOST_BYTES))
        except OSError:
            return None
    if not isinstance(attributes := found.get("attributes"), dict):
        return None
    labels = texts(attributes.get("labels"))
    return Metadata("sif", machine(labels.get(BUILD_ARCHITECTURE, "")), labels)


def _run(arguments: list[str], folder: str, seconds: float) -> None:
    """Run spython until it has answered, failed, or taken too long."""
    import subprocess

    env = {name: os.environ[name] for name in os.environ if name != "MESSAGELEVEL"}
    path = [ARCHIVE, *sys.path] if ARCHIVE else sys.path
    env["PATH"] = folder + os.pathsep + env.get("PATH", os.defpath)
    process = subprocess.Popen(
        [sys.executable, "-I", "-c", _ASK, os.pathsep.join(path), *arguments],
        env=env,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    try:
        with suppress(subprocess.TimeoutExpired):
            process.wait(seconds)
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)  # the runtime with it
        process.wait()
