"""Run the benchmarks and print one table of them all."""

from __future__ import annotations

import argparse
import json
import os
import platform
import sys
import tempfile
from pathlib import Path

from benchmarks import (
    check_log,
    entrypoint,
    growth,
    images,
    kept_caches,
    lint,
    many_jobs,
    runtimes,
    start_up,
    watch,
)
from benchmarks.rows import Row, render_table
from benchmarks.trace import find_missing

BENCHMARKS = {
    "start-up": start_up.measure,
    "entrypoint": entrypoint.measure,
    "runtimes": runtimes.measure,
    "growth": growth.measure,
    "check-log": check_log.measure,
    "images": images.measure,
    "kept-caches": kept_caches.measure,
    "lint": lint.measure,
    "jobs": many_jobs.measure,
    "watch": watch.measure,
}


def main() -> int:
    """Return 0 if all targets are met, 1 if one is missed, 4 if something is absent."""
    parser = argparse.ArgumentParser(
        prog="benchmarks/run",
        description="Measure envcfg against peers, in turns, on this machine.",
        epilog="exit code: 0 all targets met, 1 one is missed, 4 something is absent",
    )
    parser.add_argument(
        "names", nargs="*", metavar="NAME", help=f"of {', '.join(BENCHMARKS)}"
    )
    parser.add_argument("--json", action="store_true", help="print all as JSON")
    options = parser.parse_args()
    unknown = set(options.names) - set(BENCHMARKS)
    if unknown:
        parser.error(f"no such benchmark: {', '.join(sorted(unknown))}")
    if missing := find_missing():
        print(f"benchmarks: error: not found: {', '.join(missing)}", file=sys.stderr)
        return 4

    rows: list[Row] = []
    with tempfile.TemporaryDirectory(prefix="envcfg-benchmarks-") as folder:
        os.chdir(folder)  # no layer of profiles above it
        try:
            for name in options.names or BENCHMARKS:
                rows += BENCHMARKS[name](Path(folder))
        except OSError as err:  # no room on the disk, or a program that is not there
            print(f"benchmarks: error: {err}", file=sys.stderr)
            return 4
        finally:
            os.chdir("/")
    missed = [row for row in rows if row.met is False]
    if options.json:
        report = {
            "envcfg_benchmarks": 1,
            "python": platform.python_version(),
            "cores": os.cpu_count(),
            "rows": [row.as_json() for row in rows],
            "missed": len(missed),
        }
        print(json.dumps(report, indent=2))
    else:
        print(render_table(rows))
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
