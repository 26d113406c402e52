"""Metadata from the runtime, by spython, for images that envcfg cannot read.

``inspect`` and ``wrap`` use it only for forms that envcfg cannot read (an encrypted
SIF, an ext3 root). For all others the runtime reports nothing more than the files. It
takes 0.3 s and several processes instead of a few milliseconds, and fails on a login
node without user namespaces. Files are not fetched through it, because that would start
the image's programs, once per file.
"""

import os
import shlex
import shutil

from envcfg.image.image_record import Metadata
from envcfg.image.metadata import BUILD_ARCHITECTURE, machine, texts
from envcfg.image.spython_process import SECONDS, ask_spython

_ASK = """\
from spython.main import Client
answer = Client.inspect(sys.argv[2], quiet=True)
"""


def inspect_by_runtime(
    path: str, program: str, *, seconds: float = SECONDS
) -> Metadata | None:
    """Return labels and architecture of the SIF *path*, as reported by *program*.

    It is ended after *seconds*. None: the program is missing, or fails.
    """
    program_path = shutil.which(program)
    if program_path is None:
        return None
    script = f'#!/bin/sh\nexec {shlex.quote(os.path.abspath(program_path))} "$@"\n'
    words = [os.path.abspath(path)]
    document, _ = ask_spython(_ASK, words, "singularity", script, seconds)
    if not isinstance(attributes := document.get("attributes"), dict):
        return None
    labels = texts(attributes.get("labels"))
    return Metadata("sif", machine(labels.get(BUILD_ARCHITECTURE, "")), labels)
