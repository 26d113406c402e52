"""Compile a model by torch.compile, and print how long that took, and by which cache.

With an argument, it sleeps that many seconds afterwards.
"""

import json
import os
import sys
import time

import torch
from torch._dynamo.utils import counters


def model(x: torch.Tensor) -> torch.Tensor:
    for number in range(1, 13):
        y = torch.tanh(x * number) + x.roll(number, dims=0).sigmoid() * number
        x = (
            torch.softmax(y, dim=number % 2)
            + torch.cumsum(x, dim=1 - number % 2) / number
        )
    return x.sum()


torch.manual_seed(0)
data = torch.rand(64, 48)
begin = time.perf_counter()
value = torch.compile(model, fullgraph=True)(data)
seconds = time.perf_counter() - begin
print(
    json.dumps(
        {
            "rank": os.environ.get("RANK"),
            "seconds": round(seconds, 2),
            "hits": counters["inductor"]["fxgraph_cache_hit"],
            "misses": counters["inductor"]["fxgraph_cache_miss"],
            "value": round(float(value), 2),
            "eager": round(float(model(data)), 2),
        }
    ),
    flush=True,
)
if len(sys.argv) > 1:
    time.sleep(float(sys.argv[1]))
