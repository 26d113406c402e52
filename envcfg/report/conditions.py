"""Conditions as people write them in profiles."""

from envcfg.profile.conditions import Condition


def condition_text(when: Condition) -> str:
    """Return a condition in one line.

    >>> from envcfg.profile.conditions import parse_tests
    >>> condition_text((*parse_tests("rocm", ">=6,<7"), *parse_tests("nodes", "1")))
    'rocm >=6 and <7, nodes 1'
    """
    said: dict[str, list[str]] = {}
    for fact, operator, operand in when:
        plain = operator in {"glob", "prefix", "=="}
        said.setdefault(fact, []).append(operand if plain else f"{operator}{operand}")
    return ", ".join(f"{fact} {' and '.join(tests)}" for fact, tests in said.items())
