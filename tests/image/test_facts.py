"""Layouts of images as they are in use, and the facts that they show."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import BinaryIO

import pytest

from envcfg.image.image_facts import inspect_tree
from envcfg.image.image_record import Inspection, Metadata
from envcfg.image.metadata import complete
from envcfg.image.tree import FolderTree
from envcfg.report.image_report import fact_words
from imaging import SITE, SYSTEM, Image, environment, python, torch, wheel

INTERFACES = ("ncclNetPlugin_v7", "ncclNetPlugin_v8", "ncclTunerPlugin_v2")


def look(image: Image, **metadata: object) -> Inspection:
    tree = FolderTree(str(image.root))
    return inspect_tree(tree, complete(Metadata("folder", **metadata), tree), "image")


def lumi_like(image: Image) -> None:
    """Conda in a folder that PATH does not lead to; the wheel's RCCL, a plug-in in /usr."""
    site = f"opt/miniconda3/envs/pytorch/{SITE}"
    python(image, "usr")
    python(image, "opt/miniconda3/envs/pytorch")
    torch(image, site, "2.7.1+rocm6.2.4", hip="6.2.41134-65d174c3e")
    wheel(image, site, "deepspeed", "0.15.1")
    image.text("opt/rocm/.info/version", "6.2.4-139\n")
    image.library("opt/rocm/lib/librccl.so.1", words="RCCL version : 2.20.5-HEAD:abc")
    image.library(f"{site}/torch/lib/librccl.so", words="RCCL version 2.20.0+hip6.2")
    image.library(f"{site}/torch/lib/libamdhip64.so")
    image.library(
        f"{site}/torch/lib/libtorch_hip.so", needs=["librccl.so"], runpath="$ORIGIN"
    )
    image.library(
        f"{SYSTEM}/librccl-net.so",
        words="Using aws-ofi-rccl 1.4.0",
        symbols=("ncclNetPlugin_v6", "ncclNetPlugin_v5"),
        needs=["libfabric.so.1"],
    )
    image.text(".singularity.d/runscript", '#!/bin/sh\nsource /init\nexec "$@"\n')
    environment(image, NCCL_SOCKET_IFNAME="hsn0", PATH="/usr/bin:/bin")


def ngc_like(image: Image) -> None:
    """PyTorch in the system's Python, with the system's NCCL; HPC-X, EFA's plug-in."""
    site = "usr/local/lib/python3.11/dist-packages"
    python(image, "usr")
    torch(image, site, "2.6.0a0+df5bbc0", cuda="12.6")
    image.text(
        "usr/local/cuda/version.json", '{"cuda": {"name": "x", "version": "12.6.3"}}'
    )
    image.library(
        f"{SYSTEM}/libnccl.so.2.23.4",
        soname="libnccl.so.2",
        words="NCCL version 2.23.4+cuda12.6",
    )
    image.link(f"{SYSTEM}/libnccl.so.2", "libnccl.so.2.23.4")
    image.library(f"{site}/torch/lib/libtorch_cuda.so", needs=["libnccl.so.2"])
    plugin = "opt/amazon/ofi-nccl/lib/libnccl-net.so"
    image.library(plugin, words="Initializing aws-ofi-nccl 1.12.1", symbols=INTERFACES)
    image.library("opt/hpcx/ompi/lib/libmpi.so.40", words="Open MPI v4.1.7rc1")
    environment(image, LD_LIBRARY_PATH="/opt/amazon/ofi-nccl/lib:/opt/hpcx/ompi/lib")


def intel_wheel(image: Image) -> None:
    """The wheel for Intel GPUs, which has no NCCL."""
    python(image, "usr/local")
    torch(image, f"usr/local/{SITE}", "2.9.1+xpu", xpu="2025.2")


def pip_wheel(image: Image) -> None:
    """The wheel's NCCL, and another in the system that it does not take."""
    site = f"usr/local/{SITE}"
    python(image, "usr/local")
    torch(image, site, "2.5.1+cu124", cuda="12.4")
    wheel(image, site, "nvidia_nccl_cu12", "2.21.5")
    wheel(image, site, "transformers", "4.46.0")
    image.library(
        f"{site}/nvidia/nccl/lib/libnccl.so.2", words="NCCL version 2.21.5+cuda12.4"
    )
    image.library(f"{SYSTEM}/libnccl.so.2", words="NCCL version 2.18.3+cuda12.2")
    image.library(
        f"{site}/torch/lib/libtorch_cuda.so",
        needs=["libnccl.so.2"],
        rpath="$ORIGIN/../../nvidia/nccl/lib:$ORIGIN",
    )
    environment(image, LD_LIBRARY_PATH=f"/{SYSTEM}")


