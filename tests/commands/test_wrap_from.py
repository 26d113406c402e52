"""``envcfg wrap --from``: a script becomes a shorter one that does the same, or says what not."""

from __future__ import annotations

import json
import os
import shlex
import shutil
import stat
import subprocess
import sys
from pathlib import Path

import jsonschema
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from envcfg.conversion.script import convert as make
from envcfg.conversion.script import job_text
from envcfg.conversion.settings import read_settings
from envcfg.conversion.step import find_step
from envcfg.conversion.trace import read_script
from envcfg.errors import EnvcfgError
from envcfg.lint.rule import load_rules
from envcfg.lint.source import Sources
from support import ROOT, Wrapped, bash, envcfg, zero_separated

SCRIPTS = ROOT / "tests/lint/scripts"
HEAD = "#!/bin/bash\n#SBATCH --nodes=2\n#SBATCH --ntasks-per-node=8\n"
# Several steps: one has to be chosen by a person.
REFUSED = {"ray-serving"}
NOTE = """\
#!/usr/bin/env bash
# Notes its words; of envcfg, those behind --.
if [[ ${0##*/} == envcfg ]]; then
  while [[ $1 != -- ]]; do shift; done
  shift
  set -- "${@:2}"
fi
printf '%s\\0' "$@" >"$NOTES"
"""
# They leave out their own words, as srun and Apptainer do.
SRUN = '#!/usr/bin/env bash\nwhile [[ $1 == -* ]]; do shift; done\nexec "$@"\n'
IMAGE = '#!/usr/bin/env bash\nshift 2\nexec "$@"\n'


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def convert(script: str | bytes, *options: str, name: str = "old.sh") -> Wrapped:
    data = script if isinstance(script, bytes) else script.encode()
    Path(name).write_bytes(data)
    return envcfg("wrap", "--from", name, *options)


def words(script: str, *options: str) -> list[str]:
    """Return the command line of wrap, as bash reads it, with variables as they stand."""
    done = convert(script, "--json", *options)
    assert done.code == 0, done.err
    return shlex.split(" ".join(json.loads(done.text)["words"][2:]))


def kept(text: str) -> list[str]:
    """Return the lines of a script that do something, without those of envcfg."""
    body = text.partition("\n# --- The step")[0]
    return [line for line in body.splitlines() if line and not line.startswith("#")]


