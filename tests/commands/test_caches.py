"""``envcfg caches``: kept caches are shown and removed, and nothing else is."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from schemas import errors
from support import Wrapped, envcfg

ONE, TWO = "1" * 40, "12" * 20
Caches = Callable[..., Wrapped]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder of two keys: the second was used a year ago."""
    kept = tmp_path / "kept"
    kept.mkdir(0o700)
    for name in (ONE, TWO):
        key = kept / name
        (key / "new").mkdir(parents=True)
        archive = "inductor-0123456789abcdef.tar.zst"
        (key / archive).write_bytes(bytes(3 << 20))
        (key / "inductor.manifest").write_text(
            f"{archive} {'0' * 64} 7 9437184 2026-11-25T15:49:02Z\n"
        )
        (key / "about").write_text("/images/torch.sif rocm=6.2.4\n")
    os.utime(kept / TWO / "about", (1763900000, 1763900000))
    return kept


@pytest.fixture
def caches(folder: Path) -> Caches:
    return lambda *words: envcfg("caches", *words, "--folder", str(folder))


def test_keys_are_listed_with_size_use_and_image(caches: Caches) -> None:
    first, second = caches().text.splitlines()
    assert first.startswith("111111111111    3.0 MiB  last used ")
    assert second == (
        "121212121212    3.0 MiB  last used 2025-11-23  /images/torch.sif rocm=6.2.4"
    )
    assert caches("list").text == caches().text


def test_a_key_is_shown_with_its_archives(caches: Caches) -> None:
    _, archive, savings = caches("show", "121").text.splitlines()
    assert archive == (
        "  inductor      3.0 MiB  7 files, 9.0 MiB unpacked, written 2026-11-25T15:49:02Z"
    )
    assert "savings unknown" in savings


def output(path: Path, seconds: int, note: str) -> str:
    begin, minutes = "2026-03-14 09:20:00", divmod(seconds, 60)
    path.write_text(
        f"{begin} start\nenvcfg: note: compile caches {note}\n"
        f" [2026-03-14 09:{20 + minutes[0]:02}:{minutes[1]:02}] iteration        1/     100 | "
        "consumed samples: 128 | elapsed time per iteration (ms): 4120.0 | lm loss: 1.0E+01 |\n"
    )
    return str(path)


def test_savings_are_the_seconds_to_the_first_step_in_two_outputs(
    caches: Caches, tmp_path: Path
) -> None:
    empty = "are empty: in /kept nothing is kept (key 121212121212)"
    copied = "copied to each node in 3 s: inductor 7 files, 9 MiB (key 121212121212)"
    cold = ("--log", output(tmp_path / "cold", 412, empty))
    warm = ("--log", output(tmp_path / "warm", 32, copied))
    slow = ("--log", output(tmp_path / "slow", 52, copied))
    shown = caches("show", "12", *cold, *warm).text
    assert shown.endswith(
        "  saves 380 s: first step after 32 s, without kept caches after 412 s\n"
    )
    assert "savings unknown" in caches("show", "11", *cold, *warm).text
    assert "savings unknown" in caches("show", "12", *cold).text
    first, second = caches(*cold, *warm, *slow).text.splitlines()
    assert "saves" not in first
    assert "  saves 360 s  /images/torch.sif" in second
    text = caches("--json", *cold, *warm).text
    assert errors("caches", text) == []
    assert [row["saved"] for row in json.loads(text)["keys"]] == [None, 380]


@pytest.mark.parametrize(
    "note",
    [
        "are empty: in /kept nothing is kept (key 121212121212, 343434343434)",
        "kept in /kept in 3 s: inductor 7 files, 9 MiB",
        "copied to each node in 3 s: inductor 7 files, 9 MiB",
    ],
)
def test_an_output_that_names_no_single_key_is_not_used(
    caches: Caches, tmp_path: Path, note: str
) -> None:
    done = caches("--log", output(tmp_path / "log", 412, note))
    assert "saves" not in done.text
    assert "shows no key of kept caches" in done.err


def test_an_output_that_cannot_be_read_is_an_error(
    caches: Caches, tmp_path: Path
) -> None:
    done = caches("--log", str(tmp_path / "none"))
    assert done.code == 4
    assert "cannot be read" in done.err


def test_the_json_is_as_its_schema_says(caches: Caches, folder: Path) -> None:
    (folder / ONE / "about").unlink()
    (folder / ONE / "inductor-0123456789abcdef.tar.zst").unlink()
    (folder / TWO / "triton.manifest").write_text("not a manifest")
    text = caches("--json").text
    assert errors("caches", text) == []
    second, first = json.loads(text)["keys"]
    assert (first["key"], first["used"], first["software"]) == (ONE, None, "")
    assert first["archives"][0]["packed"] is None
    assert (second["used"], second["packed"]) == (1763900000, 3 << 20)
    assert len(second["archives"]) == 1


def test_a_folder_that_does_not_exist_has_no_caches(tmp_path: Path) -> None:
    done = envcfg("caches", "--folder", str(tmp_path / "none"))
    assert done.code == 0
    assert done.text.startswith("no compile cache is kept in ")


