"""The files of a project that affect a job: trusted together, by their content.

They arrive with a clone, so the user may never have read them: ``envcfg.toml``, the
profiles in ``.envcfg/profiles``, and all project files named in these.
"""

from __future__ import annotations

import os
import re
import stat
import sys
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from typing import Any

from envcfg.common.characters import split_lines
from envcfg.common.errors import LibraryError, UsageError
from envcfg.common.nesting import check_depth, refuse_depth
from envcfg.profile.folders import PROJECT_DEFAULTS, PROJECT_FOLDER, listed
from envcfg.profile.guard import strangers_on
from envcfg.profile.read.yaml_nodes import LIST, MAPPING, MAX_BYTES, NotYamlError
from envcfg.profile.trust_records import Content, FileSet, load_record, text_of

_LARGEST = 16_000  # bytes of defaults: Python needs minutes for a key of 10,000 parts
_MOST_FILES = 500  # files that are read and recorded
_MOST_NAMES = 20_000  # names that are looked up
# Keys of a profile with texts for readers. They name no files.
_PROSE = frozenset({"why", "source", "date", "summary"})
# An image is too large to read, so only its name is trusted.
_IMAGE = "container"
# The beginning of a path that the job completes, such as ${PWD}/lib.sh. It is taken
# as the project's folder.
_FROM_ROOT = re.compile(r"(?:\$\w+|\$\{[^}]*\}|\$\([^)]*\))\"?/")
_BETWEEN = re.compile(r"[\s=:,;|&<>()\"'`\[\]{}]+")
_SHELL_LINE = re.compile(r"#!.*sh\b")


def project_root(path: str) -> str | None:
    """Return the folder of the nearest project around *path*, without links.

    A folder ``.envcfg`` without profiles is not a project: scripts of envcfg make it
    too.
    """
    # Links are resolved first: a link in another folder must not choose the
    # project.
    folder = os.path.realpath(path)
    while True:
        if any(
            os.path.exists(f"{folder}/{name}")
            for name in (PROJECT_DEFAULTS, PROJECT_FOLDER)
        ):
            return folder
        if folder == os.path.dirname(folder):
            return None
        folder = os.path.dirname(folder)


def read_project(root: str, record: Mapping[str, bytes] | None = None) -> FileSet:
    """Return the files that belong to the project *root* by their place.

    Args:
        record: content of files that were already read, by path below *root*.
    """
    paths = [
        PROJECT_DEFAULTS,
        *(f"{PROJECT_FOLDER}/{name}" for name in _profiles(root)),
    ]
    own: dict[str, Content] = {}
    for path in paths:
        full_text = f"{root}/{path}"
        # The bytes already read are used again, so that the judged and the used
        # content are the same.
        if record and path in record:
            own[path] = text_of(record[path])
        # A file of another user is not recorded: it can change after the user has
        # agreed.
        elif os.path.isfile(full_text) and not _is_strangers(full_text, root):
            own[path] = read_content(full_text)
    return FileSet(root, own)


def _profiles(root: str) -> list[str]:
    return sorted(n for n in listed(f"{root}/{PROJECT_FOLDER}") if n.endswith(".yaml"))


def _is_strangers(path: str, root: str) -> bool:
    try:
        return strangers_on(path, root) is not None
    # If the owner is unknown, the file counts as a stranger's.
    except OSError:
        return True


def is_trusted(
    records: str, files: FileSet, contents: Mapping[str, bytes] | None = None
) -> bool:
    """Return whether the user trusts *files* and the files they name.

    Args:
        contents: content that is already read and will be used, by path without links.
            The file itself may have changed since.
    """
    file_set = load_record(records, files)
    if file_set is None:
        return False
    texts = {path: text_of(data) for path, data in (contents or {}).items()}
    for name, trusted in file_set.named.items():
        path = f"{files.root}/{name}"
        # A missing file has no content that could be used.
        text = (
            texts.get(os.path.realpath(path)) if texts and trusted is not None else None
        )
        if (read_content(path) if text is None else text) != trusted:
            return False
    return True


def is_member(records: str, files: FileSet, path: str) -> bool:
    """Return whether the file *path*, without links, is trusted with *files*."""
    file_set = load_record(records, files) or with_named(files)
    members = (f"{files.root}/{content}" for content in file_set.contents)
    return any(path == os.path.realpath(member) for member in members)


def read_content(path: str) -> Content:
    """Return the recorded content of a file; None if it is missing or unreadable."""
    flags = os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC  # opening a pipe must not block
    try:
        with open(os.open(path, flags), "rb") as file:
            status = os.fstat(file.fileno())
            # A device or pipe can return other bytes each time, so its content
            # proves nothing.
            if not stat.S_ISREG(status.st_mode):
                return None
            data = file.read(MAX_BYTES + 1)
    except (OSError, ValueError):
        return None
    # Large files are compared by size and time. Their text would make the record
    # too long.
    if len(data) > MAX_BYTES:
        return [status.st_size, status.st_mtime_ns]
    return text_of(data)