TORCHRUN = "--nnodes=2 --rdzv_id=$SLURM_JOB_ID --rdzv_backend=c10d --nproc_per_node=8"
NO = ("--container", "none")


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("srun python t.py a 'b c'", [*NO, "--", "python", "t.py", "a", "b c"]),
        (
            "srun apptainer exec -B /a:/b --bind=/c --nv i.sif python t.py",
            [
                *("--container", "i.sif", "--runtime", "apptainer"),
                *("--bind=/a:/b", "--bind=/c", "--runtime-arg=--nv", "--", "python", "t.py"),
            ],
        ),
        (
            "srun apptainer exec --env A=1,B=x i.sif python t.py",
            [
                *("--container", "i.sif", "--runtime", "apptainer"),
                *("--set=A=1", "--set=B=x", "--", "python", "t.py"),
            ],
        ),
        (
            "srun --container-image=i.sqsh --container-mounts=/a:/b python t.py",
            ["--container", "i.sqsh", "--runtime", "pyxis", "--bind=/a:/b", "--", "python", "t.py"],
        ),
        (
            f"srun --ntasks-per-node=1 torchrun {TORCHRUN} t.py",
            [*NO, "--", "torchrun", "--nproc_per_node=8", "t.py"],
        ),
        (
            "srun --ntasks-per-node=1 ./node.sh torchrun --nnodes=2 t.py",
            [
                *NO,
                *("--launcher", "srun", "--ranks", "1"),
                *("--", "./node.sh", "torchrun", "--nnodes=2", "t.py"),
            ],
        ),
        (
            "srun -n 8 --ntasks-per-node=4 -l --mpi=pmi2 python t.py",
            [*NO, "--srun-arg=-l", "--srun-arg=--mpi=pmi2", "--ranks", "4", "--", "python", "t.py"],
        ),
        (
            "srun bash -c 'RANK=$SLURM_PROCID A=1 python t.py'",
            [*NO, "--set=A=1", "--", "python", "t.py"],
        ),
        # what a rank's shell expands needs that shell
        (
            "srun bash -c 'python t.py --id $SLURM_PROCID'",
            [*NO, "--", "bash", "-c", "python t.py --id $SLURM_PROCID"],
        ),
        (
            "srun bash -c 'cd /x; python t.py'",
            [*NO, "--", "bash", "-c", "cd /x; python t.py"],
        ),
        # built in variables
        (
            'RUN="python t.py"\nRUN+=" --a b"\nARGS="-l"\nsrun $ARGS $RUN',
            [*NO, "--srun-arg=-l", "--", "python", "t.py", "--a", "b"],
        ),
        # from outside
        ('srun python t.py "$@" "$X" $Y', [*NO, "--", "python", "t.py", "$@", "${X}", "$Y"]),
        (
            "srun singularity exec $SIF python t.py",
            ["--container", "${SIF}", "--runtime", "singularity", "--", "python", "t.py"],
        ),
        # what bash makes paths or several words of, it does still
        ("srun python ~/t.py *.txt '*' {a,b}", [*NO, "--", "python", "~/t.py", "*.txt", "*", "{a,b}"]),
        ('A="x y"\nsrun python "$A"z \'{\'', [*NO, "--", "python", "x yz", "{"]),
        # variables: the ranks' own, plain, of the container, with a reference
        (
            ("export RANK=$SLURM_PROCID MASTER_PORT=29500\nexport A=1 B='x $y'\n"
            "export SINGULARITYENV_C=2\nexport D=/tmp/$USER\nsrun python t.py"),
            [
                *NO,
                *("--set=A=1", "--set=B=x $$y", "--set=C=2", "--set=D=/tmp/${USER}"),
                *("--", "python", "t.py"),
            ],
        ),
        ("A=1 srun python t.py", [*NO, "--set=A=1", "--", "python", "t.py"]),
        ("exec srun python t.py", [*NO, "--", "python", "t.py"]),
        # Slurm's plug-in of Shifter has the image from the request
        (
            ("#SBATCH --image=docker:me/pytorch:2.9\n#SBATCH --volume=\"/c d:/e;/f:/g\"\n"
            "srun shifter -V /a:/b python t.py"),
            [
                *("--container", "docker:me/pytorch:2.9", "--runtime", "shifter"),
                *("--bind=/c d:/e", "--bind=/f:/g", "--bind=/a:/b", "--", "python", "t.py"),
            ],
        ),
        # text that is pasted into another shell's is read by that shell
        ('srun bash -c "$CMD"', [*NO, "--", "bash", "-c", "${CMD}"]),
        (
            'srun bash -c "python t.py $ARGS"',
            [*NO, "--", "bash", "-c", "python t.py ${ARGS}"],
        ),
        (
            'srun --ntasks-per-node=1 bash -c "torchrun --nnodes=$SLURM_NNODES --nproc_per_node=$SLURM_GPUS_ON_NODE t.py"',
            [*NO, "--", "torchrun", "--nproc_per_node=${SLURM_GPUS_ON_NODE}", "t.py"],
        ),
        ("torchrun --standalone t.py", [*NO, "--", "torchrun", "t.py"]),
    ],
)  # fmt: skip
def test_a_script_becomes_options(body: str, expected: list[str], here: Path) -> None:
    assert words(f"{HEAD}{body}\n") == expected
    assert here.exists()


