"""What the texts of courses require: each command of docs/material.md does what it says.

The scripts and logs of the texts are in ``files``; the image is a folder. Slurm's commands are
those of tests/monitor, which run the probe on this machine.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from test_command_monitor import NVIDIA, SCONTROL, SQUEUE, SRUN

from imaging import SITE, Image, environment, python, torch, wheel
from suites import mark_sample
from support import ROOT

PAGE = ROOT / "docs/material.md"
FILES = Path(__file__).parent / "files"
ROW = re.compile(r"^\| (?!the text|---)(.+?) \| (.+) \| (.*?) ?\|$", re.MULTILINE)
ROWS = ROW.findall(PAGE.read_text(encoding="utf-8"))
COMMANDS = list(
    dict.fromkeys((c[1:-1], w[1:-1]) for _, c, w in ROWS if c.startswith("`"))
)
# Options whose effect a row shows: without them the words are missing.
OPTIONS = (
    "--nccl-debug", "--smoke-test", "--report-affinity", "--fact mpi=cray", "--use_fsdp",
    "--mem-per-gpu 100G", "--set 'ROCR_VISIBLE_DEVICES=${LOCAL_RANK}'",
    "--gpus-per-node 0.5", "--launcher deepspeed",
)  # fmt: skip


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with the files of the texts, an image and Slurm's commands."""
    root = tmp_path_factory.mktemp("material")
    shutil.copytree(FILES, root / "work")
    (root / "work/train.py").touch()
    image = Image(root / "work/pytorch")
    image.base()
    python(image, "usr")
    torch(image, f"usr/{SITE}", "2.7.1+rocm6.4", hip="6.4.43484")
    wheel(image, f"usr/{SITE}", "deepspeed", "0.14.0")
    image.text(
        f"usr/{SITE}/deepspeed/git_version_info_installed.py",
        "installed_ops={'fused_adam': 1}\n",
    )
    environment(image, PATH="/usr/bin")
    programs = root / "bin"
    programs.mkdir()
    slurm = {"squeue": SQUEUE, "scontrol": SCONTROL, "srun": SRUN, "nvidia-smi": NVIDIA}
    for name, text in slurm.items():
        (programs / name).write_text(text)
        (programs / name).chmod(0o755)
    return root


def run(folder: Path, home: Path, command: str) -> tuple[int, str]:
    """Return the exit code of a command of the page, and its output in one line."""
    env = {
        "PATH": f"{folder}/bin:{Path(sys.executable).parent}:/usr/bin:/bin",
        "HOME": str(home),
        "TMPDIR": str(home),
        "FAKE_NOTES": str(home),
        "ENVCFG_SITE": str(home / "no-site"),
        "LANG": os.environ.get("LANG", "C.UTF-8"),
        "COLUMNS": "200",
    }
    done = subprocess.run(
        ["bash", "-c", command],
        cwd=folder / "work", env=env, capture_output=True, text=True, check=False, timeout=60,
    )  # fmt: skip
    return done.returncode, " ".join(f"{done.stdout}\n{done.stderr}".split())


@pytest.mark.parametrize("row", mark_sample(COMMANDS, every=3), ids=": ".join)
def test_a_command_shows_what_the_page_says(
    folder: Path, tmp_path: Path, row: tuple[str, str]
) -> None:
    command, words = row
    code, text = run(folder, tmp_path, command)
    assert code in {0, 1, 2, 3}, text
    assert words in text, text[-3000:]


def without_feature(command: str, words: str) -> str:
    """Return the command without the option, the system, or the fault that it shows."""
    _, verb, *_ = command.split()
    if taken := next((option for option in OPTIONS if option in command), ""):
        return command.replace(f"{taken} ", "")
    if verb in ("wrap", "job"):
        return re.sub(r"--profile \S+", "--profile workstation", command)
    is_right = words.startswith("0 errors")
    other = {
        "lint": "start-script.sh" if is_right else "node-ranks.sh",
        "check-log": "loader.log" if "loader" not in command else "plugin.log",
        "explain": "NCCL_DEBUG",
        "profiles": "workstation",
        "inspect": "/usr/share",
    }
    return " ".join([*command.split()[:-1], other[verb]])


@pytest.mark.nightly
@pytest.mark.parametrize(
    ("command", "words"), [row for row in COMMANDS if " monitor " not in row[0]]
)
def test_a_command_without_its_feature_does_not_show_it(
    folder: Path, tmp_path: Path, command: str, words: str
) -> None:
    code, text = run(folder, tmp_path, without_feature(command, words))
    assert code in {0, 1, 2, 3}, text
    assert words not in text


def test_a_chosen_node_alone_is_monitored(folder: Path, tmp_path: Path) -> None:
    assert (
        "1 of 1 node answer" not in run(folder, tmp_path, "envcfg monitor --once 12")[1]
    )


def test_every_row_has_a_command_or_a_page_that_is_there() -> None:
    assert len(ROWS) > 60
    for sentence, provider, words in ROWS:
        link = re.fullmatch(r"\[.+\]\(([\w/.-]+\.md)(?:#[\w-]+)?\)", provider)
        assert bool(link) != bool(words), sentence
        if link:
            assert (PAGE.parent / link[1]).is_file(), sentence
        else:
            assert provider.startswith("`envcfg "), sentence


def test_every_file_of_the_texts_is_used() -> None:
    text = PAGE.read_text(encoding="utf-8")
    assert [file.name for file in FILES.iterdir() if file.name not in text] == []
