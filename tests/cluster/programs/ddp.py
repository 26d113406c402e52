"""Train a small model by DistributedDataParallel over gloo, as a user would.

Prints one line of JSON per rank: who it is, what it lost, and which weights it has in the
end. All ranks must print the same loss and the same weights.
"""

import json
import os

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

IDENTITY = (
    "RANK LOCAL_RANK WORLD_SIZE LOCAL_WORLD_SIZE NODE_RANK MASTER_ADDR MASTER_PORT "
    "SLURMD_NODENAME"
)
STEPS = 12
WIDTH = 512


def main() -> None:
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    torch.manual_seed(
        dist.get_rank()
    )  # other data on each rank, other weights at first
    model = torch.nn.Sequential(
        torch.nn.Linear(WIDTH, WIDTH), torch.nn.ReLU(), torch.nn.Linear(WIDTH, 1)
    )
    trained = DistributedDataParallel(model)
    optimizer = torch.optim.SGD(trained.parameters(), lr=0.01)
    for _ in range(STEPS):
        inputs = torch.randn(8, WIDTH)
        loss = ((trained(inputs) - inputs.sum(1, keepdim=True)) ** 2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    mean = loss.detach().clone()
    dist.all_reduce(mean)
    weights = sum(float(p.detach().double().sum()) for p in model.parameters())
    seen = {name: os.environ.get(name) for name in IDENTITY.split()}
    seen |= {"loss": mean.item() / dist.get_world_size(), "weights": weights}
    os.write(1, (json.dumps(seen) + "\n").encode())  # in one piece, beside other ranks
    dist.destroy_process_group()
    os._exit(
        0
    )  # on a busy machine PyTorch's threads and the interpreter's end race: SIGABRT


if __name__ == "__main__":
    main()
