"""Values on which sites and versions disagree: each side of the condition, and not knowing.

Of what only the job can tell, the bash is run; of the rest, the plan is enough.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

from envcfg.job.plan.plan import Options, Plan
from envcfg.job.plan.resolve import resolve
from envcfg.job.script.host_part import render_script
from envcfg.profile.catalog import Catalog
from envcfg.profile.words import Word, format_word
from support import bash, zero_separated

LEFT_ALONE = "left alone"
MULTITORCH_7 = "lumi-multitorch-full-u24r70f21m50t210-20260513.sif"
MULTITORCH_6 = "lumi-multitorch-full-u24r64f21m50t210-20260513.sif"
PYTORCH_6 = "lumi-pytorch-rocm-6.2.4-python-3.12-pytorch-v2.6.0.sif"


def plan(
    built_in: Catalog,
    name: str,
    facts: Mapping[str, str],
    *,
    image: str | None = "x.sif",
    launcher: str | None = None,
    settings: Mapping[str, Word | None] | None = None,
) -> Plan:
    options = Options(
        container=image,
        facts=facts,
        launcher=launcher,
        settings=settings or {},
        command=("/usr/bin/env", "-0"),
        ranks=1,
    )
    return resolve(built_in.load(name), "0", options)


def value(made: Plan, variable: str) -> str | None:
    """Return what the plan sets; None, if it takes the variable away."""
    for setting in made.settings:
        if setting.name == variable:
            (case,) = setting.cases
            return None if case.value is None else format_word(case.value)
    return LEFT_ALONE


def asks_for(made: Plan, fact: str) -> bool:
    """Tell whether a note names the fact that is not known."""
    return any(f"--fact {fact}=" in (note.fix or "") for note in made.notes)


# GPU RDMA's level: jobs hang with it in LUMI's ROCm 7 images, and need it before.


@pytest.mark.parametrize(
    ("image", "facts", "expected"),
    [
        ("x.sif", {"rocm": "6.2.4"}, "PHB"),
        ("x.sif", {"rocm": "7.0"}, None),
        (MULTITORCH_7, {}, None),
        (MULTITORCH_6, {}, "PHB"),
        (PYTORCH_6, {}, "PHB"),
        (PYTORCH_6, {"rocm": "7.1"}, None),  # what is stated wins over a name
        ("x.sif", {}, LEFT_ALONE),
    ],
)
def test_lumi_s_gdr_level_follows_rocm(
    built_in: Catalog, image: str, facts: dict[str, str], expected: str | None
) -> None:
    made = plan(built_in, "lumi-g", {"nodes": "2", **facts}, image=image)
    assert value(made, "NCCL_NET_GDR_LEVEL") == expected
    assert asks_for(made, "rocm") == (expected == LEFT_ALONE)


def test_elsewhere_the_gdr_level_stays_whatever_rocm(built_in: Catalog) -> None:
    for name in ("frontier", "setonix", "tuolumne", "adastra-mi300a", "dardel"):
        for facts in ({"rocm": "6.2.4"}, {"rocm": "7.1.1"}, {}):
            made = plan(built_in, name, facts)
            assert value(made, "NCCL_NET_GDR_LEVEL") == "PHB"


# The network's name: by the version of the plugin, and never where it is not needed.


@pytest.mark.parametrize(
    ("name", "facts", "expected"),
    [
        ("slingshot-rocm", {"nodes": "4", "plugin": "1.4"}, "AWS Libfabric"),
        ("slingshot-rocm", {"nodes": "4", "plugin": "1.11.0"}, "AWS Libfabric"),
        ("slingshot-rocm", {"nodes": "4", "plugin": "1.12.0"}, "OFI"),
        ("slingshot-rocm", {"nodes": "4", "plugin": "1.13"}, "OFI"),
        ("slingshot-rocm", {"nodes": "4"}, LEFT_ALONE),
        ("slingshot-rocm", {"nodes": "1", "plugin": "1.13"}, None),
        ("slingshot-rocm", {"nodes": "1"}, None),
        ("isambard-ai", {"nodes": "4", "plugin": "1.4"}, "AWS Libfabric"),
        # sites that force it do so by the name that every version knows, unasked
        ("isambard-ai", {"nodes": "4", "plugin": "1.13"}, "AWS Libfabric"),
        ("isambard-ai", {"nodes": "4"}, "AWS Libfabric"),
        ("isambard-ai", {"nodes": "1"}, None),
        ("alps-clariden", {"nodes": "4", "plugin": "1.4"}, "AWS Libfabric"),
        ("alps-clariden", {"nodes": "4", "plugin": "1.13"}, "AWS Libfabric"),
        ("alps-clariden", {"nodes": "4"}, "AWS Libfabric"),
        ("alps-clariden", {"nodes": "1", "plugin": "1.13"}, None),
        ("frontier", {"nodes": "4", "plugin": "1.4"}, "AWS Libfabric"),
        ("frontier", {"nodes": "4", "plugin": "1.13"}, "AWS Libfabric"),
        ("frontier", {"nodes": "4"}, "AWS Libfabric"),
        ("frontier", {"nodes": "1"}, "Socket"),
        ("tuolumne", {"nodes": "4", "plugin": "1.4", "rocm": "6.4"}, "AWS Libfabric"),
        ("tuolumne", {"nodes": "4", "plugin": "1.18", "rocm": "7.1"}, "libfabric"),
        ("tuolumne", {"nodes": "4", "rocm": "7.1"}, LEFT_ALONE),
        ("tuolumne", {"nodes": "4", "plugin": "1.18"}, LEFT_ALONE),
        ("tuolumne", {"nodes": "1", "plugin": "1.18", "rocm": "7.1"}, LEFT_ALONE),
        # of LUMI no source forces it
        ("lumi-g", {"nodes": "4", "plugin": "1.13", "rocm": "6.2.4"}, LEFT_ALONE),
    ],
)
def test_the_network_is_named_as_the_plugin_is(
    built_in: Catalog, name: str, facts: dict[str, str], expected: str | None
) -> None:
    assert value(plan(built_in, name, facts), "NCCL_NET") == expected


def test_who_does_not_state_the_plugin_is_told_how(built_in: Catalog) -> None:
    made = plan(built_in, "slingshot-rocm", {"nodes": "4", "rocm": "7.0"})
    assert asks_for(made, "plugin")
    made = plan(
        built_in, "slingshot-rocm", {"nodes": "4", "rocm": "7", "plugin": "1.13"}
    )
    assert not asks_for(made, "plugin")


# The path of the plugin: RCCL from ROCm 7.1 on may look for another file than there is.


@pytest.mark.parametrize(
    ("name", "facts", "expected", "unknown"),
    [
        ("slingshot-rocm", {"rocm": "7.1", "plugin": "1.18"}, "librccl-net.so", None),
        ("slingshot-rocm", {"rocm": "7.1", "plugin": "1.4"}, "librccl-net.so", None),
        ("slingshot-rocm", {"rocm": "7.0.2", "plugin": "1.18"}, LEFT_ALONE, None),
        ("slingshot-rocm", {"plugin": "1.18"}, LEFT_ALONE, "rocm"),
        # never a path where there may be no plugin
        ("slingshot-rocm", {"rocm": "7.1"}, LEFT_ALONE, "plugin"),
        ("tuolumne", {"rocm": "7.1", "plugin": "1.18"}, "librccl-net.so", None),
        ("tuolumne", {"rocm": "6.4", "plugin": "1.18"}, LEFT_ALONE, None),
        ("tuolumne", {"rocm": "7.1"}, LEFT_ALONE, "plugin"),
        # OLCF wants it with any ROCm, where the network is used at all
        ("frontier", {"rocm": "6.2.4", "plugin": "1.4"}, "librccl-net.so", None),
        ("frontier", {"nodes": "2"}, "librccl-net.so", None),
        ("frontier", {"nodes": "1", "plugin": "1.19.2"}, LEFT_ALONE, None),
        # LUMI's images have the plugin where RCCL looks; CSCS warns of the variable
        ("lumi-g", {"rocm": "7.1", "plugin": "1.18"}, LEFT_ALONE, None),
        ("alps-clariden", {"nccl": "2.27.5", "plugin": "1.18"}, LEFT_ALONE, None),
    ],
)
def test_the_plugin_s_path_is_given_where_it_is_not_found(
    built_in: Catalog,
    name: str,
    facts: dict[str, str],
    expected: str,
    unknown: str | None,
) -> None:
    made = plan(built_in, name, facts)
    assert value(made, "NCCL_NET_PLUGIN") == expected
    if unknown:
        assert asks_for(made, unknown)


# The monitor of registered memory: memhooks hangs, and each site has its own remedy.


@pytest.mark.parametrize(
    ("name", "image", "expected"),
    [
        ("lumi-g", "/appl/lumi-multitorch-latest.sif", "userfaultfd"),
        ("lumi-g", MULTITORCH_7, "userfaultfd"),
        ("frontier", "x.sif", "kdreg2"),
        ("frontier", MULTITORCH_7, "kdreg2"),
        ("crusher", "x.sif", "userfaultfd"),
        ("slingshot-cuda", "x.sif", "userfaultfd"),
        ("alps-clariden", "x.sif", "userfaultfd"),
        ("isambard-ai", "x.sif", "userfaultfd"),
        ("perlmutter", "x.sif", "userfaultfd"),
        ("setonix", "x.sif", "userfaultfd"),
        ("tuolumne", "x.sif", "userfaultfd"),
    ],
)
def test_the_memory_monitor_is_the_site_s(
    built_in: Catalog, name: str, image: str, expected: str
) -> None:
    assert (
        value(plan(built_in, name, {}, image=image), "FI_MR_CACHE_MONITOR") == expected
    )


@pytest.mark.parametrize("image", [PYTORCH_6, "/scratch/pytorch.sif", None])
def test_other_images_of_lumi_keep_their_own_memory_monitor(
    built_in: Catalog, image: str | None
) -> None:
    made = plan(built_in, "lumi-g", {}, image=image)
    assert value(made, "FI_MR_CACHE_MONITOR") == LEFT_ALONE


@pytest.mark.parametrize(
    ("image", "verb", "host_fabric"),
    [(MULTITORCH_7, "run", False), ("/scratch/pytorch.sif", "exec", True)],
)
def test_lumi_s_images_are_entered_as_they_need(
    built_in: Catalog, image: str, verb: str, host_fabric: bool
) -> None:
    container = plan(built_in, "lumi-g", {}, image=image).container
    assert container
    assert container.verb == verb
    assert ("/opt/cray" in [str(bind.bind) for bind in container.binds]) is host_fabric


# Pollara's path: a plugin until ROCm 7.2.1, part of RCCL since.


@pytest.mark.parametrize(
    ("rocm", "plugin", "built_in_path"),
    [
        ("7.2.0", "librccl-anp.so", LEFT_ALONE),
        ("6.4", "librccl-anp.so", LEFT_ALONE),
        ("7.2.1", "none", "1"),
        ("8.0", "none", "1"),
        ("7.2", LEFT_ALONE, LEFT_ALONE),  # may be 7.2.0 or 7.2.1
        (None, LEFT_ALONE, LEFT_ALONE),
    ],
)
def test_pollara_s_plugin_follows_rocm(
    built_in: Catalog, rocm: str | None, plugin: str, built_in_path: str
) -> None:
    made = plan(built_in, "roce-rocm-pollara", {"rocm": rocm} if rocm else {})
    assert value(made, "NCCL_NET_PLUGIN") == plugin
    assert value(made, "RCCL_AINIC_ROCE") == built_in_path
    assert asks_for(made, "rocm") == (plugin == LEFT_ALONE)


# The alternate rendezvous: variables and an option of srun, all or nothing.

RENDEZVOUS = {
    "FI_CXI_RDZV_PROTO": "alt_read",
    "FI_CXI_RDZV_EAGER_SIZE": "0",
    "FI_CXI_RDZV_THRESHOLD": "0",
    "FI_CXI_RDZV_GET_MIN": "0",
}
NETWORK = "--network=disable_rdzv_get"
STACK = {"rocm": "6.2.4", "plugin": "1.13"}


@pytest.fixture
def notes(fakes: Path) -> Path:
    return fakes


def run(made: Plan, notes: Path, nodes: int = 4, **job: str) -> tuple[dict[str, str], list[str], str]:  # fmt: skip
    """Run a plan; return the rank's environment, what srun got, and stderr."""
    (notes / "srun").unlink(missing_ok=True)
    done = bash(render_script(made, ["envcfg"]), SLURM_NNODES=str(nodes), **job)
    assert done.returncode == 0, done.stderr.decode()
    pairs = (entry.decode().partition("=") for entry in done.stdout.split(b"\0"))
    asked = [word.decode() for word in zero_separated(notes / "srun")]
    return {name: text for name, _, text in pairs}, asked, done.stderr.decode()


