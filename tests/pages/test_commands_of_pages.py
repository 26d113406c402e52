"""What tutorials and how-tos tell a reader to type, typed: each command of envcfg in its turn.

``sbatch`` is a stand-in that writes the job's output where the script says, so that a later
``check-log`` of the page must name that file. Jobs run on the cluster (tests/cluster).
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from support import ROOT

PAGES = sorted((*ROOT.glob("docs/tutorials/*.md"), *ROOT.glob("docs/how-to/*.md")))
BLOCK = re.compile(r"^```console\n(.*?)^```", re.MULTILINE | re.DOTALL)
LOG = """\
n1:1:1 [0] NCCL INFO NCCL version 2.18.3+cuda12.2
n1:1:1 [0] NCCL INFO NET/IB : Using [0]mlx5_0:1/IB [RO]; OOB ib0:10.0.0.1<0>
n1:1:1 [0] NCCL INFO comm 0x1 rank 0 nranks 2 cudaDev 0 busId 1000 - Init COMPLETE
"""
SBATCH = """\
#!/bin/sh
for script; do :; done
case ${script-} in -* | '') script=/dev/stdin ;; esac
text=$(cat "$script")
name=$(echo "$text" | sed -n 's/^#SBATCH --job-name=//p')
said=$(echo "$text" | sed -n 's/^#SBATCH --output=//p')
echo "Submitted batch job 1234567"
cp "$LOG" "$(printf '%s' "${said:-slurm-%j.out}" | sed "s/%x/$name/; s/%j/1234567/")"
"""
# What a cluster answers that no profile knows.
SCONTROL = """\
#!/bin/sh
for what; do :; done
case $what in
config) echo "ClusterName = mycluster"; echo "SelectType = select/cons_tres" ;;
node) for n in 1 2 3; do echo "NodeName=g$n CPUTot=64 Gres=gpu:h100:4 RealMemory=500000 Sockets=2 Partitions=gpu"; done ;;
partition) echo "PartitionName=gpu Default=YES MaxTime=1-00:00:00 State=UP" ;;
*) exit 1 ;;
esac
"""
# Codes other than 0 that a page's commands may end with: a verdict, a difference, no system.
CODES = {
    "check-log": {0, 1, 3},
    "profiles diff": {0, 1},
    "profiles detect": {0, 3},
}


def commands(page: Path) -> Iterator[str]:
    for block in BLOCK.findall(page.read_text()):
        if "$ git " in block:  # in one shell, for its folder and variables
            yield block.replace("$ ", "")
            continue
        for line in block.splitlines():
            if line.startswith(("$ envcfg ", "$ sbatch ", "$ ./job.sh")):
                yield line.removeprefix("$ ").partition(" | ")[0]


def publish(folder: Path) -> None:
    """Make the repository of the page own-profile, and lead its address there."""
    (folder / "group").mkdir()
    (folder / "group/mymachine.yaml").write_text(
        "name: mymachine\nextends: slingshot-cuda\n"
    )
    named = "-c user.name=A -c user.email=a@example.org".split()
    git = ["git", "-C", folder / "group", *named]
    for words in (["init", "-q"], ["add", "."], ["commit", "-qm", "Begin"]):
        subprocess.run([*git, *words], check=True)
    (folder / ".gitconfig").write_text(
        f'[url "{folder}/group/.git"]\ninsteadOf = https://example.org/group/profiles.git\n'
    )


@pytest.mark.parametrize(
    "page", [page for page in PAGES if any(commands(page))], ids=lambda page: page.stem
)
def test_each_command_does_what_the_page_says(page: Path, tmp_path: Path) -> None:
    programs, work = tmp_path / "bin", tmp_path / "work"
    programs.mkdir()
    work.mkdir()
    commands_here = {"sbatch": SBATCH, "apptainer": "#!/bin/sh\n"}
    if page.stem == "unknown-cluster":
        commands_here["scontrol"] = SCONTROL
    for name, text in commands_here.items():
        (programs / name).write_text(text)
        (programs / name).chmod(0o755)
    (tmp_path / "log").write_text(LOG)
    (work / "pytorch.sif").touch()
    if page.stem == "laptop":  # its program
        (work / "hello.sh").write_text(page.read_text().split("```")[3][5:])
    if page.stem == "read-a-log":  # which jobs have left
        for name in ("slurm-123.out", "slurm-124.out"):
            (work / name).write_text(LOG)
    if page.stem == "sweep":
        (work / "slurm-123.out").write_text(LOG)
    if page.stem == "many-jobs":  # logs, an answer of the scheduler, and a part
        (work / "logs").mkdir()
        for name in ("slurm-123.out", "logs/slurm-124.out"):
            (work / name).write_text(LOG)
        (work / "sacct.txt").write_text("JobID|State\n124|COMPLETED\n")
        (work / "part-1.ndjson").touch()
    if page.stem == "defaults":  # its file
        (work / "envcfg.toml").write_text(page.read_text().split("```")[1][5:])
        (work / "images").mkdir()
        (work / "images/pytorch.sif").touch()
    if page.stem == "own-profile":
        publish(tmp_path)
    tools = Path(sys.executable).parent
    env = {
        "PATH": f"{programs}:{tools}:/usr/bin:/bin",
        "HOME": str(tmp_path),
        "TMPDIR": str(tmp_path),
        "LOG": str(tmp_path / "log"),
        "LANG": os.environ.get("LANG", "C.UTF-8"),
    }
    for command in commands(page):
        if "/appl/" in command and " inspect " in command:
            continue  # an image of LUMI's
        done = subprocess.run(
            ["bash", "-ec", command],
            cwd=work, env=env, capture_output=True, text=True, check=False, timeout=60,
        )  # fmt: skip
        words = " ".join(command.split()[1:3])
        if words == "profiles new":  # the reader fills in what the page shows
            shown = re.findall(r"```yaml\n(.*?)```", page.read_text(), re.DOTALL)
            with (work / "mymachine.yaml").open("a") as file:
                file.writelines(shown)
        if page.stem == "unknown-cluster" and words == "job --container":
            script = (work / "job.sh").read_text()
            for line in ("gpus-per-node=4", "cpus-per-task=16", "mem=500000M"):
                assert f"#SBATCH --{line}\n" in script
            assert "saved in" in done.stderr
        allowed = next((CODES[each] for each in CODES if words.startswith(each)), {0})
        assert done.returncode in allowed, (command, done.stdout[-500:], done.stderr)
