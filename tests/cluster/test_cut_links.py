"""The fast links of one node go down in a running job: hang and the watcher name the node."""

from __future__ import annotations

import json
import re
import time
from pathlib import Path

import pytest

from cluster import Cluster

pytestmark = pytest.mark.nightly
FAST = ("hsn0", "hsn1", "hsn2", "hsn3")
FOUR = ("-N2", "--ntasks-per-node=2", "--partition=small-g", "--time=5")
WITHIN = 60  # seconds from the cut to the name of the node
PROGRAM = """\
import datetime, time, torch, torch.distributed as dist
dist.init_process_group("gloo", timeout=datetime.timedelta(seconds=300))
numbers = torch.ones(16)
for step in range(10000):
    dist.all_reduce(numbers)
    if dist.get_rank() == 0:
        print(f"step {step} loss 1.25", flush=True)
    time.sleep(0.5)
"""


def test_a_node_without_its_fast_links_is_named_within_a_minute(
    cluster: Cluster, tool: Path, workdir: Path
) -> None:
    (workdir / "train.py").write_text(PROGRAM)
    options = f"--profile lumi-g --fact rocm=6.2.4 --container {cluster.pytorch_image}"
    job = cluster.submit(
        f"#!/bin/bash\nPATH={tool}:$PATH\n"
        f"source <(envcfg wrap {options} --on-silence=10s -- python3 train.py)\n",
        *FOUR,
        cwd=workdir,
    )
    job.wait_output("step 5 ", timeout=90)
    node = cluster.nodes[1]
    for link in FAST:
        cluster.node(node, ["ip", "link", "set", link, "down"])
    try:
        began = time.monotonic()
        job.wait_output(node, timeout=WITHIN)
        watched = time.monotonic() - began
        asked = cluster.run(
            [str(tool / "envcfg"), "hang", "--json", str(job.id)], timeout=WITHIN
        )
        took = time.monotonic() - began - watched
    finally:
        for link in FAST:
            cluster.node(node, ["ip", "link", "set", link, "up"])
        job.cancel()
    print(f"the watcher took {watched:.0f} s, hang {took:.0f} s")
    assert re.search(rf"^envcfg: .*{node}.* hsn0", job.stdout, re.M), job.stdout
    found = [
        (each["rule"], each["subject"]) for each in json.loads(asked.stdout)["findings"]
    ]
    assert any(
        rule == "hang-link-down" and node in subject for rule, subject in found
    ), found
