"""A profile that has every key of the schema, to be changed at one place at a time."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

Json = Any
Keys = tuple["str | int", ...]
SAID = {"why": "w", "source": "s", "date": "2026-05-19"}


def everything() -> dict[str, Json]:
    """Return a profile with every key of the schema; a job of its is started by srun."""
    mount = {"if_exists": "/tmp", "when": {"nodes": ">0"}, **SAID}
    return {
        "name": "x",
        "envcfg": ">=0",
        "summary": "s",
        "extends": "base",
        "lifecycle": {"state": "active", **SAID},
        "verified": {"state": "inferred", **SAID},
        "detect": {
            "clusters": ["c"],
            "hosts": ["h"],
            "interfaces": ["i"],
            "devices": ["/d"],
            "marks": {"/etc/mark": "m", "MARK": "m"},
            **SAID,
        },
        "node": {
            "gpus": 1,
            "architecture": "x86_64",
            "cores_per_gpu": 1,
            "memory_per_gpu": "1G",
            "nics": ["hsn0"],
            **SAID,
        },
        "slurm": {"version": "24.05.8", **SAID},
        "attachment": {"nics": ["hsn0"], "buses": ["c1"], **SAID},
        "launch": {
            "launchers": ["srun", "torchrun", "local"],
            "cpu_masks": {"masks": ["0x1"], **SAID},
            "srun": {"--mpi=pmi2": mount},
            "flux": {"--x": mount},
            "mpiexec": {"--x": mount},
            "torchrun": {"--x": mount},
        },
        "visibility": {
            "variable": "ROCR_VISIBLE_DEVICES",
            "clear": ["HIP_VISIBLE_DEVICES"],
            "numbers": "CUDA_VISIBLE_DEVICES",
            **SAID,
        },
        "rendezvous": {"suffix": "i", **SAID},
        "container": {
            "runtimes": ["apptainer"],
            "verb": {
                "value": "exec",
                "when": {"rocm": ">0"},
                "otherwise": "run",
                **SAID,
            },
            "prefix": {"words": ["env", "X=1"], "when": {"container": "*"}, **SAID},
            "image_facts": [
                {"pattern": "image-(?P<v>.*)", "facts": {"rocm": "6.2"}, **SAID}
            ],
            "binds": {"/tmp": mount, "${HOME:-/tmp}:/h": mount},
            "arguments": {"--nv": mount},
            "exports": {"FOUR": {"value": "4", "when": {"nodes": ">0"}, **SAID}},
        },
        "scratch": {
            "root": "/tmp",
            "in_memory": True,
            "disk": "/tmp/${NOBODY}",
            "disk_request": {"--licenses": "nvme"},
            **SAID,
        },
        "env": {
            "ONE": {
                "value": "1",
                "when": {"nodes": ">0", "container": "*"},
                "otherwise": "2",
                "force": True,
                "optional": True,
                **SAID,
            },
            "TWO": {
                "cases": [{"value": "${LOCAL_RANK}", "when": {"nodes": ">0"}, **SAID}],
                "directory": False,
            },
            "CACHE": {"value": "${ENVCFG_CACHE}/c", "directory": True, **SAID},
        },
        "bundles": {
            "b": {
                "when": {"nodes": ">0"},
                "env": {"THREE": "3"},
                "network": ["job_vni"],
                "srun": ["--x=1"],
                "mpiexec": ["--x=1"],
                "flux": ["--x=1"],
                **SAID,
            }
        },
        "request": {
            "scheduler": "slurm",
            "gpus": "--gpus-per-node",
            "gpu_type": "a100",
            **SAID,
            "rules": {
                "--partition": {
                    "rule": "must",
                    "value": "gpu",
                    "refused": True,
                    **SAID,
                },
                "--qos": {"rule": "must", "value": "normal", **SAID},
                "--constraint": {
                    "rule": "must",
                    "value": "gpu",
                    "default": "gpu",
                    "others": ["gpu&hbm80g"],
                    **SAID,
                },
                "--network": {"rule": "must", "value": "single_node_vni", **SAID},
                "--gpus-per-node": {"rule": "repeat", **SAID},
                "--nodes": {"rule": "repeat", **SAID},
            },
            "partitions": {
                "gpu": {
                    "nodes": 4,
                    "time": "1-00:00:00",
                    "exclusive": False,
                    "default": True,
                    "gpus": 4,
                    "min_nodes": 1,
                    "min_gpus": 1,
                    "sizes": [{"nodes": 4, "time": "1-00:00:00"}],
                    **SAID,
                }
            },
            "qos": {
                "normal": {
                    "nodes": 4,
                    "time": "1-00:00:00",
                    "gpus": 4,
                    "min_nodes": 1,
                    "min_gpus": 1,
                    "sizes": [{"nodes": 4, "time": "1-00:00:00"}],
                    "partitions": ["gpu"],
                    **SAID,
                }
            },
            "closed": ["partitions"],
        },
        "modules": {"m/1": {"action": "load", "when": {"nodes": ">0"}, **SAID}},
        "billing": {
            "unit": "hours",
            "charge": "largest share",
            "per_gpu": "1",
            "per_node": "1",
            "per_core": "1",
            "per_gib": "1",
            "per_nvme_gib": "1",
            "cores_per_share": 1,
            "memory_per_share": 1,
            "whole_shares": True,
            "whole_nodes": ["gpu"],
            **SAID,
        },
        "nvlink": {"nodes": 18, "segment": True, **SAID},
        "internet": {"proxy": "http://proxy.example.org:3128", **SAID},
        "home": {"quota": 20, **SAID},
        "expect": {
            "networks": ["n"],
            "provider": "p",
            "interfaces": ["hsn0"],
            "nics": 1,
            "gdr": True,
            "devices": ["/dev/cxi*"],
            "bandwidth": 85,
            **SAID,
        },
    }


def by_interface() -> dict[str, Json]:
    """Return the same profile with what excludes something in the first."""
    made = everything()
    made["rendezvous"] = {"interface": "hsn0", **SAID}
    made["request"]["gpus"] = "--gres"
    return made


# The parts of a profile that a kind of nodes may have, too.
OF_KINDS = """
    verified node launch visibility rendezvous container internet home slurm nvlink attachment
    scratch env bundles request modules billing expect
"""


def by_kind() -> dict[str, Json]:
    """Return the same profile with a kind of nodes, the one of the default partition."""
    made = everything()
    signs = {"partitions": ["gpu"], "constraints": ["c"], "gres": ["a100"], "hosts": ["node*"]}  # fmt: skip
    own = {part: made[part] for part in OF_KINDS.split()}
    made["nodes"] = {"fat": {"select": signs, "summary": "s", **own}}
    return made


def places(node: Json, above: Keys = ()) -> Iterator[tuple[Keys, bool]]:
    """Yield the way to each text of a document, and whether it is a key there."""
    if isinstance(node, dict):
        for key, child in node.items():
            yield (*above, key), True
            yield from places(child, (*above, key))
    elif isinstance(node, list):
        for index, child in enumerate(node):
            yield from places(child, (*above, index))
    else:
        yield above, False


def changed(document: Json, keys: Keys, text: str, *, is_key: bool) -> Json:
    """Return the document with *text* at one place."""
    made = json.loads(json.dumps(document))  # a copy
    node = made
    for key in keys[:-1]:
        node = node[key]
    if is_key:
        node[text] = node.pop(keys[-1])
    else:
        node[keys[-1]] = text
    return made
