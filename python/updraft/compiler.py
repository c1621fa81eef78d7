"""Compiles rules from text, files and Python functions."""

import os
from collections.abc import Mapping, Sequence
from typing import Any

from .compiled_rule import CompiledRule, compile_source, path_text, read_source
from .definition import RuleDefinition
from .errors import InvalidArgumentError


def compile(
    source: str | bytes | RuleDefinition,
    *,
    filename: str = "<string>",
    rule: str | None = None,
    defaults: Mapping[str, Any] | None = None,
    storage: Mapping[str, Any] | None = None,
    numerics: str | None = None,
    cache_dir: str | os.PathLike[str] | None = None,
    tensors: str = "all",
    target: str | None = None,
    probes: Sequence[str] = (),
) -> CompiledRule:
    """Compiles a rule, for this machine's CPU or a GPU, or takes it from the cache.

    Args:
        source: the text of a rule file, or its bytes in UTF-8; a definition, such as a function
            with `@updraft.rule`; or the bytes of a package;
            then `tensors` and `cache_dir` have no effect.
        filename: the name of the text in messages. Imports are searched for in its folder.
        rule: the rule to compile, if the text has several; or a chain: "clip_by_value(1) |> SGD".
        defaults: static flags, and defaults of hyperparameters: `{"amsgrad": True, "lr": 3e-4}`.
        storage: storage types of "param", "grad", a state by its name, or all states by "state":
            `{"param": "bf16", "state": "f32"}`. The default is f32 for the parameter, and the
            parameter's type for states.
        numerics: how arithmetic rounds: "ieee" rounds every operation separately, "torch" rounds
            like `torch.optim` on the CPU, "fast" uses fewer operations within documented errors.
            The default is "ieee", or that of a package.
        cache_dir: the folder that keeps compiled code between processes. "" disables it; None means
            the default folder. A folder that other users may write to is not used;
            `UPDRAFT_CACHE_DIR=FOLDER python -m updraft.info` prints the reason.
        tensors: the tensors that the rule will step: "all", "vectors" with fewer than two
            dimensions, or "matrices" with two or more. If the rule has a variant for each, only
            that one is compiled, with its states, which takes less time.
        target: the target of steps: None for this machine's CPU, "cuda" or "cuda:1" for a GPU of
            this machine, "emulator", or a GPU target as in `updraftc --target`.
        probes: numbers that steps report for each parameter, beside the rule's own probes:
            "ratio = norm(new_param - param) / norm(param)", or the name of a function whose
            parameters have names of the rule's values, such as "update_ratio".

    Raises:
        CompileError: the text has an error, shown in the message, or doesn't have this rule.

    >>> text = "rule SGD(lr = 0.1) { update(param, grad) { next param = param - lr * grad } }"
    >>> sgd = compile(text)
    >>> sgd.name, sgd.hypers
    ('SGD', {'lr': 0.1})
    """
    if not isinstance(source, str | bytes):
        if isinstance(source, RuleDefinition):
            if rule is not None:
                raise InvalidArgumentError(
                    f"`rule` selects a rule of a text, but `{source.name}` is a definition; give "
                    "the definition alone, or `updraft.chain(…)`"
                )
            return source.compile(
                defaults=defaults,
                storage=storage,
                numerics=numerics,
                cache_dir=cache_dir,
                tensors=tensors,
                target=target,
                probes=probes,
            )
        raise TypeError(
            f"the source is {type(source)}; give the text of a rule, or a path to `compile_file`"
        )
    # The compiler refuses invalid text, such as half a surrogate pair.
    text = source.encode(errors="surrogatepass") if isinstance(source, str) else source
    return compile_source(
        text,
        filename=filename,
        rule=rule,
        defaults=defaults,
        storage=storage,
        numerics=numerics,
        cache_dir=cache_dir,
        tensors=tensors,
        target=target,
        probes=probes,
    )


def compile_file(
    path: str | os.PathLike[str],
    *,
    rule: str | None = None,
    defaults: Mapping[str, Any] | None = None,
    storage: Mapping[str, Any] | None = None,
    numerics: str | None = None,
    cache_dir: str | os.PathLike[str] | None = None,
    tensors: str = "all",
    target: str | None = None,
    probes: Sequence[str] = (),
) -> CompiledRule:
    """Compiles a rule of a file; see `compile`.

    Raises:
        FileMissingError: the file doesn't exist.
        FileError: the file cannot be read.
    """
    filename = path_text(path)
    return compile(
        read_source(filename),
        filename=filename,
        rule=rule,
        defaults=defaults,
        storage=storage,
        numerics=numerics,
        cache_dir=cache_dir,
        tensors=tensors,
        target=target,
        probes=probes,
    )