def parse_toml(data: bytes, path: str) -> Mapping[str, Any]:
    """Return the content of *path*, a file of defaults.

    Raises:
        ValueError: it is not TOML, or is larger than a file of defaults should be.
        LibraryError: this Python has no reader for TOML.
    """
    try:
        if sys.version_info >= (3, 11):
            from tomllib import loads
        else:
            from tomli import loads
    except ImportError as err:
        raise LibraryError(package="tomli", use=f"reading {path}") from err
    if len(data) > _LARGEST:
        msg = f"more than {_LARGEST} bytes are too many"
        # A BOM and Windows line ends are harmless here, but tomllib accepts
        # neither.
        raise ValueError(msg)
    try:
        document = loads(data.decode("utf-8-sig").replace("\r\n", "\n"))
    except RecursionError:
        refuse_depth()
    check_depth(document)
    return document


def with_named(files: FileSet) -> FileSet:
    """Return *files* with the content of the project files that they name.

    A name without a file is recorded too: the file may appear with the next change.

    Raises:
        UsageError: they name more files than a person can review.
    """
    contents: dict[str, Content] = {}
    # A worklist instead of recursion: scripts may source each other in a circle.
    todo = [(path, text) for path, text in files.own.items() if isinstance(text, str)]
    while todo:
        path, text = todo.pop()
        for name in _names_in(files.root, path, text):
            if name in contents or name in files.own:
                continue
            content = contents[name] = read_content(f"{files.root}/{name}")
            # Only texts are searched for more names; a large file is recorded by
            # its size.
            if isinstance(content, str):
                todo.append((name, content))
        # Both limits are tested in the loop, because a hostile project could name
        # files forever.
        count = sum(content is not None for content in contents.values())
        if count > _MOST_FILES or len(contents) > _MOST_NAMES:
            msg = f"{files.root}: its profiles and envcfg.toml name too many files"
            raise UsageError(msg, hint=f"name at most {_MOST_FILES} files")
    return files._replace(named=contents)


def _names_in(root: str, path: str, text: str) -> Iterator[str]:
    """Yield all paths, relative to *root*, that the text of a file may name."""
    # The search is generous: a name too many costs a lookup, a missing one would
    # skip the review.
    repository = _repository(root)
    if path == PROJECT_DEFAULTS:
        yield from _paths(_toml_texts(text), root, repository)
        return
    _, extension = os.path.splitext(path)
    # A name without an extension may be of a profile or of a script.
    if extension in {".yaml", ".yml", ""}:
        yield from _paths(_yaml_texts(text), root, repository)
    if extension in {".sh", ".bash", ".env", ""} or _SHELL_LINE.match(text):
        lines = [line for line in split_lines(text) if line.strip()[:1] != "#"]
        # bash resolves a sourced name from the current folder, authors mean the
        # script's folder.
        for folder in (root, os.path.dirname(f"{root}/{path}")):
            yield from _paths(lines, root, repository, script_folder=folder)


def _repository(root: str) -> str:
    """Return the folder of the repository that contains *root*, or *root* itself."""
    folder = root
    while folder != os.path.dirname(folder):
        if os.path.exists(f"{folder}/.git"):
            return folder
        folder = os.path.dirname(folder)
    return root


def _paths(
    texts: Iterable[str], root: str, repository: str, script_folder: str = ""
) -> Iterator[str]:
    """Yield the relative paths in *texts*, and the absolute ones in the repository.

    All results are relative to *root*.

    Args:
        script_folder: the start of relative paths, if *texts* are lines of a script.
    """
    # Without HOME, the path must not match any folder of the project.
    home = os.environ.get("HOME") or "/nonexistent"
    for text in texts:
        # Both spellings of the home folder occur in profiles and scripts.
        full_text = re.sub(
            r"(?:^|(?<=[\s=:,]))~/|\$HOME/|\$\{HOME\}/", f"{home}/", text
        )
        for word in {full_text, *_BETWEEN.split(_FROM_ROOT.sub("./", full_text))}:
            # A word of a script is a path only if it looks like one.
            if not word or (script_folder and not {"/", "."} & {*word}):
                continue
            path = os.path.normpath(os.path.join(script_folder or root, word))
            is_foreign = word[0] == "/" and not path.startswith(f"{repository}/")
            # No file name that a person can review contains NUL or a line end.
            if not (is_foreign or "\0" in path or "\n" in path):
                yield os.path.relpath(path, root)


def _toml_texts(text: str) -> Iterator[str]:
    with suppress(ValueError):  # the file is refused when it is read
        document = parse_toml(text.encode("utf-8", "surrogateescape"), PROJECT_DEFAULTS)
        yield from _leaves([v for key, v in document.items() if key != _IMAGE])


def _leaves(value: Any) -> Iterator[str]:  # noqa: ANN401  # any of TOML
    todo = [value]
    while todo:
        value = todo.pop()
        if isinstance(value, str):
            yield value
        elif isinstance(value, (list, dict)):
            todo += value.values() if isinstance(value, dict) else value


# The nodes are walked without building a document, because anchors could expand it
# without limit.
def _yaml_texts(text: str) -> Iterator[str]:
    from envcfg.profile.read.yaml_text import compose

    todo = []
    with suppress(NotYamlError):  # the file is refused when it is read
        todo = [compose(text)]
    while todo:
        node = todo.pop()
        if node is None:
            continue
        if node[0] == LIST:
            todo += node[1]
        elif node[0] == MAPPING:
            for key, value in zip(node[1][::2], node[1][1::2], strict=True):
                if key[1] not in _PROSE:
                    todo += [key, value]
        else:
            yield str(node[1])
