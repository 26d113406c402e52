"""``wrap --from``: which lines it moves and how, what it refuses, what it says."""

from __future__ import annotations

import json
import re
from pathlib import Path

import jsonschema
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from old_scripts import HEAD

from envcfg.common.errors import EnvcfgError
from envcfg.core.script_conversion import convert_file
from envcfg.core.step_options import STEP
from envcfg.lint.lint_rule import load_rules
from support import ROOT, Wrapped, bash, envcfg

PLAIN = "srun singularity exec x.sif python t.py\n"


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def convert(script: str | bytes, *options: str, name: str = "old.sh") -> Wrapped:
    data = script if isinstance(script, bytes) else script.encode()
    Path(name).write_bytes(data)
    return envcfg("wrap", "--from", name, *options)


MOVED = [
    (PLAIN, "with_envcfg " + PLAIN),
    ("  A=1 srun x y | tee log &\n", "  A=1 with_envcfg srun x y | tee log &\n"),
    ("exec srun x $? >log\n", "exec_with_envcfg srun x $? >log\n"),
    ("time srun x y\n", "time with_envcfg srun x y\n"),
    ("command srun x y\n", "with_envcfg srun x y\n"),
    ("L='srun -n 2'\n$L x y\n", "L='srun -n 2'\nwith_envcfg $L x y\n"),
    ("eval 'srun x y'\n", "eval 'with_envcfg srun x y'\n"),
    ("A=$(srun x y)\n", "A=$(with_envcfg srun x y)\n"),
    ("A=1 torchrun t.py\n", "A=1 with_envcfg torchrun t.py\n"),
    (
        "flux resource list\nflux run -n 2 x y\n",
        "flux resource list\nwith_envcfg flux run -n 2 x y\n",
    ),
    ("! srun x y || echo no\n", "! with_envcfg srun x y || echo no\n"),
    (
        "go() { srun x $1; }\ngo a\ngo b\n",
        "go() { with_envcfg srun x $1; }\ngo a\ngo b\n",
    ),
    ("srun x $A \\\n  'b'\n", "with_envcfg srun x $A \\\n  'b'\n"),
    (
        "srun python a.py\nsrun python b.py\n",
        "with_envcfg srun python a.py\nwith_envcfg srun python b.py\n",
    ),
    (
        'say() { echo "$1"; }\nssh node2 "$(declare -f say); say a"\n' + PLAIN,
        'say() { echo "$1"; }\nssh node2 "$(declare -f say); say a"\nwith_envcfg '
        + PLAIN,
    ),
    (
        "work() { srun x y; }\ndeclare -F work && type work2 srun\nwork\n",
        "work() { with_envcfg srun x y; }\ndeclare -F work && type work2 srun\nwork\n",
    ),
    ("srun hostname\n" + PLAIN, "srun hostname\nwith_envcfg " + PLAIN),
    ("singularity exec x.sif python\n", "with_envcfg singularity exec x.sif python\n"),
    ("srun apptainer run x.sif $A\n", "with_envcfg srun apptainer run x.sif $A\n"),
    (
        "for h in a b; do srun -w $h x y & done; wait\n",
        "for h in a b; do with_envcfg srun -w $h x y & done; wait\n",
    ),
]


@pytest.mark.parametrize(("body", "moved"), MOVED)
def test_only_the_launch_line_changes(body: str, moved: str, here: Path) -> None:
    done = convert(HEAD + body)
    assert done.code == 0, done.err
    head, function, rest = done.text.partition("with_envcfg() {")
    assert function
    assert rest.partition("\n}\n\n")[2] == moved
    assert [line for line in head.splitlines() if line.startswith("#SBATCH")] == (
        HEAD.splitlines()[1:]
    )
    assert here.exists()


def test_a_program_before_the_line_starts_it_in_a_shell(here: Path) -> None:
    done = convert(f"{HEAD}timeout -k 5 60 srun x $A\n")
    assert done.code == 0, done.err
    moved = 'timeout -k 5 60 bash -c "$run_with_envcfg" with_envcfg srun x $A\n'
    assert done.text.endswith(f'exec_with_envcfg "$@"\'\n\n{moved}')
    assert here.exists()


@pytest.mark.parametrize("program", ["numactl -N 0", "/usr/bin/time -v", "taskset 3"])
def test_programs_that_only_bind_or_measure_stay(program: str, here: Path) -> None:
    done = convert(f"{HEAD}{program} srun x $A\n")
    assert done.code == 0, done.err
    moved = f'{program} bash -c "$run_with_envcfg" with_envcfg srun x $A\n'
    assert done.text.endswith(f"\n{moved}")
    assert here.exists()


