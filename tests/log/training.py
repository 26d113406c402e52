"""What a training program prints beside the library: nothing of it is about the network."""

from __future__ import annotations

import random
from collections.abc import Callable

BAR = "█"
HYDRA = """\
model:
  _target_: models.llama.Llama
  hidden_size: 4096
  rope: {theta: 500000.0, scaling: null}
trainer:
  num_nodes: 2
  devices: 8
  strategy: fsdp
  error_if_nonfinite: false
  network: null
data: {path: /scratch/text/fineweb, workers: 7}"""
TRACEBACK = """\
Traceback (most recent call last):
  File "/app/data/loader.py", line 88, in __iter__
    sample = json.loads(line)
  File "/usr/lib/python3.12/json/decoder.py", line 355, in raw_decode
    raise JSONDecodeError("Expecting value", s, err.value) from None
json.decoder.JSONDecodeError: Expecting value: line 1 column 1 (char 0)
sample skipped"""
FOREIGN = [
    "훈련을 시작합니다: 배치 크기 32, 학습률 3e-4",
    "学習を再開します(ステップ 1200、エポック 3)",
    "Überprüfe Prüfpunkt … fertig, größte Abweichung 1,2e-6",
    "Обучение продолжается: шаг 1200, потеря 2,31",
    "训练日志: 第 3 轮、损失 2.31、学习率 0.0003 🚀",
    "التدريب مستمر: الخطوة ١٢٠٠",
]
WARNINGS = [
    "/usr/lib/python3.12/site-packages/x/loader.py:617: UserWarning: 16 workers\n  warnings.warn(",
    "[2026-03-14 09:26:51,204] [WARNING] [cpu_adam.py:84] no ccache, building anew",
    "FutureWarning: `torch.cuda.amp.autocast(args...)` is deprecated.",
    "WARNING:root:rank 3 of the LoRA adapter is 16; channel 4 of the image is empty",
    "error rate 0.031 | network depth 32 | plugin: none | socket timeout 30 s",
    "I0314 09:26:51.118 loader.cc:41] prefetch: 12 shards, Ring buffer 64 MiB",
]


def training_output(lines: int, seed: int = 0) -> list[str]:
    """Return *lines* lines; one holds carriage returns, as a progress bar makes them."""
    lot = random.Random(seed)
    kinds: list[Callable[[random.Random, int], str]] = [_bar, _dict, _warning, _foreign]
    kinds += [_config, _traceback, _tokens, _table]
    made: list[str] = []
    while len(made) < lines:
        kind = lot.choice(kinds) if lot.random() < 0.15 else _loss
        made += kind(lot, len(made)).split("\n")
    return made[:lines]


def _loss(lot: random.Random, step: int) -> str:
    loss = 2 + 9 / (1 + step / 100) + lot.random() / 10
    speed = lot.uniform(180, 190)
    return (
        f"step {step:>7} | loss {loss:.4f} | grad_norm {lot.random() * 2:.3f} | lr 3.00e-04"
        f" | {speed:.1f} TFLOP/s | {lot.randrange(11_000, 12_000)} tok/s/GPU"
    )


def _bar(lot: random.Random, step: int) -> str:
    states = []
    for done in range(lot.randrange(2, 30)):
        drawn = f"{BAR * (done // 3):<10}"
        states.append(
            f"Epoch {step % 7}: {done * 3:>3}%|{drawn}| {done}/30 [00:{done:02}<?]"
        )
    return "\r".join(states)


def _dict(lot: random.Random, step: int) -> str:
    return f"{{'loss': {lot.random() * 3:.4f}, 'epoch': {step / 1e4:.2f}, 'rank': 0}}"


def _warning(lot: random.Random, _: int) -> str:
    return lot.choice(WARNINGS)


def _foreign(lot: random.Random, _: int) -> str:
    return lot.choice(FOREIGN)


def _config(_: random.Random, __: int) -> str:
    return HYDRA


def _traceback(_: random.Random, __: int) -> str:
    return TRACEBACK


def _tokens(lot: random.Random, _: int) -> str:
    ids = [lot.randrange(128_000) for _ in range(lot.choice([20, 200, 4000]))]
    return f"input_ids: {ids}"


def _table(lot: random.Random, _: int) -> str:
    rows = [f"| layer {at:>2} | {lot.random():.5f} |" for at in range(4)]
    return "\n".join(["+----------+---------+", *rows, "+----------+---------+"])
