"""Write the manual pages before hatchling builds a wheel or an sdist."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class ManualPages(BuildHookInterface):  # type: ignore[type-arg]
    """The hook that pyproject.toml names."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:  # noqa: ARG002
        """Write man/; without the modules for it, keep the pages that an sdist has."""
        folder = Path(self.root, "man")
        folder.mkdir(exist_ok=True)
        # An editable install has no pages. An old Python is refused by pip afterwards.
        if version == "editable" or sys.version_info < (3, 10):
            return
        sys.path.insert(0, self.root)
        try:
            from scripts.pages.man import write_pages

            write_pages(folder)
        except ModuleNotFoundError as error:
            # A build without isolation uses the modules of its environment.
            state = "unchanged" if any(folder.glob("*.1")) else "left out"
            self.app.display_warning(f"manual pages are {state}: {error}")
