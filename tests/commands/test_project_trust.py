"""The files of a clone run nothing before the user trusts them, all together."""

from __future__ import annotations

import os
import pty
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from support import Wrapped, bash, envcfg, require_root, trust

REASON = "why: w, source: s, date: 2026-01-01"
STEP = ("--container", "none", "--launcher", "local", "--ranks", "1")
RUN = (*STEP, "--", "true")
SRUN = ("--profile", "workstation", "--launcher", "srun")
RUNS_EVIL = f"""\
name: x
env:
  BASH_ENV: {{value: "${{PWD}}/evil.sh", force: true, {REASON}}}
"""


@pytest.fixture
def clone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project that the user has cloned, and no other layers."""
    for name in ("ENVCFG_PROFILE", "SLURM_CLUSTER_NAME", "SLURM_JOB_ID"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("ENVCFG_SITE", str(tmp_path / "site"))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    folder = tmp_path / "clone"
    folder.mkdir()
    monkeypatch.chdir(folder)
    return folder


def write(folder: Path, **files: str) -> None:
    """Write files by name: ``a__b`` is ``a/b``, a last ``_yaml`` an extension."""
    names = {"toml": "envcfg.toml", "profile": ".envcfg/profiles/x.yaml"}
    for key, text in files.items():
        path = folder / names.get(key, key.replace("__", "/").replace("_", "."))
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


def refused(*words: str) -> Wrapped:
    done = envcfg("wrap", *STEP, *words, "--", "true")
    assert done.code == 2, done.err
    assert "not trusted: it comes with the project " in done.err
    assert b"evil" not in done.out.partition(b"printf")[0]
    sourced = bash(b"source /dev/stdin\necho goes on", stdin=done.out)
    assert (sourced.returncode, sourced.stdout) == (2, b"")
    return done


def taken(*words: str) -> Wrapped:
    done = envcfg("wrap", *STEP, *words, "--", "true")
    assert done.code == 0, done.err
    return done


# How a clone brings a profile or code into a script.
WAYS: dict[str, tuple[dict[str, str], tuple[str, ...]]] = {
    "a path": ({"toml": 'profile = "x.yaml"\n', "x_yaml": RUNS_EVIL}, ()),
    "a path with a dot": ({"toml": 'profile = "./sub/x.yaml"\n', "sub__x_yaml": RUNS_EVIL}, ()),
    "a name of the project": ({"toml": 'profile = "x"\n', "profile": RUNS_EVIL}, ()),
    "a name with its layer": ({"toml": 'profile = "project:x"\n', "profile": RUNS_EVIL}, ()),
    "the user's word for a name": ({"profile": RUNS_EVIL}, ("--profile", "x")),
    "a built-in profile's name": ({".envcfg__profiles__workstation_yaml": RUNS_EVIL.replace("x", "workstation", 1)}, ("--profile", "workstation")),
    "detection": ({"profile": f"{RUNS_EVIL}detect: {{hosts: ['*']}}\n"}, ()),
    "a family": ({"toml": 'profile = "y.yaml"\n', "y_yaml": "name: y\nextends: x\n", "profile": RUNS_EVIL}, ()),
    "a family of a file that the user names": ({"y_yaml": "name: y\nextends: x\n", "profile": RUNS_EVIL}, ("--profile", "y.yaml")),
    "set": ({"toml": '[set]\nBASH_ENV = "evil.sh"\n'}, ("--profile", "workstation")),
    "setup": ({"toml": 'setup = "evil.sh"\n'}, ("--profile", "workstation")),
    "commands": ({"toml": 'setup = ". ./evil.sh"\n'}, ("--profile", "workstation")),
    "srun": ({"toml": 'srun-arg = "--task-prolog=evil.sh"\n'}, SRUN),
}  # fmt: skip


@pytest.mark.parametrize("way", WAYS)
def test_nothing_of_a_clone_runs_before_it_is_trusted_and_after_a_change(
    clone: Path, way: str
) -> None:
    files, words = WAYS[way]
    write(clone, **files, evil_sh="touch pwned\n")
    first = refused(*words)
    assert f"envcfg profiles trust {clone}" in first.err
    assert "\n  +" not in first.err  # all of it is new
    trust(clone)
    taken(*words)
    for path in [*clone.rglob("*.yaml"), *clone.rglob("envcfg.toml")]:
        if path.name in words:
            continue  # it is the user's own word
        text = path.read_text()
        path.write_text(f"{text}# another\n")
        again = refused(*words)
        assert "it has changed since you trusted it" in again.err
        assert f"  +++ {path.relative_to(clone)}" in again.err
        assert "\n  +# another" in again.err
        path.write_text(text)
        taken(*words)


# What a named script is: trusted with the files that name it.
NAMED: dict[str, str] = {
    "setup": 'setup = "evil.sh"\n',
    "in commands": 'setup = "export A=1; . ./evil.sh"\n',
    "in quotes": 'setup = "source \\"evil.sh\\""\n',
    "of the folder of the job": 'setup = "source $PWD/evil.sh"\n',
    "of a folder that the shell tells": 'setup = "source $(pwd)/evil.sh"\n',
    "an option": 'srun-arg = ["--task-prolog=evil.sh"]\n',
    "an option that is a path": 'srun-arg = "--task-prolog=${HOME}/../clone/evil.sh"\n',
    "a value": '[set]\nBASH_ENV = "evil.sh"\n',
    "one of several": '[set]\nLD_PRELOAD = "/lib/a.so:./evil.sh"\n',
    "by way of another": 'setup = "setup.sh"\n',
    "by a profile": 'profile = "x.yaml"\n',
    "by an option of a profile": 'profile = "y.yaml"\n',
}  # fmt: skip


@pytest.mark.parametrize("way", NAMED)
def test_a_script_that_is_named_is_trusted_with_the_rest(clone: Path, way: str) -> None:
    option = f"  srun:\n    --task-prolog=./evil.sh: {{{REASON}}}\n"
    write(
        clone,
        toml=NAMED[way],
        evil_sh="echo 1\n",
        setup_sh='source "$(dirname "$0")/evil.sh"\n',
        x_yaml=RUNS_EVIL,
        y_yaml=f"name: y\nlaunch:\n  launchers: [local, srun]\n{option}",
    )
    words = () if "profile =" in NAMED[way] else SRUN
    trust(clone)
    taken(*words)
    (clone / "evil.sh").write_text("echo 2\n")
    changed = refused(*words)
    assert "  --- evil.sh\n  +++ evil.sh\n" in changed.err
    assert "\n  -echo 1\n  +echo 2\n" in changed.err
    (clone / "evil.sh").unlink()
    refused(*words)
    trust(clone)
    taken(*words)
    (clone / "evil.sh").write_text("echo 3\n")  # that came with the next change
    assert "\n  +echo 3\n" in refused(*words).err


def test_what_is_no_code_counts_at_once(clone: Path) -> None:
    write(
        clone,
        toml='account = "a"\ntime = 10\nprofile = "workstation"\nlauncher = "local"\n',
    )
    taken()
    write(clone, README_md="x\n", **{".envcfg__profiles__notes": "x\n"})
    taken()


def test_a_job_that_names_the_files_does_not_take_what_has_changed_since(
    clone: Path,
) -> None:
    """A script of the user's own makes the step in the job, without the defaults."""
    write(
        clone,
        toml='profile = "x.yaml"\nsetup = "s.sh"\n',
        x_yaml="name: x\n",
        s_sh="true\n",
    )
    trust(clone)
    words = f"--no-default all --profile x.yaml --setup ./s.sh {' '.join(RUN)}"
    program = f'PATH={Path(sys.executable).parent}:"$PATH"\n'
    program += f"source <(envcfg wrap {words})\necho goes on\n"
    assert bash(program).stdout == b"goes on\n"
    for name in ("x.yaml", "s.sh"):
        text = (clone / name).read_text()
        (clone / name).write_text(f"{text}# another\n")
        done = bash(program)
        assert (done.returncode, done.stdout) == (2, b""), name
        assert b"it has changed since you trusted it" in done.stderr
        (clone / name).write_text(text)


