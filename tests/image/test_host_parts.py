"""The parts of a host that an image without a plug-in gets, if they fit."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from envcfg.core import inspection
from envcfg.image.host_libraries import Host, read_host
from envcfg.image.host_parts import FOLDER, Parts, choose_parts
from envcfg.image.host_parts import Image as Seen
from envcfg.image.image_facts import inspect_tree
from envcfg.image.image_record import Metadata
from envcfg.image.tree import FolderTree
from imaging import SYSTEM, Image
from support import Wrap

CRAY = "opt/cray/libfabric/1.22.0/lib64"
PLUGIN = "opt/aws-ofi-nccl/lib/libnccl-net.so"
CXI = r'\0" "cxip_domain\0" "1.22.0'
BOUND = {
    f"{FOLDER}/libnccl-net.so": f"/{PLUGIN}",
    f"{FOLDER}/libfabric.so.1": f"/{CRAY}/libfabric.so.1",
    f"{FOLDER}/libcxi.so.1": "/usr/lib64/libcxi.so.1",
    f"{FOLDER}/libjson-c.so.3": "/usr/lib64/libjson-c.so.3",
}


def plugin(host: Image, interfaces: tuple[int, ...] = (6, 7, 8)) -> None:
    host.library(
        PLUGIN,
        symbols=[f"ncclNetPlugin_v{number}" for number in interfaces],
        words="Initializing aws-ofi-nccl 1.14.0",
        uses={"libfabric.so.1": {"fi_new": "FABRIC_1.7"}},
        runpath=f"/{CRAY}",
    )


def libfabric(host: Image, words: str = CXI, glibc: str = "GLIBC_2.31") -> None:
    host.library(
        f"{CRAY}/libfabric.so.1",
        provides={"FABRIC_1.7": ["fi_new"]},
        needs=["libcxi.so.1", "libjson-c.so.3", "libz.so.1"],
        uses={"libc.so.6": {"newer": glibc}},
        words=words,
    )


def old_zlib(host: Image) -> None:
    host.library("usr/lib64/libjson-c.so.3", uses={"libz.so.1": {"deflate": "ZLIB_9"}})


@pytest.fixture
def image(tmp_path: Path) -> Image:
    made = Image(tmp_path / "image")
    made.base()
    made.library(f"{SYSTEM}/libnccl.so.2", words="NCCL version 2.21.5+cuda12.4")
    made.library(f"{SYSTEM}/libz.so.1", provides={"ZLIB_1": ["inflate"]})
    return made


@pytest.fixture
def host(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Image:
    monkeypatch.setenv("LD_LIBRARY_PATH", "")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    made = Image(tmp_path / "host")
    made.base("usr/lib64")
    plugin(made)
    libfabric(made)
    for name in ("libcxi.so.1", "libjson-c.so.3", "libz.so.1"):
        made.library(f"usr/lib64/{name}")
    return made


def recorded(host: Image) -> Host:
    return read_host(str(host.root))


def parts(image: Image, host: Host) -> Parts:
    tree = FolderTree(str(image.root))
    read = inspect_tree(tree, Metadata("folder"), str(image.root))
    return choose_parts(Seen(tree, read.facts, {}, ()), host, "cxi")


def test_what_the_image_lacks_is_bound_and_nothing_else(
    image: Image, host: Image
) -> None:
    chosen = parts(image, recorded(host))
    assert {mount.target: mount.source for mount in chosen.mounts} == BOUND
    (finding,) = chosen.findings
    assert (finding.rule, finding.severity) == ("host-parts-fit", "note")
    assert f"/{PLUGIN}" in finding.subject


def test_rccl_gets_the_plugin_by_its_own_name(image: Image, host: Image) -> None:
    (image.root / SYSTEM / "libnccl.so.2").unlink()
    image.library(f"{SYSTEM}/librccl.so.1", words="RCCL version : 2.22.3-HEAD")
    targets = [mount.target for mount in parts(image, recorded(host)).mounts]
    assert targets[0] == f"{FOLDER}/librccl-net.so"


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (
            lambda host: libfabric(host, glibc="GLIBC_2.38"),
            "needs GLIBC_2.38 of libc.so.6, but the image's libc.so.6 ends with GLIBC_2.31",
        ),
        (lambda host: plugin(host, (11, 12)), "has the interfaces v11, v12"),
        (lambda host: libfabric(host, words="1.22.0"), "no libfabric with the provider cxi"),
        (old_zlib, "needs ZLIB_9 of libz.so.1"),
        (
            lambda host: (host.root / "usr/lib64/libcxi.so.1").unlink(),
            "libcxi.so.1 is neither in the image nor bound",
        ),
    ],
)  # fmt: skip
def test_what_does_not_fit_is_refused_with_the_reason(
    change: Callable[[Image], None], words: str, image: Image, host: Image
) -> None:
    change(host)
    chosen = parts(image, recorded(host))
    assert chosen.mounts == ()
    (finding,) = chosen.findings
    assert (finding.rule, finding.severity) == ("host-parts-refused", "warning")
    assert words in finding.message


@pytest.mark.parametrize("own", ["2.1.0", "of no version"])
def test_a_libfabric_of_the_image_that_may_be_newer_stays(
    own: str, image: Image, host: Image
) -> None:
    """Its MPI would load the host's as well."""
    image.library(f"{SYSTEM}/libfabric.so.1", words=own)
    chosen = parts(image, recorded(host))
    assert [finding.rule for finding in chosen.findings] == ["host-parts-refused"]
    assert (
        f"/{SYSTEM}/libfabric.so.1 of the image has version"
        in chosen.findings[0].message
    )


