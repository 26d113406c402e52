"""Compile models and an extension, and print how long that took, and by which cache.

Arguments: the numbers of the models. With ``sleep`` behind them the program then makes all
that it compiled half a minute older, and sleeps.
"""

import ctypes
import json
import os
import sys
import time
from functools import partial
from pathlib import Path

os.environ["CXX"] = "g++"  # c++ is a link into the machine's /etc
import torch
from torch._dynamo.utils import calculate_time_spent, counters


def model(x: torch.Tensor, number: int) -> torch.Tensor:
    for factor in range(number * 10 + 1, number * 10 + 7):
        y = torch.tanh(x * factor) + x.roll(factor, dims=0).sigmoid() * factor
        x = (
            torch.softmax(y, dim=factor % 2)
            + torch.cumsum(x, dim=1 - factor % 2) / factor
        )
    return x.sum()


def show(**facts: object) -> None:
    print(json.dumps({"rank": os.environ.get("RANK"), **facts}), flush=True)


begin = time.perf_counter()
torch.manual_seed(0)
data = torch.rand(64, 48)
import torch._inductor.compile_fx  # noqa: E402
from torch._inductor.cpu_vec_isa import pick_vec_isa  # noqa: E402

pick_vec_isa()  # tries the CPU's instructions out in each process, and keeps nothing
for number in filter(str.isdecimal, sys.argv[1:]):
    torch._dynamo.reset()  # else a second model is traced otherwise than a first one
    counters.clear()
    before = calculate_time_spent().get("backend_compile", 0)
    value = torch.compile(partial(model, number=int(number)), fullgraph=True)(data)
    step = time.perf_counter() - begin
    compiling = calculate_time_spent()["backend_compile"] - before
    show(
        model=int(number),
        # What is behind Dynamo: AOTAutograd and Inductor, with loading from their caches.
        compile=round(compiling, 2),
        step=round(step, 2),
        hits=counters["inductor"]["fxgraph_cache_hit"],
        misses=counters["inductor"]["fxgraph_cache_miss"],
        autograd=counters["aot_autograd"]["autograd_cache_hit"],
        value=round(float(value), 2),
        eager=round(float(model(data, int(number))), 2),
    )
    begin = time.perf_counter()

from torch.utils import cpp_extension  # noqa: E402

begin, start = time.perf_counter(), time.time()
folder = Path(os.environ["TORCH_EXTENSIONS_DIR"], "answer")
folder.mkdir(parents=True, exist_ok=True)
source = str(Path(__file__).with_name("answer.cpp"))
cpp_extension.load("answer", [source], build_directory=folder, is_python_module=False)
library = folder / "answer.so"
show(
    extension=ctypes.CDLL(str(library)).answer(),
    seconds=round(time.perf_counter() - begin, 2),
    is_built=library.stat().st_mtime > start,
)
if "sleep" in sys.argv:
    # What was written 20 s before a step is killed may be cut, and is not kept.
    mark = Path(os.environ["ENVCFG_CACHE"], ".kept")
    first = mark.stat().st_mtime
    for path in mark.parent.rglob("*"):
        if path.is_file() and path.stat().st_mtime > first:
            os.utime(path, (start - 30, start - 30))
    os.utime(mark, (start - 60, start - 60))
    show(aged=True)
    time.sleep(600)
