"""Run envcfg: as ``python -m envcfg``, and as the command of that name."""

from envcfg.failure import fail
from envcfg.interrupts import listen


def main() -> int:
    """Run envcfg and return its exit code."""
    listen()  # first of all: what is imported then takes time, in which a signal may come
    try:
        from envcfg.cli import main as run
    except Exception as err:  # noqa: BLE001  # the job must not go on without its step
        return fail([f"envcfg: error: this installation is broken: {err!r}"], 70)
    return run()


if __name__ == "__main__":
    raise SystemExit(main())