NAMED = [
    ("python t.py $A\n", "with_envcfg python t.py $A\n"),
    ("cd x && time python t.py >log\n", "cd x && time with_envcfg python t.py >log\n"),
    ("numactl -N0 python t.py &\n", "with_envcfg numactl -N0 python t.py &\n"),
    ("exec ./train.sh a\n", "exec_with_envcfg ./train.sh a\n"),
    ("P='python -u'\n$P t.py\n", "P='python -u'\nwith_envcfg $P t.py\n"),
    ("srun x\npython t.py\n", "srun x\nwith_envcfg python t.py\n"),
    ("python a.py\nsrun x y\n", "python a.py\nwith_envcfg srun x y\n"),
]


@pytest.mark.parametrize(("body", "moved"), NAMED)
def test_a_named_line_is_the_only_launch_line(
    body: str, moved: str, here: Path
) -> None:
    done = convert(HEAD + body, "--line", str(3 + body.count("\n")))
    assert done.code == 0, done.err
    assert done.text.partition("\nwith_envcfg() {")[2].endswith(f"\n{moved}")
    assert here.exists()


@pytest.mark.parametrize(
    ("line", "names"),
    [
        ("python a.py | tee log | python b.py", "python"),
        ("gcc x.c && ./a.out", "gcc and a.out"),
        ("echo x", "no program"),
        ("if [[ -e x ]]; then", "no program"),
    ],
)
def test_a_line_without_one_program_cannot_be_named(
    line: str, names: str, here: Path
) -> None:
    end = "true\nfi\n" if line.startswith("if") else ""
    done = convert(f"{HEAD}{line}\n{end}", "--line", "4")
    why = f"old.sh:4: this line cannot be the launch line: it has {names}\n"
    assert (done.code, why in done.err) == (2, True), done.err
    assert here.exists()


@pytest.mark.parametrize(
    ("first", "by_bash"),
    [
        ("#!/bin/sh", "#!/bin/bash"),
        ("#! /bin/sh -l", "#! /bin/bash -l"),
        ("#!/usr/bin/env sh", "#!/usr/bin/env bash"),
        ("#!/usr/bin/env -S sh -e", "#!/usr/bin/env -S bash -e"),
    ],
)
def test_a_script_for_sh_gets_bash(first: str, by_bash: str, here: Path) -> None:
    done = convert(f"{first}\n{PLAIN}")
    assert done.text.splitlines()[0] == by_bash
    assert f"old.sh:1: {first} becomes {by_bash}, because" in done.err
    assert here.exists()


