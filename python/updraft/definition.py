"""Rules that are not compiled yet: functions, files, and chains of them."""

import abc
import os
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from .arguments import require_dict
from .compiled_rule import CompiledRule, compile_source, read_source, setting_literal
from .derived_flags import DerivedFlags
from .errors import InvalidArgumentError
from .torch_step import TorchStep
from .tracing.source import Source

if TYPE_CHECKING:
    from .notebook import Card
    from .report import Report


class RuleDefinition(abc.ABC):
    """A rule before compilation, for all choices of static arguments and storage types.

    Created by `@updraft.rule`, `@updraft.transform`, `updraft.load` and `updraft.chain`. Optimizers
    accept it directly; `compile` compiles it. Calling it with other defaults, as in
    `definition(lr=3e-4)`, returns another definition.
    """

    @property
    @abc.abstractmethod
    def name(self) -> str:
        """The rule's name."""

    @property
    @abc.abstractmethod
    def hypers(self) -> dict[str, float]:
        """The hyperparameters with their defaults."""

    @property
    @abc.abstractmethod
    def statics(self) -> dict[str, Any]:
        """The static arguments with their defaults."""

    @property
    @abc.abstractmethod
    def states(self) -> dict[str, str]:
        """The states with their storage types for f32 parameters."""

    @abc.abstractmethod
    def __call__(self, **defaults: Any) -> "RuleDefinition":
        """Returns the same rule with other defaults of hyperparameters and static arguments."""

    @abc.abstractmethod
    def _source(self, statics: Mapping[str, Any]) -> Source:
        """The text for a choice of static arguments, and its origin."""

    @property
    def _filename(self) -> str:
        return f"<{self.name}>"

    @property
    def _rule(self) -> str | None:
        """The rule's name, if the text has several rules."""
        return None

    def _settings(self) -> dict[str, Any]:
        """Settings that the text doesn't contain."""
        return {}

    def _traced_statics(self) -> "set[str]":
        """The static arguments that are resolved in the text."""
        return {*self.statics}

    def _deciding(self) -> list[str]:
        """The hyperparameters that static flags are derived from."""
        return []

    def _deciding_values(self, values: Mapping[str, float]) -> dict[str, float]:
        """The non-default items of `values` that static flags are derived from."""
        return {
            name: values[name]
            for name in self._deciding()
            if name in values and values[name] != self.hypers[name]
        }

    def _chosen_text(self, choices: Mapping[str, Any]) -> tuple[Source, dict[str, Any]]:
        """The text for these choices, and the choices that are left for its compilation."""
        given = dict(choices)
        traced = self._traced_statics()
        statics = {name: given.pop(name) for name in traced & given.keys()}
        return self._source(statics), self._settings() | given

    def to_upd(self, **statics: Any) -> str:
        """Returns the rule in the language, for a choice of static arguments."""
        unknown = statics.keys() - self._traced_statics()
        if unknown:
            raise InvalidArgumentError(f"`{self.name}` has no static argument `{min(unknown)}`")
        return self._source(statics).text.decode().rstrip("\n")

    def compile(
        self,
        *,
        defaults: Mapping[str, Any] | None = None,
        storage: Mapping[str, Any] | None = None,
        numerics: str | None = None,
        cache_dir: str | os.PathLike[str] | None = None,
        tensors: str = "all",
        target: str | None = None,
        probes: Sequence[str] = (),
    ) -> CompiledRule:
        """Compiles the rule, or takes it from the cache.

        See `updraft.compile` for the arguments. `defaults` may also include static arguments.
        """
        source, settings = self._chosen_text(require_dict(defaults, "`defaults`"))
        return compile_source(
            source.text,
            filename=self._filename,
            rule=self._rule,
            defaults=settings,
            storage=storage,
            numerics=numerics,
            cache_dir=cache_dir,
            tensors=tensors,
            target=target,
            probes=probes,
            origins=source.origins(),
        )

    def ir(
        self,
        stage: str = "schedule",
        *,
        defaults: Mapping[str, Any] | None = None,
        storage: Mapping[str, Any] | None = None,
        numerics: str | None = None,
    ) -> str:
        """Returns the rule's text at one of `updraft.CompiledRule.STAGES`."""
        return self.compile(defaults=defaults, storage=storage, numerics=numerics).emit(stage)

    def to_torch(
        self,
        *,
        defaults: Mapping[str, Any] | None = None,
        storage: Mapping[str, Any] | None = None,
    ) -> TorchStep:
        """Returns the step as a pure, differentiable function of torch tensors.

        `step(params, grads, state, **hypers)` returns the next parameters and state. It computes in
        the same type as a compiled rule for such parameters, with out-of-place operations.

        Args:
            defaults: static arguments, and defaults of hyperparameters.
            storage: storage types, as in `updraft.compile`. The default is the type of the first
                parameter of a call.

        Raises:
            UnsupportedError: raised by the first call, for a rule with random numbers or with a
                state in blocks.
        """
        return TorchStep(self, defaults, storage)

    def to_torch_source(
        self,
        *,
        defaults: Mapping[str, Any] | None = None,
        storage: Mapping[str, Any] | None = None,
    ) -> str:
        """Returns the Python module that `to_torch` runs. It needs only torch.

        Its function is `step(params, grads, states, group, hyper)`. The first three are lists: of
        tensors, and of dicts with their states, which are empty at first. `group` is a dict of the
        states of the group, and `hyper` a dict of all hyperparameters. The function returns the
        next parameters, states, and states of the group.
        """
        return self.ir("torch", defaults=defaults, storage=storage)

    def explain(
        self,
        *,
        defaults: Mapping[str, Any] | None = None,
        storage: Mapping[str, Any] | None = None,
        numerics: str | None = None,
    ) -> str:
        """Returns the cost of a step: sweeps, bytes and flops per element, hoisted scalars."""
        return self.compile(defaults=defaults, storage=storage, numerics=numerics).explain()

    def report(
        self,
        *,
        defaults: Mapping[str, Any] | None = None,
        storage: Mapping[str, Any] | None = None,
        numerics: str | None = None,
        target: str | None = None,
        also_for: str | None = None,
        run: bool = False,
    ) -> "Report":
        """Returns what the compiler does to the rule, stage by stage, as a page.

        See `compile` for the first arguments, and `CompiledRule.report` for the others.
        """
        rule = self.compile(defaults=defaults, storage=storage, numerics=numerics, target=target)
        return rule.report(also_for=also_for, run=run)

    def _arguments(self) -> list[str]:
        arguments = [f"{name}={value:g}" for name, value in self.hypers.items()]
        return arguments + [f"{name}={value!r}" for name, value in self.statics.items()]

    def __repr__(self) -> str:
        return f"<updraft rule definition {self.name}({', '.join(self._arguments())})>"

    def _card(self) -> "Card":
        from .notebook import Card

        return Card(
            name=self.name,
            remarks="",
            hypers=self.hypers,
            statics=self.statics,
            storage=self.states,
            source=self.to_upd(),
        )

    def _repr_html_(self) -> str:
        return self._card().html()

    def _repr_markdown_(self) -> str:
        return self._card().markdown()


