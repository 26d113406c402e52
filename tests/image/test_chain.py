"""The chain of libraries: for each thing that goes wrong, an image in which it does."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from envcfg.common.bind import Bind
from envcfg.common.findings import Finding
from envcfg.core.inspection import judge_image
from envcfg.image.fact_patterns import interfaces_of
from envcfg.image.image_facts import inspect_tree
from envcfg.image.image_record import Metadata
from envcfg.image.layers import Overlay
from envcfg.image.library_chain import Chain
from envcfg.image.tree import FolderTree
from imaging import SITE, SYSTEM, Image, environment, python, torch

PLUGIN = f"{SYSTEM}/libnccl-net.so"
NET = tuple(f"ncclNetPlugin_v{number}" for number in (6, 7, 8))
AARCH64 = 183
REASON = "why: because, source: a page, date: 2026-11-22"


def good(image: Image) -> None:
    """NCCL, a plug-in, its libfabric and libcxi: all in the image."""
    image.base()
    image.library(f"{SYSTEM}/libnccl.so.2", words="NCCL version 2.21.5+cuda12.4")
    image.library(
        PLUGIN,
        symbols=NET,
        words="Initializing aws-ofi-nccl 1.16.2",
        uses={
            "libfabric.so.1": {"fi_new": "FABRIC_1.7"},
            "libc.so.6": {"newer": "GLIBC_2.31"},
        },
    )
    image.library(
        f"{SYSTEM}/libfabric.so.1",
        provides={"FABRIC_1.6": ["fi_old"], "FABRIC_1.7": ["fi_new"]},
        needs=["libcxi.so.1"],
        words=r'\0" "1.22.0',
    )
    image.library(f"{SYSTEM}/libcxi.so.1")


def no_libcxi(image: Image) -> None:
    (image.root / SYSTEM / "libcxi.so.1").unlink()


def old_libfabric(image: Image) -> None:
    image.library(f"{SYSTEM}/libfabric.so.1", provides={"FABRIC_1.6": ["fi_old"]})


def new_glibc(image: Image) -> None:
    image.library(PLUGIN, symbols=NET, uses={"libc.so.6": {"newest": "GLIBC_2.99"}})


def other_machine(image: Image) -> None:
    image.library(f"{SYSTEM}/libfabric.so.1", machine=AARCH64)


def new_interface(image: Image) -> None:
    image.library(PLUGIN, symbols=("ncclNetPlugin_v11", "ncclNetPlugin_v12"))


def old_interface(image: Image) -> None:
    image.library(PLUGIN, symbols=("ncclNetPlugin_v3", "ncclNetPlugin_v4"))


def two_nccls(image: Image) -> None:
    image.library("opt/nccl/lib/libnccl.so.2", words="NCCL version 2.18.3+cuda12.2")


def unfound(image: Image) -> None:
    (image.root / PLUGIN).unlink()
    image.library(
        "opt/aws-ofi-nccl/lib/libnccl-net.so", words="Initializing aws-ofi-nccl 1.16.2"
    )


FAULTS: dict[Callable[[Image], None], tuple[str, str, str]] = {
    no_libcxi: ("chain-library-missing", "warning", "libcxi.so.1"),
    old_libfabric: ("chain-symbol-version", "error", "needs FABRIC_1.7 of libfabric.so.1"),
    new_glibc: ("chain-glibc-old", "error", "needs GLIBC_2.99 of libc.so.6, but the image's libc.so.6 ends with GLIBC_2.31"),
    other_machine: ("chain-architecture", "error", "is for aarch64, and the image is for x86_64"),
    new_interface: ("chain-plugin-interface", "error", "has the interfaces v11, v12, but nccl 2.21.5 accepts v5 to v8"),
    old_interface: ("chain-plugin-interface", "error", "has the interfaces v3, v4"),
    two_nccls: ("chain-two-nccl", "note", "2.18.3 (/opt/nccl/lib/libnccl.so.2)"),
    unfound: ("chain-plugin-unfound", "warning", "/opt/aws-ofi-nccl/lib/libnccl-net.so"),
}  # fmt: skip


@pytest.fixture
def image(tmp_path: Path) -> Image:
    made = Image(tmp_path / "image")
    good(made)
    return made


def judge(
    image: Image, profile: str | None = None, root: str = "/"
) -> tuple[Chain, list[Finding]]:
    tree = FolderTree(str(image.root))
    found = inspect_tree(tree, Metadata("folder"), str(image.root))
    return judge_image(tree, found, profile, root)


def test_a_good_chain_has_no_findings(image: Image) -> None:
    chain, found = judge(image)
    assert found == []
    assert [link.asked for link in chain.links] == [
        *("libnccl.so.2", "libnccl-net.so", "libfabric.so.1", "libc.so.6"),
        "libcxi.so.1",
    ]
    assert [link.needed_by for link in chain.links][2] == f"/{PLUGIN}"


@pytest.mark.parametrize("fault", FAULTS, ids=lambda each: each.__name__)
def test_a_fault_is_found(image: Image, fault: Callable[[Image], None]) -> None:
    fault(image)
    rule, severity, words = FAULTS[fault]
    _, found = judge(image)
    (mine,) = [each for each in found if each.rule == rule]
    assert mine.severity == severity
    assert words in f"{mine.subject} {mine.message}"
    assert mine.why or mine.fix
    assert {each.rule for each in found} == {rule}


def test_what_the_driver_brings_is_not_missing(image: Image) -> None:
    image.library(PLUGIN, symbols=NET, needs=["libcuda.so.1", "libnvidia-ml.so.1"])
    assert judge(image)[1] == []


def test_what_pytorch_has_loaded_is_not_missing(image: Image) -> None:
    image.library(PLUGIN, symbols=NET, needs=["libcudart.so.12"])
    assert [each.rule for each in judge(image)[1]] == ["chain-library-missing"]
    site = f"usr/local/{SITE}"
    python(image, "usr/local")
    torch(image, site, "2.5.1+cu124", cuda="12.4")
    cuda = f"{site}/nvidia/cuda_runtime/lib/libcudart.so.12"
    image.library(cuda, needs=["libnowhere.so.1"])
    image.library(
        f"{site}/torch/lib/libtorch_global_deps.so",
        needs=["libcudart.so.12"],
        rpath="$ORIGIN/../../nvidia/cuda_runtime/lib",
    )
    chain, found = judge(image)
    assert found == []
    assert f"/{cuda}" not in [each.library.path for each in chain.own]


def test_an_environment_may_be_called_torch(image: Image) -> None:
    image.library(PLUGIN, symbols=NET, needs=["libcudart.so.12"])
    prefix = "opt/conda/envs/torch"
    python(image, prefix)
    torch(image, f"{prefix}/{SITE}", "2.5.1+cu124", cuda="12.4")
    image.library(f"{prefix}/{SITE}/torch/lib/libcudart.so.12")
    image.library(
        f"{prefix}/{SITE}/torch/lib/libtorch_global_deps.so",
        needs=["libcudart.so.12"],
        rpath="$ORIGIN",
    )
    assert judge(image)[1] == []


def test_a_c_library_without_numbered_versions_is_older_than_any(image: Image) -> None:
    image.library(f"{SYSTEM}/libc.so.6", provides={"GLIBC_PRIVATE": ["own"]})
    (found,) = judge(image)[1]
    assert found.rule == "chain-glibc-old"
    assert found.message.endswith("but the image's libc.so.6 has no version")


@pytest.mark.parametrize("version", ["9" * 5000 + ".1.1", "2." + "1" * 30 + ".1"])
def test_a_version_without_end_is_none(image: Image, version: str) -> None:
    image.library(f"{SYSTEM}/libnccl.so.2", words=f"NCCL version {version}")
    assert judge(image)[1] == []


@pytest.mark.parametrize(
    ("version", "found"),
    [("2.26.6", []), ("2.27.7", ["chain-plugin-unfound"]), ("2.30.4", [])],
)
def test_rccl_of_rocm_7_2_looks_for_the_plugin_by_another_name(
    tmp_path: Path, version: str, found: list[str]
) -> None:
    image = Image(tmp_path / "rocm")
    image.base()
    image.library(f"{SYSTEM}/librccl.so.1", words=f"RCCL version : {version}-HEAD")
    image.library(
        f"{SYSTEM}/librccl-net.so",
        symbols=("ncclNetPlugin_v10",),
        words="Initializing aws-ofi-nccl 1.18.0",
    )
    assert [each.rule for each in judge(image)[1]] == found
    environment(image, NCCL_NET_PLUGIN=f"/{SYSTEM}/librccl-net.so")
    assert judge(image)[1] == []


def test_what_the_profile_sets_finds_the_plugin(
    image: Image, slingshot: Callable[..., str], tmp_path: Path
) -> None:
    unfound(image)
    host = slingshot()
    assert [each.rule for each in judge(image, "./cray.yaml", host)[1]] == [
        "chain-plugin-unfound"
    ]
    with (tmp_path / "cray.yaml").open("a") as file:
        file.write(
            f"env:\n  LD_LIBRARY_PATH: {{value: /opt/aws-ofi-nccl/lib, {REASON}}}\n"
        )
    assert judge(image, "./cray.yaml", host)[1] == []


@pytest.mark.parametrize(
    ("version", "wanted"),
    [
        *(("2.12.9", None), ("2.18.6", (4, 6)), ("2.19.3", (5, 7)), ("2.22.3", (5, 8))),
        *(("2.25.1", (5, 9)), ("2.27.7", (6, 10)), ("2.29.2", (6, 11))),
        *(("2.30.4", (6, 12)), ("yes", None), ("", None)),
    ],
)
def test_a_release_of_nccl_takes_interfaces(
    version: str, wanted: tuple[int, int] | None
) -> None:
    found = interfaces_of(version)
    assert (found and found[:2]) == wanted


@pytest.fixture
def slingshot(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., str]:
    """Make a host with libfabric in /opt/cray, and a profile that binds it."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("ENVCFG_SITE", str(tmp_path / "no-site"))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "no-user"))
    monkeypatch.setenv("LD_LIBRARY_PATH", "")
    (tmp_path / "cray.yaml").write_text(
        "name: cray\ncontainer:\n  runtimes: [apptainer]\n  binds:\n"
        f"    /opt/cray: {{{REASON}}}\n"
        f"    /usr/lib64/libcxi.so.1: {{if_exists: true, {REASON}}}\n"
        "    /opt/new:\n"
        f"      {{when: {{libfabric: '>=9'}}, {REASON}}}\n"
    )

    def make(version: str = "FABRIC_1.7", glibc: str = "GLIBC_2.31") -> str:
        host = Image(tmp_path / f"host-{version}-{glibc}")
        host.base("usr/lib64")  # as SUSE has it
        host.library(
            "opt/cray/libfabric/1.15.2/lib64/libfabric.so.1.18",
            soname="libfabric.so.1",
            provides={version: ["fi_new"]},
            needs=["libcxi.so.1"],
            uses={"libc.so.6": {"newer": glibc}},
        )
        host.link("opt/cray/libfabric/1.15.2/lib64/libfabric.so.1", "libfabric.so.1.18")
        host.library("usr/lib64/libcxi.so.1.5.0", soname="libcxi.so.1")
        host.link("usr/lib64/libcxi.so.1", "libcxi.so.1.5.0")
        return str(host.root)

    return make