def preloaded(image: Image) -> None:
    """The same, but LD_PRELOAD brings the system's."""
    pip_wheel(image)
    environment(image, LD_PRELOAD=f"/{SYSTEM}/libnccl.so.2")


def static(image: Image) -> None:
    """NCCL is built into PyTorch."""
    site = f"usr/local/{SITE}"
    python(image, "usr/local")
    torch(image, site, "1.13.1+cu117", cuda="11.7")
    image.library(
        f"{site}/torch/lib/libtorch_cuda.so", words="NCCL version 2.14.3+cuda11.7"
    )


def static_over_system(image: Image) -> None:
    """The same on an image with an NCCL in its system, which nobody loads."""
    static(image)
    image.library(f"{SYSTEM}/libnccl.so.2", words="NCCL version 2.21.5+cuda12.4")


def left_over(image: Image) -> None:
    """PyTorch for ROCm, with the wheels of NVIDIA that something else has brought."""
    site = f"usr/local/{SITE}"
    python(image, "usr/local")
    torch(image, site, "2.7.1+rocm6.3", hip="6.3.42131")
    wheel(image, site, "torch", "2.10.0")  # of which nothing else is there
    wheel(image, site, "nvidia_nccl_cu12", "2.26.2")
    wheel(image, site, "nvidia_cuda_runtime_cu12", "12.6.77")
    image.library(
        f"{site}/nvidia/nccl/lib/libnccl.so.2", words="NCCL version 2.26.2+cuda12.4"
    )
    image.library(f"{site}/torch/lib/librccl.so", words="RCCL version 2.21.5+hip6.3")
    image.library(
        f"{site}/torch/lib/libtorch_hip.so", needs=["librccl.so"], runpath="$ORIGIN"
    )


def two_runtimes(image: Image) -> None:
    """Wheels of two releases of CUDA, of which PyTorch takes the newer one."""
    site = f"usr/local/{SITE}"
    python(image, "usr/local")
    torch(image, site, "2.9.0+cu130", cuda="13.0")
    wheel(image, site, "nvidia_cuda_runtime_cu12", "12.6.77")
    wheel(image, site, "nvidia_cuda_runtime_cu13", "13.0.48")


def rocm_docker(image: Image) -> None:
    """rocm/pytorch: conda on PATH, the system's ROCm and RCCL by the loader's cache."""
    site = f"opt/conda/envs/py_3.11/{SITE}"
    python(image, "opt/conda/envs/py_3.11")
    image.text("opt/conda/envs/py_3.11/conda-meta/history")
    torch(image, site, "2.6.0+git684f6f2", hip="6.4.43483-a187df25c")
    image.text("opt/rocm-6.4.1/.info/version", "6.4.1-83\n")
    image.link("opt/rocm", "rocm-6.4.1")
    image.library(
        "opt/rocm-6.4.1/lib/librccl.so.1", words="RCCL version : 2.22.3-HEAD:8c5c5ee"
    )
    image.library(f"{site}/torch/lib/libtorch_hip.so", needs=["librccl.so.1"])
    image.cache({"librccl.so.1": "/opt/rocm-6.4.1/lib/librccl.so.1"})
    environment(image, PATH="/opt/conda/envs/py_3.11/bin:/usr/bin")


def venv(image: Image) -> None:
    """A virtual environment over the system's packages."""
    python(image, "usr")
    system = "usr/lib/python3/dist-packages"
    torch(image, system, "2.4.0", cuda="12.1")
    image.link("opt/venv/bin/python3", "/usr/bin/python3")
    image.text(
        "opt/venv/pyvenv.cfg",
        "home = /usr/bin\ninclude-system-site-packages = true\nversion = 3.11.9\n",
    )
    wheel(image, f"opt/venv/{SITE}", "accelerate", "1.2.0")
    environment(image, PATH="/opt/venv/bin:/usr/bin:/bin")


