"""One profile from bytes to model; every problem in one run, each with its place."""

import pytest

from envcfg.errors import Problem
from envcfg.profile.loader import load_profile
from envcfg.profile.model import Profile
from envcfg.profile.words import Ref

REASON = "why: w, source: s, date: 2026-05-19"


def load(text: str | bytes) -> tuple[Profile | None, list[Problem]]:
    data = text.encode() if isinstance(text, str) else text
    problems: list[Problem] = []
    profile = load_profile(data, path="x.yaml", stem="x", problems=problems)
    return profile, problems


def the_problem(text: str | bytes) -> tuple[str, str]:
    """Return place and message of the only problem."""
    _, problems = load(text)
    assert len(problems) == 1, [problem.lines() for problem in problems]
    (problem,) = problems
    key = f"{problem.key}: " if problem.key else ""
    return f"{problem.place.line}:{problem.place.column}", f"{key}{problem.message}"


def test_scalars_keep_their_written_text() -> None:
    values = {
        "A": "off",
        "B": "010",
        "C": "1_000",
        "D": "12:30:45",
        "E": "3.10",
        "F": "~x",
    }
    lines = "".join(f"  {k}: {{value: {v}, {REASON}}}\n" for k, v in values.items())
    profile, problems = load(f"name: x\nenv:\n{lines}")
    assert not problems
    assert profile
    read = {
        name: setting.cases[0].value for name, setting in profile.env.items() if setting
    }
    assert read == {name: (value,) for name, value in values.items()}


def test_a_setting_has_all_it_can_have() -> None:
    profile, problems = load(
        f"""\
name: x
env:
  NCCL_NET:
    cases:
      - {{value: "AWS ${{A:-b}}", when: {{rocm: "<7", nodes: ">1"}}, {REASON}}}
      - {{value: null, when: {{nodes: 1}}, {REASON}}}
    otherwise: OFI
    force: true
  GONE: null
"""
    )
    assert not problems
    assert profile
    assert profile.env["GONE"] is None
    setting = profile.env["NCCL_NET"]
    assert setting
    assert setting.force
    assert setting.otherwise == ("OFI",)
    assert setting.cases[0].value == ("AWS ", Ref("A", "b"))
    assert [test.fact for test in setting.cases[0].when] == ["rocm", "nodes"]
    assert setting.cases[1].value is None
    assert setting.cases[0].reason.place.line == 5


