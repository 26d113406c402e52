"""What jobs cost, by the examples and prices that the systems publish."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from envcfg.job.request.billing import JobUse, cost, decimal_text
from envcfg.profile.catalog import Catalog
from envcfg.profile.folders import built_in_folder
from envcfg.profile.scheduler_settings import Billing

HOUR = 3600
STANDARD, SMALL = "standard-g", "small-g"


def memory(gib: float) -> Fraction:
    return Fraction(gib)


# profile, what the job holds, units per hour, what decides
PUBLISHED = {
    # LUMI: 4 GPU-hours per node-hour of standard-g; in small-g and dev-g half a GPU-hour for
    # the most of cores / 8, memory / 64 GB (both rounded up) and GCDs.
    "lumi: a node": ("lumi-g", JobUse(1, 8, 56, memory(480), partition=STANDARD), "4", "whole nodes"),
    "lumi: a node for one GCD": ("lumi-g", JobUse(1, 1, 7, memory(60), partition=STANDARD), "4", "whole nodes"),
    "lumi: 16 nodes": ("lumi-g", JobUse(16, 128, partition=STANDARD), "64", "whole nodes"),
    "lumi: one GCD": ("lumi-g", JobUse(1, 1, 7, memory(60), partition=SMALL), "0.5", "GPUs"),
    "lumi: a module": ("lumi-g", JobUse(1, 2, 14, memory(120), partition=SMALL), "1", "GPUs"),
    "lumi: 8 cores": ("lumi-g", JobUse(1, 1, 8, memory(64), partition=SMALL), "0.5", "GPUs"),
    "lumi: 9 cores": ("lumi-g", JobUse(1, 1, 9, memory(60), partition=SMALL), "1", "cores"),
    "lumi: 14 cores": ("lumi-g", JobUse(1, 1, 14, memory(60), partition="dev-g"), "1", "cores"),
    "lumi: 65 GiB": ("lumi-g", JobUse(1, 1, 7, memory(65), partition=SMALL), "1", "memory"),
    "lumi: 480 GiB": ("lumi-g", JobUse(1, 1, 7, memory(480), partition=SMALL), "4", "memory"),
    # Lise: 150 core hours for an A100, of all four of a node outside of the shared partition.
    "lise: nodes": ("lise", JobUse(2, 2, partition="gpu-a100"), "1200", "whole nodes"),
    "lise: a GPU": ("lise", JobUse(1, 1, partition="gpu-a100:shared"), "150", "GPUs"),
    # Puhti: a core 1, a GiB 0.1, a GPU 60, a GiB of NVMe 0.006, all added up.
    "derecho: a node": ("derecho", JobUse(1, 4, 64, partition="main"), "4", "whole nodes"),
    "derecho: a GPU": ("derecho", JobUse(1, 1, 16, partition="develop"), "1", "GPUs"),
    "puhti: a GPU": ("puhti", JobUse(1, 1, 10, memory(90), nvme=100), "79.6", None),
    "puhti: two nodes": ("puhti", JobUse(2, 8, 80, memory(740)), "634", None),
    # Mahti: 100 for a GPU, and the NVMe.
    "mahti: a node": ("mahti", JobUse(1, 4, 128, memory(488)), "400", None),
    "mahti: NVMe": ("mahti", JobUse(1, 1, 32, memory(122), nvme=950), "109.5", None),
    # Roihu: 200 for a GPU; cores and memory come with it. Setonix: 512 for a node.
    "roihu": ("roihu", JobUse(1, 4, 288, memory(868)), "800", "GPUs"),
    "setonix: a node": ("setonix", JobUse(1, 8, 64), "512", "GPUs"),
    "setonix: a pack": ("setonix", JobUse(1, 1, 8), "64", "GPUs"),
    # Frontier: nodes times hours, even if only a part of a node is used.
    "frontier": ("frontier", JobUse(3, 24, partition="batch"), "3", "whole nodes"),
    "frontier, by default": ("frontier", JobUse(2, 2), "2", "whole nodes"),
    # Isambard-AI: a node hour is 4 GPUs, 288 cores; the largest share, not rounded.
    "isambard: a node": ("isambard-ai", JobUse(1, 4, 288, memory(460)), "1", "GPUs"),
    "isambard: a GPU": ("isambard-ai", JobUse(1, 1, 72, memory(115)), "0.25", "GPUs"),
    "isambard: 108 cores": ("isambard-ai", JobUse(1, 1, 108), "0.375", "cores"),
    # Delta: a GPU is 16 cores, or 62.5 GB. DeltaAI: as many GH200 as the cores take.
    "delta: a node": ("delta", JobUse(1, 4, 64, memory(232)), "4", "GPUs"),
    "delta: 32 cores": ("delta", JobUse(1, 1, 32, memory(58)), "2", "cores"),
    "deltaai: a node": ("deltaai", JobUse(1, 4, 288, memory(440)), "4", "GPUs"),
    "deltaai: 73 cores": ("deltaai", JobUse(1, 1, 73), "2", "cores"),
    # JUPITER: 288 hours of cores for a node, which is a whole one. Vista, MeluXina: nodes.
    "jupiter: a GPU": ("jupiter", JobUse(1, 1, 72, partition="booster"), "288", "whole nodes"),
    "horizon": ("horizon", JobUse(8, 16, 576, partition="gb"), "8", "whole nodes"),
    "vista": ("vista", JobUse(8, 8, 576, partition="gh"), "8", "whole nodes"),
    "meluxina": ("meluxina", JobUse(2, 8, 128, partition="gpu"), "2", "whole nodes"),
    # Kestrel: three quarters of the memory with two GPUs, as in the centre's own example.
    "kestrel: memory decides": ("kestrel", JobUse(1, 2, 32, memory(264)), "75", "memory"),
    "lonestar6": ("lonestar6", JobUse(2, 6, 252, partition="gpu-a100"), "6", "whole nodes"),
    # Alps, ALCF: node-hours. Stampede3: four for a node.
    "clariden": ("alps-clariden", JobUse(2, 2, 72, partition="normal"), "2", "whole nodes"),
    "daint": ("daint", JobUse(3, 12, 864, partition="normal"), "3", "whole nodes"),
    "santis": ("santis", JobUse(3, 12, 852, partition="debug"), "3", "whole nodes"),
    "bristen": ("bristen", JobUse(1, 4, 64, partition="normal"), "1", "whole nodes"),
    "polaris": ("polaris", JobUse(10, 40, partition="prod"), "10", "whole nodes"),
    "aurora": ("aurora", JobUse(2, 24, partition="debug"), "2", "whole nodes"),
    "stampede3": ("stampede3", JobUse(4, 16, 384, partition="h100"), "16", "whole nodes"),
    # Snellius: quarters of a node, Karolina: eighths.
    "snellius: memory of two": ("snellius", JobUse(1, 1, 16, memory(360)), "384", "memory"),
    "karolina: half a node": ("karolina", JobUse(1, 4, 64), "0.5", "GPUs"),
}  # fmt: skip


@pytest.mark.parametrize("name", PUBLISHED)
def test_a_job_costs_what_the_system_says(name: str, built_in: Catalog) -> None:
    profile, used, per_hour, decides = PUBLISHED[name]
    billing = built_in.load(profile).billing
    assert billing is not None
    found = cost(billing, used)
    assert decimal_text(found.per_hour) == per_hour
    assert (found.decides.resource if found.decides else None) == decides
    assert found.total is None


def test_every_billing_rule_has_an_example(built_in: Catalog) -> None:
    billed = {name for name in built_in.names() if built_in.load(name).billing}
    assert billed == {profile for profile, *_ in PUBLISHED.values()}


def test_the_time_and_the_jobs_of_an_array_count(built_in: Catalog) -> None:
    billing = built_in.load("lumi-g").billing
    assert billing is not None
    used = JobUse(1, 1, 7, memory(60), partition=SMALL, seconds=100, jobs=36)
    assert cost(billing, used).total == Fraction(1, 2)


def _billings() -> Iterator[Billing]:
    catalog = Catalog([built_in_folder()])
    for name in catalog.names():
        if billing := catalog.load(name).billing:
            yield billing


@given(
    st.sampled_from(list(_billings())),
    st.tuples(*[st.integers(1, 10**4)] * 4),
    st.tuples(*[st.integers(0, 10**4)] * 4),
    st.sampled_from([None, STANDARD, SMALL]),
)
def test_more_never_costs_less(
    billing: Billing,
    held: tuple[int, int, int, int],
    more: tuple[int, int, int, int],
    partition: str | None,
) -> None:
    def price(numbers: tuple[int, ...]) -> Fraction:
        nodes, gpus, cores, gib = numbers
        used = JobUse(nodes, gpus, cores, Fraction(gib), partition=partition)
        return cost(billing, used).per_hour

    dearer = tuple(a + b for a, b in zip(held, more, strict=True))
    assert 0 < price(held) <= price(dearer)


@pytest.mark.parametrize(
    ("number", "text"),
    [
        ("0", "0"),
        ("1/2", "0.5"),
        ("1/3", "0.3333"),
        ("2/3", "0.6667"),
        ("1/8", "0.125"),
    ],
)
def test_an_amount_is_a_decimal(number: str, text: str) -> None:
    assert decimal_text(Fraction(number)) == text
