"""Recipes: the facts of an image that is not built yet, and hostile recipes.

The texts are our own; each has the forms of a public recipe that its name mentions.
"""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from support import ROOT, envcfg

ROCM_PYTORCH = "rocm/pytorch:rocm6.2.4_ubuntu22.04_py3.10_pytorch_release_2.3.0"
# Recipe and facts; a fact that is not named must be unknown or absent.
RECIPES: dict[str, tuple[str, dict[str, str]]] = {
    "vllm for ROCm: stages with names, a base in a variable": (
        """\
ARG BASE_IMAGE=rocm/dev-ubuntu-22.04:7.2.3-complete
ARG PYTORCH_REPO="https://github.com/ROCm/pytorch.git"
FROM ${BASE_IMAGE} AS base
ARG PYTHON_VERSION=3.12
RUN apt-get install -y python${PYTHON_VERSION} \\
    && curl -sS https://bootstrap.pypa.io/get-pip.py | python3
FROM base AS build
RUN git clone -b v2.8.0 ${PYTORCH_REPO}
FROM base AS final
RUN --mount=type=bind,from=build,src=/w,target=/i pip install /i/*.whl
""",
        {
            "base": "rocm/dev-ubuntu-22.04:7.2.3-complete",
            "rocm": "7.2.3",
            "python": "3.12",
        },
    ),
    "nccl-tests of AWS: versions in arguments": (
        """\
# A comment that is longer than the first line
ARG CUDA_VERSION=12.8.1
FROM nvcr.io/nvidia/cuda:${CUDA_VERSION}-devel-ubuntu22.04
ARG EFA_INSTALLER_VERSION=1.43.2
ARG AWS_OFI_NCCL_VERSION=v1.16.3
ARG NCCL_VERSION=v2.27.7-1
ENV OPAL_PREFIX=
RUN curl -O https://efa.example/aws-efa-installer-${EFA_INSTALLER_VERSION}.tar.gz
RUN git clone -b ${NCCL_VERSION} https://github.com/NVIDIA/nccl.git /opt/nccl \\
    # a comment between continued lines
    && cd /opt/nccl
SHELL ["/bin/bash", "-c"]
RUN curl -OL https://github.com/aws/aws-ofi-nccl/releases/download/\
${AWS_OFI_NCCL_VERSION}/aws-ofi-nccl-${AWS_OFI_NCCL_VERSION//v}.tar.gz
""",
        {
            "base": "nvcr.io/nvidia/cuda:12.8.1-devel-ubuntu22.04",
            "cuda": "12.8.1",
            "nccl": "2.27.7",
            "plugin": "1.16.3",
            "libfabric": "yes",
        },
    ),
    "DeepSpeed of AWS: ENV, an archive of a tag, packages without versions": (
        """\
FROM nvcr.io/nvidia/pytorch:23.12-py3
ENV AWS_OFI_NCCL_VERSION=1.8.1-aws
#RUN apt install -y libnccl2=2.19.3-1
RUN curl -LO https://github.com/aws/aws-ofi-nccl/archive/refs/tags/\
v${AWS_OFI_NCCL_VERSION}.tar.gz
RUN pip install deepspeed transformers
""",
        {
            "base": "nvcr.io/nvidia/pytorch:23.12-py3",
            "cuda": "yes",
            "torch": "yes",
            "plugin": "1.8.1",
            "deepspeed": "yes",
            "transformers": "yes",
        },
    ),
    "MSCCL++ for ROCm: no default, RCCL by ROCm's version": (
        """\
ARG BASE_IMAGE
FROM ${BASE_IMAGE}
ENV RCCL_VERSION=rocm-6.2.0
RUN cd /tmp && git clone --branch ${RCCL_VERSION} https://github.com/ROCm/rccl.git
""",
        {"base": "${BASE_IMAGE}", "rccl": "yes"},
    ),
    "Idiap: arguments of a definition file": (
        """\
Bootstrap: docker
From: nvcr.io/nvidia/pytorch:{{ VERSION }}
Stage: build

%arguments
    VERSION=24.07-py3

%post
    apt-get install -y python3.9-venv
""",
        {
            "base": "nvcr.io/nvidia/pytorch:24.07-py3",
            "cuda": "yes",
            "torch": "yes",
            "python": "3.9",
        },
    ),
    "Kansas: a definition file on AMD's image": (
        f"""\
# how to bootstrap this image
BootStrap: docker
From: {ROCM_PYTORCH}

%post
    pip install --no-cache-dir \\
        transformers==4.57.6 \\
        accelerate==1.10.1

%runscript
    exec python "$@"
""",
        {
            "base": ROCM_PYTORCH,
            "rocm": "6.2.4",
            "torch": "2.3.0",
            "python": "3.10",
            "transformers": "4.57.6",
            "accelerate": "1.10.1",
        },
    ),
    "TWCC: Horovod, a first line that names a docker file": (
        """\
BootStrap: docker
From: nvcr.io/nvidia/PyTorch:20.09-py3
%post
    . /.singularity.d/env/10-docker*.sh
    export HOROVOD_WITHOUT_GLOO=1
    pip install --no-cache-dir horovod==0.20.3
""",
        {
            "base": "nvcr.io/nvidia/PyTorch:20.09-py3",
            "cuda": "yes",
            "horovod": "0.20.3",
        },
    ),
    "wheels by an index, a virtual environment": (
        """\
FROM ubuntu:24.04
RUN python3.12 -m venv /opt/venv && . /opt/venv/bin/activate \\
    && pip3 install "torch==2.6.0" --index-url https://download.pytorch.org/whl/cu124
""",
        {
            "base": "ubuntu:24.04",
            "python": "3.12",
            "torch": "2.6.0",
            "cuda": "12.4",
        },
    ),
    "conda": (
        """\
Bootstrap: docker
From: mambaorg/micromamba:1.5.8
%post
    micromamba install -y python=3.11 pytorch=2.4.1 pytorch-cuda=12.4
""",
        {
            "base": "mambaorg/micromamba:1.5.8",
            "python": "3.11",
            "torch": "2.4.1",
            "cuda": "12.4",
        },
    ),
    "a wheel by its address": (
        """\
FROM python:3.11-slim AS x
RUN pip install https://d.example/whl/torch-2.5.1%2Brocm6.2-cp311-linux_x86_64.whl
""",
        {"base": "python:3.11-slim", "python": "3.11", "torch": "2.5.1"},
    ),
    "two stages without names": (
        """\
FROM rocm/dev-ubuntu-22.04:6.2
RUN pip install torch==2.1.0
FROM nvidia/cuda:12.4.1-base-ubuntu22.04
RUN apt-get install -y libnccl2=2.22.3-1+cuda12.5
""",
        {
            "base": "nvidia/cuda:12.4.1-base-ubuntu22.04",
            "cuda": "12.4.1",
            "nccl": "2.22.3",
        },
    ),
}


