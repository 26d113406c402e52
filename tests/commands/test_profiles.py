"""``envcfg profiles`` as people run it: what it says, exit codes, JSON."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from support import Wrapped, envcfg

GOLDEN = Path(__file__).parent / "golden"
REASON = "source: https://docs.example.org/page, date: 2026-05-19"
FAMILY = f"""\
name: fam
summary: what the systems have in common (a family)
launch: {{launchers: [srun, torchrun]}}
scratch: {{root: /tmp, why: local to the node, {REASON}}}
container:
  binds:
    /opt: {{if_exists: true, why: the tools are there, {REASON}}}
env:
  NCCL_NET_GDR_LEVEL:
    cases:
      - {{value: null, when: {{rocm: ">=7"}}, why: it hangs, {REASON}}}
      - {{value: PHB, when: {{rocm: "<7", nodes: ">1"}}, why: it is fast, {REASON}}}
    otherwise: SYS
  NCCL_CROSS_NIC: {{value: 1, why: no rails here, {REASON}}}
  CACHE: {{value: "${{ENVCFG_CACHE}}/c", directory: true, why: a cache, {REASON}}}
bundles:
  pair:
    env: {{FI_CXI_RDZV_PROTO: alt_read}}
    srun: [--network=x]
    when: {{container: "new*"}}
    why: together only
    source: https://docs.example.org/page
    date: 2026-05-19
expect: {{networks: [IB], interfaces: [ib0], nics: 2, why: two adapters, {REASON}}}
"""
SYSTEM = f"""\
name: sys
extends: fam
summary: a system of four GPUs
lifecycle: {{state: ends, why: it closes soon, {REASON}}}
verified: {{state: run, why: tried, {REASON}}}
detect: {{clusters: [sys], hosts: [sys-*]}}
node: {{gpus: 4, nics: [a0, a1], why: the page says so, {REASON}}}
scratch: null
env:
  NCCL_CROSS_NIC: null
  CACHE: null
  OWN: {{value: 1, force: true, why: of its own, {REASON}}}
expect: {{interfaces: null, nics: 4, why: two more, {REASON}}}
"""


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project with a family and a system; no other layers but the built-in."""
    monkeypatch.chdir(tmp_path)
    for name in ("ENVCFG_PROFILE", "SLURM_CLUSTER_NAME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("ENVCFG_SITE", str(tmp_path / "site"))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    folder = tmp_path / ".envcfg/profiles"
    folder.mkdir(parents=True)
    (folder / "fam.yaml").write_text(FAMILY)
    (folder / "sys.yaml").write_text(SYSTEM)
    return folder


def run(*arguments: str) -> Wrapped:
    return envcfg("profiles", *arguments)


@pytest.mark.parametrize(
    "action",
    [
        "",
        "list",
        "show",
        "validate",
        "diff",
        "new",
        "detect",
    ],
)
def test_help_has_examples(action: str) -> None:
    done = run(*filter(None, [action]), "--help")
    assert (done.code, done.err) == (0, "")
    assert "examples:\n" in done.text


GOLDENS = {
    "show": ["show", "sys"],
    "show-facts": ["show", "sys", "--fact", "rocm=6.2", "--container", "new.sif", "--launcher", "torchrun"],
    "show-rocm7": ["show", "fam", "--fact", "rocm=7.0", "--fact", "nodes=2"],
    "diff": ["diff", "fam", "sys"],
    "diff-facts": ["diff", "fam", "sys", "--fact", "rocm=6.2", "--container", "old.sif"],
}  # fmt: skip


@pytest.mark.parametrize("name", GOLDENS)
def test_what_a_person_reads(
    here: Path, name: str, request: pytest.FixtureRequest
) -> None:
    done = run(*GOLDENS[name])
    assert done.err == ""
    assert done.code == int(name.startswith("diff"))
    text = done.text.replace(f"{here}/", "")
    path = GOLDEN / f"{name}.txt"
    if request.config.getoption("--update-golden"):
        path.write_text(text)
    assert text == path.read_text()


def test_the_list_tells_systems_from_families_and_names_the_layer(here: Path) -> None:
    (here.parent.parent / "site/profiles").mkdir(parents=True)
    (here.parent.parent / "site/profiles/sys.yaml").write_text("name: sys\n")
    done = run("list")
    assert (done.code, done.err) == (0, "")
    lines = {line.split()[0]: " ".join(line.split()) for line in done.text.splitlines()}
    assert (
        lines["sys"]
        == "sys ends 2026-05-19 run fam site, project a system of four GPUs"
    )
    assert lines["fam"].startswith("fam (family) - - - project what the systems")
    assert "crusher retired" in lines["crusher"]
    found = {
        each["name"]: each
        for each in json.loads(run("list", "--json").text)["profiles"]
    }
    assert found["sys"] == {
        "name": "sys", "summary": "a system of four GPUs", "state": "ends", "verified": "run",
        "verified_date": "2026-05-19", "extends": "fam", "family": False, "layers": ["site", "project"], "kinds": [],
    }  # fmt: skip
    assert [
        found[name]["family"] for name in ("fam", "slingshot", "lumi-g", "workstation")
    ] == [True, True, False, False]


def test_a_broken_file_is_named_and_the_others_are_listed(here: Path) -> None:
    (here / "bad.yaml").write_text("name: bad\nsumary: x\n")
    (here / "fam.yaml").write_text("name: fam\nx: y\n")
    done = run("list")
    assert done.code == 1
    assert f"envcfg: error: {here}/bad.yaml:2:1: unknown key 'sumary'" in done.err
    assert done.err.count("fam.yaml:2:1") == 1  # not once more for each child
    assert "lumi-g" in done.text
    assert "\nsys " not in done.text
    listed = json.loads(run("list", "--json").text)
    assert {each["place"]["path"] for each in listed["findings"]} == {
        f"{here}/bad.yaml",
        f"{here}/fam.yaml",
    }


def states(*options: str, name: str = "fam") -> dict[str, list[tuple[object, str]]]:
    done = run("show", name, "--json", *options)
    assert done.code == 0, done.err
    found: dict[str, list[tuple[object, str]]] = {}
    for each in json.loads(done.text)["values"]:
        found.setdefault(each["name"], []).append((each["value"], each["state"]))
    return found


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ((), ["undecided", "undecided", "holds"]),
        (("--fact", "rocm=6.2"), ["does not hold", "decided in the job", "holds"]),
        (("--fact", "rocm=7.1"), ["holds", "does not hold", "another case holds"]),
        (("--fact", "rocm=6.2", "--fact", "nodes=2"), ["does not hold", "holds", "another case holds"]),
        (("--fact", "nodes=1"), ["undecided", "does not hold", "holds"]),
    ],
)  # fmt: skip
def test_conditions_are_judged_by_the_facts_given(
    here: Path, options: tuple[str, ...], expected: list[str]
) -> None:
    assert here
    found = states(*options)["NCCL_NET_GDR_LEVEL"]
    assert [state for _, state in found] == expected
    assert [value for value, _ in found] == [None, "PHB", "SYS"]


