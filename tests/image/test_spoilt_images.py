"""Images that are cut or changed anywhere: a result or one clear error, in bounded time."""

from __future__ import annotations

import os
import resource
import signal
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from made_forms import COMPRESSORS, LABELS, Part, make_sif, root_part, squash

from envcfg.common.errors import ImageError
from envcfg.image import compression
from envcfg.image.bounded_file import FormError
from envcfg.image.open_image import open_image
from envcfg.image.squashfs import SquashTree
from envcfg.image.tree import Tree
from fuzzing import tries

MOST_MEMORY = 400 << 20  # bytes of addresses beyond what there is before
MOST_SECONDS = 20
MOST_VISITS = 300


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    """Return a small image in each form."""
    root = tmp_path_factory.mktemp("spoilt")
    folder = root / "folder"
    for name in ("etc", "usr/lib/deep/er", "many"):
        (folder / name).mkdir(parents=True)
    (folder / "etc/os-release").write_text("ID=x\n" * 30)
    with suppress(OSError):  # not every file system has attributes
        os.setxattr(folder / "usr", "user.overlay.opaque", b"y")
        os.setxattr(folder / "many", "user.other", b"y" * 300)
    (folder / "link").symlink_to("usr/lib")
    (folder / "usr/lib/large").write_bytes(bytes(range(256)) * 200 + b"z" * 9000)
    for number in range(40):
        (folder / f"many/file-{number:02}").write_text(f"{number}\n" * number)
    forms = {}
    for name in COMPRESSORS:
        made = squash(folder, root / name, "-comp", name, "-b", "8192")
        forms[name] = made.read_bytes()
    forms["stored"] = squash(folder, root / "s", "-noI", "-noD", "-noF").read_bytes()
    parts = [Part(LABELS, b'{"a": "b"}'), root_part(forms["stored"])]
    forms["sif"] = make_sif(root / "sif", parts).read_bytes()
    return forms


@pytest.fixture
def bounds() -> Iterator[None]:
    """Let this process have only so much more memory, and so much time for a test."""
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    soft, hard = resource.getrlimit(resource.RLIMIT_AS)
    most = pages * resource.getpagesize() + MOST_MEMORY
    resource.setrlimit(resource.RLIMIT_AS, (most, hard))
    yield
    resource.setrlimit(resource.RLIMIT_AS, (soft, hard))


def look_around(tree: Tree) -> None:
    """Look at every file, until there are more than an image of this size has."""
    left = ["/"]
    for _ in range(MOST_VISITS):
        if not left:
            return
        path = left.pop(0)
        try:
            entry = tree.look(path)
            names = tree.names(path)
            if isinstance(tree, SquashTree):
                tree.has_opaque_mark(path)
            left += [f"{path.rstrip('/')}/{name}" for name in names[:50]]
            file = tree.open(path) if entry else None
            if file is not None:
                with file:
                    file.read(1 << 16)
                    file.seek(max(0, (entry.size if entry else 0) - 5))
                    file.read(1 << 16)
        except FormError:
            continue


def try_to_read(image: Path) -> None:
    def late(*_: object) -> None:
        raise AssertionError("it takes too long")

    error = None
    before = signal.signal(signal.SIGALRM, late)
    signal.alarm(MOST_SECONDS)
    try:
        with open_image(str(image)) as (tree, _):
            look_around(tree)
    except ImageError as err:
        error = err
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)
    if error is not None:
        assert error.message.startswith(str(image))
        assert error.hint


FORMS = [*COMPRESSORS, "stored", "sif"]
# Most of the bytes that lead somewhere stand in the beginning and the end.
PLACES = st.one_of(st.integers(0, 200), st.integers(-600, -1), st.integers(0, 1 << 20))


@pytest.mark.nightly
@pytest.mark.usefixtures("bounds")
@pytest.mark.parametrize("form", FORMS)
@tries(120)
@given(changes=st.lists(st.tuples(PLACES, st.integers(0, 255)), min_size=1, max_size=4))
def test_changed_bytes_never_break_anything(
    form: str,
    changes: list[tuple[int, int]],
    made: dict[str, bytes],
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    data = bytearray(made[form])
    for place, value in changes:
        data[place % len(data)] = value
    image = tmp_path_factory.getbasetemp() / f"changed-{form}"
    image.write_bytes(data)
    try_to_read(image)


@pytest.mark.usefixtures("bounds")
@pytest.mark.parametrize("form", FORMS)
@tries(60)
@given(cut=st.one_of(st.integers(0, 400), st.integers(0, 1 << 20)), zeros=st.booleans())
def test_a_cut_image_is_refused(
    form: str,
    cut: int,
    zeros: bool,
    made: dict[str, bytes],
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    data = made[form]
    cut %= len(data)
    image = tmp_path_factory.getbasetemp() / f"cut-{form}"
    image.write_bytes(data[:cut] + bytes((len(data) - cut) * zeros))
    try_to_read(image)


@pytest.mark.usefixtures("bounds")
@pytest.mark.parametrize("number", range(1, 7))
@tries(200)
@given(data=st.binary(max_size=300), most=st.sampled_from([0, 1, 100, 8192]))
def test_a_block_never_becomes_more_than_it_may(
    number: int, data: bytes, most: int
) -> None:
    reader = compression.reader_of(number)
    try:
        found = reader(data, most)
    except FormError:
        return
    assert len(found) <= most + 1 + len(data)


@pytest.mark.usefixtures("bounds")
def test_a_bomb_is_refused() -> None:
    import lzma
    import zlib

    if sys.version_info >= (3, 14):
        from compression import zstd
    else:
        from backports import zstd

    zeros = bytes(64 << 20)
    for number, data in (
        (1, zlib.compress(zeros)),
        (4, lzma.compress(zeros[: 8 << 20])),
        (6, zstd.compress(zeros)),
        (5, b"\x1f\0\1\0" + b"\xff" * (1 << 18) + b"\0"),
        (3, b"\x12\0\x20" + bytes(1 << 18) + b"\x01\0\0"),
    ):
        try:
            assert len(compression.reader_of(number)(data, 8192)) <= 8193
        except FormError as err:
            assert "larger than it may be" in str(err)  # noqa: PT017
