"""An optimizer for a whole model: it applies one rule to hidden weights and another to the rest."""

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import torch

from ..caller_warnings import warn_caller
from ..definition import FileDefinition, RuleDefinition
from ..errors import InvalidArgumentError, UnsupportedError
from ..loading import definition_of
from ..seed import require_seed
from ..shipped import require_path
from ..torch_private import disable_dynamo
from .correspondence import Choices, Correspondence, Group
from .matrix_views import MatrixView
from .routes import Route, routes, table, warnings
from .rule_interface import RuleInterface
from .rule_optimizer import RuleOptimizer
from .rule_options import RuleOptions

#: A rule as a caller gives it.
Rule = RuleDefinition | str | os.PathLike[str]


class ModelOptimizer(RuleOptimizer):
    """Applies a rule to each parameter group, in one step. `for_model` creates it.

    The entry "rule" of a group names its rule.

    Attributes:
        routes: the rule and the reason for each parameter of the model; empty after unpickling.
    """

    routes: Sequence[Route] = ()

    @disable_dynamo
    def __init__(
        self,
        rules: Mapping[str, RuleOptions],
        groups: Iterable[Group],
        *,
        storage: Mapping[str, Any] | None = None,
        numerics: str | None = None,
        probes: Sequence[str] = (),
        probe_every: int = 1,
    ) -> None:
        self.rules = dict(rules)
        self._correspond(Choices(numerics, storage, probes, probe_every))
        torch.optim.Optimizer.__init__(self, groups, {})
        self._require_allowed()

    def _correspond(self, choices: Choices) -> None:
        first, *_ = self.rules.values()
        self.rule = first.rule
        super()._correspond(choices)
        chosen = self.correspondence.storage
        states = {name: {*options.rule.states} for name, options in self.rules.items()}
        for state in chosen:
            known_to_all = state in ("state", "param")
            if not known_to_all and not any(state in having for having in states.values()):
                known = sorted(set().union(*states.values()))
                raise InvalidArgumentError(
                    f"no rule has the state `{state}` of `storage`; the states are "
                    + ", ".join(f"`{each}`" for each in known)
                )
        self._each = {
            name: replace(
                options.correspondence,
                numerics=choices.numerics,
                storage={
                    state: stored
                    for state, stored in chosen.items()
                    if state in ("state", "param") or state in states[name]
                },
                probes=self.correspondence.probes,
                probe_every=self.correspondence.probe_every,
            )
            for name, options in self.rules.items()
        }

    def _set_probe_every(self, every: int) -> None:
        super()._set_probe_every(every)
        for name, each in self._each.items():
            self._each[name] = replace(each, probe_every=every)

    def _correspondence_of(self, group: Group) -> Correspondence:
        return self._each[self._rule_name(group)]

    def _options_of(self, group: Group) -> RuleOptions:
        return self.rules[self._rule_name(group)]

    def _rule_name(self, group: Group) -> str:
        name = group.get("rule")
        if name not in self.rules:
            known = " or ".join(f'"{rule}"' for rule in self.rules)
            raise InvalidArgumentError(
                f"a parameter group has the `rule` {name!r}; give {known}"
                if "rule" in group
                else f"a parameter group has no `rule`; give {known}"
            )
        return str(name)

    def add_param_group(self, param_group: dict[str, Any]) -> None:
        """Adds a group, which needs the entry "rule" and, like all groups of `for_model`, the names
        of its parameters. Entries that it doesn't have are the rule's defaults, not the options of
        `for_model`. See `RuleOptimizer.add_param_group`.
        """
        if isinstance(param_group, dict):
            options = self._options_of(param_group)
            for name, default in options.defaults.items():
                # A flag that isn't set may follow from the hyperparameters.
                if name not in options.rule.statics:
                    param_group.setdefault(name, default)
        super().add_param_group(param_group)

    def _check_loaded(self, state_dict: dict[str, Any]) -> None:
        super()._check_loaded(state_dict)
        pairs = zip(state_dict["param_groups"], self.param_groups, strict=False)
        for number, (saved, mine) in enumerate(pairs):
            theirs, own = saved.get("rule"), self._rule_name(mine)
            if theirs != own:
                raise InvalidArgumentError(
                    f"parameter group {number} was saved for the rule {theirs!r}, and the "
                    f"optimizer steps it with `{own}`; make the optimizer with the same rules"
                )
            views = MatrixView.of(saved), MatrixView.of(mine)
            if not all(MatrixView.are_alike(*views, param.shape) for param in mine["params"]):
                raise InvalidArgumentError(
                    f"parameter group {number} was saved with other `matrix_blocks` or "
                    "`matrix_layout`; make the optimizer with the same `blocks`"
                )

    def __getstate__(self) -> dict[str, Any]:
        return super().__getstate__() | {"rules": self.rules}

    def __setstate__(self, state: dict[str, Any]) -> None:
        if "rules" in state:
            self.rules = state["rules"]
        super().__setstate__(state)

    def __repr__(self) -> str:
        text = torch.optim.Optimizer.__repr__(self)
        return text.replace(type(self).__name__, " + ".join(self.rules), 1)


