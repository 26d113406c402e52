"""The archive itself: a shell's line, then a zip that Python runs."""

from __future__ import annotations

import marshal
import subprocess
import zipfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
# -I: neither PYTHONPATH, in which modules put what they like, nor the user's packages; -S:
# no packages at all. That is safer, and asks a slow file system for less.
HEAD = b'#!/bin/sh\nexec python3 -IS "$0" "$@"\n'
_WHEN = (1980, 1, 1, 0, 0, 0)  # the same tree gives the same bytes


def compile_tree(python: str, tree: Path, out: Path) -> None:
    """Compile the modules of *tree* for the interpreter *python* into the file *out*."""
    argv = [python, "-IS", str(HERE / "compile.py"), str(tree), str(out)]
    subprocess.run(argv, check=True)


def write(tree: Path, compiled: Sequence[Path], out: Path) -> None:
    """Write the archive of *tree* to *out*, with the codes of each file of *compiled*."""
    files: dict[str, tuple[int, int, int, bool]] = {}
    codes: dict[bytes, tuple[int, int]] = {}
    out.write_bytes(HEAD)
    with zipfile.ZipFile(out, "a") as archive:
        for path in sorted(tree.rglob("*")):
            if path.is_file():
                name = path.relative_to(tree).as_posix()
                data = path.read_bytes()
                info = _add(archive, name, data, is_deflated=True)
                is_deflated = info.compress_type == zipfile.ZIP_DEFLATED
                size = info.compress_size
                files[name] = (_start(info), size, len(data), is_deflated)
        for path in compiled:
            magic, places, data = marshal.loads(path.read_bytes())  # noqa: S302  # ours
            where = f"code/{magic.hex()}"
            start = _start(_add(archive, where, data))
            moved = {name: (at + start, size) for name, (at, size) in places.items()}
            info = _add(archive, f"{where}.index", _dump(moved))
            codes[magic] = (_start(info), info.file_size)
        _add(archive, "index", _dump({"files": files, "code": codes}))
    out.chmod(0o755)


def _add(
    archive: zipfile.ZipFile, name: str, data: bytes, *, is_deflated: bool = False
) -> zipfile.ZipInfo:
    info = zipfile.ZipInfo(name, _WHEN)
    info.external_attr = 0o644 << 16
    info.compress_type = zipfile.ZIP_DEFLATED if is_deflated else zipfile.ZIP_STORED
    archive.writestr(info, data, compresslevel=9)
    return info


def _start(info: zipfile.ZipInfo) -> int:
    """Return where a file's data begin: its header has no fields beside the name."""
    return info.header_offset + 30 + len(info.filename.encode())


def _dump(data: Any) -> bytes:  # noqa: ANN401  # what marshal can say
    return marshal.dumps(data, 2)  # a form that each Python has read since 2.5
