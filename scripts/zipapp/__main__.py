"""Make ``envcfg.pyz``; see --help."""

from __future__ import annotations

import argparse
import itertools
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from scripts.zipapp import archive, wheels

PYTHONS = ("3.10", "3.11", "3.12", "3.13", "3.14")
MACHINES = ("x86_64", "aarch64")
_ASK = "import sys; print('%d.%d' % sys.version_info[:2])"


def main() -> int:
    """Make the archive; return 0, or 4 where something cannot be had."""
    options, pip_options = _parser().parse_known_args()
    pythons = options.python or PYTHONS
    machines = options.machine or MACHINES
    with tempfile.TemporaryDirectory(prefix="envcfg-zipapp-") as made:
        folder, tree = Path(made), Path(made) / "tree"
        targets = itertools.starmap(wheels.Target, itertools.product(pythons, machines))
        try:
            own = wheels.build_own(folder, pip_options)
            found = wheels.fetch(own, targets, folder / "wheels", pip_options)
        except (subprocess.CalledProcessError, ValueError) as err:
            print(f"build-zipapp: error: {err}", file=sys.stderr)
            return 4
        for wheel in (own, *found):
            wheels.unpack(wheel, tree)
        wheels.close_namespaces(tree)
        for name in ("__main__.py", "start.py"):
            shutil.copy(archive.HERE / "start" / name, tree)
        compiled = []
        for version in pythons:
            interpreter = _find(version)
            if interpreter is None:
                print(
                    f"build-zipapp: note: no python{version} here: that one will compile"
                    " what it imports at each start",
                    file=sys.stderr,
                )
                continue
            compiled.append(folder / version)
            archive.compile_tree(interpreter, tree, compiled[-1])
        whole = folder / "envcfg.pyz"
        archive.write(tree, compiled, whole)
        shutil.copy(whole, f"{options.out}.new")
        os.replace(f"{options.out}.new", options.out)
    return 0


def _find(version: str) -> str | None:
    """Return an interpreter of this version, of those on PATH."""
    folders = os.environ.get("PATH", os.defpath).split(os.pathsep)
    for folder in (os.path.dirname(sys.executable), *folders):
        for name in (f"python{version}", "python3"):
            python = os.path.join(folder, name)
            if os.access(python, os.X_OK):
                argv = [python, "-IS", "-c", _ASK]
                done = subprocess.run(argv, capture_output=True, text=True, check=False)
                if done.stdout.strip() == version:
                    return python
    return None


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="scripts/build-zipapp",
        description="Make one file of envcfg and all that it needs, which any CPython from"
        " 3.10 on runs. Other options are pip's, such as --no-index --find-links FOLDER.",
        epilog="It starts fast with each Python of --python that is on PATH here, as"
        " python3.X: for that one its modules are compiled already. With others it starts"
        " slower. Without extension modules for a Python or a machine, YAML is read by"
        " Python itself, and lint and zstd are not there.",
        allow_abbrev=False,
    )
    parser.add_argument("out", metavar="OUT", help="the file, as envcfg.pyz")
    parser.add_argument(
        "--python",
        action="append",
        metavar="X.Y",
        help=f"a version to bring extension modules for (default: {', '.join(PYTHONS)})",
    )
    parser.add_argument(
        "--machine",
        action="append",
        choices=MACHINES,
        help="an architecture to bring them for (default: both)",
    )
    return parser


if __name__ == "__main__":
    sys.exit(main())
