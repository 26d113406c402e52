"""Defaults of a project and of a user: read as the command line is, the nearer wins."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator
from test_options import texts

from envcfg.common.errors import FindingsError
from envcfg.core.defaults import ROWS, parse
from envcfg.core.doctor import short
from envcfg.core.option import Option
from envcfg.core.step_options import STEP
from fuzzing import tries
from scripts.pages.man import man_pages
from support import ROOT, bash, envcfg, require_root

SCHEMA = Draft202012Validator(json.loads((ROOT / "docs/envcfg.toml.json").read_text()))
STEP_NAMES = {each.flag[2:] for options in STEP.values() for each in options}
BARE = ("--profile", "workstation", "--container", "none", "--", "true")
# A text for each option that takes one, where it has no choices.
SAMPLES = {
    "profile": "lumi-g", "container": "x.sif", "runtime-arg": "--nv", "bind": "/tmp:/data",
    "srun-arg": "--mpi=pmix", "mpiexec-arg": "--no-vni", "flux-arg": "-l", "ranks": "2", "module": "gcc/13",
    "set": "A=${B}/c", "unset": "NCCL_DEBUG", "fact": "rocm=6.2.4", "setup": "echo 'a b'",
    "report-environment": "0,3", "nccl-debug": "logs", "flight-recorder": "/tmp/f",
    "profile-rank": "0", "profiler-arg": "--sample=none", "nodes": "2", "gpus": "8",
    "gpus-per-node": "4", "cpus-per-gpu": "3", "ntasks": "8", "cpus-per-task": "4",
    "mem-per-gpu": "60G", "nvme": "10", "time": "1:30:00", "account": "project_462000001",
    "partition": "standard-g", "qos": "normal", "constraint": "a", "job-name": "name",
    "array": "0-9%2", "requeue": "2", "log": "%x-%j.log", "signal": "TERM@300",
    "request-arg": "--reservation=me", "on-silence": "15m=stop", "verify-after": "10m", "stage": "env=/v e",
    "keep-caches": "/p/kept", "exclude-from": "bad.txt",
}  # fmt: skip


class Files:
    """A project below the current folder, a user, and the user's words on files."""

    def __init__(self, folder: Path) -> None:
        self.project = folder / "envcfg.toml"
        self.user = folder / "user/envcfg/config.toml"
        self.user.parent.mkdir(parents=True)
        self.site = folder / "site/envcfg.toml"
        self.site.parent.mkdir(exist_ok=True)
        self.folder = folder


@pytest.fixture
def files(wrap: object, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Files:
    assert wrap
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "user"))
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("ENVCFG_SITE", str(tmp_path / "site"))
    (tmp_path / "x.sif").write_bytes(b"no image")
    return Files(tmp_path)


def toml(value: object) -> str:
    """Write a value as TOML: a text in quotes has JSON's escapes, but for DEL."""
    if isinstance(value, list):
        return f"[{', '.join(map(toml, value))}]"
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")


def said_of(option: Option) -> object:
    if option.kind == "switch":
        return True
    text = option.choices[-1] if option.choices else SAMPLES[option.flag[2:]]
    return [text] if option.kind == "many" else text


def plan_of(*words: str) -> tuple[int, object, str]:
    """Return what a command line comes to: plan, request, but not where it is from."""
    done = envcfg(*words)
    if done.code:
        return done.code, None, done.err.splitlines()[-2]
    document = json.loads(done.text)
    document.pop("defaults")
    lines = [
        each for each in document.pop("script", "").splitlines() if each[:2] != "# "
    ]
    return 0, document, "\n".join(lines)


@pytest.mark.parametrize("name", ROWS)
def test_each_option_comes_to_the_same_by_a_file_and_by_the_command_line(
    files: Files, name: str
) -> None:
    option = ROWS[name]
    said = said_of(option)
    (text,) = said if isinstance(said, list) else [said]
    command = "wrap" if name in STEP_NAMES else "job"
    own = [
        *([] if name == "profile" else ["--profile", "lumi-g"]),
        *([] if name == "container" else ["--container", "x.sif"]),
        "--json",
        *(["--no-inspect"] if name != "no-inspect" else []),
    ]
    given = [f"--{name}"] if said is True else [f"--{name}={text}"]
    files.user.write_text(f"{name} = {toml(said)}\n")
    assert SCHEMA.is_valid({name: said})
    by_file = plan_of(command, *own, "--", "true")
    files.user.unlink()
    by_words = plan_of(command, *own, *given, "--", "true")
    assert by_file == by_words


