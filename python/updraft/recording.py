"""Timelines: what the threads of the process do, as spans of time."""

import contextlib
import os
import pathlib
from collections.abc import Iterator

from . import _updraft


@contextlib.contextmanager
def timeline(path: str | os.PathLike[str]) -> Iterator[None]:
    """Records the steps in the block, and writes them to `path` at its end.

    The file has each step, its sweeps, products and calls as the threads run them, launches on
    GPUs, and waits for threads and locks, in Chrome's Trace Event Format, which ui.perfetto.dev
    shows. If the block raises, the file is written as well.

    A process records one timeline at a time.

    Args:
        path: the file. An older one is replaced.

    >>> import json, tempfile
    >>> import numpy as np
    >>> import updraft
    >>> param, grad = np.ones(3, np.float32), np.ones(3, np.float32)
    >>> optimizer = updraft.ArrayOptimizer(updraft.load("SGD").compile(), [param], lr=0.5)
    >>> folder = tempfile.TemporaryDirectory()
    >>> with updraft.timeline(folder.name + "/steps.json"):
    ...     optimizer.step([grad])
    >>> events = json.load(open(folder.name + "/steps.json"))["traceEvents"]
    >>> [event["name"] for event in events if event.get("cat") == "step"]
    ['step SGD', 'prepare SGD', 'apply SGD']
    """
    file = str(pathlib.Path(path).absolute())  # the block may change the working directory
    _updraft.timeline_start()
    try:
        yield
    finally:
        try:
            _updraft.timeline_stop(file)
        except BaseException:
            with contextlib.suppress(Exception):  # the first error counts
                _updraft.timeline_stop(None)
            raise


@contextlib.contextmanager
def timeline_span(name: str) -> Iterator[None]:
    """Shows the block as a span of the thread, if a timeline is recorded.

    Args:
        name: the text of the span, such as "backward".

    >>> import updraft
    >>> with updraft.timeline_span("backward"):
    ...     pass
    """
    begin = _updraft.timeline_now()
    try:
        yield
    finally:
        _updraft.timeline_add("program", name, begin)