def of(names: Mapping[str, str], seen: Mapping[str, str]) -> dict[str, str]:
    """Return what a rank has of some variables."""
    return {name: seen[name] for name in names if name in seen}


@pytest.mark.parametrize(
    ("name", "nodes", "expected"),
    [
        ("slingshot-rocm", 1, None),
        ("slingshot-rocm", 4, "OFI"),
        ("frontier", 1, "Socket"),
        ("frontier", 4, "AWS Libfabric"),
    ],
)
def test_where_nobody_states_the_nodes_the_job_names_the_network(
    built_in: Catalog, notes: Path, name: str, nodes: int, expected: str | None
) -> None:
    seen, _, _ = run(plan(built_in, name, STACK, image=None), notes, nodes)
    assert seen.get("NCCL_NET") == expected


@pytest.mark.parametrize(
    "name", ["frontier", "isambard-ai", "slingshot-cuda", "dardel"]
)
@pytest.mark.parametrize(("nodes", "applies"), [(1, False), (2, True), (4, True)])
@pytest.mark.parametrize("stated", [True, False])
def test_the_alternate_rendezvous_needs_several_nodes(
    built_in: Catalog, notes: Path, name: str, nodes: int, applies: bool, stated: bool
) -> None:
    facts = {**STACK, "nodes": str(nodes)} if stated else STACK
    made = plan(built_in, name, facts, image=None)
    seen, asked, _ = run(made, notes, nodes)
    assert of(RENDEZVOUS, seen) == (RENDEZVOUS if applies else {})
    assert (NETWORK in asked) is applies