WORK = "work() { srun -n 2 x y; }\n"
COPIED = "srun is in the function work, which the script gives to another shell"
REFUSED = [
    ("echo\n", "has no launch line"),
    ("C='srun x y'\n[[ -v D ]] && C='echo x'\n$C\n", "srun is in a variable"),
    ("C='cd a; srun x y'\neval $C\n", "srun is in a variable"),
    ("srun bash -c 'singularity exec x.sif y'\n", "text for another shell"),
    ("bash -c 'srun x y'\n", "srun is inside a text that bash reads as commands"),
    ("bash -c 'srun x y'\n", "hint: write the launch line itself, without bash"),
    ("mpirun -n 2 srun x y\n", "hint: write srun in place of mpirun"),
    (
        "C='srun x y'\n[[ -v D ]] && C='echo x'\n$C\n",
        "hint: write srun itself in the line",
    ),
    ("exec timeout 60 srun x y\n", "exec comes before the launch line"),
    ("setsid srun x y\n", "setsid comes before the launch line"),
    ("mpirun -n 2 singularity exec x.sif y\n", "the script has no line #PBS"),
    ("jsrun -n 2 singularity exec x.sif y\n", "jsrun starts the ranks"),
    ("srun() { :; }\nsrun x y\n", "srun is a function"),
    ("srun --export=NONE -n $N x y\n", "hands the job's whole environment on"),
    ("srun -n1 python a.py : -n8 python b.py\n", "several programs side by side"),
    ("srun --export=NONE x y\n", "hands the job's whole environment on"),
    ("srun --multi-prog conf\n", "one program on all ranks"),
    ("srun --no-such x y\n", "--no-such: this option is not known"),
    ("singularity shell x.sif\n", "a shell to type in"),
    ("srun --container-image=y singularity run x.sif\n", "a container within a"),
    ("srun shifter python t.py\n", "write shifter --image=IMAGE"),
    # Words that only the job knows do not hide what is certain (shown by a real job).
    ("srun shifter python t.py --id $SLURM_JOB_ID\n", "write shifter --image=IMAGE"),
    ("srun $ARGS shifter python t.py $A\n", "write shifter --image=IMAGE"),
    ("srun singularity shell x.sif t.py $A\n", "a shell to type in"),
    ("srun $ARGS apptainer shell x.sif t.py $A\n", "a shell to type in"),
    ("$RUN singularity shell $IMAGE\n", "a shell to type in"),
    ("srun envcfg wrap --container x.sif -- python t.py\n", "source <(envcfg wrap"),
    ("set -o posix\nsrun x y\n", "cannot be moved under set -o posix"),
    ("set -eT\nsrun x y\n", "cannot be moved under set -eT"),
    (f'{WORK}work\nssh node2 "$(declare -f work); work"\n', COPIED),
    (f'{WORK}work\nssh node2 "$(typeset -f work a)\nwork" &\nwait\n', COPIED),
    (f"{WORK}work\ndeclare -f | ssh node2 bash\n", COPIED),
    (f'{WORK}work\nfor f in work; do declare -fp "$f"; done >f.sh\n', COPIED),
    (f"{WORK}work\ntype work | tail -n +2 >f.sh\n", COPIED),
    (f"{WORK}work\ncommand typeset -f work >f.sh\n", COPIED),
    (f"{WORK}work\ncat >f.sh <<E\n$(declare -f work)\nE\n", COPIED),
    (f"{WORK}work\nexport -f work\nxargs -n1 bash -c work <list\n", COPIED),
    (f"{WORK}work\ndeclare -fx work\nparallel work ::: 1 2\n", COPIED),
    ("srun python - <<'E'\n1\nE \nsrun x\n", "no line that ends it"),
    ("cat <<E\nsrun x\n", ""),
]


@pytest.mark.parametrize(("body", "why"), REFUSED)
def test_what_cannot_be_moved_is_refused_with_its_line(
    body: str, why: str, here: Path
) -> None:
    done = convert(HEAD + body, "-o", "new.sh")
    assert done.code == 2, done.text
    assert why in done.err
    assert "old.sh" in done.err
    assert not (here / "new.sh").exists()


WHOLE = [
    (b"#!/bin/tcsh -f\nsrun x\n", "written for tcsh"),
    (b"#!/usr/bin/env -S zsh -f\nsrun x\n", "written for zsh"),
    (b"#!/bin/bash\nsrun x\0\n", "is not text"),
    (b"#!/bin/bash\r\nsrun x y\r\n", "line ends"),
    (b"\xef\xbb\xbf#!/bin/bash\nsrun x y\n", "the mark of a Windows editor"),
    (b"#!/bin/bash\n#" + b"x" * (1 << 18) + b"\nsrun x y\n", "more than"),
]


@pytest.mark.parametrize(("data", "why"), WHOLE)
def test_a_script_that_bash_does_not_read_so_is_refused(
    data: bytes, why: str, here: Path
) -> None:
    done = convert(data)
    assert (done.code, why in done.err) == (2, True), done.err
    assert (here / "old.sh").read_bytes() == data


def test_a_converted_script_is_replaced_and_not_converted_again(here: Path) -> None:
    for _ in range(2):
        assert convert(f"#!/bin/bash -l\n{PLAIN}", "-o", "new.sh").code == 0
    new = (here / "new.sh").read_text()
    assert new.startswith("#!/bin/bash -l\n# envcfg:converted ")
    assert bash(f"bash -n {here}/new.sh").returncode == 0
    again = envcfg("wrap", "--from", "new.sh")
    assert (again.code, "was made by envcfg" in again.err) == (2, True)
    (here / "new.sh").write_text(new + "echo mine\n")
    assert "new.sh" in convert(PLAIN, "-o", "new.sh").err


def test_without_envcfg_the_job_ends_before_anything_runs(here: Path) -> None:
    made = convert(f"#!/bin/bash\nset +e\ntouch ran\n{PLAIN}echo goes on\n")
    done = bash(made.out, PATH="/usr/bin:/bin")
    assert (done.returncode, done.stdout) == (127, b"")
    assert not (here / "ran").exists()