@pytest.mark.parametrize(
    ("body", "lines"),
    [
        # what is not understood stays, and what it needs
        ("module load x\nset -e\nsrun python t.py", ["module load x", "set -e"]),
        ("N=3\nexport A=$N\nsrun python t.py", []),
        ("export A=$(date)\nsrun python t.py", ["export A=$(date)"]),
        ("X=$(mktemp)\nsrun python t.py $X", ["X=$(mktemp)"]),
        ("export PATH=/x:$PATH\nsrun python t.py", ["export PATH=/x:$PATH"]),
        ("export A=1\necho $A\nsrun python t.py", ["export A=1", "echo $A"]),
        (
            "if [ -n \"$D\" ]; then\n  export A=1\nfi\nsrun python t.py",
            ['if [ -n "$D" ]; then', "  export A=1", "fi"],
        ),
        (
            'H=${D:-$(dirname "$E")}\nsrun python "$H/t.py"',
            ['H=${D:-$(dirname "$E")}'],
        ),
        # what looks secret is not for a command line, which others see
        ("export WANDB_API_KEY=abc\nsrun python t.py", ["export WANDB_API_KEY=abc"]),
        ("export A=~/x\nsrun python t.py", ["export A=~/x"]),
        ("export SRUN_CPUS_PER_TASK=7\nsrun python t.py", ["export SRUN_CPUS_PER_TASK=7"]),
    ],
)  # fmt: skip
def test_what_is_not_understood_stays(body: str, lines: list[str], here: Path) -> None:
    done = convert(f"{HEAD}{body}\n")
    assert done.code == 0, done.err
    assert kept(done.text) == lines
    assert here.exists()


def test_a_step_in_a_function_is_replaced_there(here: Path) -> None:
    done = convert(f"{HEAD}go() {{\n  cd /x\n  srun python $1\n}}\ngo t.py\n")
    body = done.text[done.text.index("go() {") :]
    line = "source <(envcfg wrap --container none -- python t.py || echo exit $?)"
    assert body == f"go() {{\n  cd /x\n  {line}\n}}\ngo t.py\n"
    done = convert(f'{HEAD}go() {{\n  srun python $1\n}}\ngo "$2"\n')
    assert "is not known to the job's shell" in done.err  # there $2 would be another
    assert here.exists()


def test_a_star_stays_bare_and_a_quoted_one_quoted(here: Path) -> None:
    done = convert(f"{HEAD}srun apptainer exec -B ~/a ~/i.sif python *.txt '*' ~/x\n")
    assert "--container ~/i.sif" in done.text
    assert "--bind ~/a " in done.text
    assert "-- python *.txt '*' ~/x ||" in done.text
    assert here.exists()


def test_the_lines_for_the_scheduler_stay_as_they_are(here: Path) -> None:
    asked = "#SBATCH --nodes=2   # two\n#SBATCH -A  x\n##SBATCH --no\n"
    done = convert(f"#!/bin/bash\n{asked}srun python t.py\n")
    assert asked in done.text
    assert here.exists()


def test_a_fault_takes_no_line_for_the_scheduler_away(here: Path) -> None:
    asked = "#SBATCH --partition=standard-g --nodes=1\n#SBATCH --gres=gpu:mi250:2\n"
    done = convert(f"#!/bin/bash\n{asked}srun python t.py\n", "--profile", "lumi-g")
    assert asked in done.text
    assert "in the new script: EC630" in done.err
    assert here.exists()


@pytest.mark.parametrize(
    ("body", "named"),
    [
        (
            "export TRITON_CACHE_DIR=/tmp/x\nrm -rf $TRITON_CACHE_DIR\nsrun python t.py",
            "line 4: export TRITON_CACHE_DIR=/tmp/x: EC312",
        ),
        (
            "D=/tmp/x\nexport TRITON_CACHE_DIR=$D\nmkdir -p $D\nsrun python t.py",
            "line 6: mkdir -p $D: EC311",
        ),
        ("srun -N 1 -n 8 python t.py", "1 of 2 nodes: the step runs on all nodes"),
        ("srun $OPTIONS python t.py", "$OPTIONS: options of srun that are not known"),
        (
            "srun apptainer run i.sif t.py",
            "apptainer run: the image's runscript is left out",
        ),
        (
            'srun apptainer exec i.sif "$@"',
            "apptainer: what it starts is not known, so it stays",
        ),
        ("timeout 60 srun python t.py", "timeout 60: stands before the step"),
        (
            "export CUDA_VISIBLE_DEVICES=0,1\nsrun python t.py",
            "envcfg shows each rank its GPUs",
        ),
        (
            "N=($(scontrol show hostnames))\nsrun -w ${N[0]} python t.py",
            "line 5: --srun-arg=--nodelist=",
        ),
        (
            "A=''\nif [ -d /x ]; then A=--label; fi\nsrun $A python t.py",
            "srun python t.py: another form of the step",
        ),
    ],
)
def test_what_is_not_carried_over_is_named(body: str, named: str, here: Path) -> None:
    done = convert(f"{HEAD}{body}\n")
    assert done.code == 0, done.err
    assert named in done.err
    assert f"#   {named}" in done.text or named in done.text
    assert here.exists()


