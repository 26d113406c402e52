"""Images for tests: folders with ELF files that the compiler made as they are asked for."""

from __future__ import annotations

import struct
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

_GCC = ("gcc", "-shared", "-fPIC", "-nostdlib", "-Wl,--no-as-needed")
SYSTEM = "usr/lib/x86_64-linux-gnu"


class Image:
    """A folder that becomes the root of an image."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.work = root.parent / f"{root.name}.work"
        self.work.mkdir(parents=True)
        root.mkdir(exist_ok=True)

    def text(self, path: str, text: str = "") -> str:
        """Write a text file; return its path in the image."""
        file = self._place(path)
        file.write_text(text)
        return f"/{path}"

    def program(self, path: str) -> str:
        """Write something that can be run."""
        self.text(path, "#!/bin/sh\n")
        (self.root / path).chmod(0o755)
        return f"/{path}"

    def link(self, path: str, target: str) -> str:
        self._place(path).symlink_to(target)
        return f"/{path}"

    def base(self, folder: str = SYSTEM) -> None:
        """Write what every image has: a shell, a C library in *folder*."""
        for name in ("sh", "bash", "mkdir", "env"):
            self.program(f"usr/bin/{name}")
        if not (self.root / "bin").exists():
            self.link("bin", "usr/bin")
        self.library(
            f"{folder}/libc.so.6",
            provides={"GLIBC_2.2.5": ["puts"], "GLIBC_2.31": ["newer"]},
            words="stable release version 2.31.",
        )
        self.text("etc/os-release", 'NAME="Ubuntu"\nPRETTY_NAME="Ubuntu 20.04 LTS"\n')

    def library(
        self,
        path: str,
        *,
        soname: str | None = None,
        needs: Sequence[str] = (),
        uses: Mapping[str, Mapping[str, str]] | None = None,
        provides: Mapping[str, Sequence[str]] | None = None,
        words: str = "",
        symbols: Sequence[str] = (),
        runpath: str = "",
        rpath: str = "",
        machine: int | None = None,
    ) -> str:
        """Make a shared library by the compiler.

        Args:
            path: in the image.
            soname: default: the name of the file.
            needs: sonames, nothing of which is used.
            uses: for a soname the functions that are called, and their versions.
            provides: for a version the functions that it has.
            words: constants in it.
            symbols: that it exports.
            runpath: where it looks; *rpath*: the older kind.
            machine: number that is put for that of this machine.
        """
        file = self._place(path)
        source = [f'const char words[] = "{words}";' if words else ""]
        source += [f"int {each} = 1;" for each in symbols]
        options = [f"-Wl,-soname,{file.name if soname is None else soname}"]
        options += [str(self._stub(name, {})) for name in needs]
        for name, calls in (uses or {}).items():
            by_version: dict[str, list[str]] = {}
            for call, version in calls.items():
                source.append(
                    f"int {call}(void); int use_{call}(void) {{ return {call}(); }}"
                )
                by_version.setdefault(version, []).append(call)
            options.append(str(self._stub(name, by_version)))
        if provides:
            options.append(f"-Wl,--version-script={self._script(provides)}")
            source += _functions(provides)
        if runpath or rpath:
            kind = "--enable-new-dtags" if runpath else "--disable-new-dtags"
            options += [f"-Wl,{kind}", f"-Wl,-rpath,{runpath or rpath}"]
        self._compile(file, source, options)
        if machine is not None:
            data = bytearray(file.read_bytes())
            data[18:20] = struct.pack("<H", machine)
            file.write_bytes(data)
        return f"/{path}"

    def cache(self, paths: Mapping[str, str]) -> None:
        """Write an ``/etc/ld.so.cache`` that names these files by their sonames."""
        strings, entries = b"", b""
        start = 48 + 24 * len(paths)
        for soname, path in paths.items():
            key = start + len(strings)
            strings += soname.encode() + b"\0"
            value = start + len(strings)
            strings += path.encode() + b"\0"
            entries += struct.pack("<iIIIQ", 3, key, value, 0, 0)
        head = b"glibc-ld.so.cache1.1" + struct.pack("<II", len(paths), len(strings))
        self._place("etc/ld.so.cache").write_bytes(head + bytes(20) + entries + strings)

    def _stub(self, soname: str, versions: Mapping[str, Sequence[str]]) -> Path:
        number = len(list(self.work.iterdir()))
        file = self.work / f"stub{number}.so"
        options = [f"-Wl,-soname,{soname}"]
        if versions:
            options.append(f"-Wl,--version-script={self._script(versions)}")
        self._compile(file, _functions(versions), options)
        return file

    def _script(self, versions: Mapping[str, Sequence[str]]) -> Path:
        number = len(list(self.work.iterdir()))
        file = self.work / f"script{number}.map"
        file.write_text(
            "".join(
                f"{version} {{ global: {' '.join(f'{each};' for each in names)} }};\n"
                for version, names in versions.items()
            )
        )
        return file

    def _compile(
        self, file: Path, source: Sequence[str], options: Sequence[str]
    ) -> None:
        code = self.work / "code.c"
        code.write_text("\n".join(source) + "\n")
        subprocess.run(
            [*_GCC, "-o", file, code, *options],
            check=True,
            capture_output=True,
        )

    def _place(self, path: str) -> Path:
        file = self.root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        return file


def _functions(versions: Mapping[str, Sequence[str]]) -> list[str]:
    return [
        f"int {each}(void) {{ return 0; }}"
        for all_ in versions.values()
        for each in all_
    ]


SITE = "lib/python3.11/site-packages"


def wheel(image: Image, site: str, name: str, version: str) -> None:
    """Write what pip leaves of a package."""
    image.text(
        f"{site}/{name}-{version}.dist-info/METADATA",
        f"Name: {name}\nVersion: {version}\n",
    )


def torch(image: Image, site: str, version: str, **numbers: str) -> None:
    """Write the version file of PyTorch: ``cuda=``, ``hip=`` or ``xpu=``."""
    lines = [f"__version__ = '{version}'"]
    for name in ("cuda", "hip", "rocm", "xpu"):
        value = f"'{numbers[name]}'" if name in numbers else "None"
        lines.append(f"{name}: Optional[str] = {value}")
    image.text(f"{site}/torch/version.py", "\n".join(lines) + "\n")
    wheel(image, site, "torch", version)


def python(image: Image, prefix: str) -> None:
    """Write a Python below *prefix*."""
    image.program(f"{prefix}/bin/python3.11")
    image.link(f"{prefix}/bin/python3", "python3.11")
    (image.root / prefix / SITE).mkdir(parents=True, exist_ok=True)


def environment(image: Image, **values: str) -> None:
    """Let the image set variables, as Apptainer writes them."""
    lines = [f'export {name}="{value}"' for name, value in values.items()]
    image.text(
        ".singularity.d/env/90-environment.sh", "#!/bin/sh\n" + "\n".join(lines) + "\n"
    )
