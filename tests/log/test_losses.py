"""Losses that are NaN or infinite until the end of a log, and those that are not."""

from __future__ import annotations

import pytest
from checking import check
from jobs import Job, text

RULE = "loss-not-finite"
GOOD = text(Job())
LIMIT = (
    "slurmstepd: error: *** JOB 12 ON nid001001 CANCELLED AT 2026-03-14T09:30:00 "
    "DUE TO TIME LIMIT ***"
)
# How frameworks print a step and its loss.
FORMS = {
    "plain": "step {step}/100 loss {loss}",
    "transformers": "{{'loss': {loss}, 'grad_norm': 1.2, 'epoch': {step}}}",
    "megatron": " iteration {step:8}/ 2000 | consumed samples: 5 | lm loss: {loss} | loss scale: 1.0 |",
    "lightning": "Epoch 0: 45%|##| {step}/1000 [03:12<03:55, 2.34it/s, v_num=0, train_loss={loss}.0]",
    "imagenet": "Epoch: [0][{step}/5005]\tTime 0.3 (0.5)\tLoss {loss} ({loss})",
    "titan": "[rank0]:[titan] - root - INFO - step: {step}  loss: {loss}  memory: 30.11GiB",
    "json": '{{"step": {step}, "total_loss": {loss}}}',
    "tensor": "step {step} loss: tensor({loss}, device='cuda:0')",
}


def steps(form: str, losses: list[str]) -> str:
    lines = (
        form.format(step=step, loss=loss) for step, loss in enumerate(losses, start=1)
    )
    return "".join(f"{line}\n" for line in lines)


@pytest.mark.parametrize("form", FORMS.values(), ids=FORMS)
@pytest.mark.parametrize("bad", ["nan", "NaN", "-inf"])
def test_a_lost_loss_is_named_with_its_step_and_the_last_number(
    form: str, bad: str
) -> None:
    report = check(GOOD + steps(form, ["2", "1", bad, bad, bad]))
    assert report.verdict == "degraded"
    assert report.network_verdict == "ok"
    assert report.next.action == "fix first"
    message = next(f.message for f in report.findings if f.rule == RULE)
    assert f" is {bad.lower()} from " in message
    assert " on; its last number was 1" in message
    assert report.summary.startswith(f"degraded: {message}")


@pytest.mark.parametrize(
    "lines",
    [
        steps(FORMS["plain"], ["2", "nan", "nan"]),  # a scaler skips such steps
        steps(FORMS["plain"], ["nan"] * 9 + ["1"]),
        "Epoch 0: val_loss=nan\n" * 5,
        "validation loss: nan\n" * 5,
        "val_loss: nan, eval loss: nan, aux loss: nan, aux_loss: nan\n" * 5,
        "step 1 loss 2.0 grad_norm nan\n" * 5,
        "saved /ckpt/loss=nan.ckpt and loss-nan/3 and loss_nan\n" * 5,
        "Skipping step, loss scale: 65536, loss scaler inf\n" * 5,
        "INFO: information loss: infrastructure, loss: infinite_loader\n" * 5,
        "the loss: nano and loss nanny\n" * 5,
    ],
)
def test_what_is_no_lost_loss(lines: str) -> None:
    report = check(GOOD + lines)
    assert RULE not in {finding.rule for finding in report.findings}


def test_a_job_that_reached_its_limit_with_a_lost_loss_is_not_restarted() -> None:
    lines = steps(FORMS["megatron"], ["1.1E+01", "NAN", "NAN", "NAN"])
    report = check(f"{lines}{LIMIT}\n")
    assert report.next.action == "fix first"
    assert "the lm loss is nan from step 2 on" in report.next.reason


def test_the_step_is_right_in_a_log_of_many_blocks() -> None:
    many = ["1.5"] * 50_000
    report = check(steps(FORMS["plain"], [*many, *["nan"] * 50_000]))
    message = next(f.message for f in report.findings if f.rule == RULE)
    assert message == ("the loss is nan from step 50001 on; its last number was 1.5")
