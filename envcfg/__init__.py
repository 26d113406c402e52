"""From a container and a command to a correct multi-node job."""

import sys

__version__ = "0.1.0"

# This file must be readable for every Python. From 3.7 on, __main__.py reports the version.
if sys.version_info < (3, 10) and (sys.argv[:1] != ["-m"] or sys.version_info < (3, 7)):
    _OLD = "Python {}.{} is too old: envcfg needs 3.10 or newer".format(
        *sys.version_info
    )
    if sys.argv[:1] != ["-m"]:
        raise ImportError(_OLD)
    if "wrap" in sys.argv[1:]:  # a shell that sources the output must not continue
        sys.stdout.write("exit 70\n")
    sys.exit("envcfg: error: " + _OLD + "\n  hint: as in python3.12 -m envcfg")