LUMI = (
    "#!/bin/bash\n#SBATCH --partition=standard-g\n#SBATCH --account=project_465000001\n"
    "export NCCL_SOCKET_IFNAME=hsn0,hsn1,hsn2,hsn3\nexport GLOO_SOCKET_IFNAME=lo\n"
    + PLAIN
)


def test_what_the_profile_sets_as_well_is_said_and_left_out_if_asked(
    here: Path,
) -> None:
    done = convert(LUMI)
    assert "is for lumi-g, by partition, account" in done.err
    assert (
        "old.sh:4: NCCL_SOCKET_IFNAME=hsn0,hsn1,hsn2,hsn3: is as the profile"
        in done.err
    )
    assert "old.sh:5: GLOO_SOCKET_IFNAME=lo: stays, and overrides" in done.err
    assert "export NCCL_SOCKET_IFNAME" in done.text
    dropped = convert(LUMI, "--drop-known")
    assert "export NCCL_SOCKET_IFNAME" not in dropped.text
    assert "export GLOO_SOCKET_IFNAME=lo\n" in dropped.text
    assert here.exists()


WRONG_EXPORTS = {
    "mask": ("export ROCR_VISIBLE_DEVICES=$SLURM_LOCALID\n", "ROCR_VISIBLE_DEVICES"),
    "CUDA mask": ('export CUDA_VISIBLE_DEVICES="$SLURM_LOCALID"\n', "CUDA_VISIBLE_DEVICES"),
    "rank": ("export RANK=$SLURM_PROCID\n", "RANK"),
    "local rank": ("export LOCAL_RANK=${SLURM_LOCALID}\n", "LOCAL_RANK"),
    "size": ("export WORLD_SIZE=$(SLURM_NPROCS)\n", "WORLD_SIZE"),
}  # fmt: skip
IN_USE = {
    "a branch": "if true; then\n{}fi\n",
    "a function": "f() {{\n{}}}\nf\n",
    "read later": "{}echo $ROCR_VISIBLE_DEVICES\n",
    "two commands": "echo a; {}",
}


@pytest.mark.parametrize("case", WRONG_EXPORTS)
def test_an_export_that_is_wrong_for_ranks_ends_the_conversion(
    here: Path, case: str
) -> None:
    export, name = WRONG_EXPORTS[case]
    done = convert(HEAD + export + PLAIN)
    assert (done.code, f"{name} in line 4" in done.err) == (2, True), done.err
    assert "--drop-known" in done.err
    dropped = convert(HEAD + export + PLAIN, "--drop-known")
    assert dropped.code == 0, dropped.err
    assert export not in dropped.text
    assert f"old.sh:4: {name}: is left out" in dropped.err
    assert bash(f"bash -n {here}/old.sh").returncode == 0


def test_ranks_that_are_jobs_of_an_array_are_not_converted(here: Path) -> None:
    body = "export RANK=$SLURM_ARRAY_TASK_ID\nexport WORLD_SIZE=4\n"
    for options in ((), ("--drop-known",)):
        done = convert(HEAD + body + PLAIN, *options)
        assert done.code == 2
        assert "RANK is the number of a job in an array" in done.err
    other = "export SEED=$SLURM_ARRAY_TASK_ID MASTER_PORT=$((20000 + SLURM_ARRAY_TASK_ID))\n"
    assert convert(HEAD + other + PLAIN).code == 0
    assert here.exists()


@pytest.mark.parametrize("case", IN_USE)
def test_an_export_that_other_text_needs_is_not_removed(here: Path, case: str) -> None:
    body = IN_USE[case].format(WRONG_EXPORTS["mask"][0])
    done = convert(HEAD + body + PLAIN, "--drop-known")
    assert (done.code, "by hand" in done.err) == (2, True), done.err
    assert here.exists()


def test_a_right_export_of_a_rank_s_variable_stays(here: Path) -> None:
    done = convert(HEAD + "export WORLD_SIZE=$SLURM_NTASKS\n" + PLAIN)
    assert (done.code, "export WORLD_SIZE=$SLURM_NTASKS\n" in done.text) == (0, True)
    assert here.exists()


SHIFTER = """\
#!/bin/bash
#SBATCH --image=docker:nersc/pytorch:24.06.01
#SBATCH --module=gpu,nccl-plugin -N 2
for seed in 1 2; do
  srun -l -u shifter bash -c "python train.py --seed $seed"
done
srun shifter --image=other/x:1 python eval.py $A
"""


