"""Container runtimes: a module with a record each, and a template.

The record of ``envcfg/runtimes/NAME.py`` says what is particular to a runtime, and its
``template`` in ``bash/modules/runtimes/`` enters the container. A record is loaded when
it is needed. CONTRIBUTING.md says how to add one.
"""

from __future__ import annotations

from envcfg.datafile import backend, backends
from envcfg.runtimes.model import Runtime

# In the order in which they are tried where neither user nor profile names one.
USUAL = ("apptainer", "singularity")
NAMES = backends(__file__, USUAL)


def kinds() -> list[str]:
    """Return what conditions call them: names, without those that are another's."""
    return list(dict.fromkeys(runtime(name).kind for name in NAMES))


def runtime(name: str) -> Runtime:
    """Return the record of a runtime in :data:`NAMES`."""
    found: Runtime = backend(__name__, name).RUNTIME
    return found
