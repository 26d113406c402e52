"""An image without a plug-in loads that of its host, by real binds and the real loader."""

from __future__ import annotations

from pathlib import Path

import pytest

from cluster import IMAGES, Cluster
from forms import unpack
from imaging import SYSTEM, Image

pytestmark = pytest.mark.nightly

# Debian's libfabric of this machine has this provider.
PROFILE = """\
name: fab
launch: {launchers: [srun]}
container: {runtimes: [apptainer]}
expect:
  networks: [AWS Libfabric]
  provider: tcp
  why: a test
  source: a test
  date: 2026-11-28
"""
LIBFABRIC = Path(f"/{SYSTEM}/libfabric.so.1")
STEP = """\
echo net=$NCCL_NET
for each in /opt/envcfg-host/*; do echo "$each"; done
/lib64/ld-linux-x86-64.so.2 --list /opt/envcfg-host/libnccl-net.so && echo loads
"""


def test_an_image_without_a_plugin_loads_that_of_its_host(
    cluster: Cluster, workdir: Path, tool: Path
) -> None:
    unpack(IMAGES / "dash.sif", workdir / "image")
    (workdir / "fab.yaml").write_text(PROFILE)
    image = Image(workdir / "image")
    image.library(f"{SYSTEM}/libnccl.so.2", words="NCCL version 2.21.5+cuda12.4")
    site = Image(workdir / "site")
    site.library(
        "libnccl-net.so",
        symbols=["ncclNetPlugin_v8"],
        words="Initializing aws-ofi-nccl 1.16.2",
        uses={"libfabric.so.1": {"fi_getinfo": "FABRIC_1.3"}},
    )
    words = ["--profile", "./fab.yaml", "--container", "./image", "-o", "step.sh"]
    done = cluster.run(
        [tool / "envcfg", "wrap", *words, "--", "sh", "-c", STEP],
        env={"LD_LIBRARY_PATH": str(site.root)},
        cwd=workdir,
        check=True,
    )
    assert ": fit the image" in done.stderr, done.stderr
    script = "#!/bin/bash\nbash step.sh\n"
    options = ("-N2", "--ntasks-per-node=1", "--partition=standard-g")
    job = cluster.sbatch(script, *options, "--gpus-per-node=8", cwd=workdir)
    assert job.state == "COMPLETED", job.stderr
    lines = job.stdout.splitlines()
    for line in ("net=AWS Libfabric", "/opt/envcfg-host/libfabric.so.1", "loads"):
        assert lines.count(line) == 2, job.stdout
    assert "not found" not in job.stdout