@tries(200)
@given(st.data())
def test_what_a_file_says_is_read_as_the_command_line_is(data: st.DataObject) -> None:
    option = data.draw(
        st.sampled_from([each for each in ROWS.values() if each.kind != "switch"])
    )
    text = data.draw(
        texts(option).filter(lambda text: text.isascii() or text.isprintable())
    )
    name = option.flag[2:]
    path = f"{os.getcwd()}/envcfg.toml"  # elsewhere, paths are resolved from its folder
    (found,) = parse(f"{name} = {toml(text)}\n".encode(), path)
    value = option.read(text)
    assert found.value == ([value] if option.kind == "many" else value)
    assert found.line == 1


def test_the_nearer_wins_and_lists_add_up(
    files: Files, monkeypatch: pytest.MonkeyPatch
) -> None:
    files.user.write_text(
        'profile = "mahti"\ntime = 10\naccount = "mine"\nunset = ["A"]\n'
    )
    files.project.write_text('profile = "lumi-g"\ntime = "20"\nunset = "B"\n')

    def asked(*words: str) -> tuple[str, int, list[str]]:
        done = envcfg("job", "--json", "--container", "none", *words, "--", "true")
        assert done.code == 0, done.err
        made = json.loads(done.text)
        unset = re.findall(r"^  envcfg_\w+ -u ([ABC])\b", made["script"], re.M)
        return made["profile"]["name"], made["request"]["seconds"], unset

    assert asked() == ("lumi-g", 1200, ["A", "B"])
    assert asked("--time=30", "--unset=C") == ("lumi-g", 1800, ["A", "B", "C"])
    monkeypatch.setenv("ENVCFG_PROFILE", "snellius")
    assert asked("--time=30")[0] == "snellius"
    assert (
        asked("--profile=puhti", "--partition=gpu", "--account=project_2")[0] == "puhti"
    )
    states = [
        (fact["name"], fact["value"])
        for fact in json.loads(envcfg("doctor", "--json").text)["facts"]
        if fact["part"] == "defaults"
    ]
    user, project = short(str(files.user)), short(str(files.project))
    assert states == [
        ("profile", f"{user}:1, overridden"),
        ("time", f"{user}:2, overridden"),
        ("account", f"{user}:3, in force"),
        ("unset", f"{user}:4, in force"),
        ("profile", f"{project}:1, overridden"),
        ("time", f"{project}:2, in force"),
        ("unset", f"{project}:3, in force"),
        ("profile", "$ENVCFG_PROFILE, in force"),
    ]


def test_the_site_is_below_user_and_project(files: Files) -> None:
    files.site.write_text('profile = "mahti"\ntime = 5\nunset = ["S"]\ncontact = "x"\n')
    words = (
        "job",
        "--json",
        "--container",
        "none",
        "--account",
        "project_2",
        "--partition=gpumedium",
        "--",
        "true",
    )
    made = json.loads(envcfg(*words).text)
    assert (made["profile"]["name"], made["request"]["seconds"]) == ("mahti", 300)
    files.user.write_text("time = 10\n")
    files.project.write_text('profile = "lumi-g"\npartition = "standard-g"\n')
    done = envcfg(*(word for word in words if "partition" not in word))
    made = json.loads(done.text)
    assert (made["profile"]["name"], made["request"]["seconds"]) == ("lumi-g", 600)
    assert " -u S " in made["script"]


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ('contact = "support@example.org"\n', "  contact: support@example.org"),
        # no text drives the terminal
        ('contact = "a\\u001b[31mb\\nc"\n', r"  contact: a\x1b[31mb\nc"),
        ("contact = 7\n", ""),
        ("time = 5\n", ""),
        ("nonsense\n", ""),
    ],
)
def test_errors_end_with_the_contact_of_the_site(
    files: Files, text: str, line: str
) -> None:
    (files.folder / "bad.yaml").write_text("name: bad\nnode: 7\n")
    files.site.write_text(text)
    done = envcfg("profiles", "show", "./bad.yaml")
    assert done.code == 2, done.err
    contacts = [each for each in done.err.splitlines() if "contact" in each]
    assert contacts == [line] * bool(line)
    usage = envcfg("profiles", "show", "--no-such-option")
    assert "contact" not in usage.err


