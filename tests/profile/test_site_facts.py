"""What a second reading of the sites showed: each value that was wrong, stale or missing.

What needs other keys of a profile (limits by size and QOS) is tested where those keys are.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

from envcfg.job.plan.plan import Options, Plan
from envcfg.job.plan.resolve import resolve
from envcfg.job.script.host_part import render_script
from envcfg.profile.catalog import Catalog
from envcfg.profile.words import format_word
from support import envcfg

R64 = "lumi-multitorch-{}-u24r64f21m43t29-{}.sif"
R70 = "lumi-multitorch-full-u24r70f21m50t210-20260513_121430.sif"
PRELOADED = "/usr/lib/libfabric.so.1 /opt/rocm/lib/librccl.so.1"


def plan(
    built_in: Catalog,
    name: str,
    facts: Mapping[str, str],
    image: str = "pytorch.sif",
    image_file: str | None = None,
) -> Plan:
    options = Options(
        container=image,
        image_file=image_file,
        facts=facts,
        command=("python", "train.py"),
        ranks=1,
    )
    return resolve(built_in.load(name), "0", options)


def settings(made: Plan) -> dict[str, str | None]:
    """Return what is sure to be set; None is taken away."""
    return {
        each.name: case.value and format_word(case.value)
        for each in made.settings
        for case in each.cases
        if not case.when
    }


@pytest.mark.parametrize(
    ("image", "nodes", "preloads"),
    [
        (R64.format("full", "20260124_092648"), "2", True),
        (R64.format("full", "20260216_093549"), "2", True),
        (R64.format("torch", "20260225_144743"), "16", True),
        (R64.format("full", "20260225_144743"), "1", False),
        (R64.format("full", "20260319_153422"), "2", False),
        (R64.format("full", "20251209_134408"), "2", False),
        (R70, "2", False),
        ("lumi-multitorch-latest.sif", "2", False),
        ("pytorch.sif", "2", False),
    ],
)
def test_lumi_s_images_of_early_2026_get_the_rccl_that_knows_slingshot(
    built_in: Catalog, image: str, nodes: str, *, preloads: bool
) -> None:
    found = settings(plan(built_in, "lumi-g", {"nodes": nodes}, image))
    assert found.get("LD_PRELOAD") == (PRELOADED if preloads else None)


def test_what_is_preloaded_on_lumi_never_reaches_the_host_s_own_programs(
    built_in: Catalog, tmp_path: Path
) -> None:
    image = tmp_path / R64.format("full", "20260225_144743")
    image.touch()
    text = render_script(
        plan(built_in, "lumi-g", {"nodes": "2"}, str(image)), ["envcfg"]
    )
    (line,) = (each.strip() for each in text.splitlines() if PRELOADED in each)
    assert line == f"envcfg_set LD_PRELOAD '{PRELOADED}'"
    assert "export LD_PRELOAD" not in text


@pytest.mark.parametrize("image", [R70, R64.format("full", "20260319_153422"), "x.sif"])
@pytest.mark.parametrize("nodes", ["1", "2"])
def test_lumi_asks_for_no_network_on_one_node(
    built_in: Catalog, image: str, nodes: str
) -> None:
    made = plan(built_in, "lumi-g", {"nodes": nodes}, image)
    assert made.bundles == ()
    assert (
        settings(made)
        .keys()
        .isdisjoint(
            {"NCCL_DMABUF_ENABLE", "FI_HMEM_ROCR_USE_DMABUF", "HSA_NO_SCRATCH_RECLAIM"}
        )
    )


def test_lumi_s_link_to_its_latest_image_tells_what_the_image_s_own_name_tells(
    built_in: Catalog,
) -> None:
    made = plan(
        built_in,
        "lumi-g",
        {"nodes": "2"},
        "/appl/local/laifs/containers/lumi-multitorch-latest.sif",
        f"/appl/local/laifs/containers/{R70}",
    )
    facts = {name: fact.value for name, fact in made.facts.items()}
    assert (facts["rocm"], facts["torch"]) == ("7.0", "2.10")


@pytest.mark.parametrize(
    "name",
    [
        "frontier",
        "alps-clariden",
        "isambard-ai",
        "perlmutter",
        "polaris",
        "derecho",
        "kestrel",
    ],
)
@pytest.mark.parametrize("facts", [{}, {"plugin": "1.4"}, {"plugin": "1.19.2"}])
def test_where_a_site_wants_it_a_fallback_to_sockets_ends_the_job(
    built_in: Catalog, name: str, facts: dict[str, str]
) -> None:
    several = settings(plan(built_in, name, {"nodes": "2", **facts}))
    assert several["NCCL_NET"] == "AWS Libfabric"
    one = settings(plan(built_in, name, {"nodes": "1", **facts}))
    assert one.get("NCCL_NET") in {None, "Socket"}


def test_the_network_of_a3_mega_is_set_where_the_prolog_has_installed_it(
    built_in: Catalog,
) -> None:
    several = settings(plan(built_in, "google-a3-mega", {"nodes": "2"}))
    assert several["NCCL_NET"] == "FasTrak"
    assert several["NCCL_FASTRAK_CTRL_DEV"] == several["NCCL_SOCKET_IFNAME"]
    one = settings(plan(built_in, "google-a3-mega", {"nodes": "1"}))
    network = {key for key in one if key.startswith(("NCCL_", "LD_"))}
    assert network == {"NCCL_SOCKET_IFNAME"}


@pytest.mark.parametrize(
    ("facts", "gid"), [({}, None), ({"nccl": "2.20.5"}, "3"), ({"nccl": "2.21"}, None)]
)
def test_old_nccl_is_told_which_address_of_roce_to_use(
    built_in: Catalog, facts: dict[str, str], gid: str | None
) -> None:
    assert settings(plan(built_in, "roce-cuda", facts)).get("NCCL_IB_GID_INDEX") == gid
    assert settings(plan(built_in, "oci-h100", facts))["NCCL_IB_GID_INDEX"] == "3"


def test_frontier_names_the_plugin_without_which_it_is_not_used(
    built_in: Catalog,
) -> None:
    found = settings(plan(built_in, "frontier", {"nodes": "2"}))
    assert found["NCCL_NET_PLUGIN"] == "librccl-net.so"
    assert "NCCL_NET_PLUGIN" not in settings(plan(built_in, "frontier", {"nodes": "1"}))


@pytest.mark.parametrize(
    ("name", "partition", "limits"),
    [
        ("alps-clariden", "normal", (None, "12:00:00", True)),
        ("alps-clariden", "debug", (4, None, True)),
        ("alps-clariden", "low", (None, "1-00:00:00", True)),
        ("lumi-g", "dev-g", (32, "03:00:00", False)),
        ("derecho", "preempt", (82, "100:00:00", True)),
        ("kestrel", "gpu-h100", (156, "2-00:00:00", False)),
        ("kestrel", "gpu-h100l", (39, "10-00:00:00", False)),
    ],
)
def test_partitions_have_the_limits_that_the_site_gives_them(
    built_in: Catalog,
    name: str,
    partition: str,
    limits: tuple[int | None, str | None, bool],
) -> None:
    found = built_in.load(name).partitions[partition]
    assert found
    assert (found.nodes, found.time, found.exclusive) == limits


@pytest.mark.parametrize(
    ("name", "modules"),
    [
        ("frontier", ["olcf-container-tools", "apptainer-enable-mpi"]),
        ("dardel", ["PDC/24.11", "singularity/4.2.0-cpeGNU-24.11"]),
        ("juwels-booster", ["GCC", "Apptainer-Tools"]),
    ],
)
def test_modules_are_those_that_the_site_s_users_load_and_in_their_order(
    built_in: Catalog, name: str, modules: list[str]
) -> None:
    assert [key for key, each in built_in.load(name).modules.items() if each] == modules


@pytest.mark.parametrize(
    ("name", "runtimes"),
    [
        ("perlmutter", ["podman-hpc", "shifter"]),
        ("alps-clariden", ["ce"]),
        ("aws-p5", ["pyxis"]),
        ("aws-p4d", ["pyxis"]),
    ],
)
def test_the_runtimes_that_a_site_offers_come_before_one_of_one_s_own(
    built_in: Catalog, name: str, runtimes: list[str]
) -> None:
    found = built_in.load(name).runtimes
    assert found
    assert list(found)[: len(runtimes)] == runtimes


def test_puhti_asks_for_memory_in_the_proportion_of_its_gpus(built_in: Catalog) -> None:
    node = built_in.load("puhti").node
    assert node
    # CSC's rule of thumb; a whole node has 373 GiB for jobs
    assert (node.memory_per_gpu, node.gpus) == ("93G", 4)


@pytest.mark.parametrize("name", ["jean-zay", "meluxina"])
def test_where_slurm_counts_each_core_twice_cores_are_asked_for(
    built_in: Catalog, name: str
) -> None:
    hint = built_in.load(name).rules["--hint"]
    assert hint
    assert (hint.rule, hint.value) == ("must", "nomultithread")


@pytest.mark.parametrize(
    ("name", "variable", "value"),
    [
        # eight adapters of NDR; the ninth is for storage
        ("abci3", "NCCL_IB_HCA", "mlx5_ibn"),
        # not InfiniBand: bootstrap alone
        ("snellius", "NCCL_SOCKET_IFNAME", "eno2np0"),
        ("snellius", "GLOO_SOCKET_IFNAME", "eno2np0"),
    ],
)
def test_nccl_is_told_what_it_would_choose_wrongly(
    built_in: Catalog, name: str, variable: str, value: str
) -> None:
    assert settings(plan(built_in, name, {"nodes": "2"}))[variable] == value


EXTENDED = "docker://ghcr.io/eth-cscs/alps-extended-images/ngc-pytorch:26.02-py3-alps6"


@pytest.mark.parametrize(
    ("image", "arguments"),
    [
        (EXTENDED, ["--annotation=com.hooks.cxi.enabled=false", "--entrypoint"]),
        ("nvcr.io/nvidia/pytorch:24.01-py3", ["--annotation=com.hooks.aws_ofi_nccl.enabled=true", "--annotation=com.hooks.aws_ofi_nccl.variant=cuda-dl"]),
    ],
)  # fmt: skip
def test_an_image_that_brings_its_own_stack_on_alps_keeps_its_values(
    built_in: Catalog, image: str, arguments: list[str]
) -> None:
    made = plan(built_in, "alps-clariden", {"nodes": "2"}, image)
    assert made.container
    assert [runtime.name for runtime in made.container.runtimes] == ["ce"]
    assert [each.word for each in made.container.arguments] == arguments
    has_own = image == EXTENDED
    started = [each.word for each in made.starter_options]
    assert "--network=disable_rdzv_get" in started  # the stack of both needs it
    network = {n for n in settings(made) if n.startswith(("NCCL_", "FI_", "PMIX_"))}
    assert bool(network) is not has_own
    assert not network & {"NCCL_CROSS_NIC", "FI_CXI_RX_MATCH_MODE"}  # the hook's


@pytest.mark.parametrize(
    ("line", "is_training"),
    [
        ("python t.py", True),
        ("vllm serve m", False),
        ("vllm serve m --distributed-executor-backend ray", False),
    ],
)
def test_aurora_s_values_for_training_are_not_those_of_a_server(
    line: str, is_training: bool
) -> None:
    step = ("--profile", "aurora", "--container", "none", "--print", "job")
    made = envcfg("wrap", *step, "--", *line.split())
    assert made.code == 0, made.err
    for name in ("CCL_PROCESS_LAUNCHER", "CCL_ATL_TRANSPORT", "CCL_KVS_MODE"):
        assert (f"envcfg_set {name} " in made.text) == is_training
    assert ("envcfg_set FI_MR_CACHE_MONITOR " in made.text) == is_training
    # the module frameworks sets it, with OpenCL for Triton, vLLM and Ray
    assert "envcfg_set ONEAPI_DEVICE_SELECTOR" not in made.text
