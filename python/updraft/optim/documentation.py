"""Docstrings in torch's style, created on first access.

The equation, the source, the shapes and the requirements come from the rule's file. torch describes
the arguments that it has; those of other rules are described here.
"""

import inspect
import re
import textwrap
from collections.abc import Callable, Iterable
from typing import Any

from ..compiled_rule import read_source
from ..shipped_constructor import choices, comment

_MEANINGS = {
    "params": "parameters, pairs of names and parameters, or dicts that define parameter groups",
    "lr": "learning rate",
    "betas": "coefficients of the running averages, `beta1` and so on in the equation",
    "momentum": "coefficient of the running average of gradients; in Scion, of the new gradient",
    "eps": "small number that keeps a divisor from being 0",
    "weight_decay": "weight decay",
    "maximize": "whether to maximize instead of minimize",
    "amsgrad": "whether to divide by the largest second moment so far",
    "alpha": "weight of the slow average",
    "alpha_warmup": "number of steps until `alpha` reaches its value",
    "beta3_warmup": "number of steps until the last of the betas reaches its value",
    "no_prox": "whether to decay like AdamW instead of by a proximal step",
    "trust_coefficient": "length of a step in relation to the norm of the parameter",
    "gamma": "scale of the correction in MARS, of the Hessian in Sophia",
    "clipped": "whether to clip: MARS the norm of the corrected gradient, ADOPT the elements of "
    "the normalized one",
    "d0": "first estimate of the distance to the solution",
    "d_coef": "factor of the estimate",
    "growth_rate": "largest factor by which the estimate may grow in a step",
    "nu": "weight of the buffer; the gradient has `1 - nu`",
    "nu1": "weight of the first moment; the gradient has `1 - nu1`",
    "nu2": "weight of the second moment; the squared gradient has `1 - nu2`",
    "decoupled_weight_decay": "whether to decay the parameter instead of the gradient",
    "weight_decay_type": '"grad" to decay the gradient, "direct" to decay the parameter',
    "lr_decay": "decay of the learning rate with the step count",
    "initial_accumulator_value": "initial value of the accumulator",
    "warmup_steps": "number of steps until the learning rate reaches its value",
    "buffered": "whether there is a buffer; derived from the momentum",
    "bias_correction": "whether to correct the bias of the moments",
    "max_lr": "largest learning rate of the schedule",
    "normalized": "AdamC: whether a normalization follows; if not, the decay is AdamW's. Scion: "
    "whether the number of columns is a factor of the step",
    "train_interp_coeff": "weight of `x` in the point where gradients are taken",
    "eval_interp_coeff": "weight of `x` in its next value",
    "use_wd_on_y": "whether to decay the parameter instead of `z`",
    "lr_power": "the learning rate falls with this power of the accumulator",
    "l1": "L1 penalty; it makes parameters 0",
    "l2": "L2 penalty",
    "beta": "number that is added to the power of the accumulator",
    "rooted": "whether the power is a square root; derived from `lr_power`",
    "eps1": "number that is added to the squared gradient",
    "eps2": "number that is added to the instability",
    "clip_threshold": "largest root mean square of the normalized gradient",
    "block": '"row", "batch" or "tensor": the elements that have one second moment',
    "mu": "coefficient of the sum of gradients",
    "muon_beta2": "coefficient of the running average of squares",
    "epsilon": "small number that keeps a divisor from being 0",
    "nesterov": "whether to use Nesterov momentum",
    "cautious_wd": "whether to decay only where the step makes an element smaller",
    "adjust_lr": '"spectral_norm", "rms_norm" or "none": the factor for the shape of a matrix',
    "fraction": "share of the rows, or of the columns of a tall matrix, that each step updates",
    "ef_decay": "factor by which a step multiplies the momentum of the rows or columns it updates",
    "ns_set": "name of the coefficients of the Newton-Schulz iteration",
    "ns_steps": "number of steps of the Newton-Schulz iteration; derived from `ns_set`",
    "products": '"full", "bf16" or "f16": the type to which operands of products are rounded with '
    'numerics="fast"',
    "ns_coefficients": 'the coefficients of the set "custom", which repeats them',
    "accumulation": '"average", "sum" or "feedback": how gradients are added to the momentum',
    "adjust_lr_fn": '"original", "match_rms_adamw", "spectral_unclamped" or "none": the factor for '
    "the shape of a matrix",
    "logit_threshold": "largest attention logit that a head keeps",
    "clip_exponent": "power of the clipping factor for the rows of a head; 0 for no clipping",
    "sign_stabilized": "whether to orthogonalize the signs of the momentum",
    "extra_scale_factor": "factor by which to multiply the step",
    "polar_first": "whether to orthogonalize the gradient instead of the momentum",
    "scale": "radius of the ball that the parameter stays in, and factor of the step",
    "norm": '"Auto", "Spectral", "Sign", "ColNorm", "RowNorm" or "BiasRMS": the norm of the ball',
    "unconstrained": "whether the parameter may leave the ball: there is no decay",
    "transposed": "whether to swap rows and columns in ColNorm and RowNorm",
    "clamped": "whether the factor of the spectral step is at least 1",
    "shampoo_beta": "coefficient of the running averages of g g^T and g^T g; if negative, the "
    "second of the betas",
    "precondition_frequency": "number of steps from one update of the bases or roots to the next",
    "normalize_grads": "whether to divide the update by its root mean square",
    "correct_bias": "whether to correct the bias of the moments",
    "start_preconditioning_step": "first step with roots; if -1, `precondition_frequency`",
    "grafting": '"adam" to give the step the length of Adam\'s step, or "none"',
    "grafting_beta2": "coefficient of the squared gradient in Adam's step",
    "grafting_epsilon": "small number that keeps the divisor in Adam's step from being 0",
    "use_bias_correction": "whether to correct the bias of the averages",
    "root_inverse": '"eigh" or "coupled_newton": how inverse roots are computed',
    "max_iterations": "number of steps of the coupled Newton iteration",
    "init_factor": "initial eigenvalue of the factors",
    "max_clamp_value": "largest bound of the inverse roots of eigenvalues",
    "using_clamping": "whether to clamp the inverse roots of eigenvalues",
    "beta_lip": "coefficient of the bounds of the factors' norms",
    "precond_lr": "learning rate of the factors",
    "precond_init_scale": "initial scale of the factors",
    "damping_noise_scale": "scale of the noise that is added to the momentum to fit the factors",
    "min_precond_lr": "least learning rate of the factors",
    "max_update_rms": "largest root mean square of the update; 0 for no limit",
    "storage": "storage types of states that are not stored like the parameter, by their names; "
    "and of bf16 parameters, by `param`",
    "numerics": '"ieee", "torch" or "fast"',
    "seed": "seed of the rule's random numbers",
    "probes": "numbers that steps report for each parameter, which `probe_values()` returns: "
    '"update_ratio", or "ratio = norm(new_param - param) / norm(param)"',
    "probe_every": "1 to probe each step, 20 for every 20th, 0 for none",
}

