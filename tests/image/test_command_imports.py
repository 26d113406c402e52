"""Commands of an image that import a launcher, read from their modules."""

from __future__ import annotations

from pathlib import Path

import pytest

from envcfg.image.command_imports import command_imports
from envcfg.image.tree import FolderTree
from imaging import Image

SITE = "usr/lib/python3/dist-packages"
# the text of the command's module, of a second one, and the launcher with its file
TABLE: dict[str, tuple[str, str, str | None]] = {
    "a launcher's module": ("from accelerate.commands.launch import x\n", "", "accelerate.commands.launch tool/cli.py"),
    "a launcher's function": ("from accelerate import Accelerator, notebook_launcher\n", "", "accelerate.notebook_launcher tool/cli.py"),
    "a rank's import": ("import accelerate\nfrom accelerate import Accelerator\n", "", None),
    "a rank's import, below": ("from accelerate.utils import x\nimport accelerate.commands.config\n", "", None),
    "a cluster, in a function": ("def main():\n    import os, ray\n    ray.init()\n", "", "ray tool/cli.py"),
    "a cluster by name": ("from ray import init\n", "", "ray tool/cli.py"),
    "a package that may use a cluster": ("import ray\nray.is_initialized()\n", "", None),
    "a call of another ray": ("from .x import ray\nray.init()\n", "", None),
    "a name of a package": ("from torch.distributed import run\n", "", "torch.distributed.run tool/cli.py"),
    "several lines": ("from torch.distributed import (\n    elastic,  # run\n    run,\n)\n", "", "torch.distributed.run tool/cli.py"),
    "the launcher's library": ("from torch.distributed.launcher.api import x\n", "", "torch.distributed.launcher tool/cli.py"),
    "deepspeed's": ("import deepspeed.launcher.runner as r\n", "", "deepspeed.launcher tool/cli.py"),
    "no launcher of deepspeed": ("import deepspeed\n", "", None),
    "no launcher of torch": ("import torch.distributed as dist\n", "", None),
    "a longer name": ("import torch.distributed.runner\nfrom accelerated.launchers import x\n", "", None),
    "a comment and a text": ("# import torch.distributed.run\nx = 'import torch.distributed.run'\n", "", None),
    "the words of a command": ("run(['torchrun', '--nnodes', n])\n", "", "torchrun tool/cli.py"),
    "the text of a command": ('run(f"torchrun --nnodes={n} x.py", shell=True)\n', "", "torchrun tool/cli.py"),
    "a module of a command": ("run([python, '-m', 'torch.distributed.run'])\n", "", "torch.distributed.run tool/cli.py"),
    "words after each other": ('x = [\n    "accelerate",\n    "launch",\n]\n', "", "accelerate tool/cli.py"),
    "the name of a library": ('x = ["accelerate", "ray"]\ny = "accelerate"\n', "", None),
    "advice": ('raise Error("torchrun is needed")\nprint("start it with torchrun")\n', "", None),
    "another module": ("from tool import work\n", "import deepspeed.launcher\n", "deepspeed.launcher tool/work.py"),
    "another, relative": ("from .work import train\n", "import deepspeed.launcher\n", "deepspeed.launcher tool/work.py"),
    "another, relative by name": ("from . import (\n    other,\n    work as w,\n)\n", "import deepspeed.launcher\n", "deepspeed.launcher tool/work.py"),
    "a package not of its own": ("import torch\n", "import deepspeed.launcher\n", None),
    "no Python": ("\x00\xff(((", "", None),
    "an open parenthesis": ("from ray import (init\n", "", "ray tool/cli.py"),
}  # fmt: skip


def look(image: Image) -> dict[str, tuple[str, str]]:
    return command_imports(FolderTree(str(image.root)), {})


@pytest.fixture
def image(tmp_path: Path) -> Image:
    image = Image(tmp_path / "image")
    image.base()
    image.program("usr/bin/python3.11")
    image.link("usr/bin/python3", "python3.11")
    return image


def install(image: Image, entry: str = "tool = tool.cli:main") -> None:
    text = f"[gui_scripts]\nx = y:z\n\n[console_scripts]\n{entry}\n\n[other]\na = tool.cli\n"
    image.text(f"{SITE}/tool-1.0.dist-info/entry_points.txt", text)
    image.text(f"{SITE}/tool/__init__.py", "import ray_of_light\n")


@pytest.mark.parametrize("case", TABLE)
def test_the_imports_of_a_command_are_read(image: Image, case: str) -> None:
    text, other, expected = TABLE[case]
    install(image)
    image.text(f"{SITE}/tool/cli.py", text)
    image.text(f"{SITE}/tool/work.py", other)
    launcher = look(image).get("tool")
    shown = (
        f"{launcher[0]} {launcher[1].removeprefix(f'/{SITE}/')}" if launcher else None
    )
    assert shown == expected


def test_a_package_is_read_by_its_own_file(image: Image) -> None:
    install(image, "tool=tool:main [extra]\nother = tool.cli : main")
    image.text(f"{SITE}/tool/__init__.py", "from .a import x\n")
    image.text(f"{SITE}/tool/a.py", "from ray import init\n")
    assert look(image) == {"tool": ("ray", f"/{SITE}/tool/a.py")}


def test_the_command_s_own_folder_is_read_and_no_other_one_to_the_end(
    image: Image,
) -> None:
    install(image, "tool = tool.cli.main:main\nother = tool.other:main")
    image.text(f"{SITE}/tool/cli/main.py", "from .commands import get\n")
    image.text(f"{SITE}/tool/cli/commands/__init__.py", "from .train import x\n")
    image.text(f"{SITE}/tool/cli/commands/train.py", "from ..launch import x\n")
    image.text(f"{SITE}/tool/cli/launch.py", "import torch.distributed.run\n")
    image.text(f"{SITE}/tool/train/__init__.py", "import tool.deep.er\n")
    image.text(f"{SITE}/tool/deep/er.py", "import torch.distributed.run\n")
    launcher = "torch.distributed.run"
    assert look(image) == {"tool": (launcher, f"/{SITE}/tool/cli/launch.py")}


def test_modules_that_import_each_other_are_read_once(image: Image) -> None:
    install(image)
    image.text(f"{SITE}/tool/cli.py", "import tool.work, tool.cli\n")
    image.text(f"{SITE}/tool/work.py", "import tool.cli\n")
    assert look(image) == {}


def test_a_launcher_s_own_commands_are_known(image: Image) -> None:
    install(image, "ray = ray.scripts.scripts:main")
    image.text(f"{SITE}/ray/scripts/scripts.py", "import ray\nray.init()\n")
    assert look(image) == {}


def test_an_image_without_python_has_none(tmp_path: Path) -> None:
    assert look(Image(tmp_path / "empty")) == {}