def with_frameworks(image: Image) -> None:
    """Horovod for PyTorch with RCCL and MPI, DeepSpeed with two compiled operators."""
    site = f"opt/conda/{SITE}"
    python(image, "opt/conda")
    torch(image, site, "2.7.1+rocm6.4", hip="6.4.43484")
    wheel(image, site, "horovod", "0.28.1")
    image.library(
        f"{site}/horovod/torch/mpi_lib_v2.cpython-311-x86_64-linux-gnu.so",
        words="MPI_Barrier failed, see MPI output for details.\\0ncclCommInitRank\\0hipEventRecord",
    )
    wheel(image, site, "deepspeed", "0.14.0")
    image.text(
        f"{site}/deepspeed/git_version_info_installed.py",
        "version='0.14.0'\n"
        "installed_ops={'async_io': False, 'fused_adam': 1, 'fused_lamb': True, 'utils': 0}\n"
        "compatible_ops={'async_io': True}\n",
    )
    environment(image, PATH="/opt/conda/bin:/usr/bin")


WANTED = {
    with_frameworks: {
        "horovod-torch": ("MPI, NCCL, ROCm", f"/opt/conda/{SITE}/horovod/torch/mpi_lib_v2.cpython-311-x86_64-linux-gnu.so"),
        "deepspeed-ops": ("fused_adam, fused_lamb", f"/opt/conda/{SITE}/deepspeed/git_version_info_installed.py"),
    },
    lumi_like: {
        "torch": ("2.7.1", "/opt/miniconda3/envs/pytorch/lib/python3.11/site-packages/torch-2.7.1+rocm6.2.4.dist-info"),
        "rocm": ("6.2.4", "/opt/miniconda3/envs/pytorch/lib/python3.11/site-packages/torch/version.py"),
        "rccl": ("2.20.0", "/opt/miniconda3/envs/pytorch/lib/python3.11/site-packages/torch/lib/librccl.so"),
        "plugin": ("1.4.0", f"/{SYSTEM}/librccl-net.so"),
        "interfaces": ("net_v5 net_v6", f"/{SYSTEM}/librccl-net.so"),
        "deepspeed": ("0.15.1", "/opt/miniconda3/envs/pytorch/lib/python3.11/site-packages/deepspeed-0.15.1.dist-info"),
        "start": ("run", "/.singularity.d/runscript"),
        "glibc": ("2.31", f"/{SYSTEM}/libc.so.6"),
        "distribution": ("Ubuntu 20.04 LTS", "/etc/os-release"),
        "sh": ("yes", "/bin/sh"),
    },
    ngc_like: {
        "torch": ("2.6.0", "/usr/local/lib/python3.11/dist-packages/torch-2.6.0a0+df5bbc0.dist-info"),
        "cuda": ("12.6", "/usr/local/lib/python3.11/dist-packages/torch/version.py"),
        "nccl": ("2.23.4", f"/{SYSTEM}/libnccl.so.2"),
        "plugin": ("1.12.1", "/opt/amazon/ofi-nccl/lib/libnccl-net.so"),
        "interfaces": ("net_v7 net_v8 tuner_v2", "/opt/amazon/ofi-nccl/lib/libnccl-net.so"),
        "open-mpi": ("4.1.7", "/opt/hpcx/ompi/lib/libmpi.so.40"),
        "start": ("exec", "no runscript"),
    },
    pip_wheel: {
        "nccl": ("2.21.5", f"/usr/local/{SITE}/nvidia/nccl/lib/libnccl.so.2"),
        "cuda": ("12.4", f"/usr/local/{SITE}/torch/version.py"),
        "transformers": ("4.46.0", f"/usr/local/{SITE}/transformers-4.46.0.dist-info"),
        "python": ("3.11", "/usr/local/bin/python3"),
    },
    intel_wheel: {"xpu": ("2025.2", f"/usr/local/{SITE}/torch/version.py")},
    preloaded: {"nccl": ("2.18.3", f"/{SYSTEM}/libnccl.so.2")},
    static: {"nccl": ("2.14.3", f"/usr/local/{SITE}/torch/lib/libtorch_cuda.so")},
    static_over_system: {"nccl": ("2.14.3", f"/usr/local/{SITE}/torch/lib/libtorch_cuda.so")},
    left_over: {
        "torch": ("2.7.1", f"/usr/local/{SITE}/torch-2.7.1+rocm6.3.dist-info"),
        "rocm": ("6.3", f"/usr/local/{SITE}/torch/version.py"),
        "rccl": ("2.21.5", f"/usr/local/{SITE}/torch/lib/librccl.so"),
    },
    two_runtimes: {"cuda": ("13.0.48", f"/usr/local/{SITE}/nvidia_cuda_runtime_cu13-13.0.48.dist-info")},
    rocm_docker: {
        "rocm": ("6.4.1", "/opt/rocm/.info/version"),
        "rccl": ("2.22.3", "/opt/rocm-6.4.1/lib/librccl.so.1"),
        "python": ("3.11", "/opt/conda/envs/py_3.11/bin/python3"),
    },
    venv: {
        "torch": ("2.4.0", "/usr/lib/python3/dist-packages/torch-2.4.0.dist-info"),
        "accelerate": ("1.2.0", f"/opt/venv/{SITE}/accelerate-1.2.0.dist-info"),
        "python": ("3.11", "/opt/venv/bin/python3"),
    },
}  # fmt: skip