@pytest.mark.parametrize(
    ("container", "expected"),
    [(None, "undecided"), ("new.sif", "holds"), ("none", "does not hold"), ("/a/old.sif", "does not hold")],
)  # fmt: skip
def test_a_container_that_is_not_given_is_not_known(
    here: Path, container: str | None, expected: str
) -> None:
    assert here
    found = states(*(["--container", container] if container else []))
    assert found["pair"][0][1] == expected


def test_what_was_taken_back_is_shown_with_both_places(here: Path) -> None:
    gone = json.loads(run("show", "sys", "--json").text)["taken_back"]
    assert {(each["section"], each["name"]) for each in gone} == {
        ("scratch", ""), ("env", "NCCL_CROSS_NIC"), ("env", "CACHE"),
        ("expect", "interfaces"),
    }  # fmt: skip
    by_name = {each["name"]: each for each in gone}
    place, was = by_name["CACHE"]["place"], by_name["CACHE"]["was"]
    assert place == {"path": f"{here}/sys.yaml", "line": 11, "column": 3}
    assert was == {"path": f"{here}/fam.yaml", "line": 15, "column": 3}


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["show", "lumi"], "did you mean 'lumi-g'?"),
        (["show", "./no.yaml"], "no such file"),
        (["show", "sys", "--fact", "rcom=6"], "did you mean 'rocm'?"),
        (["show", "sys", "--launcher", "local"], "it allows: srun, torchrun"),
        (["diff", "sys", "sis"], "unknown profile 'sis'"),
        (["new", "a b", "--extends", "fam"], "is not a name of a profile"),
        (["new", "sys", "--extends", "fam"], "there is a profile sys"),
        (["new", "mine", "--extends", "fan"], "did you mean 'fam'?"),
        (["new", "mine", "--extends", "fam", "-o", "other.yaml"], "must be named mine.yaml"),
        ([], "no action given"),
        (["list", "--", "true"], "takes no command"),
        (["lst"], "unknown action 'lst'"),
    ],
)  # fmt: skip
def test_a_mistake_says_how_to_mend_it(
    here: Path, arguments: list[str], message: str
) -> None:
    assert here
    done = run(*arguments)
    assert (done.code, done.text) == (2, "")
    assert message in done.err
    assert "\n  hint: " in done.err


