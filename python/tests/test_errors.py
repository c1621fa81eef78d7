"""Exceptions: their classes, and that the message is the C API's."""

import pathlib

import numpy
import pytest

import updraft
from updraft import errors

BAD = "rule SGD(lr = 0.1) {\n  update(param, grad) { next param = param - lr * gradd }\n}\n"


def test_compile_error_shows_the_place():
    with pytest.raises(updraft.CompileError) as caught:
        updraft.compile(BAD, filename="sgd.upd")
    message = str(caught.value)
    assert message.startswith("sgd.upd:2:51: error: unknown name `gradd`")
    assert "did you mean `grad`?" in message
    assert "\n  update(param, grad) { next param = param - lr * gradd }\n" in message
    assert "^" in message
    assert isinstance(caught.value, ValueError)
    assert isinstance(caught.value, updraft.UpdraftError)


def test_bytes_that_are_not_text():
    with pytest.raises(updraft.CompileError):
        updraft.compile(b"rule \xff\xfe")


def test_a_file_that_is_too_long(tmp_path):
    path = tmp_path / "long.upd"
    path.write_text("// " + "x" * 70_000 + "\n")
    with pytest.raises(updraft.UpdraftError, match="65536"):
        updraft.compile_file(path)


def test_a_file_that_is_missing(tmp_path):
    with pytest.raises(FileNotFoundError):
        updraft.compile_file(tmp_path / "none.upd")


def test_requirement_of_the_rule(momentum):
    weights = numpy.zeros(2, dtype="float32")
    with pytest.raises(updraft.InvalidArgumentError, match=r"Invalid learning rate: -1"):
        updraft.Optimizer(momentum, [weights], lr=-1)
    optimizer = updraft.Optimizer(momentum, [weights])
    with pytest.raises(ValueError, match=r"Invalid learning rate: -0\.5"):
        optimizer.groups[0]["lr"] = -0.5
    assert optimizer.groups[0]["lr"] == 0.1


def test_nan_and_unknown_hyperparameters(momentum):
    weights = numpy.zeros(2, dtype="float32")
    with pytest.raises(updraft.UpdraftError, match="lr"):
        updraft.Optimizer(momentum, [weights], lr=float("nan"))
    with pytest.raises(updraft.UpdraftError, match="learning_rate"):
        updraft.Optimizer(momentum, [weights], learning_rate=0.1)


@pytest.mark.parametrize("status", range(1, 8))
def test_every_status_has_a_class(status):
    error = errors.from_status(status, "text")
    assert isinstance(error, updraft.UpdraftError)
    assert type(error) is not updraft.UpdraftError
    assert str(error) == "text"


def test_statuses_are_in_the_order_of_the_header():
    header = pathlib.Path(__file__).parents[2] / "include" / "updraft-c" / "types.h"
    names = [
        line.split()[0].removeprefix("UPD_").replace("_", "").lower()
        for line in header.read_text().splitlines()
        if line.startswith("  UPD_") and "=" in line
    ]
    for status, name in enumerate(names[1:], 1):
        kind = type(errors.from_status(status, "")).__name__.lower()
        assert kind.removesuffix("error") == name.replace("ioerror", "file").removesuffix("error")


def test_an_unknown_status_is_a_defect():
    assert type(errors.from_status(99, "text")) is updraft.InternalError
