"""Run envcfg as ``python -m envcfg``."""

from envcfg.cli import main

if __name__ == "__main__":
    raise SystemExit(main())
