"""Imports from envcfg.pyz, which is opened once and read where it is.

zipimport opens the archive anew for each module, compiles what an other Python compiled,
and knows no extension modules. Here each module's code is read as this version of Python
compiled it when the archive was made, where it did; extension modules go through memory, so
that nothing is unpacked.
"""

from __future__ import annotations

import marshal
import os
import sys
import zlib
from _frozen_importlib import ModuleSpec
from _frozen_importlib_external import ExtensionFileLoader
from _imp import extension_suffixes

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import CodeType, ModuleType

    Files = dict[str, tuple[int, int, int, bool]]
    Code = dict[str, tuple[int, int]]


class Importer:
    """Finds and loads modules, and reads the data beside them.

    Attributes:
        archive: path of the archive, as zipimport's importers have it.
    """

    def __init__(self, archive: str, descriptor: int, files: Files, code: Code) -> None:
        """Read by *descriptor*.

        Args:
            archive: its absolute path.
            descriptor: of the open file.
            files: name: (start in the archive, bytes there, bytes, whether deflated).
            code: module: (start, bytes there), for this Python.
        """
        self.archive = archive
        self._descriptor = descriptor
        self._files = files
        self._code = code
        self._tops = {name.partition("/")[0].partition(".")[0] for name in files}
        self._native = f"native/{os.uname().machine}"
        self._suffixes = extension_suffixes()
        self._open: list[object] = []

    def find_spec(
        self, fullname: str, path: object = None, target: object = None
    ) -> ModuleSpec | None:
        """Return the spec of a module that is in here, else None."""
        if fullname.partition(".")[0] not in self._tops:
            return None
        stem = fullname.replace(".", "/")
        is_package = f"{stem}/__init__.py" in self._files
        if not is_package:  # what is compiled goes before what stands in for it
            extension = self._find_extension(fullname, stem)
            if extension or f"{stem}.py" not in self._files:
                return extension
        file = f"{self.archive}/{stem}{'/__init__' if is_package else ''}.py"
        spec = ModuleSpec(fullname, self, origin=file, is_package=is_package)
        spec.has_location = True
        if is_package:
            spec.submodule_search_locations = [f"{self.archive}/{stem}"]
        return spec

    def create_module(self, spec: ModuleSpec) -> None:
        """Let Python make the module."""

    def exec_module(self, module: ModuleType) -> None:
        """Run a module's code."""
        exec(self.get_code(module.__spec__.name), module.__dict__)

    def get_code(self, fullname: str) -> CodeType:
        """Return the code of a module."""
        if fullname in self._code:
            return marshal.loads(zlib.decompress(self._read(*self._code[fullname])))
        name = self._source(fullname)
        return compile(self.get_data(name), name, "exec", dont_inherit=True)

    def get_source(self, fullname: str) -> str:
        """Return the text of a module, for tracebacks."""
        return self.get_data(self._source(fullname)).decode("utf-8")

    def get_filename(self, fullname: str) -> str:
        """Return where a module is."""
        return f"{self.archive}/{self._source(fullname)}"

    def is_package(self, fullname: str) -> bool:
        """Return whether a module is a package."""
        return self._source(fullname).endswith("/__init__.py")

    def get_data(self, path: str) -> bytes:
        """Return what is in a file, named by its place in the archive or by its path."""
        name = path.removeprefix(f"{self.archive}/")
        if name not in self._files:
            raise FileNotFoundError(2, os.strerror(2), path)
        start, size, _, is_deflated = self._files[name]
        data = self._read(start, size)
        return zlib.decompress(data, -15) if is_deflated else data

    def names_in(self, folder: str) -> list[str]:
        """Return the names in a folder, named like a file."""
        inside = f"{folder.removeprefix(f'{self.archive}/')}/"
        at = len(inside)
        names = {
            name[at:].partition("/")[0]
            for name in self._files
            if name.startswith(inside)
        }
        if not names:
            raise FileNotFoundError(2, os.strerror(2), folder)
        return list(names)

    def get_resource_reader(self, fullname: str) -> object:
        """Return what importlib.resources reads by: zipimport's own."""
        from zipimport import zipimporter

        return zipimporter(self.archive).get_resource_reader(fullname)

    def _source(self, fullname: str) -> str:
        stem = fullname.replace(".", "/")
        whole = f"{stem}/__init__.py"
        return whole if whole in self._files else f"{stem}.py"

    def _read(self, start: int, size: int) -> bytes:
        data = os.pread(self._descriptor, size, start)
        if len(data) != size:
            raise OSError(5, "cut off", self.archive)
        return data

    def _find_extension(self, fullname: str, stem: str) -> ModuleSpec | None:
        for suffix in self._suffixes:
            name = f"{self._native}/{stem}{suffix}"
            if name in self._files:
                file = self._place(name)
                loader = ExtensionFileLoader(fullname, file)
                spec = ModuleSpec(fullname, loader, origin=file)
                spec.has_location = True
                return spec
        return None

    def _place(self, name: str) -> str:
        """Return a path from which the dynamic linker can read a file of the archive.

        It stays open: the linker takes a path that it has seen for the same library.
        """
        data = self.get_data(name)
        try:
            descriptor = os.memfd_create("envcfg")
        except OSError:  # not allowed here: then a file without a name
            import tempfile

            kept = tempfile.TemporaryFile()  # noqa: SIM115  # it stays open
            self._open.append(kept)
            descriptor = kept.fileno()
        with os.fdopen(os.dup(descriptor), "wb") as file:
            file.write(data)
        return f"/proc/self/fd/{descriptor}"


def run(archive: str, descriptor: int, files: Files, code: Code) -> None:
    """Let all but Python's own modules come from the archive, and start envcfg."""
    sys.meta_path.insert(0, Importer(archive, descriptor, files, code))
    own = os.path.dirname(os.__file__)
    sys.path[:] = [
        each
        for each in sys.path
        if (each.startswith(own) and not each.endswith("-packages"))
        or each.endswith(f"/python{sys.version_info[0]}{sys.version_info[1]}.zip")
    ]
    from envcfg.__main__ import main

    main()
