"""Where commands write: whole or not at all, and never over what would be missed.

One way for all of them. ``-`` is stdout; devices, pipes and what the shell has opened
(``/dev/stdout``, ``>(cat)``) are written to as they are. A file is replaced in one step,
if it is none that the command reads, and is as envcfg once wrote it.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from typing import NamedTuple

from envcfg.atomic_write import make_beside
from envcfg.errors import OutputError, UsageError
from envcfg.failure import STDOUT, put, put_stream, stream_descriptor
from envcfg.interrupts import Held
from envcfg.provenance import has_mark, is_untouched

_OPEN = (stat.S_IFCHR, stat.S_IFIFO)  # what is written to as it is
_HEAD = 256  # bytes of a file in which its mark stands


class Output(NamedTuple):
    """What is to be written where.

    Attributes:
        name: as it was given.
        option: that gave it.
        example: options with a name that is right, for the hint.
        inputs: files that the command reads; ``-`` is standard input.
        folders: whose files it reads, those to come too.
        force: others' work may be replaced.
        kept: what is there is kept, even if it is envcfg's own: it is meant to be changed.
    """

    name: str
    option: str
    example: str
    inputs: Collection[str] = ()
    folders: Collection[str] = ()
    force: bool = False
    kept: bool = False


class _Place(NamedTuple):
    """What a name leads to.

    Attributes:
        path: links followed.
        descriptor: of an open file; None where *path* is to be opened.
        status: of what is there; None where nothing is, or a file is open.
    """

    path: str
    descriptor: int | None
    status: os.stat_result | None

    @property
    def is_file(self) -> bool:
        """Whether it is, or will be, a file that is replaced as a whole."""
        if self.descriptor is not None:
            return False
        return self.status is None or stat.S_ISREG(self.status.st_mode)

    @property
    def identity(self) -> object:
        """What is the same for two names of one place."""
        if self.status:
            return self.status.st_dev, self.status.st_ino
        return self.path if self.descriptor is None else self.descriptor


def check_outputs(outputs: Sequence[Output]) -> None:
    """See that *outputs* can be written: before any of them is, and before long work.

    Raises:
        UsageError: a name is empty, or two lead to the same place.
        OutputError: one cannot be written, or must not be.
    """
    seen: dict[object, Output] = {}
    for output in outputs:
        before = seen.setdefault(_look(output).identity, output)
        if before is not output:
            msg = f"{before.option} and {output.option} both write to {output.name}"
            raise UsageError(msg, hint="name two files")


def write_outputs(
    pieces: Sequence[tuple[Output, bytes]], *, mode: int = 0o666, private: bool = False
) -> None:
    """Write all *pieces*, files before streams; where each leads is looked at once more.

    Args:
        mode: of a new file; the umask leaves of it what it leaves.
        private: nobody else may read a file, new or not.

    Raises:
        OutputError: one cannot be written, or must not be; no file is half written.
    """
    found = [(output, _look(output), data) for output, data in pieces]
    made: list[str] = []
    with Held():
        try:
            files = [each for each in found if each[1].is_file]
            for output, place, data in files:
                with _saying(output):
                    made.append(
                        make_beside(
                            place.path, data, mode, place.status, private=private
                        )
                    )
            for output, place, _ in files:
                with _saying(output):
                    os.replace(made[0], place.path)
                del made[0]
        finally:
            for path in made:
                os.unlink(path)
    for output, place, data in found:
        if not place.is_file:
            with _saying(output):
                _put(place, data)


def descriptor_of(name: str) -> int | None:
    """Return the number of the open file that *name* stands for, or None.

    That is what ``-`` is, ``/dev/stdout``, ``/dev/fd/N``, and a link to such.
    """
    if name == "-":
        return STDOUT
    for _ in range(40):
        folder, last = os.path.split(name)
        # No system has more of them than nine digits count.
        is_number = last.isascii() and last.isdecimal() and len(last) < 10
        if is_number and os.path.realpath(folder) == f"/proc/{os.getpid()}/fd":
            return int(last)
        try:
            name = os.path.join(folder, os.readlink(name))
        except OSError:
            return None
    return None


def _look(output: Output) -> _Place:
    """Return where *output* leads, if it may be written; raise as ``check_outputs``."""
    if not output.name:
        msg = f"{output.option} is empty"
        raise UsageError(msg, hint="is the variable set that it comes from?")
    with _saying(output):
        place = _place(output.name)
        if place.descriptor is not None:
            is_stdout = place.descriptor == STDOUT
            _check_descriptor(
                stream_descriptor(STDOUT) if is_stdout else place.descriptor
            )
        elif place.is_file:
            folder = os.path.dirname(place.path)
            os.stat(f"{folder}/")
            if not os.access(folder, os.W_OK | os.X_OK):
                raise PermissionError(None, f"no file can be made in {folder}")
            _check_inputs(output, place, _Place(folder, None, os.stat(folder)))
            if place.status and not output.force:
                _check_ours(output, place.path, place.status)
        elif not (place.status and stat.S_IFMT(place.status.st_mode) in _OPEN):
            msg = f"{output.name} is not a regular file"
            raise OutputError(msg, hint=f"name a file, as in {output.example}")
    return place


def _place(name: str) -> _Place:
    descriptor = descriptor_of(name)
    if descriptor is not None:
        return _Place(name, descriptor, None)
    path = os.path.realpath(name)
    try:
        return _Place(path, None, os.stat(name))
    except FileNotFoundError:
        if name.endswith("/"):
            raise
        return _Place(path, None, None)


def _check_descriptor(descriptor: int | None) -> None:
    """Raise where an open file cannot be written; a stdout that is no file always can."""
    from fcntl import F_GETFL, fcntl

    if (
        descriptor is not None
        and fcntl(descriptor, F_GETFL) & os.O_ACCMODE == os.O_RDONLY
    ):
        raise PermissionError(None, "it is open for reading")


def _check_inputs(output: Output, place: _Place, folder: _Place) -> None:
    if any(_is_same(place, name) for name in output.inputs):
        msg = f"{output.name} is what is read, and would be lost"
        raise OutputError(msg, hint=f"name another file, as in {output.example}")
    for name in output.folders:
        if _is_same(folder, name):
            msg = f"{output.name} would be one of the files that are read in {name}"
            raise OutputError(msg, hint="write it to another folder")


def _is_same(place: _Place, name: str) -> bool:
    try:
        status = os.fstat(0) if name == "-" else os.stat(name)
    except OSError:
        return os.path.realpath(name) == place.path
    return place.status is not None and os.path.samestat(status, place.status)


def _check_ours(output: Output, path: str, status: os.stat_result) -> None:
    # Empty and private, as mktemp makes it. One that others may read can be the log of a
    # job that has just begun.
    if not status.st_size and not status.st_mode & 0o077:
        return
    other = (
        f"{output.option} takes a file to write, as in {output.example}; "
        "--force replaces what is there"
    )
    if output.kept:
        msg = f"{output.name}: is there already, and is not replaced"
        raise OutputError(msg, hint=other)
    with open(path, "rb") as file:
        head = file.read(_HEAD)
        if not has_mark(head):
            msg = f"{output.name} was not written by envcfg"
            raise OutputError(msg, hint=other)
        if not is_untouched(head + file.read()):
            msg = f"{output.name} has been changed since envcfg wrote it"
            raise OutputError(msg, hint="keep your changes elsewhere, or give --force")


def _put(place: _Place, data: bytes) -> None:
    if place.descriptor is not None:
        with Held():
            if place.descriptor == STDOUT:
                put_stream(STDOUT, data)
            else:
                put(place.descriptor, data)
        return
    handle = os.open(
        place.path, os.O_WRONLY | os.O_CLOEXEC
    )  # waits for a pipe's reader
    try:
        with Held():
            put(handle, data)
    finally:
        os.close(handle)


@contextmanager
def _saying(output: Output) -> Iterator[None]:
    """Say of which output it was what the system refuses."""
    try:
        yield
    except OSError as err:
        if isinstance(err, BrokenPipeError) and descriptor_of(output.name) == STDOUT:
            raise  # nobody reads any more, as with all that goes there
        msg = f"cannot write {output.name}: {err.strerror}"
        hint = f"name another file, as in {output.example}"
        raise OutputError(msg, hint=hint) from err