def test_only_the_site_has_a_contact(files: Files) -> None:
    files.user.write_text('contact = "me"\n')
    done = envcfg("wrap", *BARE)
    assert done.code == 2, done.err
    assert "there is no option of this name" in done.err


def test_the_file_of_a_site_that_others_may_write_is_refused(files: Files) -> None:
    files.site.write_text('profile = "mahti"\n')
    files.site.chmod(0o666)
    done = envcfg("wrap", *BARE)
    assert done.code
    assert "everybody may write" in done.err


def test_a_project_switches_off_what_the_user_has_on(files: Files) -> None:
    files.user.write_text("smoke-test = true\nnccl-debug = true\npreflight = false\n")
    on = envcfg("wrap", "--print=plan", *BARE).text
    assert "--smoke-test" in on
    assert "--nccl-debug " in on
    assert "--preflight" not in on
    files.project.write_text("smoke-test = false\nnccl-debug = false\n")
    assert "default" not in envcfg("wrap", "--print=plan", *BARE).text


def test_a_default_is_left_out_by_name_or_with_all_others(files: Files) -> None:
    files.user.write_text('unset = ["A", "B"]\nsmoke-test = true\n')
    one = envcfg("wrap", "--print=plan", "--no-default", "unset", *BARE).text
    assert "--unset" not in one
    assert "default    --smoke-test" in one
    for words in (
        ["--no-default=all"],
        ["--no-default", "unset", "--no-default=smoke-test"],
    ):
        assert "default " not in envcfg("wrap", "--print=plan", *words, *BARE).text
    wrong = envcfg("wrap", "--no-default=unsett", *BARE)
    assert (wrong.code, "did you mean 'unset'" in wrong.err) == (2, True)


WRONG = {
    'accont = "x"': "envcfg.toml:2:1: accont: there is no option of this name",
    'cpus_per_gpu = "x"': "did you mean 'cpus-per-gpu'?",
    "account = true": "account: takes a text or a number, not true or false",
    'account = ["a"]': "account: takes a text or a number, not a list",
    "account = {a = 1}": "account: takes a text or a number, not a table",
    "time = 2026-01-01": "time: takes a text or a number, not a date",
    'time = "soon"': "time: --time: 'soon'",
    "time = 1:30:00": "envcfg.toml:2:1: this is not TOML",
    'runtime = "aptainer"': "did you mean 'apptainer'?",
    "ranks = 0": "ranks: --ranks: '0' is not a number of processes",
    'exclusive = "yes"': "exclusive: takes true or false",
    "bind = [[1]]": "bind: takes a text or a number, not a list",
    'setup = "a\\u0000b"': "setup: holds a NUL",
    'output = "job.sh"': "output: there is no option of this name",
    "account = 'a b'": "account: --account: 'a b' holds",
    "account = 1\naccount = 2": "envcfg.toml:3:1: this is not TOML",
    "account": "this is not TOML",
    '"a\\u001b[31mb" = 1': "a\\x1b[31mb: there is no option",
    "x" * 100: "this is not TOML",
    "a = " + "[" * 15_000: "this is not TOML",
    "ranks = 0x" + "f" * 15_000: "ranks: ",
    "#" * 20_000: "more than 16000 bytes",
    "a" + ".a" * 7_000 + " = 1": "nested more than 100 deep",
    "\n".join(f"k{n} = 1" for n in range(1_500)): "envcfg.toml:21:1: k19: there is no option",
    " " * 15_000 + "x = 1": "envcfg.toml:2:1: x: there is no option",
    "[[a]]\n" * 2_500: "a: there is no option",
}  # fmt: skip


@pytest.mark.parametrize("text", WRONG, ids=lambda text: text[:30])
def test_what_is_wrong_is_said_with_its_line(files: Files, text: str) -> None:
    files.project.write_text(f"# ours\n{text}\n")
    done = envcfg("wrap", *BARE)
    assert done.code == 2, done.err
    assert WRONG[text] in done.err
    assert "Traceback" not in done.err
    assert all(len(line) < 6000 for line in done.err.splitlines())


