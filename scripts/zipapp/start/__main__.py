"""Where envcfg.pyz starts: finds a Python that can run it, then envcfg's own start.

The first lines must be read by every Python that a login node may have, 2.7 and 3.6 too.
"""

import os
import sys

if sys.version_info < (3, 10):
    import subprocess

    for minor in range(20, 9, -1):
        for folder in os.environ.get("PATH", os.defpath).split(os.pathsep):
            python = os.path.join(folder, "python3.%d" % minor)
            if not os.access(python, os.X_OK):
                continue
            # Some are no more than a note where the real one might be.
            with open(os.devnull, "w") as null:
                ask = "import sys; sys.exit(sys.version_info < (3, 10))"
                argv = [python, "-IS", "-c", ask]
                if subprocess.call(argv, stdout=null, stderr=null) == 0:
                    os.execv(python, [python, "-IS"] + sys.argv)
    sys.stderr.write(
        "envcfg: error: this needs Python 3.10 or newer, and %s is %d.%d; none is on PATH\n"
        "  hint: load a module with a newer Python (cray-python, python), or name one:"
        " python3.11 %s\n" % ((sys.executable,) + sys.version_info[:2] + (sys.argv[0],))
    )
    if "wrap" in sys.argv and not os.isatty(1):
        # As envcfg does where it fails: a job must not go on without its step.
        sys.stdout.write("if [[ $- != *i* ]]; then exit 4; fi\nreturn 4\n")
    sys.exit(4)

import marshal
import zlib
from _frozen_importlib_external import MAGIC_NUMBER

index = marshal.loads(__loader__.get_data("index"))
archive = os.open(__loader__.archive, os.O_RDONLY | os.O_CLOEXEC)
code = {}
if MAGIC_NUMBER in index["code"]:  # where the codes for this Python's bytecode are
    start, size = index["code"][MAGIC_NUMBER]
    code = marshal.loads(os.pread(archive, size, start))
if "start" in code:
    start, size = code["start"]
    text = marshal.loads(zlib.decompress(os.pread(archive, size, start)))
else:
    text = compile(__loader__.get_data("start.py"), "start.py", "exec")
names = {"__name__": "start"}
exec(text, names)
names["run"](os.path.abspath(__loader__.archive), archive, index["files"], code)
