"""Train two steps by Lightning; each rank prints a line of JSON (see said.py).

Lightning wants to be told how many ranks there are: LOCAL_WORLD_SIZE and WORLD_SIZE.
"""

import os

import torch
from lightning.pytorch import LightningModule, Trainer
from said import leave, say


class Model(LightningModule):
    """A line through nothing."""

    def __init__(self) -> None:
        super().__init__()
        self.layer = torch.nn.Linear(4, 1)

    def training_step(self, batch: torch.Tensor, _index: int) -> torch.Tensor:
        """Return the loss."""
        return self.layer(batch).mean()

    def configure_optimizers(self) -> torch.optim.Optimizer:
        """Return the optimizer."""
        return torch.optim.SGD(self.parameters(), lr=0.1)

    def on_train_end(self) -> None:
        """Say who we are."""
        total = self.trainer.strategy.reduce(
            torch.tensor(self.global_rank + 1.0), reduce_op="sum"
        )
        say("lightning", self.global_rank, self.trainer.world_size, total)


local = int(os.environ["LOCAL_WORLD_SIZE"])
Trainer(
    accelerator="cpu",
    strategy="ddp",
    devices=local,
    num_nodes=int(os.environ["WORLD_SIZE"]) // local,
    max_steps=2,
    logger=False,
    enable_checkpointing=False,
    enable_progress_bar=False,
    enable_model_summary=False,
).fit(Model(), torch.utils.data.DataLoader(torch.ones(64, 4), batch_size=2))
leave()
