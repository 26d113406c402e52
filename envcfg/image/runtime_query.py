"""Metadata from the runtime for images that envcfg cannot read; the only use of spython.

``inspect`` and ``wrap`` use it only for forms that envcfg cannot read (an encrypted
SIF, an ext3 root). For all others the runtime reports nothing more than the files. It
takes 0.3 s and several processes instead of a few milliseconds, and fails on a login
node without user namespaces. Files are not fetched through it, because that would start
the image's programs, once per file.

spython calls ``singularity`` by that name, ends its own process, prints freely, has no
time limit, and fails to import with an unusual MESSAGELEVEL. Therefore it runs in its
own process, with a folder on PATH where that name is the profile's program.
"""

import os
import shutil
import sys
from contextlib import ExitStack

from envcfg.common.child_process import run
from envcfg.common.datafile import ARCHIVE
from envcfg.common.interrupts import raise_signals
from envcfg.image.image_record import Metadata
from envcfg.image.metadata import BUILD_ARCHITECTURE, machine, parse_object, texts
from envcfg.image.tree import MOST_BYTES

SECONDS = 20.0  # a large image on a busy file system takes 5 seconds

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
    """Return labels and architecture of the SIF *path*, as reported by *program*.

    It is ended after *seconds*. None: the program is missing, or fails.
    """
    import shlex
    from tempfile import TemporaryDirectory

    program_path = shutil.which(program)
    if program_path is None:
        return None
    with ExitStack() as stack:  # removes the folder, even after a signal
        stack.callback(raise_signals, raise_signals())
        folder = stack.enter_context(TemporaryDirectory(prefix="envcfg-inspect-"))
        link = f"{folder}/singularity"
        with open(link, "w", encoding="utf-8", errors="surrogateescape") as file:
            file.write(
                f'#!/bin/sh\nexec {shlex.quote(os.path.abspath(program_path))} "$@"\n'
            )
        os.chmod(link, 0o700)
        answer = f"{folder}/answer.json"
        _run([os.path.abspath(path), answer], folder, seconds)
        try:
            with open(answer, "rb") as stream:
                document = parse_object(stream.read(MOST_BYTES))
        except OSError:
            return None
    if not isinstance(attributes := document.get("attributes"), dict):
        return None
    labels = texts(attributes.get("labels"))
    return Metadata("sif", machine(labels.get(BUILD_ARCHITECTURE, "")), labels)


def _run(arguments: list[str], folder: str, seconds: float) -> None:
    """Run spython until it answers, fails, or exceeds the time."""
    env = {name: os.environ[name] for name in os.environ if name != "MESSAGELEVEL"}
    path = [ARCHIVE, *sys.path] if ARCHIVE else sys.path
    env["PATH"] = folder + os.pathsep + env.get("PATH", os.defpath)
    words = ["-I", "-c", _ASK, os.pathsep.join(path), *arguments]
    run([sys.executable, *words], seconds, env=env)
