"""The base class of published optimizers: groups, states, and one formula each."""

import types

import torch


class Published(torch.optim.Optimizer):
    """Applies `update` to each parameter, with the group's hyperparameters as attributes.

    A subclass lists its hyperparameters and flags with their defaults after its base, like
    Updraft's rule.
    """

    def __init_subclass__(cls, **defaults):
        cls.defaults_of_rule = defaults

    def __init__(self, params, **options):
        unknown = options.keys() - self.defaults_of_rule.keys()
        if unknown:
            raise TypeError(f"{type(self).__name__} has no {', '.join(sorted(unknown))}")
        super().__init__(params, self.defaults_of_rule | options)

    @torch.no_grad()
    def step(self):
        for group in self.param_groups:
            hypers = types.SimpleNamespace(**group)
            members = [param for param in group["params"] if param.grad is not None]
            for param in members:
                state = self.state[param]
                state["step"] = state.get("step", 0) + 1
            self.step_group(members, hypers)

    def step_group(self, members, hypers):
        """Applies one step to parameters after their step counts were increased."""
        for param in members:
            grad = -param.grad if getattr(hypers, "maximize", False) else param.grad
            state = self.state[param]
            param.copy_(self.update(param.clone(), grad.clone(), state, hypers, state["step"]))

    def update(self, p, g, state, h, t):
        """Returns the parameter after step `t`, counted from 1; changes `state`."""
        raise NotImplementedError


class WithChoices(Published):
    """Optimizers whose formulas leave something open, such as random numbers.

    `choose(param, name, value)` returns what a parameter uses in place of `value`.
    """

    def __init__(self, params, choose=None, **options):
        super().__init__(params, **options)
        self.choose = choose

    def step_group(self, members, hypers):
        for self.current in members:
            super().step_group([self.current], hypers)

    def chosen(self, name, value):
        """Returns what the current parameter uses for `value`."""
        return value if self.choose is None else self.choose(self.current, name, value)


def kept(state, name, initial):
    """Returns a state; at the first step, its initial value."""
    return state.setdefault(name, initial)


def average(state, name, value, beta):
    """Moves an exponential average from 0 towards `value`; returns it."""
    state[name] = beta * state.get(name, torch.zeros_like(value)) + (1 - beta) * value
    return state[name]