def test_all_that_is_wrong_is_said_at_once_and_in_the_text_of_a_value_nothing_is(
    files: Files,
) -> None:
    files.project.write_text('qos = """\naccont = 1\n"""\na = 1\n[set]\nX = 1\n[b]\n')
    said = envcfg("wrap", *BARE).err
    assert "envcfg.toml:1:1: qos: " in said
    assert "envcfg.toml:4:1: a: " in said
    assert "envcfg.toml:7:1: b: " in said


def test_bytes_that_are_no_text_and_files_that_cannot_be_read_are_errors(
    files: Files,
) -> None:
    files.project.write_bytes(b'account = "\xff"\n')
    assert "this is not TOML" in envcfg("wrap", *BARE).err
    files.project.unlink()
    os.mkfifo(files.project)  # nobody waits for what a pipe says
    said = envcfg("wrap", *BARE)
    assert (said.code, "cannot be read: it is not a regular file" in said.err) == (
        4,
        True,
    )
    files.project.unlink()
    files.user.mkdir()
    assert envcfg("wrap", *BARE).code == 4


def test_help_is_there_though_a_file_is_wrong(files: Files) -> None:
    files.project.write_text("wrong\n")
    assert envcfg("wrap", "--help").code == 0


# Owners.


def test_the_users_own_file_counts_at_once(files: Files) -> None:
    files.user.write_text('container = "none"\nsetup = "echo a"\n')
    assert envcfg("wrap", "--profile=workstation", "--", "true").code == 0


@pytest.mark.parametrize("who", ["user", "project"])
def test_what_everybody_may_write_never_counts(files: Files, who: str) -> None:
    path = {"user": files.user, "project": files.project}[who]
    path.write_text("smoke-test = true\n")
    path.chmod(0o666)
    said = envcfg("wrap", *BARE)
    assert (said.code, ":1:1: everybody may write it" in said.err) == (2, True)


def test_the_file_of_a_stranger_is_ignored_with_a_note(
    files: Files, monkeypatch: pytest.MonkeyPatch
) -> None:
    require_root()
    files.project.write_text("wrong\n")
    os.chown(files.project, 12345, 12345)
    done = envcfg("wrap", *BARE)
    assert (done.code, f"{files.project} is ignored" in done.err) == (0, True)
    inside = files.folder / "a/b"
    inside.mkdir(parents=True)
    monkeypatch.chdir(inside)
    (files.folder / "a/envcfg.toml").write_text("smoke-test = true\n")
    assert "--smoke-test" in envcfg("wrap", "--print=plan", *BARE).text


# What is made.


def test_a_script_names_each_default_and_how_to_make_it_without_the_files(
    files: Files,
) -> None:
    files.project.write_text('account = "p1"\nunset = ["A"]\ntime = 30\n')
    own = ("--profile=lumi-g", "--container=none", "--unset=B", "--time=20")
    made = envcfg("job", *own, "--", "echo", "a b").text
    assert f"# default: --account p1 ({files.project}:1)\n" in made
    assert f"# default: --unset=A ({files.project}:2)\n" in made
    assert "# default: --time" not in made
    (line,) = (each for each in made.splitlines() if each.startswith("# made by: "))
    words = line.removeprefix("# made by: ")
    assert words.startswith(
        "envcfg job --no-default all --account p1 --unset=A --profile"
    )
    files.project.write_text('account = "p2"\nunset = ["C"]\nwrong\n')
    env = f'PATH={Path(sys.executable).parent}:"$PATH" '
    again = bash(env + words).stdout.decode()
    kept = [
        [each for each in text.splitlines() if not each.startswith(("# default:", "# envcfg:", "# made by:"))]
        for text in (made, again)
    ]  # fmt: skip
    assert kept[0] == kept[1]
    assert "unset -v B" in made or "-u B" in made


def test_without_a_file_nothing_changes_and_with_one_only_what_it_says(
    files: Files,
) -> None:
    before = envcfg("wrap", *BARE).text
    assert "default" not in before.partition("# ---")[0]
    files.user.write_text('account = "only_of_job"\n')
    assert envcfg("wrap", *BARE).text == before


