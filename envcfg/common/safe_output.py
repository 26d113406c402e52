"""Output of commands: written completely or not at all, and never over a user's file.

All commands use this module. ``-`` is stdout; devices, pipes and files opened by the
shell (``/dev/stdout``, ``>(cat)``) are written directly. A file is replaced in one step
if the command does not read it, and if envcfg has written it before.
"""

import os
import stat
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import NamedTuple

from envcfg.common.atomic_write import make_beside, put_file
from envcfg.common.errors import OutputError, UsageError
from envcfg.common.failure import STDOUT, put, put_stream, stream_descriptor
from envcfg.common.interrupts import BlockedSignals
from envcfg.common.provenance import has_mark, is_untouched

_OPEN = (stat.S_IFCHR, stat.S_IFIFO)  # kinds that are written directly
_HEAD = 256  # bytes of a file that contain its mark


class Output(NamedTuple):
    """A text and its destination."""

    name: str  # the name given by the user
    option: str  # the option with the name
    example: str  # options with a valid name, for the hint
    inputs: Collection[str] = ()  # files that the command reads; `-` is standard input
    # Folders whose present and future files the command reads.
    folders: Collection[str] = ()
    force: bool = False  # files that envcfg did not write may be replaced
    # An existing file is kept, even envcfg's own, because users edit it.
    keep_existing: bool = False
    # The user's own file is changed, so its access rights apply and its hard links
    # remain.
    is_edit: bool = False


class _Place(NamedTuple):
    """The target of a name."""

    path: str  # the path without links
    # The descriptor of an open file; None if *path* must be opened.
    descriptor: int | None
    # The status of an existing file; None if it is missing or already open.
    status: os.stat_result | None

    @property
    def is_file(self) -> bool:
        """Whether it is, or will become, a regular file, which is replaced as a whole."""
        # A device or pipe cannot be replaced in one step.
        if self.descriptor is not None:
            return False
        return self.status is None or stat.S_ISREG(self.status.st_mode)

    @property
    def identity(self) -> object:
        """The identity of a place; equal for two names of one place."""
        if self.status:
            return self.status.st_dev, self.status.st_ino
        return self.path if self.descriptor is None else self.descriptor


def check_outputs(outputs: Sequence[Output]) -> None:
    """Check that all *outputs* can be written, before long work and before writing any.

    Raises:
        UsageError: a name is empty, or two lead to the same place.
        OutputError: one cannot be written, or must not be.
    """
    destinations: dict[object, Output] = {}
    for output in outputs:
        before = destinations.setdefault(_look(output).identity, output)
        if before is not output:
            msg = f"{before.option} and {output.option} both write to {output.name}"
            raise UsageError(msg, hint="name two files")


def write_outputs(
    pieces: Sequence[tuple[Output, bytes]], *, mode: int = 0o666, private: bool = False
) -> None:
    """Write all *pieces*, files before streams; their targets are checked once more.

    Args:
        mode: of a new file, reduced by the umask.
        private: nobody else may read a file, new or not.

    Raises:
        OutputError: one cannot be written, or must not be; no file is half written.
    """
    places = [(output, _look(output), data) for output, data in pieces]
    created: list[str] = []
    with BlockedSignals():
        try:
            files = [place for place in places if place[1].is_file]
            for output, place, data in files:
                with _saying(output):
                    created.append(
                        make_beside(
                            place.path, data, mode, place.status, private=private
                        )
                    )
            for output, place, _ in files:
                with _saying(output):
                    os.replace(created[0], place.path)
                del created[0]
        finally:
            for path in created:
                os.unlink(path)
    for output, place, data in places:
        if not place.is_file:
            with _saying(output):
                _put(place, data)


