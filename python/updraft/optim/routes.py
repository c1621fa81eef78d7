"""Decides which rule steps each parameter of a model, and as which matrices.

Rules such as Muon are made for the weights of hidden layers. Embeddings, output layers,
normalization and vectors get a rule for single elements (Jordan et al., "Muon", 2024).
"""

import fnmatch
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import torch
from torch import nn

from ..errors import InvalidArgumentError
from .matrix_views import MatrixView

#: The words that `torch.compile`, FSDP and activation checkpointing add to names of parameters.
_WRAPPERS = ("_orig_mod.", "_fsdp_wrapped_module.", "_checkpoint_wrapped_module.")


def _unwrapped(name: str) -> str:
    """The name of a parameter or module in a model that nothing wraps."""
    for wrapper in _WRAPPERS:
        name = name.replace(wrapper, "")
    return name


@dataclass(frozen=True, eq=False)
class Route:
    """The rule of a parameter.

    Attributes:
        name: the parameter's name in the model, as if no part of the model was wrapped.
        param: the parameter.
        rule: the name of the rule.
        reason: a phrase that says why.
        view: how the parameter is split into matrices; None if it isn't.
        warning: why the choice may be wrong; None if it seems right.
    """

    name: str
    param: torch.Tensor = field(repr=False)
    rule: str
    reason: str
    view: MatrixView | None = None
    warning: str | None = None

    @property
    def is_matrix(self) -> bool:
        """Whether the parameter has two or more dimensions."""
        return self.param.dim() > 1


@dataclass(frozen=True)
class _Place:
    """One use of a parameter: the module that owns it, and the names in the model and there."""

    module: nn.Module
    name: str
    own_name: str


#: How many gates are stacked in the rows of a weight.
_GATES = {nn.LSTM: 4, nn.LSTMCell: 4, nn.GRU: 3, nn.GRUCell: 3}
_CONVOLUTIONS = (
    *(nn.Conv1d, nn.Conv2d, nn.Conv3d),
    *(nn.ConvTranspose1d, nn.ConvTranspose2d, nn.ConvTranspose3d),
)
#: Normalizations whose weights may be matrices.
_NORMS = (nn.LayerNorm, nn.RMSNorm)
_EMBEDDINGS = (nn.Embedding, nn.EmbeddingBag)
#: Names of parameters or modules that are looked up or added, not multiplied.
_LIKE_EMBEDDING = re.compile(
    r"(^|\.)(\w*embed(ding)?s?|emb|wte|wpe|\w*_token|pos|pos_enc\w*|pos_emb\w*)($|\.)"
)
_LIKE_BIAS = re.compile(r"bias")
_LIKE_HEAD = re.compile(r"(^|\.)(lm_head|head|classifier|output_layer|unembed\w*)($|\.)")
#: Names of fused weights for query, key and value.
_QKV = re.compile(r"(^|[._])(\w*qkv\w*|c_attn|in_proj_weight)($|[._])")
#: Names whose order of rows differs between models.
_QKV_OF_HEADS = re.compile(r"(^|[._])query_key_value($|[._])")
_KEY_VALUE = re.compile(r"(^|[._])(kv_proj|to_kv|wkv)($|[._])")


def routes(
    model: nn.Module,
    hidden: str,
    others: str,
    chosen: Mapping[str, str],
    blocks: Mapping[str, Any],
    splits: bool,
) -> list[Route]:
    """Returns the route of each parameter of a model, in the order of `model.parameters()`.

    Args:
        model: the model.
        hidden: the rule for weights of hidden layers.
        others: the rule for all other parameters.
        chosen: rules by patterns of parameters' names, in place of the choice by kind.
        blocks: `matrix_blocks` by patterns of names.
        splits: whether the rule for hidden layers steps the matrices of a fused weight by
            themselves.

    Raises:
        InvalidArgumentError: a pattern matches no parameter, or names another rule.
    """
    places = _places(model)
    output = _output_layer(model)
    found = []
    for wrapped, param in model.named_parameters():
        name = _unwrapped(wrapped)
        its = places[id(param)]
        against = _reason_against(name, param, its, output)
        pattern = _last_match(chosen, name)
        rule = chosen[pattern] if pattern else others if against else hidden
        if rule not in (hidden, others):
            raise InvalidArgumentError(
                f"`route` gives `{pattern}` the rule `{rule}`; the rules are `{hidden}` and "
                f"`{others}`"
            )
        route = Route(name, param, rule, against or "")
        if rule == hidden:
            route = _hidden(route, its[0])
            if not splits:
                route = _whole(route)
        if pattern:
            warning = f"{against}: `{hidden}` is for weights of hidden layers"
            route = replace(
                route,
                reason=f"`route` has `{pattern}`",
                warning=warning if against and rule == hidden else None,
            )
        pattern = _last_match(blocks, name)
        if pattern and rule == hidden:
            route = _with_blocks(route, pattern, blocks[pattern])
        found.append(route)
    for pattern in chosen:
        _require_match("route", pattern, [route.name for route in found])
    for pattern in blocks:
        names = [route.name for route in found if route.rule == hidden]
        _require_match("blocks", pattern, names, f" of `{hidden}`")
    return found