@pytest.mark.parametrize("inside", [False, True])
def test_a_path_next_to_the_file_is_found_from_below(
    files: Files, monkeypatch: pytest.MonkeyPatch, *, inside: bool
) -> None:
    files.project.write_text(
        'container = "x.sif"\nbind = ["./data:/data", "~/y"]\nno-inspect = true\n'
    )
    for name in ("data", "y", "below"):
        (files.folder / name).mkdir()
    monkeypatch.chdir(files.folder / "below" if inside else files.folder)
    plan = json.loads(envcfg("wrap", "--profile=lumi-g", "--json", "--", "true").text)
    assert plan["container"]["image"] == str(files.folder / "x.sif")
    data = f"{files.folder}/data" if inside else "./data"
    binds = plan["defaults"][1]
    assert binds == f"--bind={data}:/data --bind={files.folder}/y ({files.project}:2)"


def test_data_of_a_file_are_never_run(files: Files) -> None:
    evil = "$(touch pwned)`touch pwned`'; touch pwned #\n# x\ntouch pwned\n"
    files.user.write_text(
        f"fact = {toml(['rocm=6.2.4'])}\nset = {toml(['A=' + evil.replace('$', '$$')])}\n"
        f"unset = []\nsrun-arg = {toml([evil])}\n"
    )
    made = envcfg(
        "job",
        "--profile=lumi-g",
        "--container=none",
        "--account=a",
        "--",
        "true",
    )
    assert made.code == 0, made.err
    head = made.text.partition("# --- ")[0]
    assert all(each.startswith("#") for each in head.splitlines() if each)
    done = bash(f"PATH=/bin:/usr/bin; {made.text}\n")
    assert done.returncode != 0
    assert not (files.folder / "pwned").exists()


def test_a_script_that_is_changed_and_a_launch_line_take_no_defaults(
    files: Files,
) -> None:
    files.user.write_text('container = "y.sif"\nunset = ["A"]\nprofile = "mahti"\n')
    (files.folder / "old.sh").write_text(
        "#!/bin/bash\n#SBATCH -N 2\nsrun singularity exec x.sif python a.py\n"
    )
    made = envcfg("wrap", "--from", "old.sh")
    assert made.code == 0, made.err
    assert not {"y.sif", "--unset", "mahti"} & set(made.text.replace("=", " ").split())
    line = ("srun", "singularity", "exec", "x.sif", "true")
    plan = envcfg(
        "wrap",
        "--profile=lumi-g",
        "--launch-line",
        "--no-inspect",
        "--print=plan",
        "--",
        *line,
    )
    assert plan.code == 0, plan.err
    assert "\ndefault " not in plan.text


def test_lint_reads_lines_of_envcfg_with_the_defaults_that_there_are(
    files: Files,
) -> None:
    script = "#!/bin/bash\n#SBATCH -N 1\nsource <(envcfg wrap -- python a.py || echo exit $?)\n"
    (files.folder / "job.sh").write_text(script)
    assert "--container is missing" in envcfg("lint", "job.sh").text
    files.user.write_text('container = "none"\n')
    assert "--container" not in envcfg("lint", "job.sh").text


def test_an_error_names_the_defaults_that_it_may_come_from(files: Files) -> None:
    files.user.write_text("ranks = 2\n")
    done = envcfg("job", "--ntasks=4", "--nodes=1", *BARE)
    assert done.code == 2
    assert f"these come from files: --ranks 2 ({files.user}:1)" in done.err


def test_no_module_is_imported_where_there_is_no_file(files: Files) -> None:
    program = (
        "import sys; from envcfg.cli import main; main(sys.argv[1:]);"
        "print([m for m in ('tomllib', 'tomli', 'envcfg.core.defaults') if m in sys.modules], file=sys.stderr)"
    )

    def seen() -> str:
        done = subprocess.run(
            [sys.executable, "-c", program, "wrap", *BARE],
            capture_output=True,
            text=True,
            check=True,
        )
        return done.stderr.splitlines()[-1]

    assert seen() == "[]"
    files.user.write_text("smoke-test = true\n")
    assert "tom" in seen()