_PLACES = {
    "row": "one for each row, [..., rows, 1]",
    "column": "one for each column, [..., 1, columns]",
    "row, row": "a square matrix for each matrix, [..., rows, rows]",
    "column, column": "a square matrix for each matrix, [..., columns, columns]",
    "tensor": "one for each parameter, a scalar",
    "group": "one for the parameter group, a scalar",
    "batch": "one for each matrix",
}


def _file(path: str) -> str:
    return read_source(path).decode()


def _section(title: str, text: str) -> str:
    return f"{title}:\n{textwrap.indent(text, '    ')}"


def _wrapped(text: str) -> str:
    return textwrap.fill(text, 92, subsequent_indent="    ")


def _arguments(parameters: Iterable[inspect.Parameter]) -> str:
    lines = []
    for parameter in parameters:
        default = parameter.default
        said = "" if default is inspect.Parameter.empty else f" (default: {default!r})"
        lines.append(_wrapped(f"{parameter.name}: {_MEANINGS[parameter.name]}{said}."))
    return "\n".join(lines)


def _arguments_with_torch(cls: type) -> str:
    """The sections of torch's docstring, with the arguments that torch doesn't have."""
    taken = inspect.signature(cls).parameters
    own = [parameter for parameter in choices("torch") if parameter.name in taken]
    return "\n".join([_arguments_of_torch(cls), _arguments(own)]).strip()