def inspect(path: Path, *words: str) -> dict[str, object]:
    """Return the JSON of ``envcfg inspect``."""
    done = envcfg("inspect", "--json", *words, str(path))
    assert done.code == 0, done.err
    document = json.loads(done.text)
    assert isinstance(document, dict)
    return document


def facts(document: dict[str, object]) -> dict[str, str]:
    """Return the facts that a recipe states."""
    listed = document["facts"]
    assert isinstance(listed, list)
    return {f["name"]: f["value"] for f in listed if f["value"] != "unknown"}


def rules(document: dict[str, object]) -> list[str]:
    listed = document["findings"]
    assert isinstance(listed, list)
    return [finding["rule"] for finding in listed]


@pytest.mark.parametrize("name", RECIPES)
def test_the_facts_of_a_recipe(name: str, tmp_path: Path) -> None:
    text, expected = RECIPES[name]
    path = tmp_path / "recipe"
    path.write_text(text)
    assert facts(inspect(path)) == expected


def test_the_projects_own_recipes() -> None:
    seen = facts(inspect(ROOT / "container-recipes/pytorch-rocm.def"))
    assert (seen["rocm"], seen["torch"], seen["plugin"]) == ("6.4.4", "2.7.1", "1.21.1")
    local = inspect(ROOT / "container-recipes/deepspeed.def")
    assert rules(local) == ["recipe-base-local"]
    assert facts(local) == {"base": "pytorch-cuda-slingshot.sif"}


def test_conflicts_are_reported_before_the_build(tmp_path: Path) -> None:
    path = tmp_path / "Dockerfile"
    index = "https://download.pytorch.org/whl/rocm6.1"
    path.write_text(
        f"FROM {ROCM_PYTORCH}\nRUN pip3 install torch==2.6.0 --index-url {index}\n"
    )
    document = inspect(path)
    assert rules(document) == ["recipe-two-versions"]
    assert facts(document)["rocm"] == "6.1"
    path.write_text(
        "FROM --platform=linux/amd64 nvidia/cuda:13.0.0-devel-ubuntu24.04\n"
        "RUN git clone -b v1.14.0 https://github.com/aws/aws-ofi-nccl\n"
        "ENV NCCL_SOCKET_IFNAME=eth0\n"
    )
    found = rules(inspect(path))
    assert any(rule.startswith("stack-") for rule in found)
    assert "image-sets-variable" in found


def test_wrap_needs_an_image(tmp_path: Path) -> None:
    path = tmp_path / "x.def"
    path.write_text("Bootstrap: docker\nFrom: rocm/pytorch:latest\n")
    made = envcfg("wrap", "--profile", "lumi-g", "--container", str(path), "--", "true")
    assert "a recipe, which must be built first" in made.err


@pytest.mark.parametrize(
    "text",
    [
        "FROM x\nENV A\n",  # spython fails
        "FROM a AS b\nFROM b AS a\n",
        "FROM a AS a\n",
        "ARG (a+)+$=1\nFROM " + "a" * 40 + "!\n",
        "ARG a=\\1\nFROM $a\n",
        "FROM x\n" + "ARG a=$a$a\n" * 60,
        "FROM x\nRUN touch made && $(touch made) `touch made`\n",
        "Bootstrap: docker\nFrom: x\n%setup\n touch made\n%post\n touch made\n",
        "Bootstrap: yum\n",
        "FROM \xff\u202e\x1b[31m\nLABEL org.envcfg.rocm=\x1b[31m\n",
        "FROM x\nCOPY --from=/etc/passwd a\nADD\nCMD\nENTRYPOINT\nVOLUME\nWORKDIR\n",
    ],
)
def test_a_hostile_recipe(
    text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "recipe"
    path.write_text(text)
    monkeypatch.chdir(tmp_path)
    done = envcfg("inspect", str(path))
    assert done.code in (0, 4)
    assert "Traceback" not in done.text
    assert "\x1b" not in done.text
    assert os.listdir(tmp_path) == ["recipe"]


def test_limits_of_a_recipe(tmp_path: Path) -> None:
    path = tmp_path / "recipe"
    path.write_text("FROM x\n" + "RUN true\n" * 40_000)
    done = envcfg("inspect", str(path))
    assert (done.code, "more than 256 KiB" in done.err) == (4, True)
    path.write_bytes(b"FROM x\n\0")
    assert envcfg("inspect", str(path)).code == 4
    path.unlink()
    os.mkfifo(path)
    assert "a FIFO" in envcfg("inspect", str(path)).err
