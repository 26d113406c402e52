"""Logs of jobs that ended well, in the lines of their frameworks, with what is normal noise.

Each is what a program prints while it trains, and how it ends; :func:`finished` adds NCCL's
start in front, noise in between, and what processes print as they go down.
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import NamedTuple

from jobs import Job, text

BAR = "█████     "
DAY = "2026-03-14"
STEPS = 24
Lines = Callable[[int], str]


class Framework(NamedTuple):
    """What a framework prints: for each step, where it keeps its state, at its end."""

    step: Lines
    end: str
    kept: Lines = lambda _: ""
    every: int = 10  # steps between two lines
    proven: bool = True  # its end says that it ended well


def clock(step: int) -> str:
    seconds = 9 * 3600 + step * 7
    return f"{seconds // 3600:02}:{seconds // 60 % 60:02}:{seconds % 60:02}"


def mllog(key: str, step: int, kind: str = "POINT_IN_TIME", more: str = "") -> str:
    at = 1773480413000 + step * 2000
    return (
        f':::MLLOG {{"namespace": "", "time_ms": {at}, "event_type": "{kind}", "key": "{key}", "value": 3.1, '
        f'"metadata": {{"file": "/workspace/train.py", "lineno": 41, "samples_count": {step}{more}}}}}'
    )


MLPERF_END = mllog("run_stop", 240, "INTERVAL_END", ', "status": "success"')
LIGHTNING_END = "`Trainer.fit` stopped: `max_steps=240` reached."
NCCL_TESTS_END = "# Out of bounds values : 0 OK\n# Avg bus bandwidth    : 178.532 \n#\n"
RUNTIME = "{'train_runtime': 1680.12, 'train_samples_per_second': 71.1, 'train_steps_per_second': 0.278, 'train_loss': 2.31, 'epoch': 1.0}"

FRAMEWORKS: Mapping[str, Framework] = {
    "lightning": Framework(
        lambda n: f"Epoch 0: {n * 100 // 240:>3}%|{BAR}| {n}/240 [03:12<03:55,  2.34it/s, v_num=0, train_loss=2.310]",
        f"{LIGHTNING_END}\nEpoch 0: 100%|██████████| 240/240 [06:12<00:00,  2.34it/s, v_num=0]",
    ),
    "lightning-returns": Framework(
        lambda n: f"\rEpoch 0: {n * 100 // 240:>3}%|{BAR}| {n}/240 [03:12<03:55,  2.34it/s, v_num=0]",
        f"\n{LIGHTNING_END}",
    ),
    "transformers": Framework(
        lambda n: f"{{'loss': 2.3412, 'grad_norm': 1.21, 'learning_rate': 4.9e-05, 'epoch': {n / 240:.2f}}}\n {n * 100 // 240}%|{BAR}| {n}/240 [03:12<03:55,  1.2s/it]",
        f"{RUNTIME}\n100%|██████████| 240/240 [28:00<00:00,  7.0s/it]",
        lambda n: f"Saving model checkpoint to ./out/checkpoint-{n}",
    ),
    "transformers-said": Framework(
        lambda n: f"{n * 100 // 240}%|{BAR}| {n}/240 [03:12<03:55,  1.2it/s]",
        "\n\nTraining completed. Do not forget to share your model on huggingface.co/models =)\n\n",
    ),
    "axolotl": Framework(
        lambda n: f"{{'loss': 1.1412, 'grad_norm': 0.61, 'learning_rate': 1.9e-04, 'epoch': {n / 240:.2f}}}",
        "[2026-03-14 09:26:53,123] [INFO] [axolotl.train.train:174] [PID:4711] [RANK:0] Training Completed!!! Saving pre-trained model to ./out",
    ),
    "deepspeed": Framework(
        lambda n: f"[{DAY} {clock(n)},123] [INFO] [logging.py:129:log_dist] [Rank 0] step={n}, skipped=0, lr=[0.0001], mom=[(0.9, 0.95)]\n[{DAY} {clock(n)},124] [INFO] [timer.py:264:stop] epoch=0/micro_step={n}/global_step={n}, RunningAvgSamplesPerSec=71.2, CurrSamplesPerSec=71.9, MemAllocated=5.2GB, MaxMemAllocated=9.1GB",
        "[2026-03-14 09:29:53,123] [INFO] [launch.py:351:main] Process 4711 exits successfully.\n",
        lambda n: f"[{DAY} {clock(n)},200] [INFO] [torch_checkpoint_engine.py:33:save] [Torch] Saved out/global_step{n}/mp_rank_00_model_states.pt.",
        proven=False,
    ),
    "megatron": Framework(
        lambda n: f" [{DAY} {clock(n)}] iteration {n:8d}/     240 | consumed samples: {n * 512:12d} | elapsed time per iteration (ms): 2012.3 | throughput per GPU (TFLOP/s/GPU): 401.2 | learning rate: 3.000000E-05 | global batch size:   512 | lm loss: 2.312012E+00 | loss scale: 1.0 | grad norm: 0.412 | number of skipped iterations:   0 | number of nan iterations:   0 |",
        "[after training is done] datetime: 2026-03-14 09:28:00 ",
        lambda n: f"saving checkpoint at iteration {n:7d} to /scratch/run in torch_dist format\n  successfully saved checkpoint from iteration {n:7d} to /scratch/run [ t 1/4, p 1/2 ]",
    ),
    "megatron-exit-interval": Framework(
        lambda n: f" iteration {n:8d}/     500 | consumed samples: {n * 512:12d} | elapsed time per iteration (ms): 2012.3 | lm loss: 2.312012E+00 |",
        "[exiting program at iteration 240] datetime: 2026-03-14 09:28:00 ",
    ),
    "nemo": Framework(
        lambda n: f"Training epoch 0, iteration {n}/240 | lr: 3e-05 | global_batch_size: 512 | global_step: {n} | reduced_train_loss: 11.03 | train_step_timing in s: 7.612 | consumed_samples: {n * 512}",
        LIGHTNING_END,
    ),
    "nemo-1": Framework(
        lambda n: f"Epoch 0: :  {n * 100 // 240}%|{BAR}| {n}/240 [03:12<03:55,  1.02it/s, v_num=hcz1, reduced_train_loss=6.710, global_step={n}.0, consumed_samples={n * 512}.0]",
        LIGHTNING_END,
    ),
    "mlperf": Framework(lambda n: mllog("train_loss", n), MLPERF_END),
    "mlperf-old": Framework(
        lambda n: mllog("eval_accuracy", n).replace(":::MLLOG {", ":::MLLOG {").replace("samples_count", "epoch_num"),
        MLPERF_END.replace('"samples_count": 240, ', ""),
    ),
    "mlperf-and-lightning": Framework(
        lambda n: f"{mllog('tracked_stats', n)}\nEpoch 0:  1%|{BAR}| {n}/240 [03:12<03:55,  2.34it/s]",
        f"{MLPERF_END}\n{LIGHTNING_END}",
    ),
    "nccl-tests": Framework(
        lambda n: f"{1024 << n // 20:>12}{256 << n // 20:>14}     float     sum      -1    201.5   41.63   78.06      0    199.3   42.09   78.92      0",
        NCCL_TESTS_END,
    ),
    "rccl-tests": Framework(
        lambda n: f"{1024 << n // 20:>12}{256 << n // 20:>14}  bfloat     sum      -1    201.5   41.63   78.06    N/A    199.3   42.09   78.92    N/A".replace("bfloat ", "float "),
        "# Errors with asterisks indicate errors that have exceeded the maximum threshold.\n" + NCCL_TESTS_END,
    ),
    "torchtitan": Framework(
        lambda n: f"[rank0]:[titan] {DAY} {clock(n)},123 - root - INFO - step: {n:2}  loss:  8.2012  memory: 30.11GiB(38.10%)  tps: 5,812  tflops: 301.21  mfu: 30.46%",
        f"[rank0]:[titan] {DAY} 09:28:00,123 - root - INFO - Training completed",
        lambda n: f"[rank0]:[titan] {DAY} {clock(n)},200 - root - INFO - Finished saving the checkpoint in 1.21 seconds.",
    ),
    "torchtitan-colours": Framework(
        lambda n: f"[rank0]:[titan] {DAY} {clock(n)},123 - root - INFO - \x1b[31mstep: {n:2}  \x1b[32mloss:  8.2012  \x1b[33mmemory: 30.11GiB(38.10%)\x1b[39m",
        f"[rank0]:[titan] {DAY} 09:28:00,123 - root - INFO - Training completed",
    ),
    "composer": Framework(
        lambda n: f"[epoch=1][batch={n}/240]:\n\t Train time/epoch: 0\n\t Train loss/train/total: 11.3012\n\t Train throughput/batches_per_sec: 0.4412",
        f"{DAY} 09:28:00,123: rank0[4711][MainThread]: INFO: llmfoundry.command_utils.train: Done.",
    ),
    "keras": Framework(
        lambda n: f"Epoch {n // 10}/24\n938/938 [==============================] - 12s 12ms/step - loss: 0.3012 - accuracy: 0.9112",
        "", proven=False,
    ),
    "keras-3": Framework(
        lambda n: f"Epoch {n // 10}/24\n\x1b[1m{n}/938\x1b[0m \x1b[32m━━━━━━━━━━\x1b[0m\x1b[37m\x1b[0m \x1b[1m12s\x1b[0m 12ms/step - accuracy: 0.9112 - loss: 0.3012",
        "", proven=False,
    ),
    "maxtext": Framework(
        lambda n: f"completed step: {n}, seconds: 2.113, TFLOP/s/device: 181.212, Tokens/s/device: 3871.112, total_weights: 65536, loss: 9.812",
        "", proven=False,
    ),
    "vllm": Framework(
        lambda n: f"INFO 03-14 {clock(n)} [loggers.py:116] Engine 000: Avg prompt throughput: {n}.3 tokens/s, Avg generation throughput: 500.1 tokens/s, Running: 12 reqs, Waiting: 0 reqs, GPU KV cache usage: 3.1%, Prefix cache hit rate: 0.0%",
        "INFO:     Shutting down\nINFO:     Waiting for application shutdown.\nINFO:     Application shutdown complete.", proven=False,
    ),
    "fairseq": Framework(
        lambda n: f"{DAY} {clock(n)} | INFO | train_inner | epoch 001: {n:>6} / 240 loss=12.101, ppl=4391.2, wps=81212, ups=1.2, wpb=65212, bsz=512, num_updates={n}, lr=0.0001",
        f"{DAY} 09:28:00 | INFO | fairseq_cli.train | done training in 1612.4 seconds",
        lambda n: f"{DAY} {clock(n)} | INFO | fairseq.checkpoint_utils | Saved checkpoint checkpoints/checkpoint1.pt (epoch 1 @ {n} updates, score 4.112) (writing took 3.21 seconds)",
    ),
    "fairseq-json": Framework(
        lambda n: f'{DAY} {clock(n)} | INFO | train_inner | {{"epoch": 1, "update": 0.083, "loss": "12.101", "ppl": "4391.2", "wps": "81212", "num_updates": "{n}", "lr": "0.0001"}}',
        f"{DAY} 09:28:00 | INFO | fairseq_cli.train | done training in 1612.4 seconds",
    ),
    "timm": Framework(
        lambda n: f"Train: 0 [{n:>4}/240 ( {n * 100 // 240}%)]  Loss: 6.941 (6.95)  Time: 0.412s, 2485.44/s  (0.431s, 2376.12/s)  LR: 1.000e-05  Data: 0.012 (0.021)",
        "*** Best metric: 77.512 (epoch 24)",
    ),
    "detectron2": Framework(
        lambda n: f"[03/14 {clock(n)} d2.utils.events]:  eta: 1:23:45  iter: {n}  total_loss: 0.512  loss_cls: 0.112  time: 0.2012  data_time: 0.0041  lr: 0.02  max_mem: 9123M",
        "[03/14 09:28:00 fvcore.common.checkpoint]: Saving checkpoint to ./output/model_final.pth\n[03/14 09:28:01 d2.engine.hooks]: Total training time: 0:27:33 (0:00:02 on hooks)",
    ),
    "mmengine": Framework(
        lambda n: f"2026/03/14 {clock(n)} - mmengine - INFO - Epoch(train)  [1][{n:>4}/240]  lr: 1.0000e-04  eta: 0:12:11  time: 0.3612  data_time: 0.0112  memory: 9123  loss: 1.2012",
        "2026/03/14 09:28:00 - mmengine - INFO - Saving checkpoint at 1 epochs", proven=False,
    ),
    "olmo": Framework(
        lambda n: f"{DAY} {clock(n)}.123 nid001001:0 olmo.train:967 INFO [step={n}/240,epoch=0]\n    optim/total_grad_norm=1.2012\n    train/CrossEntropyLoss=4.112\n    throughput/device/tokens_per_second=9,112",
        f"{DAY} 09:28:00.123 nid001001:0 train:412 INFO Training complete",
    ),
    "litgpt": Framework(
        lambda n: f"Epoch 1 | iter {n} step {n // 4} | loss train: 10.912, val: n/a | iter time: 350.12 ms (step) remaining time: 1:02:03",
        "Training time: 1612.93s\nMemory used: 41.12 GB",
    ),
    "nanogpt": Framework(
        lambda n: f"iter {n}: loss 4.1012, time 350.21ms, mfu 38.12%",
        "step 240: train loss 3.9012, val loss 3.9512\nsaving checkpoint to out", proven=False,
    ),
    "imagenet": Framework(
        lambda n: f"Epoch: [0][{n:>4}/240]\tTime  0.312 ( 0.512)\tData  0.001 ( 0.201)\tLoss 6.9412e+00 (6.9512e+00)\tAcc@1   0.00 (  0.12)",
        " *   Acc@1 1.212 Acc@5 4.112", proven=False,
    ),
    "slurm-accounting": Framework(
        lambda n: f"iter {n}: loss 4.1012, time 350.21ms, mfu 38.12%",
        "JobID           JobName  Partition    Account  AllocCPUS      State ExitCode \n------------ ---------- ---------- ---------- ---------- ---------- -------- \n4711              train        gpu    project        512  COMPLETED      0:0 \n4711.batch        batch               project        128  COMPLETED      0:0 ",
    ),
    "slurm-seff": Framework(lambda n: f"iter {n}: loss 4.1012, time 350.21ms, mfu 38.12%", "Job ID: 4711\nCluster: lumi\nState: COMPLETED (exit code 0)\nNodes: 2"),
    "pbs": Framework(lambda n: f"Epoch: [0][{n:>4}/240]\tTime  0.312 ( 0.512)", "Job ID: 4711.pbs01\nExit Status: 0\nresources_used.walltime=01:02:03"),
    "flux": Framework(lambda n: f"iter {n}: loss 4.1012, time 350.21ms, mfu 38.12%", "1773480413.123456 finish status=0\n1773480413.223456 release ranks=\"all\" final=true\n1773480413.323456 free"),
}  # fmt: skip

# What a job that ends well says before its first step, while it runs, and as it goes down.
BEGIN = {
    "store-retry": "[W socket.cpp:601] [c10d] The client socket has failed to connect to [nid001001]:29500 (errno: 22 - Invalid argument).\n",
    "store-refused": "[rank3]:[W314 09:00:01.291 socket.cpp:697] [c10d] The client socket has failed to connect to [nid001001]:29500 (errno: 111 - Connection refused).\n",
    "store-no-ipv6": "[W socket.cpp:426] [c10d] The server socket cannot be initialized on [::]:29500 (errno: 97 - Address family not supported by protocol).\n",
    "ucx-device": "[1773480413.123456] [nid001001:4711:0]        ib_device.c:486  UCX  ERROR ibv_open_device(mlx5_3) failed: No such device\n",
    "omp": "*****************************************\nSetting OMP_NUM_THREADS environment variable for each process to be 1 in default\n*****************************************\n",
}
NOISE = {
    "warning": "/opt/venv/lib/python3.11/site-packages/torch/utils/checkpoint.py:295: FutureWarning: `torch.cpu.amp.autocast(args...)` is deprecated.\n",
    "bad-sample": 'Traceback (most recent call last):\n  File "/app/loader.py", line 88, in __iter__\n    sample = json.loads(line)\njson.decoder.JSONDecodeError: Expecting value: line 1 column 1 (char 0)\nsample skipped\n',
    "hub-retry": "'(MaxRetryError(\"HTTPSConnectionPool(host='huggingface.co', port=443): Max retries exceeded\"))' thrown while requesting HEAD https://huggingface.co/x\nRetrying in 1s [Retry 1/5].\n",
    "wandb": "wandb: Network error (ConnectionError), entering retry loop.\n",
    "ib-event": "nid001001:4711:4990 [0] transport/net_ib.cc:93 NCCL WARN NET/IB : mlx5_0:1 Got async event : LID table change\n",
}
DOWN = {
    "accept": "nid001001:4711:4999 [0] proxy.cc:1521 NCCL WARN [Service thread] Accept failed Resource temporarily unavailable\n",
    "store-gone": "[rank5]:[W314 09:29:01.291 TCPStore.cpp:125] [c10d] recvValue failed on SocketImpl(fd=3, addr=[nid001002]:40001, remote=[nid001001]:29500): failed to recv, got 0 bytes\n",
    "not-destroyed": "[rank0]:[W314 09:29:01.291 ProcessGroupNCCL.cpp:1250] Warning: WARNING: process group has NOT been destroyed before we destruct ProcessGroupNCCL. On normal program exit, the application should call destroy_process_group to ensure that any pending NCCL operations have finished in this process. (function operator())\n",
    "loader": "Exception ignored in: <function _MultiProcessingDataLoaderIter.__del__ at 0x7f12>\nRuntimeError: DataLoader worker (pid 5123) is killed by signal: Terminated. \n",
    "pipe": "Exception ignored in: <_io.TextIOWrapper name='<stdout>' mode='w' encoding='utf-8'>\nBrokenPipeError: [Errno 32] Broken pipe\n",
    "semaphores": "/usr/lib/python3.11/multiprocessing/resource_tracker.py:254: UserWarning: resource_tracker: There appear to be 3 leaked semaphore objects to clean up at shutdown\n",
    "abort": "nid001001:4711:4711 [0] NCCL INFO misc/socket.cc:47 -> 3\nnid001001:4711:4711 [0] NCCL INFO comm 0x5581c0 rank 0 nranks 16 cudaDev 0 busId c1000 - Abort COMPLETE\n",
    "peer": "nid001001:4711:4999 [0] misc/socket.cc:49 NCCL WARN socketProgress: Connection closed by remote peer nid001002<40001>\nnid001001:4711:4999 [0] NCCL INFO misc/socket.cc:752 -> 6\nnid001001:4711:4999 [0] NCCL INFO proxy.cc:1458 -> 6\n",
    "gloo": "terminate called after throwing an instance of 'gloo::IoException'\n  what():  [/pytorch/third_party/gloo/gloo/transport/tcp/pair.cc:534] Connection closed by peer [10.0.0.2]:40001\n",
    "closing": "W0314 09:29:01.291000 4700 torch/distributed/elastic/multiprocessing/api.py:858] Sending process 4712 closing signal SIGTERM\n",
    "ucx": "[1773480413.123456] [nid001001:4711:0] ucp_ep.c:1504 UCX ERROR ep 0x7f12: error 'Connection reset by remote peer' on rc_mlx5/mlx5_1:1 will not be handled by ep callback\n",
}
TEARDOWN = {
    part.partition(":")[0]: part.partition("\n")[2]
    for part in Path(__file__)
    .with_name("teardown.txt")
    .read_text("utf-8")
    .split("=== ")[1:]
}
DOWN |= TEARDOWN
# Of these a program that does not say that it is done gets none: nobody could tell.
SAID = ("peer", "gloo", "ucx", "proxy-close", "vllm-engine")


def finished(name: str, *, seed: int = 0, nccl: bool = True) -> str:
    """Return the log of a job in the lines of the framework *name* that ended well."""
    lot = random.Random(f"{name}{seed}")
    program = FRAMEWORKS[name]
    said = list(
        text(Job(dialect=lot.choice(("nccl-2.18", "nccl-2.24")))) if nccl else ""
    )
    said += _some(BEGIN, lot)
    for step in range(program.every, (STEPS + 1) * program.every, program.every):
        said += f"{program.step(step)}\n"
        if step % 80 == 0 and program.kept(step):
            said += f"{program.kept(step)}\n"
        if lot.random() < 0.1:
            said += _some(NOISE, lot, 1)
    said += f"{program.end}\n"
    down = {k: v for k, v in DOWN.items() if program.proven or k not in SAID}
    said += _some(down, lot)
    return of_rank_0("".join(said))


def of_rank_0(log: str) -> str:
    """Return *log* with the noise of NCCL said by the process of its rank 0."""
    found = re.search(r"(?m)^(\S+?:\d+):.* rank 0 nranks 16 ", log)
    return log.replace("nid001001:4711:", f"{found[1]}:") if found else log


def _some(texts: Mapping[str, str], lot: random.Random, most: int = 3) -> str:
    names = lot.sample(sorted(texts), lot.randrange(most + 1))
    return "".join(texts[name] for name in names)