def _last_match(patterns: Iterable[str], name: str) -> str | None:
    matching = [pattern for pattern in patterns if fnmatch.fnmatchcase(name, pattern)]
    return matching[-1] if matching else None


def _require_match(argument: str, pattern: str, names: list[str], of: str = "") -> None:
    """Refuses a pattern that matches no name. Another pattern may count for all of its names."""
    if not any(fnmatch.fnmatchcase(name, pattern) for name in names):
        raise InvalidArgumentError(
            f"no parameter{of} matches the pattern `{pattern}` of `{argument}`; names are those of "
            "`model.named_parameters()`, and `*` stands for any characters"
        )


def _places(model: nn.Module) -> dict[int, list[_Place]]:
    """The places of each parameter, by its id. Tied weights have several."""
    found: dict[int, list[_Place]] = {}
    for prefix, module in model.named_modules():
        for own_name, param in module.named_parameters(recurse=False):
            name = _unwrapped(f"{prefix}.{own_name}" if prefix else own_name)
            owner = module
            if isinstance(module, nn.utils.parametrize.ParametrizationList):
                path, _, own_name = f".{prefix}".rpartition(".parametrizations.")
                owner = model.get_submodule(path.removeprefix("."))
            found.setdefault(id(param), []).append(_Place(owner, name, own_name))
    return found


def _output_layer(model: nn.Module) -> nn.Module | None:
    """The output layer of a model whose modules are in the order of their use: the last one with a
    matrix, if it is linear and isn't one of several alike. None if a name shows another one.
    """
    having = [
        (re.sub(r"\d+", "*", name), module)
        for name, module in model.named_modules()
        if any(param.dim() > 1 for param in module.parameters(recurse=False))
    ]
    named = any(_LIKE_HEAD.search(name) for name, _ in having)
    if named or len(having) < 2 or not isinstance(having[-1][1], nn.Linear):
        return None
    *others, (pattern, last) = having
    alike = [other for name, other in others if name == pattern and isinstance(other, nn.Linear)]
    return None if any(_sizes(other) == _sizes(last) for other in alike) else last


def _sizes(module: nn.Module) -> list[torch.Size]:
    return [param.shape for param in module.parameters(recurse=False)]


def _reason_against(
    name: str, param: torch.Tensor, places: list[_Place], output: nn.Module | None
) -> str | None:
    """Returns how a parameter differs from the weights of hidden layers: by its modules, its name
    or its shape. None if it is such a weight.
    """
    for place in places:
        if isinstance(place.module, _EMBEDDINGS):
            tied = [each.name for each in places if each is not place]
            return "embedding" + "".join(f", tied to {each}" for each in tied)
    module = places[0].module
    is_filter = isinstance(module, _CONVOLUTIONS)
    if param.dim() < 2:
        return "vector" if param.dim() else "scalar"
    if param.is_complex():
        return "complex"
    if isinstance(module, _NORMS):
        return "normalization"
    if any(place.module is output for place in places):
        return "last linear layer"
    if _LIKE_HEAD.search(name):
        return "named like an output layer"
    if _LIKE_EMBEDDING.search(name):
        return "named like an embedding"
    if _LIKE_BIAS.search(places[0].own_name):
        return "named like a bias"
    if param.dim() > 2 and len(param) == 1 and not is_filter:
        return "of one batch, like an embedding"
    return "one row or column" if _is_thin(param, is_filter) else None


def _is_thin(param: torch.Tensor, is_filter: bool) -> bool:
    if param.dim() < 2:
        return True
    rows, columns = param.shape[-2:]
    if is_filter:
        rows, columns = len(param), param.shape[1:].numel()
    return min(rows, columns) < 2