def test_the_host_over_the_image_is_said(
    image: Image, slingshot: Callable[..., str]
) -> None:
    environment(image, LD_LIBRARY_PATH="/opt/cray/libfabric/1.15.2/lib64")
    chain, found = judge(image, "./cray.yaml", slingshot())
    assert [each.rule for each in found] == ["chain-host-libfabric"]
    (bound,) = [each for each in chain.links if each.asked == "libfabric.so.1"]
    assert bound.host == "/opt/cray/libfabric/1.15.2/lib64/libfabric.so.1.18"
    assert found[0].message.endswith(f"/{SYSTEM}/libfabric.so.1 (1.22.0)")


@pytest.mark.parametrize(
    ("version", "glibc", "rule"),
    [
        ("FABRIC_1.6", "GLIBC_2.31", "chain-symbol-version"),
        ("FABRIC_1.7", "GLIBC_2.38", "chain-glibc-old"),
    ],
)
def test_a_host_library_that_does_not_fit_the_image_is_an_error(
    image: Image, slingshot: Callable[..., str], version: str, glibc: str, rule: str
) -> None:
    environment(image, LD_LIBRARY_PATH="/opt/cray/libfabric/1.15.2/lib64")
    _, found = judge(image, "./cray.yaml", slingshot(version, glibc))
    (mine,) = [each for each in found if each.severity == "error"]
    assert mine.rule == rule
    assert "(the host's)" in f"{mine.subject} {mine.message}"


