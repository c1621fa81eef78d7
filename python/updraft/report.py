"""Reports: what the compiler did to a rule."""

import html
import json
import os
import pathlib
import time
from typing import Any

from . import _updraft
from .errors import InvalidArgumentError, UnsupportedError, from_os_error

# The height of a report within a notebook, in pixels.
_NOTEBOOK_HEIGHT = 900
# The rows and columns of a measured parameter: more elements than caches hold, or fewer if the
# rule multiplies matrices.
_SIDE, _SIDE_OF_PRODUCTS = 4096, 1024
_MEASURED_STEPS = 5


class Report:
    """A document that says what the compiler did to a rule, and a page that shows it.

    Created by `definition.report()` and `rule.report()`. A notebook shows the page.
    """

    def __init__(self, document: bytes, measured: dict[str, Any] | None = None) -> None:
        self._document = document
        if measured is not None:
            self._document = json.dumps(self.data | {"measured": measured}).encode()

    @property
    def data(self) -> dict[str, Any]:
        """The document, which docs/report-format.md describes."""
        return json.loads(self._document)

    def with_run(self, *paths: str | os.PathLike[str]) -> "Report":
        """Returns this report with what the steps of a run reported.

        The page then shows each probe over the steps, the rows with NaN, missing steps, and where
        ranks differ.

        Args:
            paths: files that `updraft.probes.CsvWriter` or `updraft-run --probe-out` wrote, one for
                each rank of the run.

        Raises:
            InvalidArgumentError: a file isn't such a table. The message has the place.
        """
        files = []
        for path in [os.fspath(path) for path in paths]:
            try:
                files.append((path, pathlib.Path(path).read_bytes()))
            except OSError as error:
                raise from_os_error(error, "read", path) from None
        return Report(_updraft.report_add_run(self._document.decode(), files))

    def html(self, compare: "Report | None" = None) -> str:
        """Returns the page. It needs no other file, and no network.

        Args:
            compare: an earlier report; the page then shows what changed.
        """
        other = None if compare is None else compare._document.decode()
        return _updraft.report_page(self._document.decode(), other)

    def save(self, path: str | os.PathLike[str], compare: "Report | None" = None) -> None:
        """Writes the page, or the document alone if the path ends with `.json`."""
        is_document = os.fspath(path).endswith(".json")
        content = self._document if is_document else self.html(compare).encode()
        try:
            pathlib.Path(path).write_bytes(content)
        except OSError as error:
            raise from_os_error(error, "write", os.fspath(path)) from None

    def __repr__(self) -> str:
        data = self.data
        targets = ", ".join(data["request"]["targets"])
        return f"<updraft report of {data['name']}, for {targets}>"

    def _repr_html_(self) -> str:
        page = html.escape(self.html(), quote=True)
        style = f"width:100%;height:{_NOTEBOOK_HEIGHT}px;border:1px solid #8888"
        return f'<iframe title="Updraft report" srcdoc="{page}" style="{style}"></iframe>'


def measured_step(rule: Any, data: dict[str, Any]) -> dict[str, Any]:
    """Steps a parameter and returns its number of elements and the shortest time of a step.

    The parameter is a matrix, or a vector if the rule takes no matrices.

    Args:
        rule: the compiled rule.
        data: the report of the rule.

    Raises:
        UnsupportedError: the rule's parameters or gradients are not of a type of numpy.
    """
    import numpy

    types = {"f32": numpy.float32, "f64": numpy.float64, "f16": numpy.float16}
    for dtype in (rule.param_dtype, rule.grad_dtype):
        if dtype not in types:
            raise UnsupportedError(f"a step is measured on numpy arrays, which have no {dtype}")
    kinds = {stage["kind"] for plan in data["plans"] for stage in plan["stages"]}
    side = _SIDE_OF_PRODUCTS if kinds & {"product", "call"} else _SIDE
    param: numpy.ndarray[Any, Any] = numpy.ones((side, side), types[rule.param_dtype])
    try:
        optimizer = _updraft.Optimizer(rule._compiled, [([param], ["param"], [])])
    except InvalidArgumentError:
        param = param.reshape(-1)
        optimizer = _updraft.Optimizer(rule._compiled, [([param], ["param"], [])])
    grad = numpy.full(param.shape, 0.5, types[rule.grad_dtype])
    best = float("inf")
    for _ in range(_MEASURED_STEPS):
        start = time.perf_counter_ns()
        optimizer.step([grad], [])
        best = min(best, time.perf_counter_ns() - start)
    return {"elements": param.size, "ns": best}