@pytest.mark.parametrize(
    "folder", sorted(SCRIPTS.iterdir()), ids=lambda each: each.name
)
def test_a_script_as_people_have_it(folder: Path, here: Path) -> None:
    """The result is bash, is clean, and runs nothing but the step that it ran before."""
    shutil.copytree(folder, here, dirs_exist_ok=True)
    (script,) = here.glob("job.*")
    done = envcfg("wrap", "--from", script.name, "-o", "new.sh")
    if folder.name in REFUSED:
        assert (done.code, "one step" in done.err) == (2, True)
        return
    assert done.code == 0, done.err
    new = here / "new.sh"
    assert new.stat().st_mode & stat.S_IXUSR
    assert subprocess.run(["bash", "-n", new], check=False).returncode == 0
    if shutil.which("shellcheck"):
        checked = subprocess.run(["shellcheck", new], capture_output=True, check=False)
        assert checked.returncode == 0, checked.stdout.decode()
    linted = envcfg("lint", "new.sh")
    assert linted.code == 0, linted.text
    assert new.read_text().count("source <(envcfg wrap ") == 1
    asked = [n for n in script.read_text().splitlines() if n.startswith("#SBATCH")]
    assert [n for n in new.read_text().splitlines() if n.startswith("#SBATCH")] == asked
    again = envcfg("wrap", "--from", script.name, "-o", "new.sh")
    assert again.code == 0, again.err  # its own is replaced


def programs(folder: Path, **texts: str) -> str:
    folder.mkdir(exist_ok=True)
    for name, text in texts.items():
        (folder / name).write_text(text)
        (folder / name).chmod(0o755)
    return f"{folder}:{os.environ['PATH']}"


HOSTILE = st.lists(
    st.sampled_from(["$(id)", "`id`", "${A}", "a b", "'", '"', "\\", "*", "~", "!", "#", "\n"])
    | st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0\1\r"), max_size=5),
    max_size=4,
).map("".join)  # fmt: skip
FORMS = [
    "srun -l program {words}",
    "srun apptainer exec i.sif program {words}",
    "ARGS=({words})\nsrun program \"${{ARGS[@]}}\"",
    "srun bash -c {quoted}",
]  # fmt: skip


@settings(deadline=None, max_examples=8)
@given(st.lists(HOSTILE, max_size=3), st.sampled_from(FORMS))
def test_the_program_gets_the_same_words(
    tmp_path_factory: pytest.TempPathFactory, arguments: list[str], form: str
) -> None:
    folder = tmp_path_factory.mktemp("words")
    said = " ".join(map(shlex.quote, arguments))
    body = form.format(words=said, quoted=shlex.quote(f"program {said}"))
    old, new = folder / "old.sh", folder / "new.sh"
    old.write_bytes(f"{HEAD}{body}\n".encode())
    done = envcfg("wrap", "--from", str(old), "-o", str(new))
    assert done.code == 0, done.err
    path = programs(
        folder / "bin", srun=SRUN, apptainer=IMAGE, program=NOTE, envcfg=NOTE
    )
    for script in (old, new):
        bash(f". {script}", PATH=path, NOTES=f"{script}.words")
    before, after = (zero_separated(Path(f"{each}.words")) for each in (old, new))
    if form.endswith("{quoted}") and after[:1] == [b"-c"]:
        after = zero_separated(folder / "new.sh.words")
        assert shlex.split(after[1].decode())[1:] == arguments
    else:
        assert after == before