def test_the_schema_refuses_what_is_refused() -> None:
    for said in ({"a": 1}, {"exclusive": "x"}, {"runtime": "x"}, {"account": ["a"]}):
        assert not SCHEMA.is_valid(said)
        ((name, value),) = said.items()
        with pytest.raises(FindingsError):
            parse(f"{name} = {toml(value)}".encode(), "/p")


def test_the_page_and_the_manual_name_every_variable_of_the_environment() -> None:
    page = (ROOT / "docs/command-line.md").read_text()
    named = {
        name
        for row in re.findall(r"^\| (`[A-Z_`, ]+`) \|", page, re.M)
        for name in re.findall(r"\w+", row)
    }
    manual = man_pages()["envcfg.1"].partition(".SH ENVIRONMENT")[2]
    manual = manual.replace("\\fB", " ")
    assert named <= {*re.findall(r"\w+", manual)}
    sources = [each.read_text() for each in (ROOT / "envcfg").rglob("*.py")]
    reads = r"environ(?:\.get\(|\[)\"((?:ENVCFG_|XDG_[CS])\w+)\""
    read = {name for text in sources for name in re.findall(reads, text)}
    assert len(read) > 4
    assert read <= named


def test_every_command_that_has_an_option_takes_its_default(files: Files) -> None:
    files.user.write_text('profile = "lumi-g"\ncontainer = "x.sif"\nnodes = 3\n')
    said = f"by default: --profile lumi-g ({files.user}:1)"
    (files.folder / "job.sh").write_text("#!/bin/bash\n#SBATCH -N 2\nsrun true\n")
    (files.folder / "log").write_text("nothing\n")
    for words in (
        ["lint", "job.sh"],
        ["check-log", "log"],
        ["explain", "NCCL_SOCKET_IFNAME"],
    ):
        done = envcfg(*words)
        assert said in done.err, done.err
        assert said not in envcfg(*words, "--profile", "mahti").err
        assert "by default" not in envcfg(*words, "--no-default", "all").err
    assert "profiles: lumi-g\n" in envcfg("explain", "NCCL_SOCKET_IFNAME").text
    done = envcfg("inspect")
    assert f"--container x.sif ({files.user}:2)" in done.err
    assert "x.sif" in done.err.splitlines()[-2] + done.text
    assert "--container" not in envcfg("inspect", "y.sif").err
    assert "no image is named" in envcfg("inspect", "--no-default", "container").err


def test_a_script_that_shows_its_system_is_judged_for_that(files: Files) -> None:
    files.user.write_text('profile = "lumi-g"\n')
    signs = "#SBATCH -A m1234_g\n#SBATCH -C gpu\n#SBATCH -q regular\n"
    path = files.folder / "job.sh"
    path.write_text(f"#!/bin/bash\n#SBATCH -N 1\n{signs}srun shifter true\n")
    assert "seems to be for perlmutter" in envcfg("lint", "job.sh").err
    assert "is for" not in envcfg("lint", "job.sh", "--profile", "lumi-g").err
    path.write_text(
        "#!/bin/bash\n#SBATCH -N 1\n#SBATCH --gpus-per-node=16\nsrun true\n"
    )
    assert "16" in envcfg("lint", "job.sh").text
    assert "16" not in envcfg("lint", "job.sh", "--no-default", "all").text


def test_inspect_reads_the_image_of_a_projects_file(files: Files) -> None:
    files.project.write_text('container = "x.sif"\n')
    assert "--container x.sif" in envcfg("inspect").err


def test_the_environments_profile_goes_before_a_file_for_every_command(
    files: Files, monkeypatch: pytest.MonkeyPatch
) -> None:
    files.user.write_text('profile = "lumi-g"\n')
    monkeypatch.setenv("ENVCFG_PROFILE", "mahti")
    assert "profiles: " not in envcfg("explain", "NCCL_SOCKET_IFNAME").text


def test_preflight_takes_defaults_and_that_of_a_script_takes_none(
    files: Files,
) -> None:
    files.user.write_text("ranks = 0\n")
    assert f"{files.user}:1" in envcfg("preflight").err
    files.user.write_text('profile = "lumi-g"\ncontainer = "none"\n')
    done = envcfg("wrap", "--preflight", "--verify", "--", "true")
    assert "  exec envcfg preflight --no-default all " in done.text
    assert "--no-default all --watch-step " in done.text
