"""Compiling rules from text, from files and from Python functions."""

import os
from collections.abc import Mapping
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
    numerics: str = "ieee",
    cache_dir: str | os.PathLike[str] | None = None,
    tensors: str = "all",
    target: str | None = None,
) -> CompiledRule:
    """Compiles a rule, for this machine's CPU or a GPU, or takes it from the cache.

    Args:
        source: the text of a rule file, or its bytes in UTF-8; or a rule that is a function, such
            as `@updraft.rule` makes.
        filename: names the text in messages; imports are looked for beside it.
        rule: which rule, if the text has several; or a chain: "clip_by_value(1) |> SGD".
        defaults: static flags, and defaults of hyperparameters: `{"amsgrad": True, "lr": 3e-4}`.
        storage: storage types of "param", "grad", a state by its name, or of every state by
            "state": `{"param": "bf16", "state": "f32"}`. f32 where nothing is said; states are
            stored like the parameter.
        numerics: how arithmetic rounds: "ieee" rounds every operation by itself, "torch" like
            `torch.optim` on the CPU, "fast" has fewer operations within stated errors.
        cache_dir: where compiled code is kept between processes; "" keeps none; None is the
            default place. A folder that other users may write to is not used;
            `UPDRAFT_CACHE_DIR=FOLDER python -m updraft.info` says why.
        tensors: those that it is needed for: "all", "vectors" with less than two dimensions, or
            "matrices" with two or more. A rule with a variant for each then has only that one, and
            its states, which takes less time to compile.
        target: what steps run on: None for this machine's CPU, "cuda" or "cuda:1" for a GPU that is
            there, "emulator", or what `updraftc` takes as `--target` for GPUs.

    Raises:
        CompileError: the text is in error, and the message shows where; or it has no such rule.

    >>> text = "rule SGD(lr = 0.1) { update(param, grad) { next param = param - lr * grad } }"
    >>> sgd = compile(text)
    >>> sgd.name, sgd.hypers
    ('SGD', {'lr': 0.1})
    """
    if not isinstance(source, str | bytes):
        if isinstance(source, RuleDefinition):
            if rule is not None:
                raise InvalidArgumentError(
                    f"`rule` is for text; give `{source.name}`, or `updraft.chain(…)`, by itself"
                )
            return source.compile(
                defaults=defaults,
                storage=storage,
                numerics=numerics,
                cache_dir=cache_dir,
                tensors=tensors,
                target=target,
            )
        raise TypeError(
            f"the source is {type(source)}; give the text of a rule, or a path to `compile_file`"
        )
    # What is no text, such as half a surrogate pair, is refused by the compiler.
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
    )


def compile_file(
    path: str | os.PathLike[str],
    *,
    rule: str | None = None,
    defaults: Mapping[str, Any] | None = None,
    storage: Mapping[str, Any] | None = None,
    numerics: str = "ieee",
    cache_dir: str | os.PathLike[str] | None = None,
    tensors: str = "all",
    target: str | None = None,
) -> CompiledRule:
    """Compiles a rule of a file; see `compile`.

    Raises:
        FileMissingError: there is no such file.
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
    )
