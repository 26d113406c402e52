"""Where profiles from elsewhere are kept: whole, or not at all.

    added/NAME -> ../kept/NAME-0123456789abcdef/     one link for each source
    kept/NAME-.../lumi-g.yaml, source.json           never changed once a link leads there

A source becomes another by one rename of its link, so whoever reads sees the old or the
new one. What no link leads to is left by an update, for those who still read it, or by a
process that was killed; after a day it goes.
"""

from __future__ import annotations

import errno
import fcntl
import os
import shutil
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from envcfg.errors import OutputError, UsageError
from envcfg.failure import put
from envcfg.interrupts import Held
from envcfg.profile.sources import RECORD, Source, read_source, source_record

_RANDOM = 16  # letters behind a kept folder's name
_DAY = 24 * 60 * 60
_NO_LOCKS = {errno.ENOLCK, errno.ENOSYS, errno.EOPNOTSUPP, errno.EINVAL}


class Store:
    """The sources in one folder, such as ``~/.local/share/envcfg``."""

    def __init__(self, folder: str) -> None:
        """Look into *folder*, which need not exist."""
        self.folder = folder

    def sources(self) -> dict[str, Source | None]:
        """Return what is known of each source, by name; None where its record is lost."""
        try:
            names = sorted(os.listdir(f"{self.folder}/added"))
        except OSError:
            return {}
        return {name: read_source(self.at(name)) for name in names if name[0] != "."}

    def at(self, name: str) -> str:
        """Return the folder of a source's profiles."""
        return f"{self.folder}/added/{name}"

    def keep(
        self, source: Source, files: Mapping[str, bytes], *, before: Source | None
    ) -> None:
        """Keep a source, in the place of the one of its name.

        Args:
            source: what is known of it.
            files: its profiles, by name.
            before: what was there when the user was asked; None: nothing.

        Raises:
            OutputError: it cannot be written.
            UsageError: something else is there by now, or a profile of it elsewhere.
        """
        with self._changing():
            if self.sources().get(source.name) != before:
                msg = f"{source.name}: another has changed it meanwhile"
                raise UsageError(
                    msg, hint="envcfg profiles list says what is there; again"
                )
            if twice := self.also_in(files, source.name):
                raise in_two_sources(*twice)
            made = f"{source.name}-{os.urandom(_RANDOM // 2).hex()}"
            link = f"{self.folder}/added/.{made}"
            try:
                self._fill(f"{self.folder}/kept/{made}", source, files)
                with Held():
                    os.symlink(f"../kept/{made}", link)
                    os.replace(link, self.at(source.name))
            except BaseException:
                shutil.rmtree(f"{self.folder}/kept/{made}", ignore_errors=True)
                raise
            self._sweep()

    def drop(self, name: str) -> None:
        """Remove a source.

        Raises:
            OutputError: it cannot be removed.
        """
        with self._changing():
            os.unlink(self.at(name))
            for each in os.listdir(f"{self.folder}/kept"):
                if each[:-_RANDOM] == f"{name}-":
                    shutil.rmtree(f"{self.folder}/kept/{each}", ignore_errors=True)
            self._sweep()

    def also_in(
        self, files: Mapping[str, bytes], name: str
    ) -> tuple[str, str, str] | None:
        """Return a file that another source than *name* has too, and both names."""
        for other in self.sources():
            for file in files:
                if other != name and os.path.exists(f"{self.at(other)}/{file}"):
                    return file, name, other
        return None

    def _fill(self, folder: str, source: Source, files: Mapping[str, bytes]) -> None:
        os.mkdir(folder, mode=0o700)
        for name, data in {**files, RECORD: source_record(source)}.items():
            flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
            handle = os.open(f"{folder}/{name}", flags, 0o600)
            try:
                put(handle, data)
                os.fsync(handle)
            finally:
                os.close(handle)

    def _sweep(self) -> None:
        """Remove what no link leads to, and has not for a day."""
        used = {os.path.realpath(self.at(name)) for name in self.sources()}
        for each in self._old("kept"):
            if os.path.realpath(each.path) not in used:
                shutil.rmtree(each.path, ignore_errors=True)
        for each in self._old("added"):
            if each.name[0] == "." and each.is_symlink():  # never came into its place
                os.unlink(each.path)

    def _old(self, folder: str) -> list[os.DirEntry[str]]:
        """Return what is in a folder, and was there a day ago."""
        with os.scandir(f"{self.folder}/{folder}") as found:
            then = time.time() - _DAY
            return [e for e in found if e.stat(follow_symlinks=False).st_mtime < then]

    @contextmanager
    def _changing(self) -> Iterator[None]:
        """Let one process at a time change anything here."""
        try:
            for each in ("added", "kept"):
                os.makedirs(f"{self.folder}/{each}", mode=0o700, exist_ok=True)
            handle = os.open(
                f"{self.folder}/lock", os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, 0o600
            )
            try:
                _lock(handle)
                yield
            finally:
                os.close(handle)
        except OSError as err:
            msg = f"{err.filename or self.folder}: cannot be written: {err.strerror}"
            hint = "choose another place by XDG_DATA_HOME"
            raise OutputError(msg, hint=hint) from err


def in_two_sources(file: str, name: str, other: str) -> UsageError:
    """Return the error for a profile that two sources have: neither is over the other."""
    msg = f"{name}: {other} has a profile {file[:-5]} too, and neither goes before"
    return UsageError(
        msg, hint=f"envcfg profiles remove {other}, or ask for other names"
    )


def _lock(handle: int) -> None:
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
    except OSError as err:
        # Some parallel file systems have no locks; renames there are whole all the same.
        if err.errno not in _NO_LOCKS:
            raise
