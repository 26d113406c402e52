"""Train two steps of a tiny language model by the Trainer of Transformers.

Each rank prints a line of JSON (see said.py). Nothing is downloaded.
"""

import torch
import torch.distributed as dist
from said import leave, say
from transformers import GPT2Config, GPT2LMHeadModel, Trainer, TrainingArguments

config = GPT2Config(vocab_size=32, n_positions=8, n_embd=8, n_layer=1, n_head=1)
tokens = torch.arange(8)
trainer = Trainer(
    model=GPT2LMHeadModel(config),
    args=TrainingArguments(
        output_dir="trained",
        use_cpu=True,
        ddp_backend="gloo",
        max_steps=2,
        per_device_train_batch_size=1,
        save_strategy="no",
        report_to="none",
        disable_tqdm=True,
    ),
    train_dataset=[{"input_ids": tokens, "labels": tokens}] * 64,
)
trainer.train()
rank, size = trainer.args.process_index, trainer.args.world_size
total = torch.tensor(rank + 1.0)
if dist.is_initialized():
    dist.all_reduce(total)
say("transformers", rank, size, total)
trainer.accelerator.end_training()
leave()