def for_model(
    model: torch.nn.Module,
    rules: str | Sequence[Rule] = "Muon + AdamW",
    *,
    options: Mapping[str, Mapping[str, Any]] | None = None,
    route: Mapping[str, str] | None = None,
    blocks: Mapping[str, Sequence[int] | int] | None = None,
    storage: Mapping[str, Any] | None = None,
    numerics: str | None = None,
    seed: int | None = None,
    probes: Sequence[str] = (),
    probe_every: int = 1,
    verbose: bool = True,
    **common: Any,
) -> ModelOptimizer:
    """Creates one optimizer for all parameters of a model, with two rules.

    The first rule steps the weights of hidden layers, as matrices. The second one steps everything
    else: embeddings, the output layer, normalization, vectors. The choice depends on the module's
    type, the parameter's name and its shape. A table shows the rule of each parameter and why.

    - Fused weights for query, key and value, and the gates of recurrent layers, are split into
      their matrices, unless the rule has states of square matrices, as SOAP has.
    - Filters of a convolution are one matrix, with a row for each output channel.
    - Other parameters of three or more dimensions are batches of matrices.

    A rule gets a parameter group of matrices for each kind of split, and one of vectors. A rule
    that reduces over the group gets one group.

    Args:
        model: the model.
        rules: the names of two rules, such as "Muon + AdamW"; or two rules as `updraft.optimizer`
            takes them.
        options: hyperparameters and static flags by the rule's name.
        route: maps patterns of parameter names to rule names, such as `{"*.gate.weight": "AdamW"}`.
            The last pattern that matches counts. Names are those of the model before
            `torch.compile`, FSDP or activation checkpointing wrapped it.
        blocks: maps patterns of parameter names to the matrices of a weight: to the rows of each,
            such as `{"*.qkv_proj.weight": (4096, 1024, 1024)}`, or to their number, such as the
            number of heads.
        storage: storage types of `param` and of states by name; see `updraft.optimizer`.
        numerics: "ieee" or "fast"; None for "ieee".
        seed: the seed of random numbers.
        probes: numbers that steps report for each parameter; see `updraft.optimizer`.
        probe_every: 1 probes each step, 20 every 20th, 0 none.
        verbose: whether to print the table.
        **common: options of any rule that has them, such as `lr`.

    Raises:
        InvalidArgumentError: an option is unknown, a pattern matches no parameter, or blocks don't
            fit a weight.
        UnsupportedError: the first rule has states of square matrices, such as SOAP's, and a weight
            is split. Use `blocks` or `route` for it. Or a rule reduces over the group, and its
            weights are split in several ways. Use `route` for some of them.

    Warns:
        UserWarning: a choice may be wrong, such as an embedding under the first rule.

    >>> import torch
    >>> model = torch.nn.Sequential(
    ...     torch.nn.Embedding(100, 16), torch.nn.Linear(16, 32), torch.nn.Linear(32, 100)
    ... )
    >>> optimizer = for_model(model, "Muon + AdamW", options={"Muon": {"lr": 0.02}})
    rule   parameters  tensors  shape     why
    Muon   1.weight          1  32 x 16   weight of Linear
    AdamW  0.weight          1  100 x 16  embedding
    AdamW  1.bias            1  32        vector
    AdamW  2.weight          1  100 x 32  last linear layer
    AdamW  2.bias            1  100       vector
    Muon: 1 tensor, 512 elements
    AdamW: 4 tensors, 4,932 elements
    >>> [group["rule"] for group in optimizer.param_groups]
    ['Muon', 'AdamW', 'AdamW']
    """
    if not isinstance(model, torch.nn.Module):
        raise InvalidArgumentError(
            "`for_model` takes a module, whose structure decides the rule of each parameter, "
            f"found a {type(model).__name__}; pass the model, not its parameters"
        )
    named = _named(rules)
    hidden, others = named
    interfaces = {name: RuleInterface(each.rule.compile()) for name, each in named.items()}
    # States of square matrices belong to whole parameters.
    splits = not interfaces[hidden].square_states
    found = routes(model, hidden, others, dict(route or {}), dict(blocks or {}), splits)
    if not found:
        raise InvalidArgumentError("the model has no parameters")
    given = _given_options(named, options or {}, common)
    random = {} if seed is None else {"seed": require_seed(seed)}
    # A rule that reduces over the group gets all of its parameters in one.
    whole = [name for name, interface in interfaces.items() if interface.by_group]
    for name in whole:
        _require_one_view(name, found)
    groups: dict[tuple[Any, ...], Group] = {}
    for each in sorted(found, key=lambda each: (each.rule != hidden, not each.is_matrix)):
        key = (each.rule, each.is_matrix and each.rule not in whole, each.view)
        entries = each.view.entries() if each.view else {}
        start = {"params": [], "rule": each.rule, **given[each.rule], **random, **entries}
        groups.setdefault(key, start)["params"].append((each.name, each.param))
    made = ModelOptimizer(
        named,
        groups.values(),
        storage=storage,
        numerics=numerics,
        probes=probes,
        probe_every=probe_every,
    )
    made.routes = found
    if verbose:
        print(table(found, [*named]))
    for warning in warnings(found):
        warn_caller(warning)
    if all(each.rule != hidden for each in found):
        warn_caller(f"no parameter of the model is stepped with `{hidden}`")
    return made


