"""A torch optimizer for any rule."""

import difflib
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import torch
from torch.nn.parameter import is_lazy

from ..caller_warnings import warn_caller
from ..compiled_rule import CompiledRule
from ..definition import RuleDefinition
from ..derived_flags import require_allowed
from ..errors import InvalidArgumentError, UnsupportedError
from ..seed import require_seed
from ..torch_private import disable_dynamo
from ..torch_step import number_of
from . import max_logits, soap_checkpoints
from .compiled import CompiledStep
from .correspondence import (
    Choices,
    Correspondence,
    Group,
    reader,
    require_hypers,
    setting_choices,
    specialize,
    warn_of_choices,
)
from .matrix_views import ENTRIES, require_matrices
from .rule_interface import RuleInterface
from .rule_options import RuleOptions

#: Rows or columns of a parameter, as many as a layer with square matrices usually has at most.
_USUAL_SIDE = 10_000


def _warn_of_large_squares(rule: CompiledRule, params: Iterable[torch.Tensor]) -> None:
    """Warns of a parameter whose square matrices are much larger than itself."""
    interface = RuleInterface(rule)
    for param in params:
        if is_lazy(param) or param.dim() < 2 or max(param.shape[-2:]) <= _USUAL_SIDE:
            continue
        if elements := interface.square_elements(param.shape):
            warn_caller(
                f"the rule `{rule.name}` keeps square matrices with {elements:.3g} elements for a "
                f"parameter of shape {tuple(param.shape)}; step it with another rule, as "
                "`updraft.optim.for_model` does with embeddings"
            )


