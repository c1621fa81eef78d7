"""Rows of numbers and histograms, which steps report, and writers for files and TensorBoard.

An optimizer of a rule with probes has `probe_values()`, which returns the rows of its last steps,
and `register_probe_callback(callback)`, which passes them to a function after each probed step. The
writers here are such functions. None of them is imported or created by itself.
"""

import csv
import math
import operator
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any, NamedTuple

from .errors import InvalidArgumentError

CALLBACK_WITHOUT_PROBES = (
    "a probe callback is registered, but no rule has probes; "
    "choose standard probes with `probes=`, or declare probes in the rule"
)
_MAX_EVERY = (1 << 63) - 1


class Histogram(NamedTuple):
    """How many elements are between bounds.

    Attributes:
        bounds: n numbers in ascending order, rounded as the rule computes only when it compares.
        counts: n + 1 numbers of elements: below the first bound, from each bound to below the next,
            and from the last one on. NaN is counted nowhere. If the rule skipped the step before
            they were known, the counts are NaN.
    """

    bounds: tuple[float, ...]
    counts: tuple[float, ...]

    @property
    def total(self) -> float:
        """The number of elements that aren't NaN."""
        return sum(self.counts)

    def buckets(self) -> Iterator[tuple[float, float, float]]:
        """The start, the end and the count of each bucket. The first starts at -infinity, and the
        last ends at infinity.

        >>> list(Histogram((0.5, 1.0), (3.0, 0.0, 1.0)).buckets())
        [(-inf, 0.5, 3.0), (0.5, 1.0, 0.0), (1.0, inf, 1.0)]
        """
        ends = (-math.inf, *self.bounds, math.inf)
        for (start, end), count in zip(pairwise(ends), self.counts, strict=True):
            yield start, end, count


class ProbeRow(NamedTuple):
    """The probes of one parameter in one step.

    Attributes:
        step: the parameter's step count, this step included.
        parameter: the parameter's name, or its number among all parameters.
        values: the numbers and histograms by the probes' names. NaN for a number that wasn't
            computed because the rule skipped the step.
    """

    step: int
    parameter: str
    values: dict[str, float | Histogram]


def named_values(
    bounds: Mapping[str, tuple[float, ...]], numbers: Sequence[float]
) -> dict[str, float | Histogram]:
    """Returns the numbers of a row by the names of the probes, which have these bounds."""
    left = iter(numbers)
    return {
        name: Histogram(ends, tuple(next(left) for _ in range(len(ends) + 1)))
        if ends
        else next(left)
        for name, ends in bounds.items()
    }


def _text(number: float) -> str:
    return repr(number).removesuffix(".0")


def _columns(values: Mapping[str, float | Histogram]) -> Iterator[tuple[str, float]]:
    """Each number with the name of its column, which for a bucket is `sizes[0.01..1)`."""
    for name, value in values.items():
        if not isinstance(value, Histogram):
            yield name, value
            continue
        for start, end, count in value.buckets():
            yield f"{name}[{_text(start)}..{_text(end)}{']' if end == math.inf else ')'}", count


#: A function that takes the rows of a step.
Callback = Callable[[Sequence[ProbeRow]], object]


def require_every(every: Any) -> int:
    """Returns how many steps there are from one probed step to the next; 0: none is probed."""
    try:
        number = operator.index(every)
    except TypeError:
        raise TypeError(f"`probe_every` is {type(every)}; give an integer") from None
    if not 0 <= number <= _MAX_EVERY:
        raise InvalidArgumentError(
            f"`probe_every` is {number}; give 1 to probe each step, 20 for every 20th, 0 for none"
        )
    return number


class CallbackHandle:
    """Removes a callback that was registered."""

    def __init__(self, callbacks: list[Callback], callback: Callback) -> None:
        self._callbacks = callbacks
        self._callback = callback

    def remove(self) -> None:
        """Removes the callback. Calling it again has no effect."""
        if self._callback in self._callbacks:
            self._callbacks.remove(self._callback)


