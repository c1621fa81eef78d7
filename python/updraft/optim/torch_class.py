"""The classes that torch has, too: torch's constructor, and how their rule is compiled."""

import inspect
from collections.abc import Mapping
from typing import Any, Literal

import torch

from ..definition import RuleDefinition
from ..seed import require_seed
from ..shipped_constructor import choices
from ..torch_private import disable_dynamo
from .compiled import CompiledStep
from .conversion import counterpart
from .documentation import Docstring


class _Signature:
    """The `__signature__` of a class whose constructor is `TorchClass`'s."""

    def __get__(self, instance: Any, owner: type) -> inspect.Signature:
        if owner.__init__ is not TorchClass.__init__:  # type: ignore[misc]
            raise AttributeError(f"`{owner.__name__}` has a constructor of its own")
        signature = inspect.signature(counterpart(owner))
        parameters = [*signature.parameters.values(), *choices("torch")]
        return signature.replace(parameters=parameters)


class TorchClass(CompiledStep, torch.optim.Optimizer):
    """Steps an optimizer of `torch.optim` with a compiled rule; stands before it among the bases.

    The defaults, the parameter groups and the names of the states are those of the class behind it.
    The constructor also takes `storage`, `numerics` and `seed`, like the classes of other rules.
    """

    __signature__ = _Signature()

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        correspondence = cls.__dict__.get("correspondence")
        if correspondence is not None:
            docstring = Docstring(lambda: correspondence.path, cls.__doc__ or "")
            cls.__doc__ = docstring  # type: ignore[assignment]

    def __init__(
        self,
        *args: Any,
        storage: Mapping[str, Any] | None = None,
        numerics: Literal["ieee", "torch", "fast"] = "torch",
        seed: int | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(*args, **kwargs)
        if seed is not None:
            # An entry of the groups, as of those of other rules.
            self.defaults["seed"] = require_seed(seed)
            for group in self.param_groups:
                group.setdefault("seed", seed)
        if storage or numerics != "torch":
            self._choose(numerics, storage)

    # torch.compile cannot trace a compilation.
    @disable_dynamo
    def _choose(self, numerics: str, storage: Mapping[str, Any] | None) -> None:
        """Compiles the rule with these choices now, so that the constructor refuses bad ones."""
        self._correspond(numerics, storage)
        self._compile(scaled=False)

    @property
    def rule(self) -> RuleDefinition:
        """The definition of the rule."""
        return self.correspondence.definition