@pytest.mark.usefixtures("here")
def test_the_image_of_a_directive_is_written_into_the_line() -> None:
    done = convert(SHIFTER, "--profile", "perlmutter")
    assert done.code == 0, done.err
    module = "--module=gpu,nccl-plugin"
    line = f"shifter --image=docker:nersc/pytorch:24.06.01 {module} bash -c"
    assert f"  with_envcfg srun -l -u {line}" in done.text
    assert f"\nwith_envcfg srun shifter {module} --image=other/x:1 python" in done.text
    assert "old.sh:5: the line now has shifter --image=docker:nersc" in done.err


ALWAYS = ["--kill-on-bad-exit=1", "--export=ALL"]
CORES = ['--cpus-per-task="$SLURM_CPUS_PER_TASK"']


@pytest.mark.parametrize(
    ("line", "added"),
    [
        ("srun x y", [*ALWAYS, "--gpu-bind=none", "--cpu-bind", *CORES]),
        ("srun -c 4 x y", [*ALWAYS, "--gpu-bind=none", "--cpu-bind"]),
        ("srun --cpu-bind=none x y", [*ALWAYS, "--gpu-bind=none", *CORES]),
        ("srun -K0 --gpus-per-task=1 -c1 x y", ["--export=ALL", "--cpu-bind"]),
        ("singularity exec x.sif y", []),
    ],
)
@pytest.mark.usefixtures("here")
def test_options_that_the_line_gets_are_listed(line: str, added: list[str]) -> None:
    options = ("--profile", "perlmutter")
    done = convert(f"{HEAD}{line}\n", *options, "--json")
    (entry,) = json.loads(done.text)["lines"]
    words = [word.partition("=mask_cpu")[0] for word in entry["added"]]
    assert [word for word in words if "--error" not in word] == added
    if added:
        assert " ".join(entry["added"]) in convert(f"{HEAD}{line}\n", *options).err


def test_an_error_in_another_file_does_not_count_for_the_same_line(here: Path) -> None:
    (here / "env.sh").write_text("\n" * 3 + "export RANK=$SLURM_PROCID\n")
    right = "export WORLD_SIZE=$SLURM_NTASKS\nsource ./env.sh\n"
    done = convert(HEAD + right + PLAIN)
    assert done.code == 0, done.err


def test_errors_of_the_new_script_are_told(here: Path) -> None:
    wrong = convert(HEAD + PLAIN.replace("t.py", "t.py --rank $SLURM_PROCID"))
    assert re.search(r"old.sh: line \d+ of the new script: SLURM_PROCID", wrong.err)
    assert here.exists()


def test_a_letter_of_two_bytes_ends_no_line(here: Path) -> None:
    head = "#!/bin/bash\n# Åbo Akademi\f: ą … 中\n"
    done = convert(head + LUMI.partition("\n")[2], "--drop-known")
    assert "# Åbo Akademi\f: ą … 中\n" in done.text
    assert "export NCCL_SOCKET_IFNAME" not in done.text
    assert "export GLOO_SOCKET_IFNAME=lo\n" in done.text
    assert bash(f"bash -n {here}/old.sh").returncode == 0


def test_options_of_wrap_go_into_each_step(here: Path) -> None:
    done = convert(PLAIN, "--nccl-debug", "--set", "A=1", "--profile", "lumi-g")
    line = next(n for n in done.text.splitlines() if "source <(" in n)
    assert "--profile lumi-g" in line
    assert "--set=A=1" in line or "--set A=1" in line
    assert "--nccl-debug" in line
    again = convert(PLAIN, "--container", "y.sif", "--profile", "lumi-g")
    assert "--container is given, and the launch line says it, too" in again.err
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
    done = convert(HEAD + PLAIN, *options)
    assert done.code in (2, 4)
    assert said in done.err
    assert (here / "old.sh").read_text() == HEAD + PLAIN


def test_a_script_is_needed_and_then_no_container(here: Path) -> None:
    assert "--container is missing" in envcfg("wrap", "--", "x").err
    assert envcfg("wrap", "--from", "").code == 2
    assert envcfg("wrap", "--from", "no.sh").code == 4
    assert envcfg("wrap", "--from", str(here)).code == 2


def test_text_of_a_script_does_not_reach_the_terminal(here: Path) -> None:
    for body in ("X=$'\\e[31m'\n$X srun x\n", "\x1b[31m srun x y\n", "srun --\x1b x\n"):
        assert "\x1b" not in convert(HEAD + body).err
    assert here.exists()


