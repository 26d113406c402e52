"""The error of packaging/build_backend.py for pip before 20, which does not read it."""

import os
import sys

sys.path.insert(
    0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "packaging")
)
import build_backend  # noqa: F401

sys.exit(
    "envcfg: error: setup.py only reports an old Python: type python3 -m pip install ."
)