class CompiledDefinition(RuleDefinition):
    """A definition whose rule is known only after compilation."""

    def __init__(self, defaults: Mapping[str, Any]) -> None:
        self._defaults = dict(defaults)
        self._compiled: CompiledRule | None = None

    def _default(self) -> CompiledRule:
        if self._compiled is None:
            self._compiled = self.compile()
        return self._compiled

    @property
    def hypers(self) -> dict[str, float]:
        return self._default().hypers

    @property
    def statics(self) -> dict[str, Any]:
        return self._default().statics

    @property
    def states(self) -> dict[str, str]:
        return self._default().states

    def _deciding(self) -> list[str]:
        return DerivedFlags(self._default()).hypers


class FileDefinition(CompiledDefinition):
    """A rule in a file."""

    def __init__(self, path: str, rule: str | None, defaults: Mapping[str, Any]) -> None:
        super().__init__(defaults)
        self._path = path
        self._chosen = rule

    @property
    def name(self) -> str:
        return self._default().name

    def __call__(self, **defaults: Any) -> "FileDefinition":
        return FileDefinition(self._path, self._chosen, self._defaults | defaults)

    def __reduce__(self) -> Any:
        return FileDefinition, (self._path, self._chosen, self._defaults)

    def _source(self, statics: Mapping[str, Any]) -> Source:
        return Source(read_source(self._path), [])

    @property
    def _filename(self) -> str:
        return self._path

    @property
    def _rule(self) -> str | None:
        return self._chosen

    def _settings(self) -> dict[str, Any]:
        return dict(self._defaults)

    def _traced_statics(self) -> "set[str]":
        return {*()}

    def _stage(self) -> tuple[str, str]:
        """The import and the stages that stand for it in a chain."""
        if self._chosen is not None and "|>" in self._chosen:
            if self._defaults:
                raise InvalidArgumentError(
                    f"the chain `{self._chosen}` takes no arguments within another chain; give the "
                    "arguments to its stages"
                )
            return self._import(), self._chosen
        arguments = ", ".join(
            f"{name} = {setting_literal(name, value)}" for name, value in self._defaults.items()
        )
        return self._import(), f"{self.name}({arguments})"

    def _import(self) -> str:
        path = os.path.abspath(self._path)  # noqa: PTH100
        return f"import {setting_literal('path', path)}\n"
