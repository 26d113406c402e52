"""A process of its own for spython, with a time limit; its answer is a JSON object.

spython calls ``singularity`` by that name, ends its own process, prints freely, has no
time limit, and fails to import with an unusual MESSAGELEVEL. Therefore it never runs in
the process of envcfg.
"""

import os
import sys
from collections.abc import Mapping
from contextlib import ExitStack
from typing import Any

from envcfg.common.child_process import run
from envcfg.common.datafile import ARCHIVE
from envcfg.common.interrupts import raise_signals
from envcfg.image.metadata import parse_object
from envcfg.image.tree import MOST_BYTES

SECONDS = 20.0  # a large image on a busy file system takes 5 seconds
_CODE = """\
import json, os, sys
sys.path[:] = sys.argv[1].split(os.pathsep)
{code}
with open("answer.json", "w") as file:
    json.dump(answer, file)
"""


def ask_spython(
    code: str, words: list[str], name: str, content: str, seconds: float
) -> tuple[Mapping[str, Any], str]:
    """Return the object that *code* names ``answer``, and the last line of its errors.

    It runs in a new folder, which is first on PATH and has the program *name* with
    *content*. *words* begin at ``sys.argv[2]``. After *seconds* it is ended; the object
    is then empty, as after any failure.
    """
    from tempfile import TemporaryDirectory

    env = {key: os.environ[key] for key in os.environ if key != "MESSAGELEVEL"}
    path = [ARCHIVE, *sys.path] if ARCHIVE else sys.path
    with ExitStack() as stack:  # removes the folder, even after a signal
        stack.callback(raise_signals, raise_signals())
        folder = stack.enter_context(TemporaryDirectory(prefix="envcfg-inspect-"))
        program = f"{folder}/{name}"
        with open(program, "w", encoding="utf-8", errors="surrogateescape") as file:
            file.write(content)
        os.chmod(program, 0o700)
        env["PATH"] = folder + os.pathsep + env.get("PATH", os.defpath)
        script = f"import os; os.chdir({folder!r})\n" + _CODE.format(code=code)
        argv = [sys.executable, "-I", "-c", script, os.pathsep.join(path), *words]
        answer = run(argv, seconds, env=env)
        fault = answer.fault or (answer.err.splitlines() or [""])[-1]
        try:
            with open(f"{folder}/answer.json", "rb") as stream:
                return parse_object(stream.read(MOST_BYTES)), fault
        except OSError:
            return {}, fault
