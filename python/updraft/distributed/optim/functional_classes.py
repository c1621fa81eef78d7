"""The functional optimizers of the classes of `updraft.optim`."""

import functools
from typing import Any

from ... import optim
from ...optim.compiled import CompiledStep
from .functional import FunctionalOptimizer

_PREFIX = "Functional"
_MODULE = __package__


@functools.cache
def functional_class(kind: Any) -> type[FunctionalOptimizer]:
    """Returns the functional optimizer for a class of `updraft.optim`, such as
    `updraft.distributed.optim.FunctionalAdamW` for `AdamW`.
    """
    contents = {
        # The module where other workers find it, because it is pickled by name.
        "__module__": _MODULE,
        "__doc__": f"`updraft.optim.{kind.__name__}` that is given gradients.",
        "optimizer_class": kind,
    }
    return type(_PREFIX + kind.__name__, (FunctionalOptimizer,), contents)


def functional_class_named(name: str) -> type[FunctionalOptimizer]:
    """Returns the class with a name such as `FunctionalAdamW`.

    Raises:
        AttributeError: the class doesn't exist.
    """
    kind = getattr(optim, name.removeprefix(_PREFIX), None) if name.startswith(_PREFIX) else None
    if not (isinstance(kind, type) and issubclass(kind, CompiledStep)):
        raise AttributeError(f"module {_MODULE!r} has no attribute `{name}`")
    return functional_class(kind)  # type: ignore[arg-type]