def test_a_profile_does_not_differ_from_itself(here: Path) -> None:
    assert run("diff", "sys", f"{here}/sys.yaml").code == 0
    done = run("diff", "sys", "sys", "--json")
    assert (done.code, json.loads(done.text)["differences"]) == (0, [])


def test_differences_are_added_removed_or_changed(here: Path) -> None:
    assert here
    found = json.loads(run("diff", "fam", "sys", "--json").text)["differences"]
    sides = {(each["section"], each["name"]): each for each in found}
    assert sides["env", "OWN"]["old"] == [] != sides["env", "OWN"]["new"]
    assert sides["env", "CACHE"]["new"] == [] != sides["env", "CACHE"]["old"]
    assert all(sides["summary", ""][side] for side in ("old", "new"))
    assert ("env", "NCCL_NET_GDR_LEVEL") not in sides


def test_a_starter_is_valid_and_never_replaces_a_file(here: Path) -> None:
    done = run("new", "mine", "--extends", "fam")
    assert (done.code, done.text) == (0, f"{here}/mine.yaml\n")
    text = (here / "mine.yaml").read_text()
    assert text.startswith("# yaml-language-server: $schema=")
    assert text.splitlines()[0].endswith("/schema.json")
    assert "#   NCCL_CROSS_NIC: 1\n" in text
    assert run("validate", "--strict", f"{here}/mine.yaml").code == 0
    assert run("show", "mine").code == 0
    assert run("new", "free", "--extends", "fam", "-o", "free.yaml").code == 0
    done = run("new", "free", "--extends", "fam", "-o", "free.yaml")
    assert done.code == 4
    assert "is not replaced" in done.err
    assert run("new", "other", "--extends", "fam", "-o", "-").text == text.replace(
        "mine", "other"
    )


def test_what_is_commented_out_in_a_starter_is_valid_too(here: Path) -> None:
    text = run("new", "mine", "--extends", "fam", "--blank", "-o", "-").text
    head, _, _ = text.partition("#\n# fam sets")
    begin = head.index("# By what")
    blocks = head[begin:].splitlines()
    lines = [
        line[2:] for line in blocks if line.startswith("# ") and not line.endswith(".")
    ]
    (here / "mine.yaml").write_text(head[:begin] + "\n".join(lines) + "\n")
    done = run("validate", f"{here}/mine.yaml")
    assert done.code == 0, done.text


def test_a_starter_goes_to_the_user_where_there_is_no_project(
    here: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir("/")
    assert here
    done = run("new", "mine", "--extends", "slingshot-rocm")
    assert done.text == f"{tmp_path}/config/envcfg/profiles/mine.yaml\n"
    assert run("validate", done.text.strip()).code == 0


@pytest.mark.parametrize(
    ("cluster", "code", "profile"),
    [("sys", 0, "sys"), ("lumi", 0, "lumi-g"), ("nobody", 3, None)],
)
def test_the_profile_of_a_cluster_is_detected(
    here: Path, monkeypatch: pytest.MonkeyPatch, cluster: str, code: int, profile: str
) -> None:
    assert here
    monkeypatch.setenv("SLURM_CLUSTER_NAME", cluster)
    done = run("detect", "--json")
    assert done.code == code
    answer = json.loads(done.text)
    assert answer["profile"] == profile
    assert all(each["why"] for each in answer["others"])
    text = run("detect")
    assert text.code == code
    assert f"fits        {profile or 'none'}" in text.text
    assert "puhti" in text.text
    assert bool(text.err) is bool(code)


def test_two_that_fit_are_both_named(
    here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (here / "twin.yaml").write_text("name: twin\ndetect: {clusters: [s*s]}\n")
    (here / "bad.yaml").write_text("{}")
    monkeypatch.setenv("SLURM_CLUSTER_NAME", "sys")
    done = run("detect")
    assert done.code == 2
    assert "fits        sys: the cluster is sys\nfits        twin: the" in done.text
    assert "envcfg: error: more than one profile fits\n  hint: " in done.err
    assert f"warning: {here}/bad.yaml: cannot be used" in done.err


def test_what_is_in_the_machine_counts_where_no_name_is_known(here: Path) -> None:
    (here / "sys.yaml").write_text(
        "name: sys\nextends: fam\ndetect: {interfaces: [l?], devices: [/dev/null]}\n"
    )
    done = run("detect")
    assert (done.code, done.err) == (0, "")
    assert "fits        sys: there is lo and /dev/null\n" in done.text
    wrapped = envcfg("wrap", "--container", "none", "--json", "--fact", "rocm=6")
    assert json.loads(wrapped.text)["profile"]["name"] == "sys"
    assert (
        "note: profile sys: is used, because of what is in this machine: there"
        in wrapped.err
    )
    assert "hint: choose another with --profile" in wrapped.err