def _arguments_of_torch(cls: type) -> str:
    """The arguments section of torch's docstring."""
    for base in cls.__mro__:
        if base.__module__.startswith("torch.optim"):
            text = inspect.cleandoc(base.__doc__ or "")
            found = re.search(r"^Args:\n((?:    .*\n|\n)+)", text + "\n", re.MULTILINE)
            if found:
                return textwrap.dedent(found[1]).strip()
    raise ValueError(f"torch describes no arguments of {cls.__name__}")


def _shapes(name: str, path: str) -> str:
    pattern = r"^  state (\w+)(?: over \(?(\w+(?:, \w+)?))?"
    states = re.findall(pattern, _file(path), re.MULTILINE)
    like = [f"`{name}`" for name, place in states if not place]
    lines = [f"Parameters and gradients: {'matrices' if name == 'Muon' else 'any'}, the same."]
    if like:
        lines.append(f"{', '.join(like)}: the parameter's.")
    lines += [f"`{name}`: {_PLACES[place]}." for name, place in states if place]
    return "\n".join(map(_wrapped, lines))


def _requirements(path: str) -> str:
    found = re.findall(r"^\s*require\s+(.*?)\s+else\s+\"", _file(path), re.MULTILINE | re.DOTALL)
    conditions = ", ".join(f"`{' '.join(each.split())}`" for each in found)
    return _wrapped(f"ValueError: unless {conditions}.")


_BEGINNING = """\
>>> import torch
>>> from updraft.optim import {name}
"""
_EXAMPLE = """\
>>> model = torch.nn.Linear(3, 2)
>>> optimizer = {name}(model.parameters(), lr=0.01)
>>> model(torch.ones(4, 3)).square().mean().backward()
>>> optimizer.step()
>>> optimizer.zero_grad()
"""
_EXAMPLES = {
    "LBFGS": """\
>>> weights = torch.nn.Parameter(torch.tensor([3.0, -2.0]))
>>> optimizer = LBFGS([weights], line_search_fn="strong_wolfe")
>>> def closure():
...     optimizer.zero_grad()
...     loss = (weights**2).sum()
...     loss.backward()
...     return loss
>>> before = optimizer.step(closure).item()
>>> before, round(closure().item(), 6)
(13.0, 0.0)
""",
    "SparseAdam": """\
>>> table = torch.nn.Embedding(100, 4, sparse=True)
>>> optimizer = SparseAdam(table.parameters(), lr=0.01)
>>> table(torch.tensor([3, 17])).square().mean().backward()
>>> optimizer.step()
>>> optimizer.zero_grad()
""",
    "Muon": """\
>>> model = torch.nn.Linear(3, 2, bias=False)
>>> optimizer = Muon(model.parameters(), lr=0.01)
>>> model(torch.ones(4, 3)).square().mean().backward()
>>> optimizer.step()
>>> optimizer.zero_grad()
""",
}


def _document(cls: type, path: str, beginning: str, raises: str) -> str:
    signature = cls.__dict__.get("arguments")
    arguments = (
        _arguments_with_torch(cls)
        if signature is None
        else _arguments(signature.parameters.values())
    )
    name = cls.__name__
    example = (_BEGINNING + _EXAMPLES.get(name, _EXAMPLE)).format(name=name)
    paragraphs = [
        beginning,
        *comment(path),
        _section("Args", arguments),
        _section("Shape", _shapes(name, path)),
        _section("Raises", raises or _requirements(path)),
        _section("Example", example),
    ]
    return "\n\n".join(paragraph.strip("\n") for paragraph in paragraphs if paragraph)


class Docstring:
    """The `__doc__` of a class for a rule's file, created on first access.

    Args:
        path: a function that returns the path of the file.
        beginning: the text before the file's comment.
        raises: the section of errors, if it isn't the requirements of the file.
    """

    def __init__(self, path: Callable[[], str], beginning: str = "", raises: str = "") -> None:
        self._path = path
        self._beginning = beginning
        self._raises = raises

    def __get__(self, instance: Any, owner: type) -> str:
        return _document(owner, self._path(), self._beginning, self._raises)