def test_the_result_runs(here: Path) -> None:
    code = "import os, sys; print(os.environ['A'], *sys.argv[1:], sep=',')"
    program = shlex.join([sys.executable, "-c", code, "a b", "$c"])
    script = f"{HEAD}export A='x  y'\nsrun {program}\n"
    options = ("--profile", "workstation", "--launcher", "local", "--ranks", "1")
    done = convert(script, *options, "-o", "new.sh")
    assert done.code == 0, done.err
    path = programs(
        here / "bin",
        envcfg=f'#!/bin/sh\nexec {shlex.quote(sys.executable)} -m envcfg "$@"\n',
    )
    ran = bash("./new.sh", PATH=path)
    assert (ran.returncode, ran.stdout) == (0, b"x  y,a b,$c\n"), ran.stderr


def test_what_the_profile_has_is_not_said_again(here: Path) -> None:
    body = (
        "#SBATCH --partition=standard-g\n#SBATCH --account=project_465000001\n"
        "export NCCL_SOCKET_IFNAME=hsn0,hsn1,hsn2,hsn3\nexport NCCL_DEBUG=INFO\n"
        "srun --cpu-bind=cores singularity exec i.sif python t.py\n"
    )
    done = convert(HEAD + body, "--json")
    document = json.loads(done.text)
    assert document["profile"] == "lumi-g"
    assert "by partition, account" in done.err
    assert " ".join(document["words"]) == (
        "envcfg wrap --profile lumi-g --container i.sif --set=NCCL_DEBUG=INFO -- python t.py"
    )
    assert "NCCL_SOCKET_IFNAME, as the profile says" in document["done_by_envcfg"]
    assert here.exists()


def test_what_is_given_goes_before_what_the_script_says(here: Path) -> None:
    script = f"{HEAD}srun apptainer exec old.sif python t.py\n"
    given_words = words(
        script, "--container", "new.sif", "--set", "A=1", "--bind", "/x"
    )
    assert given_words == [
        *("--runtime", "apptainer", "--container", "new.sif"),
        *("--bind=/x", "--set=A=1", "--", "python", "t.py"),
    ]
    assert here.exists()


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--", "x"), "takes the command from the script"),
        (("--print", "plan"), "excludes --print plan"),
        (("-o", "old.sh"), "would be lost"),
    ],
)
def test_options_that_do_not_go_together(
    options: tuple[str, ...], said: str, here: Path
) -> None:
    done = convert(f"{HEAD}srun python t.py\n", *options)
    assert done.code in (2, 4)
    assert said in done.err
    assert (here / "old.sh").read_text().startswith(HEAD)


def test_what_is_no_text_is_refused_at_once(here: Path) -> None:
    done = convert(f"{HEAD}srun python t.py\n".encode() + bytes(100_000))
    assert (done.code, "is no text: it has NUL bytes" in done.err) == (2, True)
    assert (here / "old.sh").exists()


def test_a_script_that_envcfg_made_is_none_to_replace(here: Path) -> None:
    made = envcfg("wrap", "--container", "none", "--", "python", "t.py")
    done = convert(made.out)
    assert done.code == 2
    assert (
        "old.sh was made by envcfg, and --from replaces scripts of others" in done.err
    )
    assert (here / "old.sh").read_bytes() == made.out


@pytest.mark.parametrize(
    ("script", "said"),
    [
        ("echo\n", "starts no program"),
        ("srun python a.py\nsrun python b.py\n", "lines 4, 5"),
        ("srun python <<<'print(1)'\n", "reads a part of the script"),
        ("srun python - <<E\nprint(1)\nE\n", "reads a part of the script"),
        ("go() { srun python $1; }\ngo a\ngo b\n", "several times"),
        ("srun torchrun --what=1 t.py\n", "does not know this option"),
        (
            "srun -n1 python a.py : -n8 python b.py\n",
            "line 4 starts several programs side by side",
        ),
        ("srun shifter python t.py\n", "the step's image stands nowhere"),
        ("srun $@\n", "'srun $@' starts comes from outside"),
        ("srun $1 --nnodes=4 -m train\n", "starts comes from outside"),
    ],
)
def test_a_script_that_is_none_of_one_step(script: str, said: str, here: Path) -> None:
    done = convert(HEAD + script)
    assert (done.code, said in done.err) == (2, True), done.err
    assert here.exists()


