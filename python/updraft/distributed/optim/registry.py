"""The maps from optimizers to functional optimizers: Updraft's and torch's."""

from typing import Any

import torch
from torch.distributed.optim import utils

from ... import optim
from ...optim.compiled import CompiledStep
from .functional import FunctionalOptimizer
from .functional_classes import functional_class
from .kinds import maker

#: Maps a class, or any other key, to its functional optimizer. Entries may be added directly.
functional_optim_map: dict[Any, Any] = {}


def _classes() -> list[Any]:
    """The classes of `updraft.optim` that have counterparts in torch."""
    classes = [getattr(optim, name) for name in vars(optim)["__all__"]]
    return [kind for kind in classes if isinstance(kind, type) and issubclass(kind, CompiledStep)]


# torch's own entries, without those of `install`.
_torchs = dict(utils.functional_optim_map)


def register_functional_optim(key: Any, optim: Any, overwrite: bool = False) -> None:
    """Registers a functional optimizer for a class, in Updraft's map and in torch's.

    torch's entries for its own classes don't change; see `install`.

    Args:
        key: the requested class, or any other dict key.
        optim: a class derived from `FunctionalOptimizer`, or another with `step(gradients)`.
        overwrite: whether it may replace another.

    Raises:
        ValueError: `key` is already registered, and `overwrite` is false.

    Example:
        >>> from updraft.distributed.optim import FunctionalLion, as_functional_optim
        >>> from updraft.distributed.optim import register_functional_optim
        >>> class Lion(torch.optim.Optimizer):
        ...     pass
        >>> register_functional_optim(Lion, FunctionalLion)
        >>> type(as_functional_optim(Lion)) is FunctionalLion
        True
    """
    known = functional_optim_map.get(key)
    if known is not None and known is not optim and not overwrite:
        raise ValueError(
            f"{key} already has a functional optimizer, {known}; give `overwrite=True` to replace "
            "it"
        )
    functional_optim_map[key] = optim
    if key not in _torchs:
        utils.functional_optim_map[key] = optim


def as_functional_optim(optim_cls: Any, *args: Any, **kwargs: Any) -> Any:
    """Makes the functional optimizer for a class, without parameters, for `step_param`.

    Args:
        optim_cls: a class that is registered or has a compiled rule, or a rule.
        args: arguments of the class after the parameters.
        kwargs: keyword arguments of the class.

    Raises:
        ValueError: there is no functional optimizer for it.

    Example:
        >>> from updraft.distributed.optim import as_functional_optim
        >>> functional = as_functional_optim(torch.optim.SGD, lr=0.5)
        >>> param = torch.ones(2)
        >>> functional.step_param(param, torch.ones(2))
        >>> param
        tensor([0.5000, 0.5000])
    """
    kind = functional_optim_map.get(optim_cls)
    if kind is None:
        try:
            maker(optim_cls)
        except TypeError as error:
            raise ValueError(
                f"no functional optimizer for {optim_cls}: {error}; "
                "register one with `register_functional_optim`"
            ) from None
        kind = type("FunctionalOptimizer", (FunctionalOptimizer,), {"optimizer_class": optim_cls})
    return kind([], *args, **kwargs, _allow_empty_param_list=True)


def install() -> None:
    """Makes torch's `DistributedOptimizer` etc. use compiled steps for torch's own classes.

    Lasts until `uninstall`. Without it, they use compiled steps only for classes of
    `updraft.optim`.
    """
    for key in _torchs:
        utils.functional_optim_map[key] = functional_optim_map[key]


def uninstall() -> None:
    """Restores torch's entries for its own classes."""
    utils.functional_optim_map.update(_torchs)


for _kind in _classes():
    register_functional_optim(_kind, functional_class(_kind))
    _counterpart = getattr(torch.optim, _kind.__name__)
    functional_optim_map[_counterpart] = functional_class(_kind)