@pytest.mark.parametrize(
    ("text", "place", "message"),
    [
        ("", "1:1", "the file is empty"),
        ("- a\n", "1:1", "expected keys and values, not a list"),
        ("name: y\n", "1:7", "name: the file is x.yaml, the name 'y'"),
        ("summary: no name\n", "1:1", "a profile needs a name"),
        ("name: x\nnam: x\n", "2:1", "unknown key 'nam'"),
        ("name: x\nname: x\n", "2:1", "key 'name' stands twice, first in line 1"),
        ("name: x\nenv: {A: {value: 1, why: w}}\n", "2:10", "env.A: no source, no date"),
        (f"name: x\nenv: {{A: {{{REASON}}}}}\n", "2:10", "env.A: no value"),
        (
            f"name: x\nenv:\n  A: {{value: a$, {REASON}}}\n",
            "3:14",
            "env.A.value: '$' stands alone (character 2 of the value)",
        ),
        (f"name: x\nenv: {{1A: {{value: 1, {REASON}}}}}\n", "2:11", "env.1A: '1A' is no variable name"),
        (f"name: x\nenv: {{UID: {{value: 1, {REASON}}}}}\n", "2:12", "env.UID: UID belongs to the shell and cannot be set"),
        (
            f"name: x\nenv: {{A: {{value: 1, when: {{rcom: 6}}, {REASON}}}}}\n",
            "2:28",
            "env.A.when: unknown key 'rcom'",
        ),
        (
            f"name: x\nenv: {{A: {{value: 1, when: {{rocm: six}}, {REASON}}}}}\n",
            "2:34",
            "env.A.when.rocm: 'six' is no version: expected numbers and dots, as in 6.2.4",
        ),
        ("name: x\nenv: {A: {value: 1, why: w, source: s, date: May}}\n", "2:46", "env.A.date: 'May' is no date"),
        (f"name: x\nnode: {{gpus: many, {REASON}}}\n", "2:14", "node.gpus: expected a whole number from 0, not 'many'"),
        (f"name: x\nlaunch: {{cpu_masks: {{masks: [0xfg], {REASON}}}}}\n", "2:30", "launch.cpu_masks.masks[0]: '0xfg' is no CPU mask, as in 0x00fe"),
        ("name: x\nlaunch: {launchers: [srum]}\n", "2:22", "launch.launchers[0]: unknown value 'srum'"),
        (
            f"name: x\nrendezvous: {{suffix: i, interface: ib0, {REASON}}}\n",
            "2:13",
            "rendezvous: suffix and interface exclude each other",
        ),
        (f"name: x\ncontainer: {{verb: {{value: exce, {REASON}}}}}\n", "2:19", "container.verb: the verb is exec or run"),
        (
            f"name: x\ncontainer: {{verb: {{value: run, when: {{nodes: 1}}, {REASON}}}}}\n",
            "2:19",
            "container.verb: the verb is chosen before the job: it cannot ask for nodes",
        ),
        ("name: x\nsummary: [a]\n", "2:10", "summary: expected a text, not a list"),
        ("name: x\nextends:\n", "2:9", "extends: expected a text, not nothing"),
        ("name: x\n\tenv: 1\n", "2:1", "found a tab character that violates indentation"),
        ("name: &a x\nsummary: *a\n", "2:10", "an alias cannot stand in a profile"),
        ("name: !!python/object:os.system x\n", "1:7", "the tag tag:yaml.org,2002:python/object:os.system cannot stand in a profile"),
        (b"name: x\nsummary: \xff\n", "2:10", "byte 0xff is not UTF-8"),
        ("name: x\nenv: {A: {}}\n", "2:10", "env.A: no value"),
        ("name: x\ncontainer: {verb: {}}\n", "2:19", "container.verb: no value"),
        (f"name: x\nenv: {{A: {{value: 1, when: {{launcher: srum}}, {REASON}}}}}\n", "2:38", "env.A.when.launcher: 'srum' fits no launcher: they are srun, flux, local, torchrun, accelerate, deepspeed, horovod, jax, lightning, mpi, transformers"),
        ("name: x\nenv: {A: {value: 1, why: ' ', source: s, date: 2026-05-19}}\n", "2:26", "env.A.why: the why is empty"),
        (f"name: x\nnode: {{gpus: 8, memory_per_gpu: lots, {REASON}}}\n", "2:33", "node.memory_per_gpu: 'lots' is no memory, as in 60G"),
        (f"name: x\nlaunch: {{srun: {{mpi: {{{REASON}}}}}}}\n", "2:22", "launch.srun.mpi: 'mpi' is no option: it begins with -"),
        (f"name: x\ncontainer: {{binds: {{data: {{{REASON}}}}}}}\n", "2:27", "container.binds.data: 'data' is no bind: its source is an absolute path"),
        (f"name: x\ncontainer: {{binds: {{/a: {{if_exists: yes, {REASON}}}}}}}\n", "2:37", "container.binds./a.if_exists: 'yes' is neither true nor an absolute path"),
        (f"name: x\ncontainer: {{image_facts: [{{pattern: a, {REASON}}}]}}\n", "2:27", "container.image_facts[0]: no facts"),
        (f"name: x\ncontainer: {{image_facts: [{{pattern: 'a{{{9**20}}}', facts: {{}}, {REASON}}}]}}\n", "2:37", "container.image_facts[0].pattern: no regular expression: the repetition number is too large"),
        ("name: x\nenv:\n", "2:5", "env: expected keys and values, not nothing"),
        ("name: x\nsummary: a\0b\n", "2:11", "character '\\x00' cannot stand in YAML"),
        (f'name: x\nenv: {{"A\\n": {{value: 1, {REASON}}}}}\n', "2:14", "'env.A\\n': 'A\\n' is no variable name"),
        (b"#" * 100_001, "1:1", "100001 bytes is too large for a profile (limit 100000)"),
        ("name: x\nenv: " + "[" * 90_000, "2:25", "nested more than 20 deep"),
    ],
)  # fmt: skip
def test_a_problem_names_place_key_and_reason(
    text: str | bytes, place: str, message: str
) -> None:
    assert the_problem(text) == (place, message)


def test_all_problems_come_in_one_run() -> None:
    _, problems = load("nam: x\nenv: {A: {valu: 1}, B: 2}\nnode: {gpus: x}\n")
    assert len(problems) >= 6


def test_a_misspelling_gets_a_suggestion() -> None:
    _, (problem, *_) = load("name: x\nlaunch: {launchers: [srum]}\n")
    assert problem.hint == "did you mean 'srun'? known: flux, local, srun, torchrun"
