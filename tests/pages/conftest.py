"""Pages show what users see."""

from __future__ import annotations

import pytest


@pytest.fixture(autouse=True)
def _usual_notes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ENVCFG_VERBOSE", "")