def _hidden(route: Route, place: _Place) -> Route:
    """Completes the route of a weight of a hidden layer: its reason, view and warning."""
    module, param = place.module, route.param
    # `fully_shard` makes subclasses.
    kinds = [each.__name__.removeprefix("FSDP") for each in type(module).__mro__]
    weight = f"weight of {'Linear' if isinstance(module, nn.Linear) else kinds[0]}"
    if param.dim() < 2:
        return route
    if isinstance(module, _CONVOLUTIONS):
        if _QKV.search(route.name) and len(param) == 3 * param[0].numel():
            return _with(route, "query, key and value", MatrixView(3, "flat"))
        return _with(route, "filters of a convolution", MatrixView(layout="flat"))
    gates = next((count for kind, count in _GATES.items() if isinstance(module, kind)), None)
    if gates and place.own_name.startswith(("weight_ih", "weight_hh")):
        return _with(route, f"{gates} gates", MatrixView(gates))
    # Transformers' Conv1D, a linear layer, has inputs as rows.
    layout = "transposed" if "Conv1D" in kinds and param.dim() == 2 else None
    view = MatrixView(layout=layout) if layout else None
    if param.dim() > 2:
        return _with(route, f"{param.dim()}-D: a batch of matrices", None)
    rows, columns = param.shape[::-1] if layout else param.shape
    warning = None
    if _QKV_OF_HEADS.search(route.name):
        warning = (
            "query, key and value are one matrix, and their order in its rows differs between "
            "models; give `blocks`"
        )
    elif _QKV.search(route.name) and rows == 3 * columns:
        return _with(route, "query, key and value", MatrixView(3, layout))
    elif _QKV.search(route.name):
        warning = (
            f"query, key and value may be one matrix of {rows} rows; give their rows as `blocks`"
        )
    elif _KEY_VALUE.search(route.name) and rows % 2 == 0:
        return _with(route, "key and value", MatrixView(2, layout))
    elif rows >= max(8 * columns, 8192):
        warning = (
            f"{rows} x {columns} looks like an embedding or an output layer; give its rule as "
            "`route`"
        )
    return _with(route, weight, view, warning)


def _whole(route: Route) -> Route:
    """The route of a weight that isn't split."""
    if route.view is None or route.view.blocks is None:
        return route
    view = MatrixView(layout=route.view.layout) if route.view.layout else None
    return _with(route, f"{route.reason}, as one matrix", view, route.warning)


def _with(route: Route, reason: str, view: MatrixView | None, warning: str | None = None) -> Route:
    return replace(route, reason=reason, view=view, warning=warning)


def _with_blocks(route: Route, pattern: str, blocks: Any) -> Route:
    """The route of a parameter that matches a pattern of `blocks`."""
    layout = route.view.layout if route.view else None
    try:
        view = MatrixView.of({"matrix_blocks": blocks, "matrix_layout": layout})
        if view is not None:
            view.rows(route.param.shape)
    except InvalidArgumentError as refusal:
        raise InvalidArgumentError(f"`blocks` of {route.name}: {refusal}") from None
    warning = route.warning if route.reason.startswith("`route`") else None
    return _with(route, f"`blocks` has `{pattern}`", view, warning)


def _alike(found: Sequence[Route]) -> list[tuple[str, list[Route]]]:
    """Returns routes whose names differ only in numbers, after one name with `*` for them."""
    alike: dict[tuple[object, ...], list[Route]] = {}
    for route in found:
        pattern = re.sub(r"(?<![^.])\d+(?![^.])", "*", route.name)
        frozen = not route.param.requires_grad
        key = (pattern, route.rule, route.param.shape, route.reason, route.view, frozen)
        alike.setdefault(key, []).append(route)
    return [(_common([route.name for route in members]), members) for members in alike.values()]


def _common(names: list[str]) -> str:
    segments = zip(*(name.split(".") for name in names), strict=True)
    return ".".join(each[0] if len(set(each)) == 1 else "*" for each in segments)


def table(found: Sequence[Route], rules: Sequence[str]) -> str:
    """Returns a table of routes, in the order of the rules. Names that differ only in numbers share
    a line. The totals leave out parameters that don't require gradients.
    """
    rows = [("rule", "parameters", "tensors", "shape", "why")]
    for name, members in sorted(_alike(found), key=lambda each: rules.index(each[1][0].rule)):
        first = members[0]
        shape = " x ".join(map(str, first.param.shape)) or "scalar"
        rows.append((first.rule, name, str(len(members)), shape, _why(first)))
    widths = [max(len(row[i]) for row in rows) for i in range(4)]
    text = [
        f"{rule:{widths[0]}}  {name:{widths[1]}}  {count:>{widths[2]}}  {shape:{widths[3]}}  {why}"
        for rule, name, count, shape, why in rows
    ]
    for rule in rules:
        mine = [each.param for each in found if each.rule == rule and each.param.requires_grad]
        tensors = "1 tensor" if len(mine) == 1 else f"{len(mine)} tensors"
        text.append(f"{rule}: {tensors}, {sum(param.numel() for param in mine):,} elements")
    return "\n".join(text)


def warnings(found: Sequence[Route]) -> list[str]:
    """Returns what may be wrong, once for names that differ only in numbers."""
    return [
        f"{name}: {members[0].warning}" for name, members in _alike(found) if members[0].warning
    ]


def _why(route: Route) -> str:
    reason = route.reason if route.param.requires_grad else f"{route.reason}; frozen"
    if route.view is None:
        return reason
    rows = route.view.rows(route.param.shape)
    parts = [reason]
    if len(rows) > 1 and len(set(rows)) == 1:
        parts.append(f"{len(rows)} matrices of {rows[0]} rows")
    elif len(rows) > 1:
        parts.append(f"matrices of {', '.join(map(str, rows))} rows")
    if route.view.layout == "flat":
        parts.append(f"a matrix of {route.param[0].numel()} columns")
    elif route.view.layout == "transposed":
        parts.append("transposed")
    return "; ".join(parts)
