"""In a job, as its batch script: start steps and signal them; say what became of each.

usage: signalled.py FILE: each line is a run as JSON, with what test_signals_cluster.py says.
Prints a line for each: its number, what it ended with, and what it left on the nodes.
"""

import json
import os
import signal
import subprocess
import sys
import time

# Look for processes that say so in their arguments, and for caches, on every node.
LOOK = """
for file in /proc/[0-9]*/cmdline; do
  { IFS= read -r -d '' word && IFS= read -r -d '' word; } 2>/dev/null <"$file" || continue
  if [[ $word == "$1" ]]; then echo "process:$file"; fi
done
for cache in /tmp/envcfg-*-"$SLURM_JOB_ID-$2".*; do
  if [[ -e $cache ]]; then echo "cache:$cache"; fi
done
"""


def left(mark: str, pid: int) -> list[str]:
    words = ["srun", "--overlap", "--mem=0", "-N2", "-n2", "--ntasks-per-node=1"]
    words += ["bash", "-c", LOOK, "look", mark, str(pid)]
    done = subprocess.run(words, capture_output=True, text=True, check=True)
    return done.stdout.split()


def signal_steps(number: int) -> None:
    job = os.environ["SLURM_JOB_ID"]
    subprocess.run(
        ["scancel", f"--signal={number}", job], stderr=subprocess.DEVNULL, check=False
    )


def main() -> None:
    with open(sys.argv[1], encoding="utf-8") as file:
        runs = [json.loads(line) for line in file]
    for run in runs:
        mark = f"300.{run['number']:06}"
        environ = {**os.environ, "MARK": mark}
        with open(f"said.{run['number']}", "wb") as said:
            shell = subprocess.Popen(
                ["bash", "-c", run["script"]],
                env=environ,
                stdin=subprocess.DEVNULL,
                stdout=said,
                stderr=said,
            )
            time.sleep(run["after"])
            if run["to"] == "steps":
                signal_steps(run["signal"])
            else:
                shell.send_signal(run["signal"])
            late = False
            try:
                shell.wait(15)
            except subprocess.TimeoutExpired:
                late = True  # for the steps, there may have been none yet
                shell.send_signal(signal.SIGTERM)
                shell.wait(60)
        print(
            json.dumps([run["number"], shell.returncode, late, left(mark, shell.pid)]),
            flush=True,
        )


if __name__ == "__main__":
    main()
