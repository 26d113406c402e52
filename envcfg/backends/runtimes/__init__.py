"""Container runtimes: each has a module with its record, and a module of bash.

The record in ``NAME.py`` describes a runtime. Its ``template``, a module of bash in
``job/script/modules/runtimes/``, enters the container. A record is loaded when it is
needed. CONTRIBUTING.md has the recipe.
"""

from __future__ import annotations

from envcfg.backends.runtimes.runtime import Runtime
from envcfg.common.datafile import backend, backends

# The order in which runtimes are tried if neither user nor profile names one.
USUAL = ("apptainer", "singularity")
NAMES = backends(__file__, USUAL)


def kinds() -> list[str]:
    """Return the names of runtimes for conditions, without aliases of other runtimes."""
    return list(dict.fromkeys(runtime(name).kind for name in NAMES))


def runtime(name: str) -> Runtime:
    """Return the record of a runtime in :data:`NAMES`."""
    record: Runtime = backend(__name__, name).RUNTIME
    return record
