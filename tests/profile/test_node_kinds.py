"""The kinds of nodes of a profile: their YAML, their layers, and their choice."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from envcfg.common.errors import ProfileError, UsageError
from envcfg.common.findings import Finding
from envcfg.profile.catalog import Catalog
from envcfg.profile.look.value_list import look_at
from envcfg.profile.node_kinds import KindSign, choose_kind, read_signs
from envcfg.profile.profile_model import Profile
from envcfg.profile.validate import validate

WHY = "why: w, source: s, date: 2026-05-19"
SYSTEM = f"""\
name: sys
node: {{gpus: 4, cores_per_gpu: 16, {WHY}}}
env: {{A: {{value: all, {WHY}}}}}
nodes:
  h100:
    select: {{partitions: [gpu_h100, shared], gres: [h100], hosts: ["h[0-9]*"]}}
  a100:
    select: {{partitions: [gpu_a100*, shared], gres: [a100], constraints: [a100, hbm80g]}}
    node: {{gpus: 4, cores_per_gpu: 18, {WHY}}}
    env: {{A: {{value: a100, {WHY}}}}}
  big:
    select: {{partitions: [gpu_big], constraints: [a100]}}
    node: {{gpus: 8, cores_per_gpu: 8, {WHY}}}
"""


def profile_of(tmp_path: Path, text: str, name: str = "sys") -> Profile:
    (tmp_path / "sys.yaml").write_text(text)
    return Catalog([str(tmp_path)]).load(name)


@pytest.fixture(scope="module")
def system(tmp_path_factory: pytest.TempPathFactory) -> Profile:
    return profile_of(tmp_path_factory.mktemp("profiles"), SYSTEM)


def chosen(profile: Profile, words: str, gpus: int | None = None) -> str:
    """Return the kind and its reason for *words* of a command line, or the error."""
    options = [word.partition("=")[::2] for word in words.split()]
    try:
        return str(choose_kind(profile, read_signs(options), gpus).kind)
    except UsageError as err:
        return f"{err.message}; {err.hint}"


@pytest.mark.parametrize(
    ("words", "gpus", "expected"),
    [
        ("", None, "h100 (the default)"),
        ("", 4, "h100 (the default)"),
        ("--partition=gpu_h100", 4, "h100 (--partition)"),
        ("--partition=gpu_a100", None, "a100 (--partition)"),
        ("--partition=gpu_a100-preempt", None, "a100 (--partition)"),
        ("--partition=unknown", 4, "h100 (the default)"),
        ("--gres=gpu:a100:4", 4, "a100 (--gres)"),
        ("--gres=gres/gpu:a100=4,nvme:100", 4, "a100 (--gres)"),
        ("--gpus=a100:8", None, "a100 (--gpus)"),
        ("--gpus-per-node=gpu:a100:2", None, "a100 (--gpus-per-node)"),
        ("--gres=gpu:4", 4, "h100 (the default)"),
        ("--constraint=hbm80g&nvme", None, "a100 (--constraint)"),
        ("--constraint=[a100|x]&hbm80g", None, "a100 (--constraint)"),
        # Both signs narrow the kinds.
        ("--partition=shared --gres=gpu:a100:4", None, "a100 (--gres)"),
        ("--partition=shared", 4, "h100 (the default)"),
        ("--partition=gpu_big --constraint=a100", 8, "big (--partition)"),
        # A list whose partitions have the same nodes is no choice.
        ("--partition=gpu_h100,unknown", None, "h100 (--partition)"),
        # The largest kind refuses with the number of its GPUs.
        ("--partition=gpu_big", 16, "big (--partition)"),
        ("--partition=gpu_a100", 8, "a100 (--partition)"),
    ],
)
def test_the_signs_of_a_request_choose_the_kind(
    system: Profile, words: str, gpus: int | None, expected: str
) -> None:
    assert chosen(system, words, gpus) == expected


@pytest.mark.parametrize(
    ("words", "gpus", "message"),
    [
        (
            "--partition=gpu_h100 --gres=gpu:a100:4",
            4,
            (
                "--partition gpu_h100 selects nodes of kind h100, but --gres gpu:a100:4 those "
                "of kind a100; change --partition or --gres"
            ),
        ),
        # Slurm may start the job on the nodes of either partition.
        (
            "--partition=gpu_h100,gpu_big",
            4,
            (
                "profile sys has several kinds of nodes with 4 GPUs or more: h100, big; "
                "--partition gpu_h100 or --partition gpu_big"
            ),
        ),
        (
            "--constraint=a100",
            2,
            (
                "profile sys has several kinds of nodes with 2 GPUs or more: a100, big; "
                "--constraint hbm80g or --partition gpu_big"
            ),
        ),
        # Without its partition, the job would not get this kind.
        (
            "",
            8,
            "only nodes of kind big have 8 GPUs or more; --partition gpu_big",
        ),
    ],
)
def test_an_undecided_request_is_refused_with_the_options_that_decide(
    system: Profile, words: str, gpus: int, message: str
) -> None:
    assert chosen(system, words, gpus) == message


def test_one_partition_with_two_kinds_is_decided_by_the_number_of_gpus(
    tmp_path: Path,
) -> None:
    text = SYSTEM.replace("gpu_big", "shared")
    assert chosen(profile_of(tmp_path, text), "", 8) == "big (--gpus-per-node)"


def test_the_chosen_kind_is_laid_over_the_rest(tmp_path: Path) -> None:
    default = profile_of(tmp_path, SYSTEM)
    a100 = profile_of(tmp_path, SYSTEM, "sys/a100")
    assert default.node
    assert a100.node
    assert (default.node.cores_per_gpu, a100.node.cores_per_gpu) == (16, 18)
    assert [str(each.kind) for each in (default, a100)] == [
        "h100 (the default)",
        "a100 (--profile sys/a100)",
    ]
    assert [*a100.nodes] == ["h100", "a100", "big"]
    with pytest.raises(UsageError, match="no kind of node 'a10'"):
        profile_of(tmp_path, SYSTEM, "sys/a10")


def test_a_profile_of_one_kind_has_no_kind(tmp_path: Path) -> None:
    profile = profile_of(tmp_path, f"name: sys\nnode: {{gpus: 4, {WHY}}}\n")
    assert (profile.kind, profile.nodes) == (None, {})
    assert choose_kind(profile, read_signs([("--partition", "x")]), 9) == profile
    with pytest.raises(UsageError, match="no kind of node 'b'"):
        Catalog([str(tmp_path)]).load("sys/b")


def test_a_higher_layer_changes_one_value_of_one_kind(tmp_path: Path) -> None:
    below, above = tmp_path / "a", tmp_path / "b"
    for folder in (below, above):
        folder.mkdir()
    (below / "sys.yaml").write_text(SYSTEM)
    (above / "sys.yaml").write_text(
        f"name: sys\nnodes:\n  big: null\n  a100: {{env: {{B: {{value: 1, {WHY}}}}}}}\n"
    )
    catalog = Catalog([str(below), str(above)])
    a100 = catalog.load("sys/a100")
    assert a100.node
    assert (a100.node.cores_per_gpu, [*a100.env]) == (18, ["A", "B"])
    assert (
        str(choose_kind(a100, read_signs([("--gpus", "a100:4")])).kind)
        == "a100 (--gpus)"
    )
    assert [*a100.nodes] == ["h100", "a100"]
    assert validate(str(above / "sys.yaml"), catalog) == []


def test_a_value_for_all_nodes_in_a_higher_layer_wins_over_a_kind_below(
    tmp_path: Path,
) -> None:
    below, above = tmp_path / "a", tmp_path / "b"
    for folder in (below, above):
        folder.mkdir()
    (below / "sys.yaml").write_text(SYSTEM)
    path = above / "sys.yaml"
    path.write_text(
        f"name: sys\nenv: {{A: {{value: mine, {WHY}}}}}\nnode: {{gpus: 2, {WHY}}}\n"
        f"nodes:\n  big: {{node: {{gpus: 6, {WHY}}}}}\n"
    )
    catalog = Catalog([str(below), str(above)])
    for name, gpus in (("sys", 2), ("sys/a100", 2), ("sys/big", 6)):
        profile = catalog.load(name)
        view = look_at(profile, catalog.layers(name), {})
        (value,) = (each for each in view.values if each.section == "env")
        assert (profile.gpus, value.text) == (gpus, "mine")
        (place,) = {each.place.path for each in view.values if each.section == "node"}
        assert place == str(path)
    # The own kinds of the file lie over the rest of it.
    (tmp_path / "child.yaml").write_text("name: child\nextends: sys\nnode: null\n")
    child = Catalog([str(below), str(tmp_path)]).load("child/a100")
    assert (child.node, [*child.env]) == (None, ["A"])


@pytest.mark.parametrize(
    ("kind", "key", "message"),
    [
        ("extends: x", "nodes.k", "unknown key 'extends'"),
        ("detect: {clusters: [c]}", "nodes.k", "unknown key 'detect'"),
        ("nodes: {}", "nodes.k", "unknown key 'nodes'"),
        ("select: {partition: [a]}", "nodes.k.select", "unknown key 'partition'"),
        (
            "select: {partitions: [a b]}",
            "nodes.k.select.partitions[0]",
            "'a b' is wrong",
        ),
        ("node: {gpus: 4}", "nodes.k.node", "no why, no source, no date"),
    ],
)
def test_a_wrong_kind_is_an_error_with_its_place(
    tmp_path: Path, kind: str, key: str, message: str
) -> None:
    with pytest.raises(ProfileError) as caught:
        profile_of(tmp_path, f"name: sys\nnodes:\n  k:\n    {kind}\n")
    (finding,) = caught.value.findings
    assert (finding.subject, finding.place and finding.place.line) == (key, 4)
    assert finding.message.startswith(message)


def problems_of(tmp_path: Path, text: str) -> list[Finding]:
    path = tmp_path / "sys.yaml"
    path.write_text(text)
    return validate(str(path), Catalog([str(tmp_path)]))


def test_validate_checks_each_kind(tmp_path: Path) -> None:
    rule = (
        f"request: {{rules: {{--partition: {{rule: must, value: gpu_h100, {WHY}}}}}}}\n"
    )
    text = SYSTEM.replace("value: a100", "value: '${NCCL_NET}'").replace(
        "\nnodes", f"\n{rule}nodes"
    )
    found = problems_of(tmp_path, text + "  lost: {env: {NCCL_DEBUG: null}}\n")
    assert [(each.rule, each.subject) for each in found] == [
        ("kind-unselected", "nodes.a100"),
        ("kind-unselected", "nodes.big"),
        ("kind-unselected", "nodes.lost"),
        ("null-in-vain", "env.NCCL_DEBUG"),
    ]


OPTIONS = st.lists(
    st.tuples(
        st.sampled_from(["--partition", "--constraint", "--gres", "--gpus", "--mem"]),
        st.sampled_from(
            [
                "gpu_h100",
                "gpu_a100",
                "gpu_big",
                "shared",
                "x",
                "a100",
                "hbm80g",
                "a100|x",
                "gpu:a100:4",
                "h100:2",
                "gpu:8",
                "gpu_h100,gpu_big",
                "",
                ",",
                "(a&b)|c",
            ]
        ),
    ),
    max_size=4,
)


@given(options=OPTIONS, gpus=st.one_of(st.none(), st.integers(1, 16)))
def test_no_sign_of_another_kind_is_ignored(
    system: Profile, options: list[tuple[str, str]], gpus: int | None
) -> None:
    signs = read_signs(options)
    try:
        kind = choose_kind(system, signs, gpus).kind
    except UsageError as err:
        assert err.hint  # noqa: PT017
        return
    assert kind
    for sign in signs:
        others = {
            str(name)
            for name in system.nodes
            if any(selects(system, name, sign, value) for value in sign.values)
        }
        assert not others or kind.name in others
    # An order of options decides nothing.
    assert choose_kind(system, signs[::-1], gpus).kind[0] == kind.name  # type: ignore[index]


def selects(profile: Profile, name: str, sign: KindSign, value: str) -> bool:
    alone = choose_kind_of(profile, name, sign._replace(values=(value,)))
    return alone == name


def choose_kind_of(profile: Profile, name: str, sign: KindSign) -> str | None:
    """Return *name* if the sign selects it, compared with a kind that has no signs."""
    kind = profile.nodes[name]
    assert kind
    empty = kind._replace(partitions=None, constraints=None, gres=None, hosts=None)
    only = profile._replace(nodes={"empty": empty, name: kind})
    result = choose_kind(only, [sign]).kind
    return result and result.name