def descriptor_of(name: str) -> int | None:
    """Return the descriptor that *name* (such as ``/dev/stdout``) refers to, or None.

    ``-``, ``/dev/stdout``, ``/dev/fd/N`` and links to them refer to open files.
    """
    if name == "-":
        return STDOUT
    for _ in range(40):
        folder, last = os.path.split(name)
        # No system has more descriptors than nine digits can count.
        is_number = last.isascii() and last.isdecimal() and len(last) < 10
        if is_number and os.path.realpath(folder) == f"/proc/{os.getpid()}/fd":
            return int(last)
        try:
            name = os.path.join(folder, os.readlink(name))
        except OSError:
            return None
    return None


def is_file(name: str) -> bool:
    """Return whether *name* is, or will become, a regular file, which is replaced as a
    whole.

    Raises:
        OSError: its folder cannot be read.
    """
    return _place(name).is_file


def keep_file(path: str, data: bytes, *, hint: str) -> None:
    """Write *data* to *path*, and create its folder; a file with the same data stays.

    Raises:
        OutputError: it cannot be written; the *hint* is that of the error.
    """
    try:
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with suppress(FileNotFoundError), open(path, "rb") as file:
            if file.read() == data:
                return
        with BlockedSignals():
            put_file(path, data, 0o666, private=False)
    except OSError as err:
        msg = f"cannot write {path}: {err.strerror}"
        raise OutputError(msg, hint=hint) from err


def _look(output: Output) -> _Place:
    """Return the target of *output* if it can be written; raise as ``check_outputs``."""
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
            if place.status and output.is_edit:
                _check_rights(output, place.status)
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
    """Raise if an open file cannot be written; None means a stdout in memory, which can."""
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


def _check_rights(output: Output, status: os.stat_result) -> None:
    """Raise an error if the file is read-only or has hard links.

    The file is replaced by a new one. That needs no permission to write the old file,
    and the other hard links would keep the old text.
    """
    may_write = status.st_mode & 0o222
    if may_write and os.geteuid() != 0:
        may_write = os.access(output.name, os.W_OK)
    if not may_write:
        msg = f"cannot write {output.name}: it is read-only"
        raise OutputError(msg, hint=f"chmod u+w it, or name another: {output.example}")
    if status.st_nlink > 1:
        msg = f"cannot write {output.name}: it has {status.st_nlink} names (hard links)"
        hint = "copy it to a new file first: the other names would keep the old text"
        raise OutputError(msg, hint=hint)


def _check_ours(output: Output, path: str, status: os.stat_result) -> None:
    # An empty private file may come from mktemp. An empty file that others can read may
    # be the log of a job that has just begun.
    if not status.st_size and not status.st_mode & 0o077:
        return
    remedy = (
        f"{output.option} takes a file to write, as in {output.example}; "
        "--force replaces what is there"
    )
    if output.keep_existing:
        msg = f"{output.name}: is there already, and is not replaced"
        raise OutputError(msg, hint=remedy)
    with open(path, "rb") as file:
        head = file.read(_HEAD)
        if not has_mark(head):
            msg = f"{output.name} was not written by envcfg"
            raise OutputError(msg, hint=remedy)
        if not is_untouched(head + file.read()):
            msg = f"{output.name} has been changed since envcfg wrote it"
            raise OutputError(msg, hint="keep your changes elsewhere, or give --force")


def _put(place: _Place, data: bytes) -> None:
    if place.descriptor is not None:
        with BlockedSignals():
            if place.descriptor == STDOUT:
                put_stream(STDOUT, data)
            else:
                put(place.descriptor, data)
        return
    handle = os.open(
        place.path, os.O_WRONLY | os.O_CLOEXEC
    )  # waits for a pipe's reader
    try:
        with BlockedSignals():
            put(handle, data)
    finally:
        os.close(handle)


@contextmanager
def _saying(output: Output) -> Iterator[None]:
    """Add the output's name to a system error."""
    try:
        yield
    except OSError as err:
        if isinstance(err, BrokenPipeError) and descriptor_of(output.name) == STDOUT:
            raise  # the reader is gone, as for any output
        msg = f"cannot write {output.name}: {err.strerror}"
        hint = f"name another file, as in {output.example}"
        raise OutputError(msg, hint=hint) from err