def test_the_loader_itself_is_never_missing(image: Image, host: Image) -> None:
    host.library("usr/lib64/libcxi.so.1", needs=["ld-linux-x86-64.so.2"])
    assert len(parts(image, recorded(host)).mounts) == len(BOUND)


def test_the_c_library_is_never_bound(image: Image, host: Image) -> None:
    (image.root / SYSTEM / "libc.so.6").unlink()  # as in images with musl
    chosen = parts(image, recorded(host))
    assert chosen.mounts == ()
    assert "libc.so.6 is neither in the image nor bound" in chosen.findings[0].message


def test_a_host_of_another_architecture_is_refused(image: Image, host: Image) -> None:
    chosen = parts(image, recorded(host)._replace(architecture="aarch64"))
    assert chosen.mounts == ()
    assert "the nodes are aarch64" in chosen.findings[0].message


def test_a_host_without_a_plugin_has_no_parts(image: Image, host: Image) -> None:
    (host.root / PLUGIN).unlink()
    chosen = parts(image, recorded(host))
    assert [finding.rule for finding in chosen.findings] == ["host-parts-absent"]


def test_wrap_binds_the_parts_of_this_machine(
    image: Image, host: Image, wrap: Wrap, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(inspection, "read_host", lambda: recorded(host))
    words = ("--profile", "lumi-g", "--runtime", "apptainer", "--fact", "nodes=4")
    words = (*words, "--container", str(image.root))
    plan = json.loads(wrap(*words, "--json", "--", "true").text)
    binds = {bind["target"]: bind["source"] for bind in plan["container"]["binds"]}
    assert BOUND.items() <= binds.items()
    values = {each["name"]: each["branches"][0]["value"] for each in plan["settings"]}
    assert values["NCCL_NET"] == "AWS Libfabric"
    assert values["LD_LIBRARY_PATH"] == f"{FOLDER}:${{LD_LIBRARY_PATH:-{FOLDER}}}"
    rules = [finding["rule"] for finding in plan["findings"]]
    assert ("host-parts-fit" in rules, "image-without-plugin" in rules) == (True, False)
    for choice in (("--unset", "LD_LIBRARY_PATH"), ("--set", "LD_LIBRARY_PATH=")):
        plan = json.loads(wrap(*words, *choice, "--json", "--", "true").text)
        assert FOLDER not in json.dumps(plan)
    off = ("--set", "NCCL_NET_PLUGIN=none")
    plan = json.loads(wrap(*words, *off, "--json", "--", "true").text)
    assert "NCCL_NET" not in {setting["name"] for setting in plan["settings"]}
    plugin(host, (11, 12))
    plan = json.loads(wrap(*words, "--json", "--", "true").text)
    rules = [finding["rule"] for finding in plan["findings"]]
    assert {"host-parts-refused", "image-without-plugin"} <= set(rules)
    assert FOLDER not in json.dumps(plan["container"])


def test_inspect_names_the_parts_for_a_profile(image: Image, host: Image) -> None:
    tree = FolderTree(str(image.root))
    read = inspect_tree(tree, Metadata("folder"), str(image.root))
    _, found = inspection.judge_image(tree, read, "lumi-g", str(host.root))
    assert "host-parts-fit" in [finding.rule for finding in found]
    _, found = inspection.judge_image(tree, read, "leonardo", str(host.root))
    assert [finding.rule for finding in found if "host-parts" in finding.rule] == []