@pytest.mark.parametrize(
    "first", ["#!/bin/tcsh -f", "#! /usr/bin/env -S zsh", "#!/usr/bin/python3"]
)
def test_a_script_for_another_shell_is_refused(first: str, here: Path) -> None:
    done = convert(f"{first}\n#SBATCH --nodes=2\nsetenv A 1\nsrun python t.py\n")
    assert (done.code, "old.sh is written for " in done.err) == (2, True), done.err
    assert here.exists()


def test_the_mark_of_an_editor_is_no_command(here: Path) -> None:
    done = convert(f"\ufeff{HEAD}srun python t.py\n")
    assert done.err.count("warning") == 0
    assert "\ufeff" not in done.text
    assert done.text.count("#SBATCH") == 2
    assert here.exists()


def test_an_image_that_stands_nowhere_may_be_given(here: Path) -> None:
    given = words(f"{HEAD}srun shifter python t.py\n", "--container", "me/pytorch:2.9")
    assert given == [
        "--runtime",
        "shifter",
        "--container",
        "me/pytorch:2.9",
        "--",
        "python",
        "t.py",
    ]
    assert here.exists()


def test_a_script_is_needed_and_then_no_container(here: Path) -> None:
    assert "--container is missing" in envcfg("wrap", "--", "x").err
    assert envcfg("wrap", "--from", "").code == 2
    assert envcfg("wrap", "--from", "no.sh").code == 4
    assert envcfg("wrap", "--from", str(here)).code == 2
    assert here.exists()


def test_text_of_a_script_does_not_reach_the_terminal(here: Path) -> None:
    done = convert(f"{HEAD}srun $'\\e[31m' python\nsrun \x1b[31m$X python t.py\n")
    assert "\x1b" not in done.err
    assert here.exists()


def test_the_document_is_as_its_schema_says(here: Path) -> None:
    schema = json.loads((ROOT / "docs/wrap-from.schema.json").read_text())
    done = convert(f"{HEAD}timeout 5 srun python t.py\n", "--json")
    jsonschema.validate(json.loads(done.text), schema)
    (left,) = json.loads(done.text)["not_carried_over"]
    assert left == {"line": 4, "what": "timeout 5", "why": "stands before the step"}
    assert here.exists()


SAMPLES = [
    sample.script
    for rule in load_rules().values()
    for sample in (*rule.bad, *rule.good)
    if "srun" in sample.script or "torchrun" in sample.script
]
PIECES = st.sampled_from(
    [
        *("\"'$`(){};|~\\\n\1"),
        *("<<E\n", "$(x)", '"${A[@]}"', "&&"),
        *SAMPLES,
    ]
)


@settings(deadline=None, max_examples=150)
@given(
    st.sampled_from(SAMPLES),
    st.lists(st.tuples(st.integers(0, 600), st.integers(0, 30), PIECES), max_size=3),
)
@example("srun torchrun --nnodes", [])
@example("srun python t.py", [(0, 0, "export A=${B&C}\n")])
def test_no_script_is_too_strange(
    script: str, changes: list[tuple[int, int, str]]
) -> None:
    for at, cut, piece in changes:
        script = script[:at] + piece[:80] + script[at + cut :]
    sources = Sources()
    read = read_script(sources.add("old.sh", script.encode()), sources)
    try:
        step = find_step(read, pins=False)
        made = make(
            read,
            step,
            read_settings(read, {}, {}),
            profile=None,
            given=[],
            flags=(),
            known=(),
            faults=lambda _: {},
        )
    except EnvcfgError:
        return
    assert job_text(made, "old.sh", ["envcfg"]).count("source <(envcfg wrap ") >= 1
