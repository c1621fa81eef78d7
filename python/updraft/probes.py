"""The numbers that steps report: rows of values, and writers for files and TensorBoard.

An optimizer of a rule with probes has `probe_values()`, which returns the rows of its last steps,
and `register_probe_callback(callback)`, which passes them to a function after each probed step. The
writers here are such functions. None of them is imported or created by itself.
"""

import csv
import operator
import os
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

from .errors import InvalidArgumentError

_MAX_EVERY = (1 << 63) - 1


class ProbeRow(NamedTuple):
    """The probes of one parameter in one step.

    Attributes:
        step: the parameter's step count, this step included.
        parameter: the parameter's name, or its number among all parameters.
        values: the values by the probes' names. NaN for one that wasn't computed because the rule
            skipped the step.
    """

    step: int
    parameter: str
    values: dict[str, float]


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
    """Appends rows to a file: `step,parameter,PROBE,…`, with a line of names at its start.

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

    def __call__(self, rows: Iterable[ProbeRow]) -> None:
        rows = list(rows)
        if not rows:
            return
        with open(self._path, "a", newline="", encoding="utf-8") as file:
            lines = csv.writer(file, lineterminator="\n")
            if file.tell() == 0:
                lines.writerow(["step", "parameter", *rows[0].values])
            for row in rows:
                lines.writerow([row.step, row.parameter, *row.values.values()])


class TensorBoardWriter:
    """Writes rows as scalars `PROBE/PARAMETER` for TensorBoard.

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
                self.writer.add_scalar(f"{name}/{row.parameter}", value, row.step)