def test_what_the_binds_bring_is_not_missing(
    image: Image, slingshot: Callable[..., str]
) -> None:
    no_libcxi(image)
    assert [each.severity for each in judge(image)[1]] == ["warning"]
    host = slingshot()
    _, found = judge(image, "./cray.yaml", host)
    assert [(each.rule, each.severity) for each in found] == [
        ("chain-library-missing", "error")  # bound, and no folder of the loader's
    ]
    environment(image, LD_LIBRARY_PATH="/usr/lib64")
    assert judge(image, "./cray.yaml", host)[1] == []


def test_a_bind_that_is_not_here_is_noted(
    image: Image, slingshot: Callable[..., str]
) -> None:
    slingshot()
    _, found = judge(image, "./cray.yaml")
    assert [(each.rule, each.severity) for each in found] == [
        ("chain-bind-absent", "note")
    ]
    assert found[0].subject.startswith("/opt/cray")


def test_an_overlay_shows_mounts_as_the_kernel_does(tmp_path: Path) -> None:
    image, host = Image(tmp_path / "image"), Image(tmp_path / "host")
    image.text("opt/cray/own", "image")
    image.text("etc/own", "image")
    host.text("opt/cray/theirs", "host")
    host.text("data/file", "host")
    host.link("data/link", "/etc/own")
    layers = [Bind("/opt/cray", "/opt/cray"), Bind("/data", "/new/place")]
    layers.append(Bind("/absent", "/etc"))
    tree = Overlay(FolderTree(str(image.root)), FolderTree(str(host.root)), layers)
    assert tree.text("/opt/cray/theirs") == "host"
    assert tree.look("/opt/cray/own") is None
    assert tree.text("/etc/own") == "image"
    assert tree.text("/new/place/link") == "image"  # links lead where they do inside
    assert tree.names("/new") == ["place"]
    assert "new" in tree.names("/")
    assert list(tree.glob("/new/*/f*")) == ["/new/place/file"]
