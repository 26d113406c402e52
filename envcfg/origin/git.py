"""Profiles from a repository of git, of which nothing is run and nothing laid out.

Commit, folder and files are read as objects of a bare repository of our own. Without a
working tree there are no links, filters, attributes, submodules or hooks.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping, Sequence
from shlex import quote
from shutil import which

from envcfg.errors import OutputError
from envcfg.origin.fetched import (
    FOLDERS,
    Entry,
    Fetched,
    no_profiles,
    profiles_among,
)
from envcfg.origin.process import Ended, run_bounded

FETCH_SECONDS = 300
_SECONDS = 60
_MOST_BYTES = 128 << 20  # of a file that git writes: the pack with all that is fetched
_MOST_LISTED = 4 << 20  # bytes of what git lists of a folder
_BLOCK = 512  # bytes that sh counts files by
_CONFIG = (
    "core.hooksPath=/dev/null",
    "core.attributesFile=/dev/null",
    "core.fsmonitor=false",
    "core.bigFileThreshold=1m",
    "fetch.unpackLimit=1",  # one pack, whose size is limited
    "fetch.recurseSubmodules=false",
    "gc.auto=0",
    "maintenance.auto=false",
    "protocol.allow=never",
    "protocol.ext.allow=never",
    *(f"protocol.{each}.allow=always" for each in ("https", "ssh", "file")),
)
# What a user may say of ssh, certificates and proxies; all else could lead git elsewhere.
_KEPT = ("GIT_SSH", "GIT_SSL", "GIT_ASKPASS", "GIT_CONFIG_", "GIT_HTTP", "GIT_PROXY")
_ENTRY = re.compile(r"(\d+) (\w+) [0-9a-f]+ +(\d+|-)\t(.*)", re.DOTALL)
_FILE = "100"  # begins the mode of a plain file; a link's is 120000


class Repository:
    """A bare repository in a folder of ours, into which one commit is fetched."""

    def __init__(
        self, folder: str, environ: Mapping[str, str], *, may_ask: bool
    ) -> None:
        """Stand in *folder*, which is there and empty.

        Args:
            folder: for the repository.
            environ: of the process.
            may_ask: git may ask for a password on the terminal.

        Raises:
            OutputError: there is no git.
        """
        if which("git") is None:
            msg = "there is no git on PATH"
            raise OutputError(msg, hint="module load git, or add a folder")
        self.folder = folder
        self.may_ask = may_ask
        self.environ = {
            **{
                name: value
                for name, value in environ.items()
                if not name.startswith("GIT_") or name.startswith(_KEPT)
            },
            "LC_ALL": "C",
            "GIT_ALLOW_PROTOCOL": "https:ssh:file",
            "GIT_LFS_SKIP_SMUDGE": "1",
            "GIT_NO_LAZY_FETCH": "1",
            "GIT_NO_REPLACE_OBJECTS": "1",
            "GIT_OPTIONAL_LOCKS": "0",
        }
        if not may_ask:
            self.environ |= {
                "GIT_TERMINAL_PROMPT": "0",
                "GIT_ASKPASS": "/bin/false",
                "SSH_ASKPASS": "/bin/false",
                "SSH_ASKPASS_REQUIRE": "force",
            }

    def fetch(
        self,
        url: str,
        *,
        ref: str | None,
        folder: str | None,
        progress: Callable[[str], None] | None,
    ) -> Fetched:
        """Return the profiles of *url* at *ref*, of *folder* or the first usual one.

        Args:
            url: of a repository, or its path.
            ref: branch, tag or commit; None: where the repository's HEAD is.
            folder: where they lie in it.
            progress: takes what git says of it.

        Raises:
            OutputError: it cannot be fetched, or not all profiles can be read.
        """
        self._git("init", "--quiet", "--bare", "--template=", ".")
        got = self._run(
            ["fetch", "--depth=1", "--no-tags", "--progress", "--", url, ref or "HEAD"],
            seconds=FETCH_SECONDS,
            progress=progress,
        )
        if got.code:
            raise _failed(url, ref, got, is_full=self._is_full())
        form = "--format=%H%x00%cI%x00%an <%ae>"
        words = ["rev-parse", "--quiet", "--verify", "FETCH_HEAD^{commit}"]
        if self._run(words, most=_BLOCK).code:
            msg = f"{url}: {ref or 'HEAD'} is no commit"
            raise OutputError(msg, hint="a tag can name anything; take another --ref")
        said = self._git("log", "-1", "--no-show-signature", form, "FETCH_HEAD")
        commit, date, by = _text(said).rstrip("\n").split("\0", 2)
        for each in FOLDERS if folder is None else (folder,):
            tree = f"{commit}:{each}"
            listed = self._run(["ls-tree", "-l", "-z", tree], most=_MOST_LISTED)
            if listed.code:  # there is no such folder
                continue
            where = f"{url}/{each}".rstrip("/")
            if listed.is_cut:
                msg = f"{where}: holds too many files"
                raise OutputError(msg, hint="name another folder by --folder")
            entries = [_entry(line) for line in _text(listed.out).split("\0")[:-1]]
            if names := profiles_among(entries, where):
                prefix = f"{tree}/" if each else tree
                blobs = {
                    name: self._git("cat-file", "blob", prefix + name) for name in names
                }
                return Fetched(blobs, each, commit, date, by)
        raise no_profiles(url, folder)

    def _git(self, *words: str) -> bytes:
        done = self._run(words, most=_MOST_LISTED)
        if done.code or done.is_cut:
            msg = f"git {words[0]} failed: {done.said or done.code}"
            raise OutputError(msg, hint="the repository may be damaged")
        return done.out

    def _is_full(self) -> bool:
        """Tell whether a file has reached the limit: git says nothing of that."""
        with os.scandir(f"{self.folder}/objects/pack") as found:
            return any(each.stat().st_size >= _MOST_BYTES for each in found)

    def _run(
        self,
        words: Sequence[str],
        *,
        most: int = 0,
        seconds: float = _SECONDS,
        progress: Callable[[str], None] | None = None,
    ) -> Ended:
        config = [word for each in _CONFIG for word in ("-c", each)]
        limit = [
            "sh",
            "-c",
            'ulimit -f "$0" 2>/dev/null; exec "$@"',
            str(_MOST_BYTES // _BLOCK),
        ]
        return run_bounded(
            [*limit, "git", f"--git-dir={self.folder}", *config, *words],
            environ=self.environ,
            folder=self.folder,
            most=most,
            seconds=seconds,
            in_terminal=self.may_ask,
            progress=progress,
        )


def _entry(line: str) -> Entry:
    found = _ENTRY.fullmatch(line)
    if found is None:
        raise AssertionError(line)
    mode, kind, size, name = found.groups()
    is_file = kind == "blob" and mode.startswith(_FILE)
    return Entry(name, int(size) if is_file else None)


def _text(data: bytes) -> str:
    return data.decode("utf-8", "surrogateescape")


def _failed(url: str, ref: str | None, done: Ended, *, is_full: bool) -> OutputError:
    at = f" at {ref}" if ref else ""
    if done.is_late:
        why = f"not within {FETCH_SECONDS} s"
    elif is_full:
        why = f"more than {_MOST_BYTES >> 20} MiB"
    else:
        why = done.said or f"git ended with {done.code}"
    hint = f"git ls-remote {url} says whether it can be reached"
    if others := re.search("dubious ownership in repository at '(.*?)'", why):
        hint = "it is another's; if you trust its owner: git config --global --add "
        hint += f"safe.directory {quote(others[1])}"
    return OutputError(f"{url}{at}: cannot be fetched: {why}", hint=hint)
