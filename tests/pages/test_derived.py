"""What is made of records, rules, profiles and parsers is as they say."""

from __future__ import annotations

import pytest

from scripts.pages.derive import ROOT, derived, old_files
from scripts.pages.markdown import with_table


def test_no_file_that_is_derived_is_old() -> None:
    old = [str(path.relative_to(ROOT)) for path in old_files()]
    assert old == [], "run scripts/derive"


def test_each_kind_of_file_is_derived() -> None:
    names = {str(path.relative_to(ROOT)) for path in derived()}
    assert names >= {
        "docs/launchers.md",
        "docs/lint.md",
        "docs/lint/EC101.md",
        "docs/profile-keys.md",
        "docs/runtimes.md",
        "docs/job.md",
        "docs/systems/lumi-g.md",
        "docs/warnings.md",
        "docs/wrap-modules.md",
        "docs/wrap.schema.json",
        "profiles/schema.json",
        "tests/golden/modules.txt",
    }


def test_a_table_is_made_anew_and_the_rest_of_its_page_stays() -> None:
    page = "# A\n\n| a | b |\n|---|---|\n| 1 | 2 |\n| 3 | 4 |\n\nend\n"
    made = "# A\n\n| a | b |\n|---|---|\n| 5 | 6 |\n\nend\n"
    assert with_table(page, ["a", "b"], [["5", "6"]]) == made
    with pytest.raises(ValueError, match="no such table"):
        with_table(page, ["a", "c"], [])
