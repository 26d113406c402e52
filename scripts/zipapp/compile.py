"""Compile modules for the Python that runs this; only with modules of Python's own.

Reads a folder, writes one file: where each module's code is, and the codes.
"""

from __future__ import annotations

import marshal
import os
import sys
import zlib
from _frozen_importlib_external import MAGIC_NUMBER


def main(tree: str, out: str) -> None:
    """Compile all modules below *tree* into *out*."""
    places: dict[str, tuple[int, int]] = {}
    codes = b""
    for folder, folders, files in os.walk(tree):
        folders.sort()
        for file in sorted(files):
            path = os.path.relpath(os.path.join(folder, file), tree)
            if not path.endswith(".py") or path == "__main__.py":
                continue
            with open(os.path.join(tree, path), "rb") as source:
                text = source.read()
            try:
                code = compile(text, path, "exec", dont_inherit=True)
            except SyntaxError:  # of a later Python, and never imported by this one
                continue
            name = path[: -len(".py")].replace("/", ".")
            data = zlib.compress(marshal.dumps(code), 9)
            places[name.removesuffix(".__init__")] = (len(codes), len(data))
            codes += data
    with open(out, "wb") as file:
        marshal.dump((MAGIC_NUMBER, places, codes), file)


main(*sys.argv[1:])
