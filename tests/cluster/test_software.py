"""An environment beside the image, as docs/software.md makes it: a squashfs, a venv."""

from __future__ import annotations

import shlex
from pathlib import Path

import pytest

from cluster import Cluster

pytestmark = pytest.mark.nightly

NODES = ("-N2", "--gpus-per-node=2", "--ntasks-per-node=2", "--partition=standard-g")
SHOW = (
    "import sys, own, torch; "
    "print('seen', own.__file__, sys.prefix, torch.__version__.split('+')[0])"
)
# Made once, where the environment will be seen: its scripts hold that path.
MAKE = """\
python3 -m venv --without-pip --system-site-packages /user-software/venv
. /user-software/venv/bin/activate
echo 'ours = 1' >"$(python3 -c 'import site; print(site.getsitepackages()[0])')/own.py"
"""


def test_a_venv_in_a_squashfs_is_the_python_of_all_ranks(
    cluster: Cluster, tool: Path, workdir: Path
) -> None:
    image = cluster.pytorch_image
    (workdir / "make.sh").write_text(MAKE)
    enter = f"apptainer -s exec --bind env:/user-software {image} bash -e make.sh"
    pack = "mksquashfs env env.sqsh -quiet -no-progress && rm -r env"
    made = cluster.run(
        ["bash", "-ec", f"mkdir env && {enter} && {pack}"], cwd=workdir, timeout=120
    )
    assert made.returncode == 0, made.stderr
    script = (
        "#!/bin/bash\nset -euo pipefail\n"
        f"PATH={tool}:$PATH\n"
        f"step=(envcfg wrap --container {image} --runtime apptainer --fact rocm=6.2.4"
        ' --bind "$PWD/env.sqsh:/user-software:image-src=/")\n'
        "source <(\"${step[@]}\" --setup '. /user-software/venv/bin/activate'"
        f" -- python3 -c {shlex.quote(SHOW)} || echo exit $?)\n"
        "source <(\"${step[@]}\" --set 'PATH=/user-software/venv/bin:${PATH}'"
        f" -- python3 -c {shlex.quote(SHOW)} || echo exit $?)\n"
        "source <(\"${step[@]}\" --setup '. /user-software/venv/bin/activate'"
        f" -- torchrun --nproc-per-node 2 --no-python python3 -c {shlex.quote(SHOW)} || echo exit $?)\n"
    )
    done = cluster.sbatch(script, *NODES, cwd=workdir)
    assert done.state == "COMPLETED", done.stdout
    said = [line for line in done.stdout.splitlines() if line.startswith("seen ")]
    own = "/user-software/venv/lib/python3.11/site-packages/own.py"
    assert said == [f"seen {own} /user-software/venv 2.13.0"] * 12
    assert cluster.left_running() == []
