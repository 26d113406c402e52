"""Train one step by DeepSpeed; each rank prints a line of JSON (see said.py)."""

import deepspeed
import torch
from deepspeed import comm
from said import leave, say

deepspeed.init_distributed(dist_backend="gloo")
model = torch.nn.Linear(4, 1)
engine, *_ = deepspeed.initialize(
    model=model,
    optimizer=torch.optim.SGD(model.parameters(), lr=0.1),
    config={"train_micro_batch_size_per_gpu": 2},
)
engine.backward(engine(torch.ones(2, 4)).mean())
engine.step()
total = torch.tensor(comm.get_rank() + 1.0)
comm.all_reduce(total)
say("deepspeed", comm.get_rank(), comm.get_world_size(), total)
comm.destroy_process_group()
leave()
