"""Train with one value of a sweep: `python train.py --multirun lr=0.1,0.01`."""

from __future__ import annotations

import os

import hydra
from omegaconf import DictConfig


@hydra.main(version_base=None, config_path="conf", config_name="config")
def main(config: DictConfig) -> float:
    """Return the loss; every rank of the job of a value comes here."""
    rank, world = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
    print(f"lr={config.lr} rank={rank}/{world}", flush=True)
    return config.lr * world


if __name__ == "__main__":
    main()
