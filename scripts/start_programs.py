"""Start real programs on the test cluster, and show what their ranks said."""

from __future__ import annotations

import sys
from pathlib import Path

from cluster import Cluster
from envcfg.common.datafile import load_yaml
from holder import take_cluster
from job import ClusterError
from real_programs import (
    PROGRAMS,
    Program,
    faults,
    install,
    shown_ranks,
    start,
)
from tool import install_tool

HEAD = "row|command|version|kind|ranks wanted|ranks seen|stand-in|result".split("|")


def run(cluster: Cluster, tool: Path, program: Program) -> tuple[str, int, list[str]]:
    """Return a word for the result, the number of ranks seen, and what is wrong."""
    try:
        library = install(cluster, program)
    except RuntimeError as err:
        return "not installed", 0, str(err).splitlines()[-1:]
    try:
        job = start(cluster, tool, library, program)
        wrong = faults(cluster, program, job)
    except ClusterError as err:
        return "failed", 0, [str(err)]
    if wrong:
        wrong.append(job.stdout)
    return "failed" if wrong else "ok", len(shown_ranks(job)), wrong


def main(parts: list[str]) -> int:
    """Start the programs whose command has one of *parts*; all without parts."""
    rows = load_yaml("knowledge/programs.yaml")
    results = []
    with take_cluster():
        cluster = Cluster()
        keep = cluster.is_up
        try:
            cluster.up()
            tool = install_tool(cluster.home / "tool")
            for program in PROGRAMS:
                if parts and not any(part in program.command for part in parts):
                    continue
                cluster.workdir = cluster.home
                cluster.workdir = cluster.new_folder(program.row)
                result, seen, wrong = run(cluster, tool, program)
                results.append(result)
                if len(results) == 1:
                    print(f"| {' | '.join(HEAD)} |\n|{'---|' * len(HEAD)}")
                cells = (
                    program.row,
                    f"`{program.command}`",
                    program.version,
                    rows[program.row]["kind"],
                    str(program.ranks * len(cluster.nodes)),
                    str(seen),
                    program.standin,
                    result,
                )
                print(f"| {' | '.join(cells)} |", flush=True)
                if wrong:
                    print("\n".join(wrong), file=sys.stderr, flush=True)
                cluster.cancel_jobs()
        finally:
            if not keep:
                cluster.down()
    return int(any(result != "ok" for result in results))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
