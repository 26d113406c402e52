import pytest

from envcfg.common.errors import UsageError
from envcfg.profile.setting_scope import in_order, scopes
from envcfg.profile.words import parse_word


def words(**texts: str) -> dict[str, list]:
    return {name: [parse_word(text)] for name, text in texts.items()}


@pytest.mark.parametrize(
    ("texts", "expected"),
    [
        ({"A": "x", "B": "${HOME}/x"}, {"A": "host", "B": "host"}),
        ({"A": "${SLURM_LOCALID}"}, {"A": "rank"}),
        ({"A": "${LOCAL_RANK:-0}"}, {"A": "rank"}),
        ({"A": "${ENVCFG_CACHE}/a", "B": "${A}"}, {"A": "node", "B": "node"}),
        ({"PATH": "/opt:${PATH}"}, {"PATH": "node"}),
        # what stands inside the container cannot be read on the host
        ({"A": "x", "B": "${A}"}, {"A": "host", "B": "node"}),
        # what refers to a rank's value is a rank's, however far away
        ({"C": "${B}", "B": "${A}", "A": "${RANK}"}, dict.fromkeys("CBA", "rank")),
    ],
)
def test_a_value_is_made_where_it_can_be_known(
    texts: dict[str, str], expected: dict[str, str]
) -> None:
    assert scopes(words(**texts)) == expected


def test_a_setting_comes_after_those_it_refers_to() -> None:
    assert in_order(words(C="${B}", A="1", B="${A}${X}")) == ["A", "B", "C"]
    assert in_order(words(B="1", A="2")) == ["B", "A"]
    assert in_order(words(PATH="/opt:${PATH}")) == ["PATH"]


def test_a_circle_is_an_error_that_names_it() -> None:
    with pytest.raises(UsageError, match="A -> B -> C -> A"):
        in_order(words(A="${B}", B="${C}", C="${A}"))