@pytest.mark.parametrize(
    ("words", "stays"),
    [
        (["--unused", "30"], {ONE}),
        (["--unused", "0"], set()),
        (["--unused", "9000"], {ONE, TWO}),
        (["11"], {TWO}),
        ([ONE, TWO[:5]], set()),
        ([ONE, "--unused", "30"], {ONE, TWO}),
    ],
)
def test_prune_removes_the_chosen_keys(
    caches: Caches, folder: Path, words: list[str], stays: set[str]
) -> None:
    done = caches("prune", *words)
    assert done.code == 0, done.err
    assert set(os.listdir(folder)) == stays
    assert done.text.count("removed ") == 2 - len(stays)


def test_a_key_without_a_last_use_is_removed_by_name_alone(
    caches: Caches, folder: Path
) -> None:
    (folder / ONE / "about").unlink()
    caches("prune", "--unused", "0")
    assert os.listdir(folder) == [ONE]
    caches("prune", ONE)
    assert os.listdir(folder) == []


@pytest.mark.parametrize("part", ["lock", "new/7-inductor-0123"])
def test_a_key_that_a_job_writes_stays(caches: Caches, folder: Path, part: str) -> None:
    path = folder / ONE / part
    path.mkdir()
    done = caches("prune", ONE)
    assert done.code == 4
    assert "a job is writing it" in done.err
    assert (folder / ONE / "inductor.manifest").exists()
    old = time.time() - 601  # of a job that was killed
    os.utime(path, (old, old))
    assert caches("prune", ONE).code == 0
    assert not (folder / ONE).exists()


def test_a_prune_that_was_killed_is_completed_by_the_next(
    caches: Caches, folder: Path
) -> None:
    (folder / ONE).rename(folder / f".removed-{ONE}")
    assert caches().err == ""
    assert caches("prune", TWO).code == 0
    assert os.listdir(folder) == []


def _add_file(path: Path, outside: Path) -> None:
    assert outside
    path.write_text("mine")


def _add_folder(path: Path, outside: Path) -> None:
    assert outside
    path.mkdir()


def _add_link(path: Path, outside: Path) -> None:
    path.symlink_to(outside)


@pytest.mark.parametrize("add", [_add_file, _add_folder, _add_link])
@pytest.mark.parametrize("name", ["results", "inductor.manifest.old", "x.tar"])
def test_a_key_with_anything_else_in_it_stays(
    caches: Caches,
    folder: Path,
    tmp_path: Path,
    add: Callable[[Path, Path], None],
    name: str,
) -> None:
    add(folder / ONE / name, tmp_path)
    before = sorted(os.listdir(folder / ONE))
    done = caches("prune", ONE)
    assert done.code == 4
    assert f"envcfg did not write {name}" in done.err
    assert sorted(os.listdir(folder / ONE)) == before


@pytest.mark.parametrize("part", ["new", "lock", "about", "inductor.manifest"])
def test_links_lead_out_of_no_key(
    caches: Caches, folder: Path, tmp_path: Path, part: str
) -> None:
    """A link by a name of envcfg's is not followed: neither read nor removed."""
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "precious").write_text("secret 0 1 1 now")
    path = folder / ONE / part
    if path.is_dir():
        path.rmdir()
    path.unlink(missing_ok=True)
    is_folder = part in {"new", "lock"}
    path.symlink_to(outside if is_folder else outside / "precious")
    assert "secret" not in caches("--json").text
    assert caches("prune", ONE).code == 4
    assert (outside / "precious").read_text() == "secret 0 1 1 now"


def test_an_archive_outside_of_its_key_is_missing(caches: Caches, folder: Path) -> None:
    path = folder / ONE / "inductor.manifest"
    path.write_text("../../../etc/passwd 0 1 1 now\n")
    shown = json.loads(caches("show", ONE, "--json").text)
    assert shown["keys"][0]["archives"][0]["packed"] is None


def test_what_is_no_key_is_named_and_left_alone(
    caches: Caches, folder: Path, tmp_path: Path
) -> None:
    (folder / "data").mkdir()
    (folder / "data/about").write_text("mine")
    (folder / ("3" * 40)).symlink_to(tmp_path)
    (folder / ("4" * 40)).write_text("a file")
    done = caches("prune", "--unused", "0")
    assert done.code == 0
    assert f"left alone: {'3' * 40}, {'4' * 40}, data\n" in done.err
    assert set(os.listdir(folder)) == {"data", "3" * 40, "4" * 40}


@pytest.mark.parametrize("action", [("list",), ("prune", ONE)])
def test_a_folder_that_jobs_would_not_use_is_refused(
    caches: Caches, folder: Path, tmp_path: Path, action: tuple[str, ...]
) -> None:
    folder.chmod(0o755)
    done = caches(*action)
    assert (done.code, f"chmod 700 {folder}" in done.err) == (4, True)
    folder.chmod(0o700)
    (tmp_path / "link").symlink_to(folder)
    done = envcfg("caches", *action, "--folder", str(tmp_path / "link"))
    assert (done.code, "no job uses it" in done.err) == (4, True)
    (tmp_path / "file").write_text("")
    done = envcfg("caches", *action, "--folder", str(tmp_path / "file"))
    assert (done.code, "cannot be read" in done.err) == (4, True)
    assert set(os.listdir(folder)) == {ONE, TWO}
