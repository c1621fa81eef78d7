"""Finds the definition of a rule: in a file, in a package, or among those of Updraft."""

import os

from . import _updraft
from .compiled_rule import is_package, path_text, read_source
from .definition import FileDefinition, RuleDefinition
from .errors import InvalidArgumentError
from .package_definition import PackageDefinition
from .shipped import require_path


def load(
    path: str | os.PathLike[str], rule: str | None = None, *, required_key: str | None = None
) -> RuleDefinition:
    """Returns the definition of a rule from a file of the language, from Updraft, or from a package
    that `updraftc pack` made.

    A package is machine code, which can do anything that the program can. Load only packages that
    you trust, or require a signature. A definition from a package holds the package's bytes, and
    `compile` takes the first variant with the requested storage types. Static flags and `numerics`
    are those that the package was made with.

    Args:
        path: the file, or the name of a rule of Updraft, such as "AdamW".
        rule: the rule to load, if the file has several; or a chain: "clip_by_value(1) |> SGD".
        required_key: the text of a PEM file with a public Ed25519 key. Anything but a package with
            a signature by this key is refused. This needs libsodium.

    Raises:
        FileMissingError: the file or rule doesn't exist.
        CompileError: the text has an error, shown in the message.
        InvalidArgumentError: the package is damaged, or lacks the signature.
        UnsupportedError: this machine can't run what the package has, a newer Updraft wrote it, or
            `required_key` is given and libsodium is not installed.

    >>> load("SGD").hypers["lr"]
    0.001
    """
    file = path_text(path)
    if file.isidentifier():
        file = require_path(file)
    content = read_source(file)
    definition = FileDefinition(file, rule, {})
    if is_package(content):
        if required_key is not None:
            _updraft.Package(content, file, required_key)  # refuses other signatures
        definition = PackageDefinition(file, content, {})
        if rule not in (None, definition.name):
            raise InvalidArgumentError(
                f"package `{file}` has the rule `{definition.name}`, not `{rule}`"
            )
    elif required_key is not None:
        raise InvalidArgumentError(f"`{file}` is not a package, so it has no signature")
    definition._default()
    return definition


def definition_of(rule: RuleDefinition | str | os.PathLike[str]) -> RuleDefinition:
    """Returns the definition of a rule: the definition itself, a name, or a file."""
    if not isinstance(rule, RuleDefinition | str | os.PathLike):
        raise TypeError(
            f"`rule` is {type(rule)}; give a function with `@updraft.rule`, a chain, the name of a "
            "rule of the package, or a file"
        )
    return rule if isinstance(rule, RuleDefinition) else load(rule)
