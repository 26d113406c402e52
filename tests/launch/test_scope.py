import pytest

from envcfg.errors import UsageError
from envcfg.launch.scope import in_order, rank_scoped
from envcfg.profile.words import parse_word


def words(**texts: str) -> dict[str, list]:
    return {name: [parse_word(text)] for name, text in texts.items()}


@pytest.mark.parametrize(
    ("texts", "ranked"),
    [
        ({"A": "x", "B": "${HOME}/x"}, set()),
        ({"A": "${SLURM_LOCALID}"}, {"A"}),
        ({"A": "${LOCAL_RANK:-0}"}, {"A"}),
        ({"A": "${ENVCFG_CACHE}/a", "B": "${A}", "C": "${B}/c", "D": "d"}, set("ABC")),
        ({"PATH": "/opt:${PATH}"}, {"PATH"}),
        # what stands in the rank part cannot be read on the host
        ({"A": "x", "B": "${A}"}, {"B"}),
    ],
)
def test_a_value_is_made_where_it_can_be_known(
    texts: dict[str, str], ranked: set[str]
) -> None:
    assert rank_scoped(words(**texts)) == ranked


def test_a_setting_comes_after_those_it_refers_to() -> None:
    assert in_order(words(C="${B}", A="1", B="${A}${X}")) == ["A", "B", "C"]
    assert in_order(words(B="1", A="2")) == ["B", "A"]
    assert in_order(words(PATH="/opt:${PATH}")) == ["PATH"]


def test_a_circle_is_an_error_that_names_it() -> None:
    with pytest.raises(UsageError, match="A -> B -> C -> A"):
        in_order(words(A="${B}", B="${C}", C="${A}"))
