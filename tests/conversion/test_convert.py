"""``wrap --from``: which lines it moves and how, what it refuses, what it says."""

from __future__ import annotations

import json
from pathlib import Path

import jsonschema
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from old_scripts import HEAD

from envcfg.core.conversion import convert_file
from envcfg.core.step_options import STEP
from envcfg.errors import EnvcfgError
from envcfg.lint.rule import load_rules
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
    ("flux run -n 2 x y\n", "with_envcfg flux run -n 2 x y\n"),
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
    ("srun hostname\n" + PLAIN, "srun hostname\nwith_envcfg " + PLAIN),
    ("singularity exec x.sif python\n", "with_envcfg singularity exec x.sif python\n"),
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


REFUSED = [
    ("echo\n", "has no launch line"),
    ("C='srun x y'\n[[ -v D ]] && C='echo x'\n$C\n", "srun comes out of a variable"),
    ("C='cd a; srun x y'\neval $C\n", "srun comes out of a variable"),
    ("srun bash -c 'singularity exec x.sif y'\n", "text for another shell"),
    ("bash -c 'srun x y'\n", "srun is inside a text that bash reads as commands"),
    ("bash -c 'srun x y'\n", "hint: write the launch line itself, without bash"),
    ("mpirun -n 2 srun x y\n", "hint: write srun in place of mpirun"),
    (
        "C='srun x y'\n[[ -v D ]] && C='echo x'\n$C\n",
        "hint: write srun itself in the line",
    ),
    ("exec timeout 60 srun x y\n", "exec comes before the launch line"),
    ("numactl -N0 srun x y\n", "numactl comes before the launch line"),
    ("mpirun -n 2 singularity exec x.sif y\n", "the script has no line #PBS"),
    ("jsrun -n 2 singularity exec x.sif y\n", "jsrun starts the ranks"),
    (
        "for h in a b; do srun -w $h x y & done; wait\n",
        "a loop starts a step for each node",
    ),
    ("srun() { :; }\nsrun x y\n", "srun is a function"),
    ("srun --export=NONE -n $N x y\n", "hands the job's whole environment on"),
    ("srun -n1 python a.py : -n8 python b.py\n", "several programs side by side"),
    ("srun --export=NONE x y\n", "hands the job's whole environment on"),
    ("srun --multi-prog conf\n", "one program on all ranks"),
    ("srun --no-such x y\n", "--no-such: this option is not known"),
    ("singularity run x.sif --lr 1\n", "the image's runscript"),
    ("srun shifter python t.py\n", "has no image"),
    ("set -o posix\nsrun x y\n", "cannot be moved under set -o posix"),
    ("set -eT\nsrun x y\n", "cannot be moved under set -eT"),
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
    (b"#!/bin/sh\nsrun x\n", "written for sh"),
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
    for word in script.split():
        if word not in {"exec", "command"}:
            assert word in rest


def test_what_sbatch_refuses_of_the_old_script_is_said_in_its_words(here: Path) -> None:
    del here
    done = convert("#!/bin/bash\n#SBATCH --time=24h\nsrun singularity exec a.sif p\n")
    assert "old.sh:2: sbatch: error: Invalid --time specification" in done.err