@pytest.fixture
def image(tmp_path: Path) -> Image:
    made = Image(tmp_path / "image")
    made.base()
    return made


@pytest.mark.parametrize("layout", WANTED, ids=lambda each: each.__name__)
def test_a_layout_shows_its_facts(
    image: Image, layout: Callable[[Image], None]
) -> None:
    layout(image)
    found = look(image).taken()
    wanted = WANTED[layout]
    assert {
        name: (found[name].value, found[name].evidence)
        for name in wanted
        if name in found
    } == wanted


@pytest.mark.parametrize("layout", WANTED, ids=lambda each: each.__name__)
def test_every_fact_has_evidence_that_is_there(
    image: Image, layout: Callable[[Image], None]
) -> None:
    layout(image)
    tree = FolderTree(str(image.root))
    found = look(image)
    assert found.facts
    for each in found.facts:
        assert each.evidence == "no runscript" or tree.look(each.evidence), each
    names = [each.name for each in found.facts if each.taken]
    assert len(names) == len(set(names))


@pytest.mark.parametrize(
    ("layout", "name", "why"),
    [
        (pip_wheel, "nccl", "RPATH of /usr/local/lib/python3.11/site-packages/torch/lib/libtorch_cuda.so"),
        (preloaded, "nccl", "LD_PRELOAD of the image: its symbols come first"),
        (static, "nccl", "built into PyTorch, which needs no other"),
        (rocm_docker, "rccl", "/etc/ld.so.cache"),
        (lumi_like, "rocm", "PyTorch brings its own ROCm, and loads that"),
        (lumi_like, "deepspeed", "PyTorch is here, and not where the image's PATH leads to"),
        (ngc_like, "plugin", "aws-ofi-nccl; LD_LIBRARY_PATH of the image"),
        (venv, "python", "venv; the PATH of the image finds it"),
    ],
)  # fmt: skip
def test_a_fact_says_why_it_counts(
    image: Image, layout: Callable[[Image], None], name: str, why: str
) -> None:
    layout(image)
    assert look(image).taken()[name].why == why


def test_the_other_nccl_is_named_and_does_not_count(image: Image) -> None:
    pip_wheel(image)
    others = [each for each in look(image).facts if not each.taken]
    (other,) = [each for each in others if each.name == "nccl"]
    assert (other.value, other.evidence) == ("2.18.3", f"/{SYSTEM}/libnccl.so.2")
    assert other.why.endswith("nvidia/nccl/lib/libnccl.so.2 comes before it")


def test_what_pytorch_is_not_made_for_does_not_count(image: Image) -> None:
    left_over(image)
    found = look(image)
    assert not found.taken().keys() & {"cuda", "nccl"}
    said = {each.name: each.why for each in found.facts}
    assert said["cuda"] == said["nccl"] == "PyTorch is made for ROCm"


def test_what_one_file_says_twice_is_said_once(image: Image) -> None:
    lumi_like(image)
    names = [each.evidence for each in look(image).facts if each.name == "rocm"]
    assert len(names) == len(set(names)) == 2


