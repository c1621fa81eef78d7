"""Optimizers for meta-learning, with differentiable steps."""

import os
from collections.abc import Mapping, Sequence
from typing import Any

from .arguments import require_dict
from .definition import RuleDefinition
from .loading import definition_of
from .step_arguments import require_hypers, require_loss, require_module
from .torch_step import unknown_hyper


class MetaOptimizer:
    """Differentiable steps of a module's parameters, for inner loops of meta-learning.

    The module itself doesn't change. `params` has the current parameters. Calling the optimizer
    calls the module with them.

    Args:
        module: a `torch.nn.Module`.
        rule: a rule, such as `updraft.load("AdamW")`; or the name of a rule of the package, or a
            file.
        defaults: static arguments of the rule.
        hypers: values of hyperparameters and static arguments. Hyperparameters are numbers, or
            tensors that receive gradients.

    Raises:
        TypeError: `module` isn't a module, or a hyperparameter is neither a number nor a tensor.
        InvalidArgumentError: the rule doesn't have a hyperparameter with that name.

    >>> import torch, updraft
    >>> model = torch.nn.Linear(1, 1, bias=False)
    >>> rate = torch.tensor(0.25, requires_grad=True)
    >>> inner = updraft.MetaOptimizer(model, "SGD", lr=rate)
    >>> inner.step(inner(torch.ones(1)).sum())
    >>> (model.weight - inner.params["weight"]).item()
    0.25
    >>> torch.autograd.grad(inner(torch.ones(1)).sum(), rate)
    (tensor(-1.),)
    """

    def __init__(
        self,
        module: Any,
        rule: RuleDefinition | str | os.PathLike[str],
        *,
        defaults: Mapping[str, Any] | None = None,
        **hypers: Any,
    ) -> None:
        require_module(module)
        definition = definition_of(rule)
        chosen = {name: hypers.pop(name) for name in definition.statics if name in hypers}
        for name in hypers:
            if name not in definition.hypers:
                raise unknown_hyper(definition.name, name, definition.hypers)
        require_hypers(hypers)
        self.module = module
        self.hypers = hypers
        self.params: dict[str, Any] = dict(module.named_parameters())
        self.state: dict[str, Any] = {}
        self._step = definition.to_torch(
            defaults={**require_dict(defaults, "`defaults`"), **chosen}
        )

    def __call__(self, *arguments: Any, **named: Any) -> Any:
        """Calls the module with the current parameters."""
        from torch.func import functional_call

        return functional_call(self.module, self.params, arguments, named)

    def step(self, loss: Any, *, create_graph: bool = True) -> None:
        """Takes a step down the gradient of `loss`.

        If `create_graph` is false, the gradient is a constant, as in first-order MAML.
        """
        import torch

        require_loss(loss)
        trained = {name: param for name, param in self.params.items() if param.requires_grad}
        grads: Sequence[Any] = torch.autograd.grad(
            loss,
            list(trained.values()),
            create_graph=create_graph,
            retain_graph=True,
            allow_unused=True,
        )
        given = dict.fromkeys(self.params) | dict(zip(trained, grads, strict=True))
        self.params, self.state = self._step(self.params, given, self.state, **self.hypers)
