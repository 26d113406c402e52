"""The masks of AMD's GPUs that a program sees, with a program that fails as Ray does."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from support import Wrap, bash

# As ray/_private/accelerators/amd_gpu.py of Ray 2.60.0, and torch/cuda/__init__.py of 2.13.
PROBE = """\
import os
names = ("ROCR_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES", "CUDA_VISIBLE_DEVICES", "GPU_DEVICE_ORDINAL")
rocr, hip, cuda, ordinal = map(os.environ.get, names)
if hip is None and rocr is not None:
    raise RuntimeError("Please use HIP_VISIBLE_DEVICES instead of ROCR_VISIBLE_DEVICES")
if cuda is not None and hip != cuda:
    raise ValueError("Inconsistent values found")
if rocr is not None and len(hip.split(",")) > len(rocr.split(",")):
    raise RuntimeError("HIP_VISIBLE_DEVICES contains more devices than ROCR_VISIBLE_DEVICES")
gpus = list("abcdefgh") if rocr is None else ["abcdefgh"[int(n)] for n in rocr.split(",")]
gpus = gpus if hip is None else [gpus[int(n)] for n in hip.split(",")]
print("".join(gpus))
assert ordinal is None
"""
ROCR, HIP, CUDA = "ROCR_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES", "CUDA_VISIBLE_DEVICES"
ALL = "0,1,2,3,4,5,6,7"
# the masks of the job, the GPUs that the program sees, and the mask that is dropped
CASES = [
    ({}, "abcdefgh", ""),
    ({ROCR: ALL}, "abcdefgh", ""),
    ({ROCR: "0"}, "a", ""),
    ({ROCR: "4,5"}, "ef", ""),
    ({ROCR: "4,5", CUDA: "4,5", "GPU_DEVICE_ORDINAL": "4,5"}, "ef", ""),  # Slurm
    ({ROCR: "4,5", HIP: "4,5"}, "ef", ""),
    ({ROCR: "4,5", HIP: "4,5", CUDA: "1"}, "f", ""),
    ({ROCR: ALL, HIP: "2,3"}, "cd", ""),  # a user's own
    ({ROCR: ALL, CUDA: "2,3"}, "cd", ""),
    ({ROCR: "4,5", HIP: "1"}, "f", ""),
    ({ROCR: "4,5", HIP: ALL}, "ef", f"{HIP}={ALL}"),
    ({ROCR: "4,5", HIP: "4"}, "ef", f"{HIP}=4"),
    ({ROCR: ALL, HIP: "1", CUDA: "2"}, "b", f"{CUDA}=2"),
    ({ROCR: ALL, HIP: "1", CUDA: "1"}, "b", ""),
    ({HIP: "6,7"}, "gh", ""),
    ({CUDA: "6,7"}, "gh", ""),
]


@pytest.fixture
def image(tmp_path: Path) -> Path:
    """Return an image whose run script copies ROCR's mask to HIP's, as LUMI's does."""
    runtime = tmp_path / "copying/singularity"
    runtime.parent.mkdir()
    runtime.write_text(
        '#!/bin/bash\nwhile [[ $1 != *.sif ]]; do shift; done\nshift\n'
        'if [[ -n ${ROCR_VISIBLE_DEVICES-} && -z ${HIP_VISIBLE_DEVICES-} ]]; then\n'
        "  export HIP_VISIBLE_DEVICES=$ROCR_VISIBLE_DEVICES\nfi\n"
        'exec "$@"\n'
    )  # fmt: skip
    runtime.chmod(0o755)
    # torch's agent, which starts one rank
    agent = tmp_path / "python3"
    agent.write_text(
        f'#!/bin/bash\nif [[ $1 != -m ]]; then exec {sys.executable} "$@"; fi\n'
        "while [[ $1 != --no?python ]]; do shift; done\nshift\n"
        "export RANK=0 LOCAL_RANK=0 GROUP_RANK=0 WORLD_SIZE=1 LOCAL_WORLD_SIZE=1\n"
        'exec "$@"\n'
    )
    agent.chmod(0o755)
    (tmp_path / "x.sif").touch()
    (tmp_path / "probe.py").write_text(PROBE)
    return tmp_path / "x.sif"


def run(
    wrap: Wrap, image: Path, masks: dict[str, str], *options: str, own: str = "copying"
) -> tuple[str, str]:
    """Return stdout and stderr of the probe; *own*: the folder of the runtime."""
    words = ("--profile", "lumi-g", "--container", str(image), "--no-modules")
    command = (str(image.parent / "python3"), str(image.parent / "probe.py"))
    made = wrap(*words, *(options or ("--launcher", "local", "--ranks", "1")), "--", *command)  # fmt: skip
    assert made.code == 0, made.err
    unset = f"unset {ROCR} {HIP} {CUDA} GPU_DEVICE_ORDINAL\n"
    exports = "".join(f"export {name}={value}\n" for name, value in masks.items())
    path = f'PATH="{image.parent}/{own}:$PATH"\n'
    done = bash(f"{unset}{exports}{path}{made.text}", FAKE_NODES="1", FAKE_TASKS="1")
    assert done.returncode == 0, done.stderr.decode()
    return done.stdout.decode().strip(), done.stderr.decode()


@pytest.mark.usefixtures("fakes")
@pytest.mark.parametrize("own", ["copying", "none"])
@pytest.mark.parametrize(("masks", "gpus", "dropped"), CASES)
def test_ray_s_check_passes_and_no_gpu_is_masked_twice(
    wrap: Wrap, image: Path, masks: dict[str, str], gpus: str, dropped: str, own: str
) -> None:
    out, err = run(wrap, image, masks, own=own)
    assert out == gpus
    assert (f"envcfg: warning: {dropped} is ignored" in err) == bool(dropped)
    assert err.count("is ignored") == bool(dropped)


@pytest.mark.usefixtures("fakes")
def test_a_mask_in_the_environment_of_an_image_does_not_count(
    wrap: Wrap, image: Path
) -> None:
    runtime = image.parent / "copying/singularity"
    text = runtime.read_text()
    runtime.write_text(text.replace("exec", f"export {HIP}=7\nexec"))
    out, err = run(wrap, image, {ROCR: ALL})
    assert out == "abcdefgh"
    assert (
        f"envcfg: warning: {HIP}=7 is ignored, because the job does not set it" in err
    )


@pytest.mark.usefixtures("fakes")
@pytest.mark.parametrize("launcher", ["local", "srun", "torchrun"])
@pytest.mark.parametrize(
    ("sets", "gpus"),
    [
        ((), "abcdefgh"),
        (("--set", f"{ROCR}=${{LOCAL_RANK}}"), "a"),
        (("--set", f"{ROCR}=3"), "d"),
        (("--set", f"{HIP}=3"), "d"),
        (("--set", f"{CUDA}=3"), "d"),
    ],
)
def test_a_mask_that_an_option_sets_is_the_one_that_counts(
    wrap: Wrap, image: Path, sets: tuple[str, ...], gpus: str, launcher: str
) -> None:
    words = ("--launcher", launcher, "--ranks", "1", *sets)
    out, err = run(wrap, image, {ROCR: ALL}, *words)
    assert out == gpus
    assert "is ignored" not in err