def test_nccl_looks_for_its_plugin_where_its_runpath_leads(image: Image) -> None:
    """As packages of conda-forge are made."""
    nccl = "opt/conda/lib/libnccl.so.2"
    image.library(nccl, words="NCCL version 2.27.5+cuda12.9", rpath="$ORIGIN")
    site = f"opt/conda/{SITE}"
    python(image, "opt/conda")
    torch(image, site, "2.8.0", cuda="12.9")
    image.library(
        f"{site}/torch/lib/libtorch_cuda.so",
        needs=["libnccl.so.2"],
        rpath="$ORIGIN/../../../..",
    )
    plugin = image.library(
        "opt/conda/lib/libnccl-net.so", words="aws-ofi-nccl 1.17.1", symbols=INTERFACES
    )
    found = look(image).taken()["plugin"]
    assert (found.value, found.evidence) == ("1.17.1", plugin)
    assert found.why == f"aws-ofi-nccl; RPATH of /{nccl}"


def test_a_plugin_behind_another_says_so(image: Image) -> None:
    ngc_like(image)
    first = image.library("opt/hpcx/lib/libnccl-net.so", symbols=INTERFACES)
    environment(image, LD_LIBRARY_PATH="/opt/hpcx/lib:/opt/amazon/ofi-nccl/lib")
    (plugin,) = [each for each in look(image).facts if each.name == "plugin"]
    assert not plugin.taken
    assert plugin.why == f"aws-ofi-nccl; {first} comes before it"


@pytest.mark.parametrize(
    "prefix",
    ["opt/micromamba/envs/base", "workspace/.venv", "venv", "root/miniconda3/envs/x"],
)
def test_pytorch_is_found_where_people_put_it(image: Image, prefix: str) -> None:
    torch(image, f"{prefix}/{SITE}", "2.9.0+cu128", cuda="12.8")
    assert look(image).taken()["torch"].value == "2.9.0"


def test_a_runpath_counts_after_ld_library_path(image: Image) -> None:
    pip_wheel(image)
    image.library(
        f"usr/local/{SITE}/torch/lib/libtorch_cuda.so",
        needs=["libnccl.so.2"],
        runpath="$ORIGIN/../../nvidia/nccl/lib:$ORIGIN",
    )
    found = look(image).taken()["nccl"]
    assert (found.value, found.why) == ("2.18.3", "LD_LIBRARY_PATH of the image")


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ('#!/bin/sh\nexec "$@"\n', "exec"),
        ('#!/bin/sh\n. /init.sh\nexec "$@"\n', "run"),
        ("#!/bin/sh\nexec python serve.py\n", "exec"),
        ("#!/bin/sh\nOCI_ENTRYPOINT=''\nOCI_CMD='\"bash\"'\nexec \"$@\"\n", "exec"),
        ('#!/bin/sh\nOCI_ENTRYPOINT=\'"/init"\'\nexec "$@"\n', "run"),
    ],
)
def test_the_runscript_says_how_to_start(image: Image, text: str, value: str) -> None:
    image.text(".singularity.d/runscript", text)
    assert look(image).taken()["start"].value == value


def test_labels_state_facts_and_files_win_over_them(image: Image) -> None:
    static(image)
    labels = {"org.envcfg.cuda": "12.9", "org.envcfg.plugin": "1.18.0", "org.x": "y"}
    found = look(image, labels=labels)
    assert found.taken()["plugin"].evidence == "label org.envcfg.plugin"
    assert found.taken()["cuda"].value == "11.7"
    assert [each.rule for each in found.findings] == ["image-label-wrong"]
    assert found.metadata.labels["org.x"] == "y"


def test_what_the_image_sets_for_nccl_is_said(image: Image) -> None:
    environment(image, NCCL_DEBUG="INFO", FI_PROVIDER="cxi", HOME="/root")
    found = look(image)
    said = [
        each.subject for each in found.findings if each.rule == "image-sets-variable"
    ]
    assert said == ["FI_PROVIDER", "NCCL_DEBUG"]
    assert found.metadata.environment["HOME"] == "/root"


def test_two_pytorches_are_said(image: Image) -> None:
    static(image)
    torch(image, f"opt/venv/{SITE}", "2.4.0", cuda="12.1")
    (found,) = look(image).findings
    assert found.rule == "image-torch-twice"
    assert look(image).taken()["torch"].value == "1.13.1"


def test_facts_in_which_environments_differ_are_not_handed_on(image: Image) -> None:
    for number, hip in enumerate(("6.2.4", "7.0.2")):
        torch(image, f"opt/e{number}/{SITE}", "2.7.1", hip=hip)
    assert fact_words(look(image)) == "--fact torch=2.7.1"


