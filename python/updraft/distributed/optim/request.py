"""What a client asks the workers to make: the rule as text, and its groups."""

import json
from collections.abc import Sequence
from typing import Any

from ... import _updraft, dtypes
from ...compiler import setting_literal
from ...optim.buckets import STORAGE
from ...optim.compiled import CompiledStep
from ...optim.correspondence import AS_DENSE, Group, reader, setting_choices
from .imports import Imports

# Of each storage type, one that hyperparameters are read for: a default may depend on it.
_FLOATS = {name: dtype for dtype, name in STORAGE.items() if not dtype.is_complex}


def _literals(settings: dict[str, Any]) -> dict[str, str]:
    return {name: setting_literal(name, value) for name, value in settings.items()}


def hypers(optimizer: CompiledStep, group: Group, storage: str) -> dict[str, float]:
    """Returns the hyperparameters of a group for parameters of a storage type, as the rule has
    them.
    """
    places = optimizer.correspondence.hypers
    return {name: float(reader(place)(group, _FLOATS[storage])) for name, place in places.items()}


_STORAGE_NAMES = {number: name for name, number in _updraft.storage_types.items()}


def request(
    optimizer: CompiledStep,
    members: Sequence[tuple[Sequence[int], Sequence[int]]],
    groups: Sequence[Group],
    count_versions: bool,
) -> str:
    """Returns the text for one worker.

    Args:
        optimizer: an optimizer of the same class, by which groups are read.
        members: of each group, the places of its parameters in the worker's list, and their
            numbers among all of the optimizer.
    """
    correspondence = optimizer.correspondence
    imports = Imports()
    packed: list[dict[str, Any]] = []
    for group, (places, numbers) in zip(groups, members, strict=True):
        sparse = correspondence.sparse_of(group)
        definition = correspondence.definition
        source, settings = definition._chosen_text(correspondence.read_settings(group))
        values = {storage: hypers(optimizer, group, storage) for storage in _FLOATS}
        packed.append(
            {
                "source": imports.bundled(source.text.decode(), definition._filename),
                "params": list(places),
                "numbers": list(numbers),
                "settings": _literals(settings),
                # Those that hyperparameters are among do not change the text.
                "choices": {
                    storage: [
                        _literals(definition._chosen_text(chosen)[1])
                        for chosen in setting_choices(correspondence, group, mine)
                    ]
                    for storage, mine in values.items()
                },
                # As text: JSON has no infinity.
                "hypers": {
                    storage: {name: str(value) for name, value in mine.items()}
                    for storage, mine in values.items()
                },
                "sparse_refusal": "" if sparse in (None, AS_DENSE) else sparse,
                "sparse_as_dense": sparse == AS_DENSE,
                "dense_refusal": correspondence.dense or "",
                "seed": group.get("seed", 0),
            }
        )
    definition = correspondence.definition
    return json.dumps(
        {
            "filename": definition._filename,
            "files": imports.files,
            "rule": definition._rule or "",
            "numerics": correspondence.numerics,
            "storage": {
                name: _STORAGE_NAMES[dtypes.number(dtype)]
                for name, dtype in correspondence.storage.items()
            },
            "count_versions": count_versions,
            "groups": packed,
        }
    )
