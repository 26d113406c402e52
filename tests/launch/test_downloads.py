"""Commands that need the internet, by their words."""

from __future__ import annotations

import shlex

import pytest

from envcfg.job.plan.downloads import download_of
from support import Wrap, bash

# command: the part that needs the internet
TABLE = {
    "pip install torch": "pip install",
    "/opt/venv/bin/pip3 --quiet install -r r.txt": "pip3 install",
    "python3 -m pip install x": "pip install",
    "uv pip install x": "uv install",
    "conda install -y x": "conda install",
    "pip install --no-index --find-links w x": None,
    "pip list": None,
    "wget https://example.org/x": "wget",
    "curl -sO ftp://example.org/x": "curl",
    "curl http://localhost:8000/health": None,
    "curl http://127.0.0.1:8000/health": None,
    "wget --version": None,
    "git clone git@github.com:a/b": "git clone",
    "git clone https://github.com/a/b": "git clone",
    "git clone /scratch/b": None,
    "git status": None,
    "huggingface-cli download a/b": "huggingface-cli download",
    "hf download a/b": "hf download",
    "wandb sync run": "wandb sync",
    "apptainer exec docker://a/b:1 python t.py": "docker://a/b:1",
    "apptainer exec x.sif python t.py": None,
    "trl sft --model_name_or_path Qwen/Qwen3-0.6B": "Qwen/Qwen3-0.6B",
    "trl sft --model_name_or_path=Qwen/Qwen3-0.6B": "Qwen/Qwen3-0.6B",
    "vllm serve --model /scratch/m": None,
    "vllm serve --model ./a/b": None,
    "vllm serve --model a/b/c": None,
    "vllm serve --model": None,
    "python train.py": None,
    "": None,
}


@pytest.mark.parametrize("line", TABLE)
def test_the_part_that_needs_the_internet_is_named(line: str) -> None:
    assert download_of(shlex.split(line)) == TABLE[line]


def test_a_hub_that_is_not_asked_needs_no_internet() -> None:
    words = ["trl", "sft", "--model", "a/b"]
    assert download_of(words, {"HF_HUB_OFFLINE"}) is None


# options and command: whether a warning names the need, or the home folder
INTERNET, HOME = "needs the internet", "stored in the home folder"
WARNED = {
    INTERNET: {
        "--profile leonardo --container none -- pip install x": True,
        "--profile frontier --container none -- pip install x": True,
        "--profile leonardo --container none -- hf download a/b": True,
        "--profile lumi-g --container none -- pip install x": False,
        "--profile frontier --container none --set https_proxy=http://p:1 -- pip install x": False,
        "--profile leonardo --container none --set HF_HUB_OFFLINE=1 -- vllm serve --model a/b": False,
    },
    HOME: {
        "--profile frontier --container none -- vllm serve --model a/b": True,
        "--profile frontier --container none --set HF_HOME=/lustre/x -- vllm serve --model a/b": False,
        "--profile frontier --container none -- vllm serve --model /lustre/a/b": False,
        "--profile lumi-g --container x.sif -- vllm serve --model a/b": False,
        "--profile workstation --container none -- vllm serve --model a/b": False,
    },
}  # fmt: skip


@pytest.mark.parametrize(
    ("text", "line"), [(text, line) for text, lines in WARNED.items() for line in lines]
)
def test_wrap_warns_of_downloads_and_of_models_in_small_home_folders(
    wrap: Wrap, text: str, line: str
) -> None:
    done = wrap(*line.split())
    assert done.code == 0, done.err
    assert (text in done.err) == WARNED[text][line]


def test_the_folder_for_models_is_that_of_the_site_unless_the_job_has_one(
    wrap: Wrap,
) -> None:
    options = (
        "--profile lumi-g --container none --launcher local --no-modules --ranks 1"
    )
    made = wrap(*options.split(), "--", "sh", "-c", 'echo "${HF_HOME-none}"')
    before = {
        "": "none",  # outside of a job no project is known
        "export SLURM_JOB_ACCOUNT=p1\n": "/scratch/p1/hf-cache",
        "export SLURM_JOB_ACCOUNT=p1 HF_HOME=/mine\n": "/mine",
    }
    for lines, folder in before.items():
        done = bash(lines.encode() + made.out)
        assert done.stdout.decode().splitlines()[-1:] == [folder], done.stderr.decode()
