"""``scripts/drift``: sources held against newer states of the repositories they name."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from envcfg.profile.validate import lacks_coordinates
from scripts.drifting.__main__ import all_entries, main, worst
from scripts.drifting.checkouts import compare, find_checkouts
from scripts.drifting.sources import Entry, Spot, read_entries, spots
from support import ROOT

PROFILE = """\
env:
  NCCL_NET:
    cases:
      - value: AWS Libfabric
        why: the plugin
        source: https://github.com/site/docs (commit {commit} of 2025-01-01, nccl.md)
        date: 2026-01-01
request:
  partitions:
    gpu-small:
      time: "1-00:00:00"
      source: https://github.com/site/docs (commit {commit}, limits.md, lines 2-3); https://a.example/
      date: 2026-01-01
"""


@pytest.fixture
def docs(tmp_path: Path) -> Path:
    """A repository of a site, with one commit."""
    folder = tmp_path / "site+docs" / "repo"
    folder.mkdir(parents=True)
    (folder / "nccl.md").write_text(
        "export NCCL_NET=x\nexport NCCL_NET_GDR_LEVEL=PHB\n"
    )
    (folder / "limits.md").write_text("# Limits\ngpu-small: a day\ngpu-big: a day\n")
    git(folder, "init", "-q", "-b", "main")
    save(folder)
    return folder


def git(folder: Path, *words: str) -> str:
    who = ("-c", "user.name=a", "-c", "user.email=a@example.org")
    env = {"PATH": os.environ["PATH"], "HOME": str(folder)}
    argv = ["git", "-C", str(folder), *who, *words]
    return subprocess.run(
        argv, check=True, capture_output=True, text=True, env=env
    ).stdout


def save(folder: Path) -> None:
    git(folder, "add", "-A")
    git(folder, "commit", "-qm", "state")


def entries(docs: Path) -> list[Entry]:
    path = docs.parent.parent / "profile.yaml"
    commit = git(docs, "rev-list", "--max-parents=0", "HEAD")[:7]
    path.write_text(PROFILE.format(commit=commit))
    return list(read_entries(path, path.parent))


def words(docs: Path) -> list[tuple[str, str]]:
    known = find_checkouts([docs.parent.parent])
    return [
        compare(each, each.spots[0], known.get(each.spots[0].repository))[::2]
        for each in entries(docs)
    ]


CHANGES = {
    "nothing": ("other.md", "", ["same", "same"]),
    "another variable": ("nccl.md", "export NCCL_NET=x\nexport NCCL_NET_GDR_LEVEL=SYS\n", ["same", "same"]),
    "the variable": ("nccl.md", "export NCCL_NET=y\nexport NCCL_NET_GDR_LEVEL=PHB\n", ["changed", "same"]),
    "the lines": ("limits.md", "# Limits\ngpu-small: a day\ngpu-big: a week\n", ["same", "changed"]),
    "another line": ("limits.md", "# Limit\ngpu-small: a day\ngpu-big: a day\n", ["same", "same"]),
}  # fmt: skip


@pytest.mark.parametrize("name", CHANGES)
def test_only_lines_that_a_source_is_read_for_count(name: str, docs: Path) -> None:
    path, text, expected = CHANGES[name]
    (docs / path).write_text(text)
    save(docs)
    found = words(docs)
    assert [word for word, _ in found] == expected
    assert all(bool(diff) is (word == "changed") for word, diff in found)


@pytest.mark.parametrize(
    ("added", "word"),
    [
        ("- Upgraded Slurm to version 26.05.1.\n", "changed"),
        ("- Slurm was 24.05.8 until then.\n", "same"),
        ("- CUDA 26.05.1\n", "same"),
    ],
)
def test_a_newer_slurm_elsewhere_in_the_source_is_noticed(
    docs: Path, added: str, word: str
) -> None:
    old = "# Changes\n\n- Upgraded Slurm to version 25.11.4.\n"
    (docs / "changes.md").write_text(old)
    save(docs)
    commit = git(docs, "rev-parse", "HEAD")[:7]
    profile = docs.parent.parent / "slurm.yaml"
    source = f"https://github.com/site/docs (commit {commit}, changes.md, line 3)"
    profile.write_text(f"slurm:\n  version: 25.11.4\n  source: {source}\n")
    (docs / "changes.md").write_text(old.replace("\n\n", f"\n\n{added}"))
    save(docs)
    (entry,) = read_entries(profile, profile.parent)
    assert compare(entry, entry.spots[0], docs).word == word


def test_what_is_no_longer_there_is_gone(docs: Path) -> None:
    (docs / "nccl.md").unlink()
    save(docs)
    assert [word for word, _ in words(docs)] == ["gone", "same"]


def test_what_cannot_be_held_against_anything_is_unreadable(docs: Path) -> None:
    entry = entries(docs)[0]
    assert compare(entry, entry.spots[0], None).word == "unreadable"
    unknown = entry.spots[0]._replace(commit="0123456")
    assert compare(entry, unknown, docs).word == "unreadable"
    assert (
        compare(entry, entry.spots[0]._replace(path="none.md"), docs).word
        == "unreadable"
    )


def test_fetch_clones_what_sources_name_and_tells_a_change_by_its_exit_code(
    docs: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    root = tmp_path / "project"
    (root / "profiles").mkdir(parents=True)
    entries(docs)
    (docs.parent.parent / "profile.yaml").rename(root / "profiles" / "a.yaml")
    hub = tmp_path / "hub" / "site"
    hub.mkdir(parents=True)
    docs.rename(hub / "docs")
    config = tmp_path / "config"
    config.write_text(
        f'[url "file://{hub.parent}/"]\n\tinsteadOf = https://github.com/'
    )
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(config))
    assert main(["--fetch"], root) == 0
    assert "2 same" in capsys.readouterr().out
    (hub / "docs" / "nccl.md").write_text("export NCCL_NET=y\n")
    save(hub / "docs")
    assert main(["--fetch"], root) == 1
    assert "+export NCCL_NET=y" in capsys.readouterr().out
    config.write_text(
        f'[url "file://{tmp_path}/none/"]\n\tinsteadOf = https://github.com/'
    )
    assert main(["--fetch"], root) == 1  # by what was fetched before
    assert "not fetched: site/docs: " in capsys.readouterr().out


def test_coordinates_are_read_from_a_source() -> None:
    source = "https://github.com/a/b (commit 0123abc of 2025-01-01, c/d.md, Heading); words, https://github.com/e/f (commit 89abcde, g, line 7)"
    assert list(spots(source)) == [
        Spot("a/b", "0123abc", "c/d.md", None),
        Spot("e/f", "89abcde", "g", (7, 7)),
    ]
    assert not list(spots("https://github.com/a/b; https://github.com/a/b/pull/7"))


def test_our_data_have_coordinates() -> None:
    found = [each for each in all_entries(ROOT) if each.where.startswith("profiles/")]
    assert len(found) > 700
    assert sum(bool(each.spots) for each in found) > 450
    assert worst(["same", "gone", "unreadable"]) == "gone"


def test_all_our_sources_in_repositories_have_their_place() -> None:
    entries = all_entries(ROOT)
    assert [
        f"{each.where}: {each.source}"
        for each in entries
        if lacks_coordinates(each.source)
    ] == []


def test_a_source_without_the_value_and_its_name_is_listed(docs: Path) -> None:
    entry, _ = entries(docs)
    known = find_checkouts([docs.parent.parent])["site/docs"]
    assert compare(entry, entry.spots[0], known).word == "same"
    other = entry._replace(words=frozenset({"NCCL_IB_HCA", "mlx5"}))
    assert compare(other, entry.spots[0], known).word == "lacks"
    assert worst(["same", "lacks"]) == "lacks"