def test_a_path_is_the_one_next_to_the_file_that_names_it(
    clone: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Else another file of the same name in a folder below would be taken, unseen."""
    write(
        clone,
        toml='profile = "x.yaml"\nsetup = "s.sh"\n',
        sub__x_yaml=RUNS_EVIL,
        sub__s_sh="evil\n",
    )
    trust(clone)
    monkeypatch.chdir(clone / "sub")
    done = envcfg("wrap", *RUN)
    assert (done.code, f"{clone}/x.yaml: no such file" in done.err) == (2, True)
    write(clone, x_yaml="name: x\n")
    refused()
    trust(clone)
    assert f"{clone}/s.sh" in taken().text


def test_the_folder_of_a_script_of_envcfg_is_no_project(
    clone: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(clone, toml='setup = "s.sh"\n', s_sh="true\n", profile="name: x\n")
    write(clone, **{"job__.envcfg__0123_bash": "true\n"})
    trust(clone)
    monkeypatch.chdir(clone / "job")
    taken("--profile", "x")
    write(clone, **{"job__.envcfg__4567_bash": "true\n", ".envcfg__89_bash": "true\n"})
    taken("--profile", "x")
    done = envcfg("profiles", "trust")
    assert done.text == f"trusted already: {clone}\n"


def test_all_ways_to_name_a_project_are_the_same(clone: Path) -> None:
    write(clone, toml='setup = "s.sh"\n', s_sh="true\n", profile=RUNS_EVIL)
    for name in (
        ".",
        "",
        "envcfg.toml",
        "s.sh",
        ".envcfg",
        ".envcfg/profiles/",
        ".envcfg/profiles/x.yaml",
    ):
        refused("--profile", "x")
        trust(clone / name) if name else envcfg("profiles", "trust")
        taken("--profile", "x")
        done = envcfg("profiles", "trust", "--revoke", *([name] if name else []))
        assert (done.code, done.text) == (0, f"no longer trusted: {clone}\n")
    refused("--profile", "x")


def test_a_link_to_the_project_is_the_project(
    clone: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(clone, toml='setup = "s.sh"\n', s_sh="true\n", profile=RUNS_EVIL)
    link = clone.parent / "link"
    link.symlink_to(clone)
    trust(link)
    monkeypatch.chdir(link)
    taken("--profile", "x")
    (clone / "x").mkdir()
    monkeypatch.chdir(clone / "x")
    taken("--profile", "x")


def test_a_file_that_everybody_may_write_never_counts(clone: Path) -> None:
    write(clone, toml='setup = "s.sh"\n', s_sh="true\n")
    trust(clone)
    taken("--profile", "workstation")
    (clone / "s.sh").chmod(0o666)
    for done in (
        envcfg("wrap", "--profile", "workstation", *RUN),
        envcfg("profiles", "trust", str(clone)),
    ):
        assert done.code == 2
        assert f"{clone}/s.sh:1:1: never trusted: everybody may write it" in done.err
        assert f"chmod o-w {clone}/s.sh" in done.err


def test_a_file_of_a_stranger_is_no_part_of_the_project(clone: Path) -> None:
    require_root()
    write(clone, toml='setup = "s.sh"\n', s_sh="true\n", profile=RUNS_EVIL)
    clone.chmod(0o1777)
    os.chown(clone / "envcfg.toml", 12345, 12345)
    trust(clone)
    taken("--profile", "x")
    (clone / "envcfg.toml").write_text("anything")
    taken("--profile", "x")


def _large(clone: Path) -> None:
    (clone / "s.sh").write_text("#\n" * 100_000)


def _binary(clone: Path) -> None:
    (clone / "s.sh").write_bytes(b"\0\x1b[31m\xff")


def _links(clone: Path) -> None:
    (clone / "s.sh").symlink_to("s.sh")


def _pipe(clone: Path) -> None:
    os.mkfifo(clone / "s.sh")


def _folder(clone: Path) -> None:
    (clone / "s.sh").mkdir()


@pytest.mark.parametrize("make", [_large, _binary, _links, _pipe, _folder])
def test_what_cannot_be_shown_is_trusted_all_the_same_until_it_changes(
    clone: Path, make: Callable[[Path], None]
) -> None:
    write(clone, toml='setup = "s.sh"\nno-inspect = true\n')
    make(clone)
    done = envcfg("profiles", "trust", str(clone))
    assert done.code == 0, done.err
    assert len(done.text) < 1000
    assert "\x1b" not in done.text
    taken("--profile", "workstation")
    path = clone / "s.sh"
    path.rmdir() if path.is_dir() else path.unlink()
    path.write_text("true\n" * 30_000)
    refused("--profile", "workstation")


def test_hostile_text_is_written_out(clone: Path) -> None:
    hostile = "\x1b[2J\x1b]0;t\x07\u202e\u2066\x9b31m\r\n\x85\u2028x"
    write(clone, toml='setup = "s.sh"\n', s_sh=f"true {hostile}\n")
    done = envcfg("profiles", "trust", str(clone))
    trusted = {*done.text} - {"\n"}
    write(clone, s_sh=f"true {hostile} again\n")
    changed = {*refused("--profile", "workstation").err} - {"\n"}
    assert all(sign.isprintable() for sign in trusted | changed)


def test_a_long_difference_is_cut_in_an_error_and_whole_in_the_command(
    clone: Path,
) -> None:
    write(clone, toml='setup = "s.sh"\n', s_sh="true\n")
    trust(clone)
    write(clone, s_sh="".join(f"echo {number}\n" for number in range(1000)))
    done = refused("--profile", "workstation")
    assert len(done.err.splitlines()) < 60
    assert "more lines" in done.err
    assert "+echo 999\n" in envcfg("profiles", "trust", str(clone)).text


def test_lines_without_end_do_not_hold_it_up(clone: Path) -> None:
    write(clone, toml='setup = "s.sh"\n', s_sh="a\nb\n" * 20_000)
    trust(clone)
    write(clone, s_sh="b\na\n" * 20_000)
    begin = time.monotonic()
    refused("--profile", "workstation")
    assert time.monotonic() - begin < 10


def test_branches_are_remembered_and_the_oldest_forgotten(clone: Path) -> None:
    write(clone, toml='setup = "true"\n')
    for number in range(14):
        write(clone, toml=f'setup = "true {number}"\n')
        trust(clone)
    write(clone, toml='setup = "true 12"\n')
    taken("--profile", "workstation")
    write(clone, toml='setup = "true 1"\n')
    refused("--profile", "workstation")
    assert len(list((clone.parent / "state/envcfg/trusted").iterdir())) == 10


def test_a_damaged_record_is_none(clone: Path) -> None:
    write(clone, toml='setup = "true"\n')
    trust(clone)
    (record,) = (clone.parent / "state/envcfg/trusted").iterdir()
    text = record.read_text()
    for wrong in (
        "",
        "{",
        "[]",
        "[" * 100_000,
        text[:-1],
        text.replace("true", "false"),
        "{}",
        '{"root": 1}',
    ):
        record.write_text(wrong)
        refused("--profile", "workstation")
    record.write_text(text)
    taken("--profile", "workstation")
    record.rename(record.with_name("0" * 64))
    refused("--profile", "workstation")


def test_of_too_many_files_none_is_trusted(clone: Path) -> None:
    names = [f"f{number}" for number in range(600)]
    write(clone, toml=f"srun-arg = {names}\n".replace("'", '"'))
    for name in names:
        (clone / name).write_text("")
    done = envcfg("profiles", "trust", str(clone))
    assert (done.code, "name too many files" in done.err) == (2, True)
    done = envcfg("wrap", "--profile", "workstation", *RUN)
    assert done.code == 2


# At a terminal.


def at_terminal(
    words: list[str], answer: str, *, background: bool = False
) -> tuple[int, str]:
    """Run envcfg with a terminal, and return its code and what stood there."""
    pid, master = pty.fork()
    if pid == 0:
        command = [sys.executable, "-m", "envcfg", *words]
        if background:
            command = ["bash", "-ic", 'cat <("$@"); exit 3', "-", *command]
        os.execvp(command[0], command)  # noqa: S606  # words of these tests
    shown = b""
    while True:
        try:
            data = os.read(master, 65536)
        except OSError:
            break
        if not data:
            break
        shown += data
        if answer and b"[y/N]" in shown:
            os.write(master, answer.encode())
            answer = ""
    _, status = os.waitpid(pid, 0)
    os.close(master)
    return os.waitstatus_to_exitcode(status), shown.decode()


@pytest.mark.parametrize(
    ("answer", "code"),
    [("y\n", 0), ("yes\n", 0), ("n\n", 2), ("\n", 2), ("\x04", 2), ("\x03", 130)],
)
def test_at_a_terminal_it_asks_and_shows_the_difference(
    clone: Path, answer: str, code: int
) -> None:
    write(clone, toml='setup = "s.sh"\n', s_sh="true 1\n")
    trust(clone)
    write(clone, s_sh="true 2\n")
    words = ["wrap", "--profile", "workstation", "--print=plan", *RUN]
    done, shown = at_terminal(words, answer)
    assert done == code, shown
    assert "files that decide what runs have changed since you trusted them:" in shown
    assert "-true 1" in shown
    assert "+true 2" in shown
    assert f"Trust {clone} as it is now? [y/N]" in shown
    assert shown.count("+true 2") == 1
    assert envcfg("wrap", "--profile", "workstation", *RUN).code == (
        0 if code == 0 else 2
    )


def test_a_process_that_may_not_read_the_terminal_does_not_ask(clone: Path) -> None:
    """In an interactive shell, ``<(envcfg wrap)`` may be in the background: a read would stop it."""
    write(clone, toml='setup = "s.sh"\n', s_sh="true 1\n")
    words = ["wrap", "--profile", "workstation", *RUN]
    code, shown = at_terminal(words, "", background=True)
    assert code == 3
    assert "[y/N]" not in shown
    assert f"envcfg profiles trust {clone}" in shown


def test_more_than_one_can_look_at_is_no_question(clone: Path) -> None:
    write(clone, toml='setup = "s.sh"\n', s_sh="true\n" * 500)
    done, shown = at_terminal(["wrap", "--profile", "workstation", *RUN], "y\n")
    assert done == 2
    assert "[y/N]" not in shown


# Attacks that were tried.


def test_a_file_above_the_project_is_trusted_with_it(
    clone: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A repository may hold several projects, which share profiles and scripts."""
    project = clone / "part"
    write(project, toml='profile = "../x.yaml"\nsetup = "../lib/s.sh"\n')
    write(clone, x_yaml="name: x\n", lib__s_sh="echo 1\n")
    monkeypatch.chdir(project)
    trust(project)
    taken()
    for path in (clone / "x.yaml", clone / "lib/s.sh"):
        text = path.read_text()
        path.write_text(f"{text}# another\n")
        assert f"../{path.relative_to(clone)}" in refused().err
        path.write_text(text)
    taken()


def test_an_absolute_path_in_the_repository_is_trusted_with_the_project(
    clone: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (clone / ".git").mkdir()
    project = clone / "part"
    write(project, toml=f'[set]\nBASH_ENV = "{clone}/lib/s.sh"\n')
    write(clone, lib__s_sh="echo 1\n")
    monkeypatch.chdir(project)
    trust(project)
    taken("--profile", "workstation")
    (clone / "lib/s.sh").write_text("echo 2\n")
    refused("--profile", "workstation")


@pytest.mark.parametrize("name", ["./p", "p.yml", "sub/../p.yaml", "./sub/p"])
def test_a_profile_of_any_name_is_read_for_what_it_names(
    clone: Path, name: str
) -> None:
    (clone / "sub").mkdir()
    (clone / name).write_text(RUNS_EVIL.replace("name: x", f"name: {Path(name).stem}"))
    write(clone, toml=f'profile = "{name}"\n', evil_sh="echo 1\n")
    trust(clone)
    taken()
    (clone / "evil.sh").write_text("echo 2\n")
    assert "+echo 2" in refused().err


def test_a_script_without_an_extension_is_read_for_what_it_sources(clone: Path) -> None:
    write(clone, toml='setup = "./environment"\n', lib_sh="echo 1\n")
    (clone / "environment").write_text("source lib.sh\n")
    trust(clone)
    (clone / "lib.sh").write_text("echo 2\n")
    refused("--profile", "workstation")


def test_a_name_that_is_hidden_in_yaml_is_found(clone: Path) -> None:
    hidden = "".join(f"\\x{ord(sign):02x}" for sign in "evil.sh")
    write(
        clone,
        toml='profile = "x.yaml"\n',
        x_yaml=RUNS_EVIL.replace("${PWD}/evil.sh", f"./{hidden}"),
    )
    trust(clone)
    taken()
    write(clone, evil_sh="echo 1\n")
    refused()


def test_the_bytes_that_were_read_are_compared(
    clone: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Between two reads another may put the trusted content back."""
    from envcfg.profile import guard

    write(clone, toml='profile = "x.yaml"\n', x_yaml="name: x\n")
    trust(clone)
    taken()
    evil = b"name: x\nenv: {A: {value: evil, why: w, source: s, date: 2026-01-01}}\n"
    read = guard.examine

    def replaced(path: str, *, site: str) -> guard.ExaminedFile:
        found = read(path, site=site)
        is_profile = path.endswith("x.yaml")
        return found._replace(data=evil) if is_profile else found

    monkeypatch.setattr(guard, "examine", replaced)
    refused()


def test_a_switched_link_is_a_change(clone: Path) -> None:
    write(clone, toml='profile = "x.yaml"\n', a_yaml="name: x\n", b_yaml=RUNS_EVIL)
    (clone / "x.yaml").symlink_to("a.yaml")
    trust(clone)
    taken()
    (clone / "x.yaml").unlink()
    (clone / "x.yaml").symlink_to("b.yaml")
    refused()


def test_a_new_profile_over_a_built_in_one_is_a_change(clone: Path) -> None:
    write(clone, profile="name: x\n")
    trust(clone)
    taken("--profile", "workstation")
    path = clone / ".envcfg/profiles/workstation.yaml"
    path.write_text("name: workstation\n")
    refused("--profile", "workstation")
    path.unlink()
    (clone / ".envcfg/profiles/x.yaml").unlink()
    taken("--profile", "workstation")


def test_the_profile_that_the_environment_names_is_the_projects(
    clone: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(clone, profile=RUNS_EVIL)
    for name in ("x", "project:x", str(clone / ".envcfg/profiles/x.yaml")):
        monkeypatch.setenv("ENVCFG_PROFILE", name)
        refused()


@pytest.mark.parametrize(
    "words",
    [
        ("lint", "job.sh"),
        ("check-log", "job.sh"),
        ("explain", "NCCL_NET"),
        ("monitor", "12"),
        ("preflight", *STEP),
        ("job", *RUN),
        ("sbatch", *RUN),
        ("qsub", *RUN),
        ("submit", *RUN),
        ("profiles", "probe", *RUN[:-2]),
        ("inspect", "."),
    ],
)
def test_no_command_takes_the_profile_of_a_clone_unasked(
    clone: Path, words: tuple[str, ...]
) -> None:
    write(clone, toml='profile = "x.yaml"\n', x_yaml=RUNS_EVIL, job_sh="srun true\n")
    done = envcfg(*words)
    assert (done.code, "not trusted: it comes with" in done.err) == (2, True), done.err
    assert "evil" not in done.text


def test_records_of_another_project_do_not_count(clone: Path) -> None:
    other = clone.parent / "other"
    write(clone, toml='setup = "true"\n')
    write(other, toml='setup = "true"\n')
    trust(other)
    refused("--profile", "workstation")
    (clone / "envcfg.toml").unlink()
    clone.rmdir()
    other.rename(clone)  # by its place as well
    os.chdir(clone)
    refused("--profile", "workstation")