def test_an_image_without_a_shell_is_an_error(tmp_path: Path) -> None:
    found = look(Image(tmp_path / "bare"))
    assert [(f.rule, f.severity) for f in found.findings] == [
        ("image-no-shell", "error"),
        ("image-no-mkdir", "warning"),
    ]


def test_libfabric_tells_version_and_providers(image: Image) -> None:
    image.library(
        "opt/cray/libfabric/1.22.0/lib64/libfabric.so.1",
        words=r'\0cxip_ep_open\0vrb_open\0" "1.22.0',
    )
    image.library("opt/cray/libfabric/1.22.0/lib64/libfabric/libefa-fi.so")
    found = look(image).taken()
    assert found["libfabric"].value == "1.22.0"
    assert found["providers"].value == "cxi efa verbs"


def test_pkgconfig_and_dpkg_tell_versions(image: Image) -> None:
    image.library(f"{SYSTEM}/libucp.so.0")
    image.text(
        "var/lib/dpkg/status",
        "Package: libucx0\nStatus: install ok installed\nVersion: 1.12.1~rc2-1\n\n",
    )
    image.library("opt/mpich/lib/libmpi.so.12")
    image.text("opt/mpich/lib/pkgconfig/mpich.pc", "Name: mpich\nVersion: 4.2.3\n")
    found = look(image).taken()
    assert (found["ucx"].value, found["mpich"].value) == ("1.12.1", "4.2.3")


def test_what_was_not_read_is_said(image: Image) -> None:
    (found,) = look(image, unread=("an overlay",)).findings
    assert (found.rule, found.subject) == ("image-part-unread", "an overlay")


def test_a_file_that_nobody_may_read_shows_nothing(
    image: Image, monkeypatch: pytest.MonkeyPatch
) -> None:
    static(image)

    def refuse(_: FolderTree, path: str) -> BinaryIO:
        raise PermissionError(13, "Permission denied", path)

    monkeypatch.setattr(FolderTree, "open_entry", refuse)
    assert look(image).taken()["sh"].value == "yes"


def test_hostile_content_is_read_to_an_end(image: Image) -> None:
    image.link("opt/rocm", "/opt/rocm")  # a circle
    image.link(f"{SYSTEM}/libnccl.so.2", "libnccl.so.3")
    image.link(f"{SYSTEM}/libnccl.so.3", "libnccl.so.2")
    image.text("usr/lib/python3/dist-packages/torch-9\x1b[31m.dist-info/METADATA")
    image.text(".singularity.d/labels.json", "[" * 5000)
    image.text(f"{SYSTEM}/librccl.so.1", "\x7fELF but not really")
    with (image.root / "etc/ld.so.cache").open("wb") as file:
        file.write(b"glibc-ld.so.cache1.1" + b"\xff" * 4000)
    with (image.root / "usr/lib/os-release").open("wb") as file:
        file.truncate(1 << 40)  # sparse
    found = look(image)
    assert [each.rule for each in found.findings] == ["image-library-damaged"]
    assert "nccl" not in found.taken()


@pytest.mark.parametrize(
    ("text", "ops"),
    [
        ("installed_ops={'cpu_adam': False}\n", "none"),
        ("installed_ops={}\n", "none"),
        ("installed_ops={'utils': 1}\n", "utils"),
        ('installed_ops = {"utils": True}\n', "utils"),
        ("installed_ops={'utils': None, 'a': True", None),  # cut
        ("version='1'\n", None),
    ],
)
def test_operators_of_deepspeed_are_those_that_were_compiled(
    image: Image, text: str, ops: str | None
) -> None:
    site = f"usr/{SITE}"
    python(image, "usr")
    wheel(image, site, "deepspeed", "0.19.8")
    image.text(f"{site}/deepspeed/git_version_info_installed.py", text)
    facts = look(image).taken()
    assert (facts["deepspeed-ops"].value if "deepspeed-ops" in facts else None) == ops


def test_horovod_without_a_compiled_library_is_a_warning(image: Image) -> None:
    python(image, "usr")
    wheel(image, f"usr/{SITE}", "horovod", "0.28.1")
    rules = [finding.rule for finding in look(image).findings]
    assert "image-extension-missing" in rules
    image.library(f"usr/{SITE}/horovod/tensorflow/mpi_lib.cpython-311.so")
    found = look(image)
    assert "image-extension-missing" not in [each.rule for each in found.findings]
    assert found.taken()["horovod-tensorflow"].value == "none"