def test_the_document_is_as_its_schema_says(here: Path) -> None:
    schema = json.loads((ROOT / "docs/wrap-from.schema.json").read_text())
    document = json.loads(convert(LUMI, "--json", "--drop-known").text)
    jsonschema.validate(document, schema)
    assert document["profile"] == "lumi-g"
    (line,) = document["lines"]
    assert line.pop("added")[:2] == ALWAYS
    assert line == {
        "line": 6,
        "before": PLAIN.strip(),
        "after": "with_envcfg " + PLAIN.strip(),
    }
    assert [each["is_removed"] for each in document["variables"]] == [True, False]
    assert here.exists()


SAMPLES = [
    sample.script
    for rule in load_rules().values()
    for sample in (*rule.bad, *rule.good)
    if "srun" in sample.script or "singularity" in sample.script
]
PIECES = st.sampled_from(
    [*"\"'$`(){};|~\\\n\2", "<<E\n", "$(x)", '"${A[@]}"', "&&", "exec ", *SAMPLES]
)
NOTHING = {
    each.name: [] if each.kind == "many" else each.default
    for options in STEP.values()
    for each in options
} | {"profile": None}


@pytest.mark.nightly
@settings(deadline=None, max_examples=150)
@given(
    st.sampled_from(SAMPLES),
    st.lists(st.tuples(st.integers(0, 600), st.integers(0, 30), PIECES), max_size=3),
)
@example("srun torchrun --nnodes", [])
@example("srun python t.py", [(0, 0, "export A=${B&C}\n")])
def test_no_script_is_too_strange(
    tmp_path_factory: pytest.TempPathFactory,
    script: str,
    changes: list[tuple[int, int, str]],
) -> None:
    """It is refused, or all of its text is still there."""
    for at, cut, piece in changes:
        script = script[:at] + piece[:80] + script[at + cut :]
    path = tmp_path_factory.mktemp("strange") / "old.sh"
    path.write_text(script, newline="")
    try:
        made = convert_file(str(path), NOTHING, made_by=["envcfg"])
    except EnvcfgError:
        return
    rest = made.script.replace("with_envcfg ", "")
    for word in script.replace("#!/bin/sh", "").split():
        if word not in {"exec", "command"}:
            assert word in rest


def test_what_sbatch_refuses_of_the_old_script_is_said_in_its_words(here: Path) -> None:
    del here
    done = convert("#!/bin/bash\n#SBATCH --time=24h\nsrun singularity exec a.sif p\n")
    assert "old.sh:2: sbatch: error: Invalid --time specification" in done.err


NETWORK = {
    "perlmutter": "#SBATCH -N 2\nsrun -n 8 podman-hpc run --rm --gpu img:1 python t.py\n",
    "polaris": "#PBS -l select=2\nmpiexec -n 8 --ppn 4 python t.py\n",
    "derecho": "#PBS -l select=2\nmpiexec -n 8 --ppn 4 apptainer exec x.sif python t.py\n",
}


@pytest.mark.usefixtures("here")
@pytest.mark.parametrize("profile", NETWORK)
def test_a_job_without_the_plug_in_still_runs_as_it_ran(profile: str) -> None:
    script = f"#!/bin/bash\n{NETWORK[profile]}"
    made = convert(script, "--profile", profile)
    assert made.code == 0, made.err
    assert not re.search(r"envcfg_set NCCL_NET '", made.text)
    assert "NCCL_NET: is left unset, because it is unknown" in made.err
    for words in (("--fact", "plugin=1.14.2"), ("--set", "NCCL_NET=AWS Libfabric")):
        forced = convert(script, "--profile", profile, *words)
        assert forced.code == 0, forced.err
        is_later = "--launch-line" in forced.text  # decided in the job
        assert is_later or "envcfg_set NCCL_NET 'AWS Libfabric'" in forced.text
        assert "is left unset" not in forced.err


@pytest.mark.usefixtures("here")
def test_the_job_s_own_network_stays() -> None:
    own = "export NCCL_NET='AWS Libfabric'\nsrun podman-hpc run img:1 python t.py\n"
    made = convert(f"#!/bin/bash\n#SBATCH -N 2\n{own}", "--profile", "perlmutter")
    assert made.code == 0, made.err
    assert own.partition("\n")[0] in made.text
