"""The frameworks of the second Python image: there, and importable.

That they train, as `envcfg` starts them, is in test_wrap_launchers.py.
"""

from __future__ import annotations

import json

import pytest

from cluster import Cluster

pytestmark = pytest.mark.nightly

VERSIONS = {
    "accelerate": "1.15.0",
    "deepspeed": "0.19.8",
    "jax": "0.10.2",
    "lightning": "2.6.6",
    "torch": "2.13.0",
    "transformers": "5.23.0",
}
# A module of each that needs most of what is below it.
DEEP_MODULES = (
    "accelerate.commands.launch transformers.trainer deepspeed.launcher.launch"
)
IMPORT = """
import importlib, json, sys
names = sys.argv[1].split()
for deep in sys.argv[2].split():
    importlib.import_module(deep)
print(json.dumps({name: importlib.import_module(name).__version__ for name in names}))
"""


def test_every_framework_is_there(
    cluster: Cluster, capsys: pytest.CaptureFixture[str]
) -> None:
    python = ["apptainer", "exec", cluster.frameworks_image, "python3", "-c", IMPORT]
    done = cluster.run([*python, " ".join(VERSIONS), DEEP_MODULES], timeout=120)
    assert done.returncode == 0, done.stderr
    versions = json.loads(done.stdout.splitlines()[-1])
    versions["torch"] = versions["torch"].partition("+")[0]  # +cpu, or with CUDA
    with capsys.disabled():
        print(f"\nframeworks.sif: {versions}")
    assert versions == VERSIONS


@pytest.mark.parametrize(
    ("image", "launchers"),
    [("pytorch", "torchrun"), ("frameworks", "torchrun accelerate deepspeed")],
)
def test_launchers_are_called_by_name(
    cluster: Cluster, image: str, launchers: str
) -> None:
    path = getattr(cluster, f"{image}_image")
    find = f"for launcher in {launchers}; do command -v $launcher; done"
    done = cluster.run(["apptainer", "exec", path, "sh", "-c", find])
    assert done.stdout.split() == [
        f"/usr/local/bin/{name}" for name in launchers.split()
    ]