def require_callback(callback: Any) -> Callback:
    """Refuses a callback that can't be called."""
    if not callable(callback):
        raise TypeError(f"`callback` is {type(callback)}; give a function of a list of rows")
    return callback  # type: ignore[no-any-return]


class CsvWriter:
    """Appends rows to a file: `step,parameter,PROBE,…`, with a line of names at its start. Each
    bucket of a histogram has a column, such as `sizes[0.01..1)`.

    Raises:
        InvalidArgumentError: the first call with rows finds a file with other columns.

    >>> import tempfile
    >>> folder = tempfile.TemporaryDirectory()
    >>> write = CsvWriter(folder.name + "/probes.csv")
    >>> write([ProbeRow(1, "weight", {"gradient_norm": 0.5})])
    >>> print(open(folder.name + "/probes.csv").read(), end="")
    step,parameter,gradient_norm
    1,weight,0.5
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self._path = os.fspath(path)
        self._is_checked = False  # whether the file has the columns of the rows

    def __call__(self, rows: Iterable[ProbeRow]) -> None:
        rows = list(rows)
        if not rows:
            return
        names = ["step", "parameter", *(name for name, _ in _columns(rows[0].values))]
        with open(self._path, "a+", newline="", encoding="utf-8") as file:
            lines = csv.writer(file, lineterminator="\n")
            if file.tell() == 0:
                lines.writerow(names)
            elif not self._is_checked:
                file.seek(0)
                found = next(csv.reader(file))
                if found != names:
                    raise InvalidArgumentError(
                        f"`{self._path}` has the columns {', '.join(found)}, but the rows have "
                        f"{', '.join(names)}; choose another file"
                    )
            self._is_checked = True
            for row in rows:
                numbers = [number for _, number in _columns(row.values)]
                lines.writerow([row.step, row.parameter, *numbers])


class TensorBoardWriter:
    """Writes rows as scalars and histograms `PROBE/PARAMETER` for TensorBoard.

    A histogram whose counts are NaN isn't written. TensorBoard draws the first and the last bucket
    as wide as their neighbours, and doesn't know the least and the largest element.

    Args:
        target: a folder for the logs, or a `SummaryWriter` of torch or tensorboardX. For a folder,
            `torch.utils.tensorboard` is imported now.
    """

    def __init__(self, target: Any) -> None:
        if isinstance(target, str | os.PathLike):
            from torch.utils.tensorboard import SummaryWriter

            target = SummaryWriter(os.fspath(target))
        if not hasattr(target, "add_scalar"):
            raise TypeError(
                f"`target` is {type(target)}; give a folder, or a writer with `add_scalar`"
            )
        self.writer = target

    def __call__(self, rows: Iterable[ProbeRow]) -> None:
        for row in rows:
            for name, value in row.values.items():
                tag = f"{name}/{row.parameter}"
                if isinstance(value, Histogram):
                    self._add(tag, value, row.step)
                else:
                    self.writer.add_scalar(tag, value, row.step)

    def _add(self, tag: str, histogram: Histogram, step: int) -> None:
        if math.isnan(histogram.total):
            return
        ends = _finite_ends(histogram.bounds)
        middles = [(start + end) / 2 for start, end in pairwise(ends)]
        pairs = list(zip(histogram.counts, middles, strict=True))
        self.writer.add_histogram_raw(
            tag,
            min=ends[0],
            max=ends[-1],
            num=histogram.total,
            sum=sum(count * middle for count, middle in pairs),
            sum_squares=sum(count * middle**2 for count, middle in pairs),
            bucket_limits=list(ends[1:]),
            bucket_counts=list(histogram.counts),
            global_step=step,
        )


def _finite_ends(bounds: tuple[float, ...]) -> tuple[float, ...]:
    """The bounds, with finite ends for the first and the last bucket."""
    first, last = bounds[0], bounds[-1]
    if len(bounds) == 1:
        width = abs(first) or 1.0
        return first - width, first, first + width
    below = 0.0 if 0 < first <= bounds[1] - first else first - (bounds[1] - first)
    return below, *bounds, last + (last - bounds[-2])
