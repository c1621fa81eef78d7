"""An optimizer class for each rule of the package that isn't in torch."""

import functools
import inspect
from collections.abc import Mapping
from typing import Any

from ..definition import FileDefinition
from ..shipped import require_path
from ..shipped_constructor import bound, is_beta, signature
from .correspondence import Place
from .documentation import Docstring
from .rule_optimizer import RuleOptimizer


class _Signature:
    """The `__signature__` of a class with the constructor of `ShippedOptimizer`."""

    def __get__(self, instance: Any, owner: type) -> inspect.Signature:
        if owner.__init__ is not ShippedOptimizer.__init__:  # type: ignore[misc]
            raise AttributeError(f"`{owner.__name__}` has a constructor of its own")
        return owner.arguments  # type: ignore[attr-defined,no-any-return]


class ShippedOptimizer(RuleOptimizer):
    """An optimizer for a rule of the package. The rule's beta1, beta2, … are `betas`, as in
    `torch.optim`.
    """

    definition: FileDefinition
    #: The constructor's parameters.
    arguments: inspect.Signature
    __signature__ = _Signature()

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        given = bound(type(self).__name__, self.arguments, *args, **kwargs)
        params = given.pop("params")
        super().__init__(self.definition, params, **given)

    def _hyper_places(self) -> Mapping[str, Place]:
        betas = [name for name in self.rule.hypers if is_beta(name)]
        return {
            name: ("betas", betas.index(name), len(betas)) if name in betas else name
            for name in self.rule.hypers
        }

    def _defaults(self) -> dict[str, Any]:
        return {
            name: parameter.default
            for name, parameter in self.arguments.parameters.items()
            if name in ("betas", *self.rule.hypers, *self.rule.statics)
        }


@functools.cache
def shipped_class(name: str) -> type[ShippedOptimizer]:
    """Returns the class for a rule of the package."""
    path = require_path(name)
    definition = FileDefinition(path, None, {})
    contents = {
        "__module__": "updraft.optim",
        "__doc__": Docstring(lambda: path),
        "arguments": signature(definition),
        "definition": definition,
    }
    return type(name, (ShippedOptimizer,), contents)