def test_the_alternate_rendezvous_needs_srun(built_in: Catalog, notes: Path) -> None:
    made = plan(built_in, "frontier", STACK, image=None, launcher="local")
    assert made.bundles == ()
    seen, asked, _ = run(made, notes, 1)
    assert of(RENDEZVOUS, seen) == {}
    assert asked == []


@pytest.mark.parametrize("given", [("alt_read",), ("default",), None])
def test_who_sets_or_unsets_a_variable_of_the_rendezvous_gets_none_of_it(
    built_in: Catalog, notes: Path, given: Word | None
) -> None:
    settings = {"FI_CXI_RDZV_PROTO": given}
    made = plan(built_in, "frontier", STACK, image=None, settings=settings)
    (note,) = [note for note in made.notes if note.rule == "bundle-left-out"]
    assert "left out as a whole: FI_CXI_RDZV_PROTO is given" in note.message
    seen, asked, _ = run(made, notes)
    mine = {"FI_CXI_RDZV_PROTO": str(given[0])} if given else {}
    assert of(RENDEZVOUS, seen) == mine
    assert not [word for word in asked if word.startswith("--network")]


def test_a_job_that_sets_a_variable_of_the_rendezvous_otherwise_gets_none_of_it(
    built_in: Catalog, notes: Path
) -> None:
    made = plan(built_in, "frontier", STACK, image=None)
    seen, asked, errors = run(made, notes, FI_CXI_RDZV_THRESHOLD="16384")
    assert of(RENDEZVOUS, seen) == {"FI_CXI_RDZV_THRESHOLD": "16384"}
    assert not [word for word in asked if word.startswith("--network")]
    assert "note: alternate-rendezvous is left out as a whole" in errors
    assert "the job sets FI_CXI_RDZV_THRESHOLD=16384, not 0" in errors


