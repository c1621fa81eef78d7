"""Optimizers of meta-learning: steps that autograd follows."""

import os
from collections.abc import Mapping, Sequence
from typing import Any

from .arguments import require_dict
from .definition import RuleDefinition, definition_of
from .step_arguments import require_hypers, require_loss, require_module
from .torch_step import unknown_hyper


class MetaOptimizer:
    """Steps of a module's parameters that autograd follows: for inner loops of meta-learning.

    The module itself stays as it is. `params` are its parameters as of now; calling the optimizer
    calls the module with them.

    Args:
        module: a `torch.nn.Module`.
        rule: a rule, such as `updraft.load("AdamW")`; or the name of one of the package, or a file.
        defaults: static arguments of the rule.
        hypers: values of hyperparameters: numbers, or tensors through which gradients shall flow;
            and of static arguments.

    Raises:
        TypeError: `module` is none; a hyperparameter is neither a number nor a tensor.
        InvalidArgumentError: the rule has no such hyperparameter.

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
        """Calls the module with the parameters as they are now."""
        from torch.func import functional_call

        return functional_call(self.module, self.params, arguments, named)

    def step(self, loss: Any, *, create_graph: bool = True) -> None:
        """Takes a step down the gradient of `loss`.

        With `create_graph` false, the gradient is taken as a constant: what is first-order MAML.
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