class RuleOptimizer(CompiledStep, torch.optim.Optimizer):
    """Applies a rule to parameters of torch. `updraft.optimizer` creates it."""

    # torch.compile would lose attributes that are set before torch's constructor.
    @disable_dynamo
    def __init__(
        self,
        rule: RuleDefinition,
        params: Iterable[Any],
        *,
        storage: Mapping[str, Any] | None = None,
        numerics: str | None = None,
        seed: int | None = None,
        probes: Sequence[str] = (),
        probe_every: int = 1,
        **options: Any,
    ) -> None:
        self.rule = rule
        if isinstance(params, torch.Tensor):
            raise TypeError(
                "params argument given to the optimizer should be an iterable of Tensors or dicts, "
                f"but got {torch.typename(params)}"
            )
        params = list(params)
        known = self._options.defaults
        for name in options:
            if name not in known:
                raise InvalidArgumentError(
                    f"the rule `{rule.name}` has no hyperparameter or static flag `{name}`; "
                    f"there are {', '.join(f'`{other}`' for other in known)}"
                )
        self._correspond(Choices(numerics, storage, probes, probe_every))
        hypers = {name: value for name, value in known.items() if name not in rule.statics}
        # An entry of the groups, so that it is saved with them, for rules that use random numbers.
        random = {} if seed is None else {"seed": require_seed(seed)}
        super().__init__(params, hypers | options | random)
        # As in torch, the constructor checks hyperparameters, and steps don't.
        self._require_allowed()

    def _require_allowed(self) -> None:
        """Refuses groups with hyperparameters that the rule refuses, even if nothing is stepped."""
        self._require_bf16_params()
        compiled, _ = self._compile(scaled=False)
        for group, entry in zip(self.param_groups, compiled, strict=True):
            places = self._correspondence_of(group).hypers
            require_hypers(places, group, torch.float32)
            hypers = {
                name: number_of(reader(place)(group, torch.float32))
                for name, place in places.items()
            }
            rules = [part.rule for part in entry.buckets if part.rule]
            rules = rules or [self._rule_of(group, hypers)]
            for rule in rules:
                require_allowed(rule, hypers)
            _warn_of_large_squares(rules[0], group["params"])

    def _rule_of(self, group: Group, hypers: Mapping[str, float]) -> CompiledRule:
        """Returns the rule, compiled for the flags of a group and for f32 parameters."""
        correspondence = self._correspondence_of(group)

        def make(settings: dict[str, Any]) -> CompiledRule:
            storage = correspondence.all_storage
            return correspondence.definition.compile(defaults=settings, storage=storage)

        return specialize(make, setting_choices(correspondence, group, hypers))

    def add_param_group(self, param_group: dict[str, Any]) -> None:
        """Adds a group, as in torch. Keeps entries that the rule doesn't read, as in torch, and
        warns if such an entry looks like an option, or is a choice of the whole optimizer.

        The entries `matrix_blocks` and `matrix_layout` describe the matrices that the rule steps
        instead of the parameters; see `updraft.optim.for_model`.
        """
        options = self._options_of(param_group) if isinstance(param_group, dict) else self._options
        known = [*options.defaults, *ENTRIES]
        warn_of_choices(param_group, known)
        for name in param_group if isinstance(param_group, dict) else ():
            if name in known or name in ("params", "param_names", "seed"):
                continue
            near = [other for other in known if re.fullmatch(rf"{re.escape(name[:-1])}\d", other)]
            near = near or difflib.get_close_matches(name, known, 1, cutoff=0.8)
            if near:
                warn_caller(
                    f"a parameter group has `{name}`, which the rule `{options.rule.name}` does "
                    f"not read; it reads {', '.join(f'`{other}`' for other in near)}",
                )
        number = len(self.param_groups)
        super().add_param_group(param_group)
        try:
            require_matrices(self.param_groups[number])
        except InvalidArgumentError:
            del self.param_groups[number]
            raise

    def _translated(self, state_dict: dict[str, Any]) -> dict[str, Any]:
        rules = {self._options_of(group).rule.name for group in self.param_groups}
        is_of_authors = any(
            map(soap_checkpoints.is_of_authors, state_dict.get("state", {}).values())
        )
        if rules == {"SOAP"} and is_of_authors:
            return soap_checkpoints.translated(state_dict, self.param_groups)
        return state_dict

    @torch.no_grad()
    def record_max_logits(
        self, param: torch.Tensor, values: torch.Tensor | Sequence[float]
    ) -> None:
        """Records the largest attention logits of this step, for a rule with QK-clip (`MuonClip`).

        The next step multiplies the rows of heads whose logit is too large. Several calls before a
        step, such as those of micro-batches, count with their maximum. Parameters have no states
        before their first step, which makes them: logits that are recorded before it are dropped.

        Args:
            param: the weight of queries, or of keys. Its rows are outputs of the layer.
            values: one number for each head, in the order of its rows. All heads have equally many
                rows. Give 0 for rows that aren't clipped, such as those of values in a fused
                weight. Negative numbers count as 0. On several ranks, give the maximum over all of
                them. Numbers on a GPU are waited for.

        Raises:
            InvalidArgumentError: the parameter isn't one of the optimizer, or not a matrix; the
                numbers don't fit its rows, or one is NaN or infinity.
            UnsupportedError: the rule doesn't clip.
        """
        groups = (
            group
            for group in self.param_groups
            if any(param is member for member in group["params"])
        )
        group = next(groups, None)
        if group is None:
            raise InvalidArgumentError(
                f"a parameter of shape {tuple(param.shape)} isn't one of the optimizer's; give one "
                "of `param_groups`"
            )
        rule = self._options_of(group).rule
        if max_logits.STATE not in rule.states:
            raise UnsupportedError(
                f"the rule `{rule.name}` doesn't clip attention logits; choose one that does, such "
                "as `MuonClip`"
            )
        with self._stepping:
            state = self._states.of_param(param)
            if not state:
                return
            if max_logits.STATE not in state:
                raise InvalidArgumentError(
                    f"a parameter of shape {tuple(param.shape)} has no state "
                    f"`{max_logits.STATE}`; give a matrix, whose rows are outputs"
                )
            max_logits.record(state[max_logits.STATE], values)

    @property
    def _options(self) -> RuleOptions:
        """The options of the rule."""
        return RuleOptions.as_in_rule(self.rule)

    def _options_of(self, group: Group) -> RuleOptions:
        """The options of the rule that steps a group."""
        return self._options

    def _declared(self) -> Correspondence:
        return self._options.correspondence

    def __getstate__(self) -> dict[str, Any]:
        return super().__getstate__() | {"rule": self.rule}

    def __setstate__(self, state: dict[str, Any]) -> None:
        if "rule" in state:
            self.rule = state["rule"]
        super().__setstate__(state)

    def __repr__(self) -> str:
        return super().__repr__().replace(type(self).__name__, self.rule.name, 1)
