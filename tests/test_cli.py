"""The command line: exit codes, what goes to stdout, what to stderr."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Sequence
from contextlib import redirect_stdout
from io import StringIO
from pathlib import Path
from threading import Thread

import pytest

from envcfg.cli import main
from envcfg.commands import NAMES
from support import ROOT, Wrapped, bash, envcfg, lint_shell, process

Wrap = Callable[..., Wrapped]
LOCAL = ("--profile", "workstation", "--container", "none")


@pytest.mark.parametrize("arguments", [["--help"], ["wrap", "--help"]])
def test_help_has_examples_and_exits_0(arguments: list[str]) -> None:
    done = envcfg(*arguments)
    assert (done.code, done.err) == (0, "")
    assert "exit codes" in done.text or "examples:" in done.text


def test_the_version_is_that_of_the_package() -> None:
    assert envcfg("--version").text.startswith("envcfg 0.")


FAILURES = {
    "no command": ([], 2, "no command given"),
    "unknown command": (["wrp"], 2, "unknown command 'wrp'"),
    "no container": (["wrap"], 2, "--container"),
    "unknown option": (["wrap", *LOCAL, "--lancher", "srun"], 2, "unknown option --lancher"),
    "unknown profile": (["wrap", "--profile", "lumi", "--container", "none"], 2, "did you mean 'lumi-g'?"),
    "unknown launcher": (["wrap", *LOCAL, "--launcher", "pdsh"], 2, "--launcher: unknown value 'pdsh'"),
    "unknown fact": (["wrap", *LOCAL, "--fact", "rcom=6"], 2, "did you mean 'rocm'?"),
    "wrong fact": (["wrap", *LOCAL, "--fact", "rocm=new"], 2, "'new' is not a version"),
    "no pair": (["wrap", *LOCAL, "--set", "A"], 2, "'A' is not NAME=VALUE"),
    "no name": (["wrap", *LOCAL, "--set", "A B=1"], 2, "'A B' is not a variable name"),
    "shell's name": (["wrap", *LOCAL, "--set", "UID=1"], 2, "belongs to the shell"),
    "own name": (["wrap", *LOCAL, "--unset", "ENVCFG_CACHE"], 2, "own prefix"),
    "a rank's own": (["wrap", *LOCAL, "--set", "RANK=1"], 2, "RANK is each rank's own"),
    "empty container": (["wrap", "--profile", "workstation", "--container", ""], 2, "--container is empty"),
    "values like options": (["wrap", "--profile", "nope", "--container", "none", "--bind=-h", "--set", "-o=1", "--print", "script"], 2, "--set lacks its value"),
    "lone dollar": (["wrap", *LOCAL, "--set", "A=$(id)"], 2, "$$ for a dollar"),
    "no ranks": (["wrap", *LOCAL, "--ranks", "0"], 2, "'0' is not a number of processes"),
    "missing --": (["wrap", *LOCAL, "python", "train.py"], 2, "the command after --, as in -- python train.py"),
    "nothing behind --": (["wrap", *LOCAL, "--"], 2, "no command after --"),
    "an empty command": (["wrap", *LOCAL, "--", "", "x"], 2, "the command is empty"),
    "bind without container": (["wrap", *LOCAL, "--bind", "/a"], 2, "--bind needs a container"),
    "circle": (["wrap", *LOCAL, "--set", "A=${B}", "--set", "B=${A}"], 2, "A -> B -> A"),
    "rank's in torchrun": (["wrap", *LOCAL, "--launcher", "torchrun", "--set", "A=${SLURM_LOCALID}"], 2, "use ${LOCAL_RANK}"),
    "host's name": (["wrap", *LOCAL, "--set", "A=${HOSTNAME}"], 2, "use ${NODE_RANK}"),
    "no scratch": (["wrap", *LOCAL, "--set", "A=${ENVCFG_CACHE}"], 2, "has no scratch"),
}  # fmt: skip


@pytest.mark.parametrize("name", FAILURES)
def test_a_failure_says_what_and_how_to_mend_it(wrap: Wrap, name: str) -> None:
    assert callable(wrap)  # the fixture keeps other layers away
    arguments, code, message = FAILURES[name]
    done = envcfg(*arguments)
    assert done.code == code
    assert done.err.startswith("envcfg: error: ")
    assert message in done.err
    assert "\n  hint: " in done.err or name == "wrong fact"
    assert "Traceback" not in done.err


@pytest.mark.parametrize(
    "name", [name for name in FAILURES if "wrap" in FAILURES[name][0]]
)
def test_a_wrap_that_fails_prints_a_script_that_fails(wrap: Wrap, name: str) -> None:
    assert callable(wrap)
    arguments, code, message = FAILURES[name]
    script = envcfg(*arguments).out
    assert lint_shell(script, "bash") == ""
    for before in (b"", b"set -euo pipefail\n"):
        done = bash(before + b"source /dev/stdin\necho goes on", stdin=script)
        assert (done.returncode, done.stdout) == (code, b"")
        assert message in done.stderr.decode()
    quoted = b"'" + script.replace(b"'", b"'\\''") + b"'"
    assert bash(b"eval " + quoted + b"\necho goes on").returncode == code
    interactive = [
        "bash",
        "--norc",
        "--noediting",
        "-ic",
        "source /dev/stdin; echo still here",
    ]
    done = subprocess.run(
        interactive,
        input=script,
        capture_output=True,
        check=False,
        start_new_session=True,
    )
    assert done.stdout == b"still here\n"  # a person's shell is not ended


@pytest.mark.parametrize("option", [["--json"], ["--print", "plan"], ["-o", "x.sh"]])
def test_where_no_script_was_asked_for_none_is_printed(
    wrap: Wrap, tmp_path: Path, option: list[str]
) -> None:
    done = wrap("--profile", "nope", "--container", "none", *option)
    assert (done.code, done.out) == (2, b"")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("words", "same"),
    [
        (["help"], ["--help"]),
        (["help", "wrap"], ["wrap", "--help"]),
        (["help", "profiles", "show"], ["profiles", "show", "--help"]),
        (["help", "help"], ["--help"]),
        (["-V"], ["--version"]),
    ],
    ids=str,
)
def test_help_and_version_have_the_names_that_people_try(
    words: list[str], same: list[str]
) -> None:
    done = envcfg(*words)
    assert (done.code, done.err) == (0, "")
    assert done.out == envcfg(*same).out


def test_help_of_what_is_no_command_names_the_one_that_is_meant() -> None:
    done = envcfg("help", "wrp")
    assert (done.code, done.out) == (2, b"")
    assert "did you mean 'wrap'?" in done.err


def test_a_broken_profile_is_reported_whole(wrap: Wrap, tmp_path: Path) -> None:
    (tmp_path / "p.yaml").write_text("name: p\nenv:\n  A: {value: $}\n  B: 1\nx: 1\n")
    done = wrap("--profile", "./p.yaml", "--container", "none")
    assert done.code == 2
    places = [line.split(": ")[2] for line in done.err.splitlines() if "error" in line]
    assert places == [f"./p.yaml:{at}" for at in ("3:6", "3:14", "4:6", "5:1")]


def test_a_bug_is_reported_as_one(wrap: Wrap) -> None:
    assert callable(wrap)
    code = (
        "import envcfg.core.step as p, envcfg.cli as c, sys\n"
        "p.resolve = lambda *a: 1 / 0\n"
        f"sys.exit(c.main(['wrap', *{LOCAL!r}]))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, check=False
    )
    assert done.returncode == 70
    assert b"Traceback" in done.stderr
    assert b"this is a bug in envcfg" in done.stderr
    assert bash(done.stdout).returncode == 70


def test_without_a_library_that_it_needs_the_job_fails_too(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    code = (
        "import sys\nsys.modules['yaml'] = None\nimport envcfg.cli\n"
        f"sys.exit(envcfg.cli.main(['wrap', *{LOCAL!r}]))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, check=False
    )
    assert done.returncode == 70
    assert bash(done.stdout + b"\necho goes on").stdout == b""


@pytest.mark.parametrize(
    ("redirect", "codes"), [(">&-", {0}), ("2>&-", {0}), (">/dev/full", {4})]
)
def test_a_stream_that_is_closed_or_full_is_no_bug(
    wrap: Wrap, redirect: str, codes: set[int]
) -> None:
    assert callable(wrap)
    command = (
        f"{sys.executable} -m envcfg wrap --profile lumi-g --container none -- true"
    )
    done = bash(f"{command} {redirect}")
    assert done.returncode in codes
    assert b"Traceback" not in done.stderr
    assert done.stdout.startswith(b"#!") or not done.stdout


def test_a_reader_that_goes_away_is_no_bug(wrap: Wrap) -> None:
    assert callable(wrap)
    command = f"{sys.executable} -m envcfg wrap {' '.join(LOCAL)} | true; echo ${{PIPESTATUS[0]}}"
    done = bash(command)
    assert done.stderr == b""
    assert done.stdout in {b"0\n", b"141\n"}


# The profile that is chosen


def test_the_profile_is_given_set_detected_or_said_to_be_the_last_resort(
    wrap: Wrap, monkeypatch: pytest.MonkeyPatch
) -> None:
    def chosen(*options: str) -> tuple[str, str]:
        done = wrap("--container", "none", "--json", *options)
        assert done.code == 0, done.err
        return json.loads(done.text)["profile"]["name"], done.err

    name, said = chosen()
    assert name == "workstation"
    assert "no profile knows" in said
    assert "--profile" in said
    monkeypatch.setenv("SLURM_CLUSTER_NAME", "lumi")
    assert chosen()[0] == "lumi-g"
    monkeypatch.setenv("ENVCFG_PROFILE", "slingshot-rocm")
    assert chosen()[0] == "slingshot-rocm"
    assert chosen("--profile", "workstation")[0] == "workstation"


def test_a_site_lays_its_own_values_over_the_built_in(
    wrap: Wrap, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    site = tmp_path / "site/profiles"
    site.mkdir(parents=True)
    (site / "lumi-g.yaml").write_text(
        "name: lumi-g\nenv:\n  GLOO_SOCKET_IFNAME: "
        "{value: hsn3, why: w, source: s, date: 2026-01-01}\n"
    )
    monkeypatch.setenv("ENVCFG_SITE", str(tmp_path / "site"))
    plan = json.loads(wrap("--profile", "lumi-g", "--container", "none", "--json").text)
    (setting,) = [s for s in plan["settings"] if s["name"] == "GLOO_SOCKET_IFNAME"]
    assert setting["branches"][0]["value"] == "hsn3"
    assert setting["branches"][0]["place"]["path"].startswith(str(site))


def test_the_plan_says_who_says_what_the_log_must_show(wrap: Wrap) -> None:
    done = wrap("--profile", "aws-p5", "--container", "none", "--json")
    expect = json.loads(done.text)["expect"]
    assert expect["nics"]["value"] == 32
    assert expect["nics"]["place"]["path"].startswith("profiles/aws-p5.yaml")
    assert expect["networks"]["value"] == ["AWS Libfabric", "Libfabric", "OFI"]
    assert expect["networks"]["place"]["path"].startswith("profiles/efa.yaml")
    alone = wrap("--profile", "workstation", "--container", "none", "--json")
    assert json.loads(alone.text)["expect"] == {}


def test_a_broken_file_of_another_profile_is_said_and_not_in_the_way(
    wrap: Wrap, tmp_path: Path
) -> None:
    layer = tmp_path / ".envcfg/profiles"
    layer.mkdir(parents=True)
    (layer / "broken.yaml").write_text("{}")
    (layer / "folder.yaml").mkdir()
    (layer / "dangling.yaml").symlink_to("/nowhere")
    (layer / "my cluster.yaml").write_text("name: my cluster\n")
    done = wrap("--container", "none")
    assert done.code == 0, done.err
    assert f"warning: {layer}/broken.yaml: cannot be used" in done.err
    assert f"warning: {layer}/my cluster.yaml: cannot be used" in done.err
    assert wrap("--profile", "broken", "--container", "none").code == 2
    assert (
        "unknown profile 'folder'"
        in wrap("--profile", "folder", "--container", "none").err
    )


def test_an_image_is_known_by_the_file_that_a_link_leads_to(
    wrap: Wrap, tmp_path: Path
) -> None:
    (tmp_path / "lumi-multitorch-full-u24r70f21m50t210.sif").touch()
    (tmp_path / "latest.sif").symlink_to("lumi-multitorch-full-u24r70f21m50t210.sif")
    done = wrap(
        "--profile", "lumi-g", "--container", "latest.sif", "--no-inspect", "--json"
    )
    assert json.loads(done.text)["facts"]["rocm"]["value"] == "7.0"
    assert "fact" not in done.err.replace("--fact plugin", "")


# What is printed


def test_an_unknown_fact_is_a_note_with_the_way_to_state_it(wrap: Wrap) -> None:
    done = wrap("--profile", "lumi-g", "--container", "none")
    assert (
        "note: NCCL_NET_GDR_LEVEL, HSA_NO_SCRATCH_RECLAIM: depends on rocm" in done.err
    )
    assert "--fact rocm=6.2.4" in done.err
    words = ("--profile", "lumi-g", "--container", "none", "--fact", "rocm=7.2")
    assert "depends on" not in wrap(*words).err


def test_a_uri_is_used_as_it_is_with_a_warning(wrap: Wrap) -> None:
    done = wrap(*LOCAL[:2], "--container", "docker://pytorch/pytorch", "--", "true")
    assert done.code == 0
    assert "every rank" in done.err
    assert "ENVCFG_IMAGE='docker://pytorch/pytorch'\n" in done.text


def test_the_plan_is_readable_without_a_terminal(wrap: Wrap) -> None:
    text = wrap("--profile", "lumi-g", "--container", "none", "--print", "plan").text
    assert "\nNCCL_SOCKET_IFNAME=hsn0,hsn1,hsn2,hsn3\n    " in text
    assert "[profiles/slingshot-rocm.yaml:" in text
    assert "\x1b" not in text


def test_the_launch_line_shows_what_will_run(wrap: Wrap, tmp_path: Path) -> None:
    (tmp_path / "x.sif").touch()
    options = ("--container", "x.sif", "--runtime", "apptainer", "--bind", "/a b:/c")
    line = wrap(
        *LOCAL[:2], *options, "--launcher", "srun", "--print", "exec-line", "--", "a b"
    ).text
    assert line.startswith("srun --kill-on-bad-exit=1 ")
    assert f"--bind '/a b:/c' {tmp_path}/x.sif /bin/sh -c " in line
    assert line.endswith(" -- 'a b'\n")


def test_binds_are_looked_at_one_by_one(wrap: Wrap, tmp_path: Path) -> None:
    (tmp_path / "x.sif").touch()
    options = ("--container", "x.sif", "--bind", "/tmp:/a,/nowhere:/b,/tmp/a\\,b")
    done = wrap(*LOCAL[:2], *options, "--json")
    binds = json.loads(done.text)["container"]["binds"]
    assert [(bind["source"], bind["target"]) for bind in binds] == [
        *(("/tmp", "/a"), ("/nowhere", "/b"), ("/tmp/a,b", "/tmp/a,b")),
    ]
    assert "warning: /nowhere:/b: does not exist" in done.err


# -o


def test_a_script_is_written_whole_and_executable(wrap: Wrap, tmp_path: Path) -> None:
    assert wrap(*LOCAL, "-o", "job.sh", "--", "true").code == 0
    path = tmp_path / "job.sh"
    assert os.access(path, os.X_OK)
    assert sorted(each.name for each in tmp_path.iterdir()) == [".envcfg", "job.sh"]
    before = path.read_bytes()
    assert wrap(*LOCAL, "-o", "job.sh", "--", "false").code == 0
    assert path.read_bytes() != before


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"#!/bin/bash\necho mine\n", "was not written by envcfg"),
        (b"", "was not written by envcfg"),
        (None, "has been changed since"),
    ],
)
def test_what_envcfg_did_not_write_is_not_replaced(
    wrap: Wrap, tmp_path: Path, content: bytes | None, message: str
) -> None:
    path = tmp_path / "job.sh"
    if content is None:
        wrap(*LOCAL, "-o", "job.sh", "--", "true")
        content = path.read_bytes() + b"# mine\n"
    path.write_bytes(content)
    done = wrap(*LOCAL, "-o", "job.sh", "--", "true")
    assert done.code == 4
    assert message in done.err
    assert path.read_bytes() == content
    assert wrap(*LOCAL, "-o", "job.sh", "--force", "--", "true").code == 0
    assert path.read_bytes() != content


def test_a_link_is_followed(wrap: Wrap, tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to("job.sh")
    assert wrap(*LOCAL, "-o", "link", "--", "true").code == 0
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "job.sh").is_file()


@pytest.mark.parametrize("target", [".", "no/folder/job.sh", "/proc/job.sh"])
def test_what_cannot_be_written_is_an_error(wrap: Wrap, target: str) -> None:
    done = wrap(*LOCAL, "-o", target, "--", "true")
    assert done.code == 4
    assert "hint:" in done.err
    assert "Traceback" not in done.err


# Within another program


ONE_AFTER_ANOTHER = (
    "--version", "wrap --help", "help profiles show", "wrp", "explain NCCL_NET --json",
    "wrap --profile workstation --container none -- true",
    "wrap --profile lumi-g --container none --json",
    "wrap --profile nope --container none -- true",
    "job --profile lumi-g --container none --account p --partition dev-g --time 30 -- true",
    "sbatch --profile lumi-g --container none -- true",
    "qsub --profile polaris --container none --format json -- true",
    "submit absent.sh", "submit --profile lumi-g --container none --dry-run -- true",
    "lint job.sh", "lint --diff job.sh", "wrap --from job.sh", "environment job.sh",
    "check-log job.log", "check-log --json job.log", "check-log --html - job.log",
    "jobs job.log", "jobs --by node job.log", "jobs --store absent.db",
    "inspect --json .", "profiles list", "profiles detect", "profiles show lumi-g",
    "profiles diff lumi-g frontier --json", "profiles validate job.sh",
    "profiles new x --blank --extends infiniband-cuda -o -", "doctor -- true",
    "monitor", "hang", "preflight --profile lumi-g --container none", "completion bash",
    "job --profile lumi-g --container none --account p --time 30 -o made.sh -- true",
)  # fmt: skip


@pytest.fixture
def files(wrap: Wrap, tmp_path: Path) -> Path:
    assert callable(wrap)
    (tmp_path / "job.sh").write_text("#!/bin/bash\nRANK=1\nexport RANK\nsrun a $b\n")
    (tmp_path / "job.log").write_text(
        "n1:7:8 [0] NCCL INFO NET/Socket : Using [0]eth0\n"
    )
    return tmp_path


def test_in_a_program_every_command_says_what_its_process_says(
    files: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert set(NAMES) <= {words.split()[0] for words in ONE_AFTER_ANOTHER}
    monkeypatch.setenv("ENVCFG_VERBOSE", "1")
    for words in ONE_AFTER_ANOTHER:
        (files / "made.sh").unlink(missing_ok=True)
        done = process(*words.split())
        (files / "made.sh").unlink(missing_ok=True)
        with monkeypatch.context() as patch:
            out, err = StringIO(), StringIO()
            patch.setattr(sys, "stdout", out)
            patch.setattr(sys, "stderr", err)
            code = main(words.split())
            assert (sys.stdout, sys.stderr) == (out, err)
        said = code, out.getvalue(), err.getvalue()
        assert said == (done.code, done.text, done.err), words


def test_a_program_keeps_its_streams_as_they_were(
    files: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    with open(files / "out", "w", encoding="ascii") as file, redirect_stdout(file):
        file.write("before\n")
        assert main(["explain", "socket-fallback"]) == 0
        assert main(["wrap", *LOCAL, "--", "true"]) == 0
        assert file.errors == "strict"
        file.write("after\n")
    text = (files / "out").read_text()
    assert text.startswith("before\nsocket-fallback")
    assert text.count("#!/usr/bin/env bash") == 1
    assert text.endswith("\nafter\n")
    assert capfd.readouterr() == ("", "")


def test_a_program_of_several_threads_may_call_it(wrap: Wrap) -> None:
    assert callable(wrap)
    codes: list[int] = []
    with redirect_stdout(StringIO()) as out:
        words = ["wrap", *LOCAL, "--", "true"]
        thread = Thread(target=lambda: codes.append(main(words)))
        thread.start()
        thread.join()
    assert codes == [0]
    assert out.getvalue().startswith("#!/usr/bin/env bash\n")


@pytest.mark.parametrize(
    "spoil", ["open('/dev/full', 'w')", "open(0); sys.stdout.close()"]
)
def test_a_stdout_that_cannot_be_written_is_its_own_matter(spoil: str) -> None:
    lines = (
        "import os, sys, envcfg.cli as c",
        f"sys.stdout = {spoil}",
        "code = c.main(['profiles', 'list'])",
        "os.write(1, b'%d' % code)",
    )
    done = subprocess.run(
        [sys.executable, "-c", "\n".join(lines)], capture_output=True, check=False
    )
    assert done.stdout in {b"4", b"70"}, done.stderr


# Start-up


def after(command: Sequence[str], names: str) -> set[str]:
    """Return *names*, an expression, of a process that has run *command*."""
    lines = (
        "import re, sys, typing, envcfg.cli",
        f"envcfg.cli.main({list(command)!r})",
        "own = {n: m for n, m in sys.modules.items() if n.startswith('envcfg.')}",
        f"print(*{names}, file=sys.stderr)",
    )
    argv = [sys.executable, "-c", "\n".join(lines)]
    done = subprocess.run(argv, capture_output=True, check=True, cwd=ROOT, text=True)
    return set(done.stderr.splitlines()[-1].split())


WRAP = ("wrap", *LOCAL, "--", "true")


def test_nothing_heavy_is_imported_to_make_a_script() -> None:
    heavy = {
        *("rich", "spython", "importlib_metadata", "subprocess", "asyncio", "yaml"),
        *("difflib", "dataclasses", "hashlib", "locale", "encodings.utf_8_sig"),
        *(
            "envcfg.commands.arguments.usage_errors",
            "envcfg.commands.arguments.help_format",
        ),
        *(
            "envcfg.common.safe_output",
            "envcfg.common.atomic_write",
            "envcfg.profile.naming",
        ),
        *("envcfg.profile.detect", "envcfg.profile.guard", "envcfg.profile.validate"),
    }
    envcfg(*WRAP)  # what YAML says of the profile is kept from now on
    loaded = after(WRAP, "sys.modules")
    assert not heavy & loaded
    others = {f"envcfg.{name}" for name in ("knowledge", "log", "nodes", "report", "job.request")}  # fmt: skip
    assert not others & loaded


def test_the_version_needs_no_command() -> None:
    loaded = after(["--version"], "sys.modules")
    commands = {name for name in loaded if name.startswith("envcfg.commands.")}
    assert commands == {"envcfg.commands.arguments", "envcfg.commands.arguments.parser"}
    assert (
        not {"yaml", "envcfg.profile", "envcfg.job.plan", "envcfg.job.script"} & loaded
    )


def test_few_regular_expressions_are_compiled_to_import_what_makes_a_script() -> None:
    compiled = "{n for n, m in own.items() for v in vars(m).values() if isinstance(v, re.Pattern)}"
    # Each is used in every script.
    used = {
        f"job.script.{name}"
        for name in ("module_choice", "rank_part", "launch_line", "quoting")
    }
    used |= {"profile.words", "profile.catalog"}  # which import those of words
    assert after(WRAP, compiled) <= {f"envcfg.{name}" for name in used}


def test_no_annotation_of_a_named_tuple_is_compiled_to_make_a_script() -> None:
    # Where it is a text, as ``from __future__ import annotations`` makes it, each is
    # compiled again at every start.
    texts = (
        "{f'{v.__module__}.{v.__name__}' for m in own.values() for v in vars(m).values()"
        " if isinstance(v, type) and hasattr(v, '_field_defaults')"
        " and any(isinstance(a, typing.ForwardRef) for a in v.__annotations__.values())}"
    )
    assert after(WRAP, texts) == set()


@pytest.mark.parametrize(
    "command",
    [
        ("wrap", "--container", "none", "--", "true"),
        ("check-log", "--profile", "lumi-g", "/dev/null"),
        ("explain", "NCCL_NET"),
        ("monitor", "12"),
        ("inspect", "/", "--profile", "lumi-g"),
        ("profiles", "list"),
    ],
)
def test_a_folder_that_is_gone_is_said(
    command: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "gone"
    folder.mkdir()
    monkeypatch.chdir(folder)
    folder.rmdir()
    done = envcfg(*command)
    assert done.code == 2
    assert "the current folder does not exist any more" in done.err
