"""Are the nodes fit, and does NCCL take the fast network? Checks for ReFrame.

reframe -C settings.py -c network.py --run
"""

from __future__ import annotations

import json
from pathlib import Path

import reframe as rfm
import reframe.utility.sanity as sn
from reframe.core.builtins import (
    performance_function,
    run_before,
    sanity_function,
    variable,
)


class _InContainer(rfm.RunOnlyRegressionTest):
    """A job of two nodes, eight ranks on each, in the container."""

    image = variable(str, value="pytorch.sif")
    envcfg_profile = variable(str, value="lumi-g")
    num_tasks = 16
    num_tasks_per_node = 8
    num_cpus_per_task = 7
    time_limit = "10m"
    valid_systems = ["lumi:gpu"]
    valid_prog_environs = ["builtin"]

    @property
    def step(self) -> list[str]:
        """The options that say where and in what a step runs."""
        image = Path(self.image).absolute()
        return ["--profile", self.envcfg_profile, "--container", str(image)]

    def read(self, name: str) -> dict:
        """Return what a command has answered, as JSON."""
        return json.loads((Path(self.stagedir) / name).read_text())


@rfm.simple_test
class NodesAreFit(_InContainer):
    """`envcfg preflight` passes every node; it tells how fast they add numbers."""

    executable = "envcfg"

    @run_before("run")
    def ask(self) -> None:
        """Keep the answer, whatever it is; sanity judges it."""
        self.executable_opts = ["preflight", *self.step, "--json", ">preflight.json"]

    @sanity_function
    def passes(self) -> bool:
        """No node fails; 3 is what could not be seen, as the network without NCCL."""
        answer = self.read("preflight.json")
        return sn.all(
            [
                sn.assert_eq(answer["failed"], "", "these nodes fail: {0}"),
                sn.assert_eq(len(answer["nodes"]), 2),
            ]
        )

    @performance_function("GB/s")
    def all_reduce(self) -> float:
        """The bus bandwidth of the largest sum."""
        return self.read("preflight.json")["collective"]["sums"][-1][
            "gigabytes_per_second"
        ]


@rfm.simple_test
class NetworkIsFast(_InContainer):
    """`envcfg check-log` finds every rank of a real step on the network of the profile."""

    program = variable(str, value="python3 all_reduce.py")
    executable = "bash"
    sourcesdir = "src"

    @run_before("run")
    def wrap(self) -> None:
        """Make the step; then let check-log judge what NCCL wrote."""
        options = " ".join([*self.step, "--nccl-debug"])
        self.prerun_cmds = [f"envcfg wrap {options} -o step.sh -- {self.program}"]
        self.executable_opts = ["step.sh", ">step.log", "2>&1"]
        check = f"envcfg check-log --profile {self.envcfg_profile}"
        self.postrun_cmds = [f"{check} --json step.log >check-log.json || :"]

    @sanity_function
    def is_fast(self) -> bool:
        """The verdict is ok; the message is check-log's own summary."""
        answer = self.read("check-log.json")
        return sn.assert_eq(answer["verdict"], "ok", answer["summary"])
