"""The request to create optimizers on workers: the rule as text, and its groups."""

import json
from collections.abc import Sequence
from typing import Any

import torch

from ... import dtypes
from ...compiled_rule import setting_literal
from ...optim.compiled import CompiledStep
from ...optim.correspondence import AS_DENSE, Correspondence, Group, setting_choices
from ...optim.state_storage import FLOATS
from ...package_definition import PackageDefinition
from .hypers import HyperReaders
from .imports import Imports


def _literals(settings: dict[str, Any]) -> dict[str, str]:
    return {name: setting_literal(name, value) for name, value in settings.items()}


def _described(correspondence: Correspondence, readers: HyperReaders, group: Group) -> Any:
    """The worker-independent part of a group, and the source of its rule."""
    definition = correspondence.definition
    sparse = correspondence.sparse_of(group)
    # Settings may depend on the dtype of parameters, which references don't have.
    typed = {
        storage: group | {"params": [torch.empty(0, dtype=FLOATS[storage], device="cpu")]}
        for storage in FLOATS
    }
    source, _ = definition._chosen_text(correspondence.read_settings(typed["f32"]))
    hypers = {storage: readers.read(group, storage) for storage in FLOATS}
    # A package isn't text, and is sent once for all groups.
    text = "" if isinstance(definition, PackageDefinition) else source.text.decode()
    return text, {
        # Choices that are hyperparameters don't change the text.
        "choices": {
            storage: [
                _literals(definition._chosen_text(chosen)[1])
                for chosen in setting_choices(correspondence, typed[storage], values)
            ]
            for storage, values in hypers.items()
        },
        # As text, because JSON doesn't have infinity.
        "hypers": {
            storage: {name: str(value) for name, value in values.items()}
            for storage, values in hypers.items()
        },
        "sparse_refusal": "" if sparse in (None, AS_DENSE) else sparse,
        "sparse_as_dense": sparse == AS_DENSE,
        "dense_refusal": correspondence.dense or "",
        "seed": group.get("seed", 0),
    }


def request(
    optimizer: CompiledStep,
    readers: HyperReaders,
    members: Sequence[tuple[Sequence[int], Sequence[int]]],
    groups: Sequence[Group],
    owners: Sequence[Sequence[str]],
    count_versions: bool,
    replaces: int | None = None,
) -> str:
    """Returns the text for one worker.

    Args:
        optimizer: an optimizer of the same class, to read the groups.
        members: for each group, the positions of its parameters in the worker's list, and their
            indices among all parameters of the optimizer.
        owners: for each group, the names of the workers that have its parameters.
        count_versions: whether autograd is notified of steps.
        replaces: the number of the optimizer on the worker that this one replaces.
    """
    correspondence = optimizer.correspondence
    definition = correspondence.definition
    package = definition.content if isinstance(definition, PackageDefinition) else b""
    imports = Imports()
    packed: list[dict[str, Any]] = []
    for group, (places, indices), workers in zip(groups, members, owners, strict=True):
        text, described = _described(correspondence, readers, group)
        packed.append(
            described
            | {
                "source": imports.bundled(text, definition._filename),
                "params": list(places),
                "numbers": list(indices),
                "owners": list(workers),
            }
        )
    return json.dumps(
        {
            "filename": definition._filename,
            "files": imports.files,
            "package": package.hex(),
            "rule": definition._rule or "",
            # Empty: as in the package.
            "numerics": correspondence.numerics or ("" if package else "ieee"),
            "storage": {
                name: dtypes.canonical_name(dtype) for name, dtype in correspondence.storage.items()
            },
            "complex_refusal": correspondence.complex or "",
            "count_versions": count_versions,
            "replaces": replaces,
            "groups": packed,
        }
    )
