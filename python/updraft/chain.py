"""Chains of transforms and a rule from any source."""

from collections.abc import Iterator, Mapping
from typing import Any

from . import _updraft
from .arguments import require_text
from .compiled_rule import setting_literal
from .definition import CompiledDefinition, FileDefinition, RuleDefinition
from .errors import InvalidArgumentError
from .shipped import path_of
from .tracing.places import Place, here
from .tracing.rule import TracedDefinition
from .tracing.source import Source
from .transforms import Stage

_Part = TracedDefinition | FileDefinition | str


def _stage_name(stage: str) -> str:
    return stage.partition("(")[0].strip()


def _is_transform(stage: str) -> bool:
    name = _stage_name(stage)
    return name in _updraft.transforms() and path_of(name) is None


class ChainDefinition(CompiledDefinition):
    """Stages that form one rule."""

    def __init__(
        self, parts: tuple[_Part, ...], defaults: Mapping[str, Any], place: Place | None = None
    ) -> None:
        super().__init__(defaults)
        self._parts = parts
        self._place = place

    @property
    def name(self) -> str:
        names = (part.split("(")[0] if isinstance(part, str) else part.name for part in self._parts)
        name = "_".join(name.strip() for name in names)[:100]
        # A chain can't have the name of its stage.
        return name if len(self._parts) > 1 else f"chain_of_{name}"[:100]

    @property
    def statics(self) -> dict[str, Any]:
        return super().statics | self._part_statics()

    def _part_statics(self) -> dict[str, Any]:
        """The static arguments of all functions. Arguments with the same name are the same one."""
        statics: dict[str, Any] = {}
        for part in self._parts:
            if isinstance(part, TracedDefinition):
                statics |= part.statics
        return statics | {name: v for name, v in self._defaults.items() if name in statics}

    def _traced_statics(self) -> "set[str]":
        return {*self._part_statics()}

    def _settings(self) -> dict[str, Any]:
        traced = self._part_statics()
        return {name: value for name, value in self._defaults.items() if name not in traced}

    def __call__(self, **defaults: Any) -> "ChainDefinition":
        return ChainDefinition(self._parts, self._defaults | defaults, self._place)

    def __reduce__(self) -> Any:
        return ChainDefinition, (self._parts, self._defaults)

    @property
    def _rule(self) -> str | None:
        return self.name

    def _written_names(self) -> Iterator[str]:
        """The names of the stages that the language finds, in the library or in files."""
        for part in self._parts:
            if isinstance(part, str):
                yield _stage_name(part)
            elif isinstance(part, FileDefinition):
                yield from map(_stage_name, part._stage()[1].split("|>"))

    def _source(self, statics: Mapping[str, Any]) -> Source:
        if all(isinstance(part, str) and _is_transform(part) for part in self._parts):
            text = " |> ".join(map(str, self._parts))
            raise InvalidArgumentError(
                f"the chain `{text}` has no rule; add one: its name, a result of `updraft.load`, "
                "or a function with `@updraft.rule`"
            )
        chosen = self._part_statics() | dict(statics)
        imports: list[str] = []
        texts: list[Source] = []
        stages: list[str] = []
        # The declaration of a function would replace a stage of that name of the library or a file.
        names: dict[str, bytes | None] = dict.fromkeys(self._written_names())
        for part in self._parts:
            if isinstance(part, str):
                # The language finds a rule of the package by its name, like the library's
                # transforms.
                file = path_of(_stage_name(part))
                line = "" if file is None else f"import {setting_literal('path', file)}\n"
                if line not in imports:
                    imports.append(line)
                stages.append(part)
            elif isinstance(part, FileDefinition):
                line, stage = part._stage()
                if line not in imports:
                    imports.append(line)
                stages.append(stage)
            else:
                mine = {name: chosen[name] for name in part.statics}
                name, source = part.name, part._source(mine)
                count = 1
                # Two functions may have the same name, and one function may have two sets of
                # defaults.
                while names.setdefault(name, source.text) != source.text:
                    count += 1
                    name = f"{part.name}_{count}"
                    source = part._named(name)._source(mine)
                if source.text not in (text.text for text in texts):
                    texts.append(source)
                stages.append(name)
        whole = Source("".join(imports).encode(), [])
        for source in texts:
            whole = whole.followed_by(source)
        begin = f"rule {self.name} = "
        chain = (begin + " |> ".join(stages) + "\n").encode()
        spans = [] if self._place is None else [(0, len(chain) - 1, self._place)]
        return whole.followed_by(Source(chain, spans)).formatted(self._filename)


def _add_defaults(defaults: dict[str, Any], given: Mapping[str, Any]) -> None:
    """Adds the defaults of a chain within a chain. Two of them can't have different ones."""
    for name, value in given.items():
        if defaults.setdefault(name, value) != value:
            raise InvalidArgumentError(
                f"two chains within the chain have different defaults of `{name}`, "
                f"{defaults[name]!r} and {value!r}; give the whole chain one: `chain(…)({name}=…)`"
            )


def _require_same_statics(parts: list[_Part]) -> None:
    """Static arguments with the same name are one argument of the chain."""
    statics: dict[str, Any] = {}
    for part in parts:
        if isinstance(part, TracedDefinition):
            for name, value in part.statics.items():
                if statics.setdefault(name, value) != value:
                    raise InvalidArgumentError(
                        f"two stages have different values of the static argument `{name}`, "
                        f"{statics[name]!r} and {value!r}, but a chain has one argument of that "
                        "name; give the argument of one stage another name"
                    )


def chain(*stages: RuleDefinition | Stage | str) -> RuleDefinition:
    """Combines transforms and a rule into one rule. The stages run in the given order.

    Args:
        stages: functions with `@updraft.transform` and `@updraft.rule`, results of `updraft.load`,
            transforms of the library such as `updraft.transforms.clip_by_value(bound=0.5)`, stages
            in the language such as "clip_by_value(0.5)" or "AdamW" (a rule of the package), and
            other chains, whose defaults stay. If a loaded file and the library have a transform of
            one name, no stage can have that name.

    Raises:
        InvalidArgumentError: there is no stage, or an empty one; two stages have different values
            of one static argument, or two chains different defaults.

    >>> import updraft
    >>> @updraft.rule
    ... def sgd(param, grad, lr=0.1):
    ...     return param - lr * grad
    >>> clipped = updraft.chain(updraft.transforms.clip_by_value(bound=0.5), sgd)
    >>> clipped.hypers
    {'bound': 0.5, 'lr': 0.1}
    """
    parts: list[_Part] = []
    defaults: dict[str, Any] = {}
    for stage in stages:
        if isinstance(stage, ChainDefinition):
            parts += stage._parts
            _add_defaults(defaults, stage._defaults)
        elif isinstance(stage, Stage):
            parts.append(stage.text)
        elif isinstance(stage, str):
            require_text(stage, "stage of a chain")
            parts += [part.strip() for part in stage.split("|>")]
        elif isinstance(stage, TracedDefinition | FileDefinition):
            parts.append(stage)
        else:
            raise TypeError(f"a stage is {type(stage)}; give definitions, transforms or text")
    if any(part == "" for part in parts):
        raise InvalidArgumentError("a stage is empty; give the name of a transform or a rule")
    if not parts:
        raise InvalidArgumentError("a chain has no stages; give transforms and a rule")
    _require_same_statics(parts)
    return ChainDefinition(tuple(parts), defaults, here())
