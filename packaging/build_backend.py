"""hatchling for a Python that envcfg can use; for an older one an error that names it.

This file and setup.py must be readable for every Python. pip before 20 runs setup.py.
"""

import sys

if sys.version_info < (3, 10):
    sys.exit(
        "\nenvcfg: error: Python {}.{} is too old: envcfg needs 3.10 or newer\n"
        "  hint: load a newer Python (module avail python), or type\n"
        "    uv tool install --python 3.12 .\n".format(*sys.version_info)
    )

from hatchling.build import *
