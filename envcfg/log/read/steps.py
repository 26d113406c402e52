"""Steps of a program in its own output, and whether they show that it went on."""

from collections.abc import Iterable, Iterator, Sequence

from envcfg.log.numbers import grouped
from envcfg.log.read.line_owner import Owner
from envcfg.log.read.process_facts import Spot

_RUN = 3  # rising steps of one form that show that a program goes on
# A dying program only flushes its buffers, which are smaller.
_BYTES = 1 << 14
_LINE = 80  # bytes of a line, about


class StepLine:
    """A line with a higher step than the lines of its form before it."""

    def __init__(self, form: str, spot: Spot, owner: Owner, *, is_first: bool) -> None:
        """Store a step."""
        self.form = form  # letters of the line
        self.spot = spot  # place of the line
        self.owner = owner  # process that wrote it
        self.is_first = is_first  # True if it is the first line of its form


class StepCounter:
    """Finds the steps that rise, in the order of lines."""

    def __init__(self, most: int) -> None:
        """Begin without steps; *most* limits the number of forms and steps."""
        self.steps: list[StepLine] = []
        self.again: list[Spot] = []  # lower steps than before: of a new attempt
        self._highest: dict[str, float] = {}
        self._most = most

    @property
    def is_full(self) -> bool:
        """Whether no further step is kept."""
        return len(self.steps) >= self._most

    def add(self, form: str, number: float, spot: Spot, owner: Owner) -> None:
        """Add a line with a step; it counts if the step is higher than those before."""
        highest = self._highest.get(form)
        if highest is not None and number < highest and len(self.again) < self._most:
            self.again.append(spot)
        if self.is_full or (highest is not None and number <= highest):
            return
        self._highest[form] = number
        self.steps.append(StepLine(form, spot, owner, is_first=highest is None))


def runs_of(steps: Iterable[StepLine]) -> Iterator[Sequence[StepLine]]:
    """Yield the runs of *steps* that show that a program goes on.

    Each has one form. A single step is enough if it follows a step before *steps*.
    """
    for run in grouped(steps, lambda step: (step.form, step.owner)).values():
        if is_run(run) or not run[0].is_first:
            yield run


def is_run(run: Sequence[StepLine]) -> bool:
    """Return whether *run* has enough steps to show by itself that a program goes on."""
    return len(run) >= _RUN


def is_long(spot: Spot, run: Sequence[StepLine]) -> bool:
    """Return whether *run* goes on after *spot* for longer than buffers hold."""
    last = run[-1].spot
    size = last.block - spot.block + _LINE * (last.line - spot.line)
    return is_run(run) and size > _BYTES