def test_a_job_that_sets_the_rendezvous_alike_gets_all_of_it(
    built_in: Catalog, notes: Path
) -> None:
    made = plan(built_in, "frontier", STACK, image=None)
    seen, asked, errors = run(made, notes, FI_CXI_RDZV_PROTO="alt_read")
    assert of(RENDEZVOUS, seen) == RENDEZVOUS
    assert NETWORK in asked
    assert "alternate-rendezvous" not in errors


@pytest.mark.parametrize(
    ("in_job", "expected"),
    [
        ("disable_rdzv_get", "disable_rdzv_get"),
        ("single_node_vni", "single_node_vni,disable_rdzv_get"),
    ],
)
def test_what_the_job_asked_of_the_network_stays(
    built_in: Catalog, notes: Path, in_job: str, expected: str
) -> None:
    made = plan(built_in, "frontier", STACK, image=None)
    _, asked, _ = run(made, notes, SLURM_NETWORK=in_job)
    assert f"--network={expected}" in asked


@pytest.mark.parametrize("name", ["lumi-g", "setonix", "alps-clariden", "perlmutter"])
def test_sites_that_do_not_want_the_alternate_rendezvous_have_none(
    built_in: Catalog, name: str
) -> None:
    assert built_in.load(name).bundles["alternate-rendezvous"] is None
    made = plan(built_in, name, {**STACK, "nodes": "4"})
    assert [bundle.name for bundle in made.bundles] == []


def test_two_bundles_share_one_option_of_the_network(
    built_in: Catalog, notes: Path, tmp_path: Path
) -> None:
    reason = "why: w, source: s, date: 2026-01-01"
    (tmp_path / "p.yaml").write_text(
        "name: p\nextends: frontier\nbundles:\n  mine:\n    env: {MINE: 1}\n"
        f"    network: [single_node_vni]\n    {reason.replace(', ', chr(10) + '    ')}\n"
    )
    made = plan(built_in, str(tmp_path / "p.yaml"), STACK, image=None)
    both, one = "disable_rdzv_get,single_node_vni", "single_node_vni"
    seen, asked, _ = run(made, notes)
    assert of({**RENDEZVOUS, "MINE": "1"}, seen) == {**RENDEZVOUS, "MINE": "1"}
    network = [word for word in asked if word.startswith("--network=")]
    assert network[-1] == f"--network={both}"  # srun takes the last
    _, asked, _ = run(made, notes, FI_CXI_RDZV_PROTO="default")
    assert [w for w in asked if w.startswith("--network=")] == [f"--network={one}"]
