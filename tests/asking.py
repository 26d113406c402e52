"""A job of each system, as the tests ask for it: what its rules want is given."""

from __future__ import annotations

from envcfg.backends.runtimes import NAMES, runtime

# Options by profile; the GPUs are those of whole nodes.
NEEDED: dict[str, tuple[str, ...]] = {
    "abci3": ("--partition", "rt_HF", "--request-arg=-P=gaa50000"),
    "adastra-mi250x": ("--account", "cad12345"),
    "adastra-mi300a": ("--account", "cad12345"),
    "alps-clariden": ("--account", "a-big01", "--partition", "normal"),
    "arrhenius": ("--account", "naiss2026-1-1-gpu"),
    "aurora": ("--account", "Catalyst", "--partition", "debug"),
    "aws-p4d": (),
    "aws-p5": (),
    "aws-p5en": (),
    "aws-p6-b200": (),
    "aws-p6e-gb200": (),
    "azure-ndgb200": (),
    "azure-ndh100": (),
    "berzelius": ("--account", "berzelius-2026-1"),
    "bristen": ("--account", "a-big01", "--partition", "normal"),
    "capella": (),
    "coreweave": (),
    "coreweave-gb200": (),
    "crusher": ("--account", "ABC123"),
    "delta": ("--account", "bbka-delta-gpu"),
    "deltaai": ("--account", "abcd-dtai-gh"),
    "derecho": ("--account", "UABC0001"),
    "daint": ("--account", "g123", "--partition", "normal"),
    "dardel": ("--account", "naiss2026-1-1"),
    "efa": ("--gpus-per-node", "8"),
    "fir": ("--account", "def-prof"),
    "frontier": ("--account", "ABC123", "--partition", "batch"),
    "google-a3-mega": (),
    "google-a3-ultra": (),
    "google-a4": (),
    "google-a4x": (),
    "google-a4x-max": (),
    "grete": (),
    "horeka": ("--partition", "accelerated"),
    "horizon": (),
    "ibm-h100": (),
    "infiniband-cuda": ("--gpus-per-node", "4"),
    "iris": (),
    "isambard-ai": ("--partition", "workq"),
    "jean-zay": ("--account", "abc@h100"),
    "jupiter": ("--account", "training", "--partition", "booster"),
    "karolina": ("--account", "OPEN-12-34"),
    "kempner": ("--account", "kempner_dev"),
    "kestrel": ("--account", "windsim"),
    "juwels-booster": ("--account", "training", "--partition", "booster"),
    "killarney": ("--account", "aip-prof"),
    "leonardo": ("--account", "iscra"),
    "lise": (),
    "lonestar6": (),
    "lucia": (),
    "lumi-g": ("--account", "project_465000001", "--partition", "standard-g"),
    "mahti": ("--account", "project_2001234", "--partition", "gpumedium"),
    "mahuika": (),
    "marenostrum5-acc": ("--account", "bsc12", "--qos", "acc_debug"),
    "meluxina": ("--account", "p200001"),
    "merlin7": (),
    "metacentrum": (),
    "narval": ("--account", "def-prof"),
    "nebius": (),
    "nibi": ("--account", "def-prof"),
    "oci-b200": (),
    "oci-b300": (),
    "oci-gb200": (),
    "oci-h100": (),
    "oci-h200": (),
    "oci-mi300x": (),
    "olivia": ("--account", "nn9999k"),
    "perlmutter": ("--account", "m1234_g", "--constraint", "gpu"),
    "polaris": ("--account", "Catalyst", "--partition", "debug"),
    "puhti": ("--account", "project_2001234", "--partition", "gpu"),
    "roce-cuda": ("--gpus-per-node", "8"),
    "roce-rocm": ("--gpus-per-node", "8"),
    "roce-rocm-broadcom": ("--gpus-per-node", "8"),
    "roce-rocm-pollara": ("--gpus-per-node", "8"),
    "roihu": ("--account", "project_2001234", "--partition", "gputest"),
    "rorqual": ("--account", "def-prof"),
    "santis": ("--account", "g123", "--partition", "normal"),
    "setonix": ("--account", "pawsey0001-gpu", "--partition", "gpu"),
    "slingshot": ("--gpus-per-node", "8"),
    "slingshot-cuda": ("--gpus-per-node", "4"),
    "slingshot-rocm": ("--gpus-per-node", "8"),
    "snellius": (),
    "sophia": ("--account", "Catalyst", "--partition", "by-node"),
    "stampede3": ("--partition", "h100"),
    "tamia": ("--account", "aip-prof"),
    "trillium": ("--account", "def-prof"),
    "triton": (),
    "tuolumne": ("--account", "guests"),
    "vega": (),
    "vista": (),
    "vulcan": ("--account", "aip-prof"),
}

# Those of the other kinds of nodes, if they differ: a kind gives its own partition or
# constraint.
OF_KINDS: dict[str, tuple[str, ...]] = {
    "grete/h100": ("--gpus-per-node", "4"),
    "horeka/accelerated-h100": (),
    "iris/hopper": ("--gpus-per-node", "4"),
    "jean-zay/a100": ("--account", "abc@a100"),
    "jean-zay/v100": ("--account", "abc@v100", "--partition", "gpu_p13"),
    "jean-zay/v100x8": ("--account", "abc@v100"),
    "mahti/a100-1g": ("--account", "project_2001234"),
    "perlmutter/hbm80g": ("--account", "m1234_g"),
    "roihu/l40": ("--account", "project_2001234"),
    "setonix/gpu-highmem": ("--account", "pawsey0001-gpu"),
}

# An image by runtime, of a form that it takes.
IMAGES: dict[str, str] = {name: runtime(name).example for name in NAMES}


def asking(profile: str, nodes: int = 1) -> tuple[str, ...]:
    """Return the options of ``envcfg job`` for a job of whole nodes.

    Args:
        profile: its name, or NAME/KIND.
        nodes: their number.
    """
    size = ("--nodes", str(nodes), "--time", "15")
    needed = OF_KINDS.get(profile, NEEDED[profile.partition("/")[0]])
    return ("--profile", profile, *needed, *size)
