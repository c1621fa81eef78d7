"""The rules that have kernels for GPUs."""

import pathlib

#: They work on rows and columns.
_WITHOUT = {"adafactor", "rowwise_adagrad"}


def rules_with_kernels(folder):
    return [
        path for path in sorted(pathlib.Path(folder).glob("*.upd")) if path.stem not in _WITHOUT
    ]
