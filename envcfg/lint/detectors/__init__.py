"""Detectors of faults, by the groups of their rules."""

from envcfg.common.datafile import backend, backends
from envcfg.lint.lint_rule import DETECTORS, Detector


def load_detectors() -> dict[str, Detector]:
    """Return the detector of each rule."""
    # Importing a module of detectors registers its functions.
    for name in backends(__file__):
        backend(__name__, name)
    return DETECTORS
