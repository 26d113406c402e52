"""Train one step by Accelerate; each rank prints a line of JSON (see said.py)."""

import torch
from accelerate import Accelerator
from said import leave, say

accelerator = Accelerator(cpu=True)
model = torch.nn.Linear(4, 1)
model, optimizer = accelerator.prepare(
    model, torch.optim.SGD(model.parameters(), lr=0.1)
)
accelerator.backward(model(torch.ones(2, 4)).mean())
optimizer.step()
total = accelerator.reduce(torch.tensor(accelerator.process_index + 1.0))
say("accelerate", accelerator.process_index, accelerator.num_processes, total)
accelerator.end_training()
leave()