def _require_one_view(rule: str, found: Iterable[Route]) -> None:
    """Refuses a rule that reduces over the group if its parameters need several groups."""
    firsts: dict[MatrixView | None, str] = {}
    for each in found:
        if each.rule == rule:
            firsts.setdefault(each.view, f"{each.name} ({each.reason})")
    if len(firsts) > 1:
        raise UnsupportedError(
            f"the rule `{rule}` depends on a whole group, but its parameters are split into "
            f"matrices in several ways, which need a group each: {', '.join(firsts.values())}; "
            "give the parameters of all ways but one the other rule with `route`, or clip with "
            "`updraft.optim.with_clipping`"
        )


def _named(rules: str | Sequence[Rule]) -> dict[str, RuleOptions]:
    """Returns the options of both rules, by the rules' names."""
    each = [part.strip() for part in rules.split("+")] if isinstance(rules, str) else list(rules)
    if len(each) != 2:
        count = "one rule" if len(each) == 1 else f"{len(each)} rules"
        raise InvalidArgumentError(
            f"`rules` has {count}; give one for hidden weights and one for everything "
            'else, such as "Muon + AdamW"'
        )
    named = {}
    for rule in each:
        if isinstance(rule, str) and rule.isidentifier():
            options = RuleOptions.with_betas(FileDefinition(require_path(rule), None, {}))
        else:
            options = RuleOptions.as_in_rule(definition_of(rule))
        if options.rule.name in named:
            raise InvalidArgumentError(f"`rules` has `{options.rule.name}` twice; give two rules")
        named[options.rule.name] = options
    return named


def _given_options(
    named: Mapping[str, RuleOptions],
    options: Mapping[str, Mapping[str, Any]],
    common: Mapping[str, Any],
) -> dict[str, dict[str, Any]]:
    """Returns the entries of groups that the caller gives, by the rules' names."""
    given: dict[str, dict[str, Any]] = {name: {} for name in named}
    for option, value in common.items():
        having = [name for name, each in named.items() if option in each.defaults]
        if not having:
            known = dict.fromkeys(entry for each in named.values() for entry in each.defaults)
            raise InvalidArgumentError(
                f"neither rule has an option `{option}`; there are "
                + ", ".join(f"`{entry}`" for entry in known)
            )
        for name in having:
            given[name][option] = value
    for name, mine in options.items():
        if name not in named:
            raise InvalidArgumentError(
                f"`options` has `{name}`; the rules are "
                + " and ".join(f"`{rule}`" for rule in named)
            )
        if not isinstance(mine, Mapping):
            raise TypeError(f"the options of `{name}` are {type(mine)}; give a dict")
        for option, value in mine.items():
            if option not in named[name].defaults:
                raise InvalidArgumentError(
                    f"the rule `{name}` has no option `{option}`; there are "
                    + ", ".join(f"`{entry}`" for entry in named[name].defaults)
                )
            given[name][option] = value
    return given
