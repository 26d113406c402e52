import pytest

from envcfg.profile.conditions import Truth, fact_problem, judge, parse_tests


@pytest.mark.parametrize(
    ("fact", "test", "value", "holds"),
    [
        ("rocm", "<6.2", "6.1.3", True),
        ("rocm", "<6.2", "6.2", False),
        ("rocm", "<6.2", "6.10", False),
        ("rocm", ">=6.2", "6.2.0", True),
        ("rocm", "==6.2", "6.2.0", True),
        ("rocm", "!=6.2", "6.2.0", False),
        ("rocm", "6.2", "6.2.4", True),
        ("rocm", "6.2", "6.20", False),
        ("rocm", "7", "7.0", True),
        ("rocm", ">=6,<7", "6.4.1", True),
        ("rocm", ">=6,<7", "7", False),
        ("nodes", ">1", "2", True),
        ("nodes", "1", "1", True),
        ("nodes", "1", "10", False),
        ("container", "lumi-multitorch*", "lumi-multitorch-full.sif", True),
        ("container", "lumi-multitorch*", "pytorch.sif", False),
        ("container", "!lumi-multitorch*", "pytorch.sif", True),
        ("container", "a*|b*", "b.sif", True),
        ("launcher", "srun|torchrun", "local", False),
    ],
)
def test_a_test_holds_or_not(fact: str, test: str, value: str, holds: bool) -> None:
    assert all(t.holds_for(value) for t in parse_tests(fact, test)) is holds


@pytest.mark.parametrize(
    ("fact", "test"),
    [("rocm", "<six"), ("rocm", ""), ("rocm", "6."), ("nodes", ">a"), ("nodes", "1.5")],
)
def test_what_cannot_be_compared_is_refused(fact: str, test: str) -> None:
    with pytest.raises(ValueError, match="is no"):
        parse_tests(fact, test)


def test_a_fact_must_be_of_its_kind() -> None:
    assert fact_problem("rocm", "6.2.4") is None
    assert "is not a version" in str(fact_problem("rocm", "new"))
    assert "is not a version" in str(fact_problem("rocm", "9" * 5000))


@pytest.mark.parametrize(
    ("test", "value", "holds"),
    [
        ("<6.2", "6", None),
        (">=6.2", "6", None),
        ("==6.2", "6", None),
        ("6.2", "6", None),
        ("<6.2", "5", True),
        ("<7.0", "7", False),
        (">=7.0", "7", True),
        ("7.1", "6", False),
    ],
)
def test_a_version_that_is_not_precise_enough_decides_nothing(
    test: str, value: str, holds: bool | None
) -> None:
    (parsed,) = parse_tests("rocm", test)
    assert parsed.holds_for(value) is holds


@pytest.mark.parametrize(
    ("facts", "truth", "unknown"),
    [
        ({}, Truth.UNKNOWN, ["rocm"]),
        ({"nodes": "2"}, Truth.UNKNOWN, ["rocm"]),
        ({"rocm": "6.0"}, Truth.IN_JOB, []),
        ({"rocm": "6.0", "nodes": "2"}, Truth.YES, []),
        ({"rocm": "6.0", "nodes": "1"}, Truth.NO, []),
        ({"rocm": "7.0"}, Truth.NO, []),
        # one false test is enough, whatever is unknown
        ({"nodes": "1"}, Truth.NO, []),
    ],
)
def test_a_condition_is_judged_by_what_is_known(
    facts: dict[str, str], truth: Truth, unknown: list[str]
) -> None:
    condition = (*parse_tests("rocm", "<7"), *parse_tests("nodes", ">1"))
    found, missing, left = judge(condition, facts)
    assert (found, missing) == (truth, unknown)
    assert bool(left) == (truth is Truth.IN_JOB)
