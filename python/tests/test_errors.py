"""Exceptions: their classes, and the messages of the C API."""

import errno
import pathlib

import numpy
import pytest

import updraft
from updraft import errors

SGD = "rule SGD(lr = 0.1) { update(param, grad) { next param = param - lr * grad } }"
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
    path = tmp_path / "none"
    optimizer = updraft.ArrayOptimizer(updraft.compile(SGD), [])
    for read in (updraft.compile_file, optimizer.load):
        with pytest.raises(updraft.FileMissingError) as caught:
            read(path)
        assert isinstance(caught.value, updraft.FileError | FileNotFoundError)
        assert str(caught.value) == f"there is no file `{path}`"
        assert (caught.value.errno, caught.value.filename) == (errno.ENOENT, str(path))


def test_a_folder_is_no_file(tmp_path):
    with pytest.raises(updraft.FileError) as caught:
        updraft.compile_file(tmp_path)
    assert str(caught.value) == f"cannot read `{tmp_path}`: Is a directory"
    assert caught.value.errno == errno.EISDIR


def test_a_path_with_a_null_character(sgd):
    optimizer = updraft.ArrayOptimizer(sgd, [])
    for use in (updraft.compile_file, optimizer.load, optimizer.save):
        with pytest.raises(updraft.InvalidArgumentError) as caught:
            use("state\0x")
        assert str(caught.value) == "path 'state\\x00x' has a null character"
        with pytest.raises(updraft.InvalidArgumentError) as caught:
            use("state\udc80")
        assert str(caught.value) == "path 'state\\udc80' is not UTF-8; give another name"


@pytest.mark.parametrize(
    "what, options",
    [
        ("rule, 'SGD\\x00x',", {"rule": "SGD\0x"}),
        ("numerics mode, 'ieee\\x00x',", {"numerics": "ieee\0x"}),
        ("key of `defaults`, 'lr\\x00x',", {"defaults": {"lr\0x": 1}}),
        ("value of `lr`, '1\\x00',", {"defaults": {"lr": "1\0"}}),
        ("key of `storage`, 'param\\x00x',", {"storage": {"param\0x": "f32"}}),
    ],
)
def test_a_null_character(what, options):
    """The C API would end the text there."""
    refuse(
        updraft.InvalidArgumentError,
        f"the {what} has a null character",
        updraft.compile,
        SGD,
        **options,
    )


def test_text_that_is_a_number():
    refuse(TypeError, "the rule is <class 'int'>; give text", updraft.compile, SGD, rule=3)
    refuse(
        TypeError,
        "the numerics mode is <class 'bytes'>; give text",
        updraft.compile,
        SGD,
        numerics=b"fast",
    )


def test_a_flag_of_several_lines():
    text = """
    rule Named(static kind = "a") {
      update(param, grad) {
        next param = if kind == "x\\n\\t\\"\\\\" then grad else param
      }
    }
    """
    rule = updraft.compile(text, defaults={"kind": 'x\n\t"\\'})
    weights = numpy.zeros(1, "float32")
    updraft.ArrayOptimizer(rule, [weights]).step([numpy.ones(1, "float32")])
    assert weights[0] == 1


def test_settings_that_are_no_values():
    with pytest.raises(TypeError) as caught:
        updraft.compile(SGD, defaults={"lr": {1}})
    assert str(caught.value) == (
        "setting `lr` is <class 'set'>; give a number, a boolean, text or a list"
    )
    with pytest.raises(updraft.InvalidArgumentError, match="setting `lr` is not a number: "):
        updraft.compile(SGD, defaults={"lr": 10**5000})


def refuse(kind, message, use, *arguments, **keywords):
    with pytest.raises(kind) as caught:
        use(*arguments, **keywords)
    assert str(caught.value) == message


def test_arguments_of_another_type(sgd):
    path = pathlib.Path("sgd.upd")
    refuse(
        TypeError,
        f"the source is {type(path)}; give the text of a rule, or a path to `compile_file`",
        updraft.compile,
        path,
    )
    for argument in ("defaults", "storage"):
        refuse(
            TypeError,
            f"`{argument}` is <class 'str'>; give a dict, `{{name: value}}`",
            updraft.compile,
            SGD,
            **{argument: "lr=1"},
        )
        refuse(
            TypeError,
            f"`{argument}` has the key 1; keys are names, of type str",
            updraft.compile,
            SGD,
            **{argument: {1: "f32"}},
        )
    refuse(
        TypeError,
        "`rule` is <class 'str'>; give what `updraft.compile`, `compile_file` or `load` returns, "
        "or a function with `@updraft.rule`",
        updraft.ArrayOptimizer,
        "sgd.upd",
        [],
    )
    refuse(
        TypeError,
        "`params` is <class 'object'>; give a list of arrays, or of groups",
        updraft.ArrayOptimizer,
        sgd,
        object(),
    )


def test_positions_of_parameters(sgd):
    optimizer = updraft.ArrayOptimizer(sgd, [numpy.ones(1, "float32")])

    def step_rows(param):
        optimizer.step_rows([0], numpy.ones(1, "float32"), param=param)

    for use in (optimizer.state, optimizer.step_count, step_rows):
        for position in (-1, 1, 2**70):
            refuse(
                updraft.InvalidArgumentError,
                f"parameter {position} does not exist; the optimizer has 1",
                use,
                position,
            )
        refuse(
            TypeError,
            "expected the position of a parameter, an integer, got <class 'str'>",
            use,
            "velocity",
        )


def test_step_counts(sgd):
    optimizer = updraft.ArrayOptimizer(sgd, [numpy.ones(1, "float32")])
    for count in (-1, 2**53 + 1, 2**70):
        refuse(
            updraft.InvalidArgumentError,
            f"expected a step count from 0 to 2^53, got {count}",
            optimizer.set_step_count,
            0,
            count,
        )
    refuse(
        TypeError,
        "the step count is <class 'float'>; give an integer",
        optimizer.set_step_count,
        0,
        1.5,
    )


def test_text_that_is_no_utf8():
    with pytest.raises(updraft.CompileError):
        updraft.compile("rule \ud800")


def test_messages_end_in_no_newline():
    with pytest.raises(updraft.CompileError) as caught:
        updraft.compile(BAD)
    assert str(caught.value) == str(caught.value).rstrip()


def test_an_unknown_storage_type():
    with pytest.raises(updraft.InvalidArgumentError) as caught:
        updraft.compile(SGD, storage={"param": "int8"})
    assert str(caught.value) == (
        "unknown storage type `int8`; the types are `f32`, `f64`, `bf16`, `f16`, "
        "`bf16_stochastic`, `bf16_corrected`, `q8_linear`, `q8_companded`"
    )


def test_unknown_names_are_key_errors(momentum):
    group = updraft.ArrayOptimizer(momentum, []).groups[0]
    message = "rule `Momentum` has no hyperparameter `mo`; did you mean `mu`?"
    with pytest.raises(KeyError) as caught:
        group["mo"]
    assert isinstance(caught.value, updraft.NotFoundError)
    assert str(caught.value) == message
    assert (group.get("mo", 3), "mo" in group, "mu" in group) == (3, False, True)
    with pytest.raises(updraft.NotFoundError) as caught:
        group["mo"] = 1
    assert str(caught.value) == message


def test_compile_options_are_not_hyperparameters():
    with pytest.raises(updraft.NotFoundError) as caught:
        updraft.ArrayOptimizer(updraft.load("Lion"), [], storage={"exp_avg": "q8_linear"})
    assert str(caught.value) == (
        "rule `Lion` has no hyperparameter `storage`; this is chosen when a rule is compiled, "
        "`updraft.compile(…, storage=…)`"
    )


def test_static_flags_are_no_hyperparameters():
    text = SGD.replace("lr = 0.1", 'lr = 0.1, static nesterov = false, static mode = "soft"')
    text = text.replace("lr * grad", 'lr * (if nesterov || mode == "hard" then 2 * grad else grad)')
    rule = updraft.compile(text)
    optimizer = updraft.ArrayOptimizer(rule, [])

    def refused(name):
        return (
            f"`{name}` is a static flag of rule `SGD`, not a hyperparameter; give it when the rule "
            "is compiled: `compile(defaults=...)` in Python, `--set` on the command line"
        )

    for name, value in (("mode", "soft"), ("nesterov", True)):
        with pytest.raises(updraft.NotFoundError) as caught:
            updraft.ArrayOptimizer(rule, [], **{name: value})
        assert str(caught.value) == refused(name)
        with pytest.raises(updraft.NotFoundError) as caught:
            optimizer.groups[0][name] = value
        assert str(caught.value) == refused(name)


@pytest.mark.parametrize("value", ["fast", "0.1", None, [1]])
def test_hyperparameters_that_are_no_numbers(momentum, value):
    message = f"hyperparameter `lr` is {type(value)}; give a number"
    with pytest.raises(TypeError) as caught:
        updraft.ArrayOptimizer(momentum, [], lr=value)
    assert str(caught.value) == message
    with pytest.raises(TypeError) as caught:
        updraft.ArrayOptimizer(momentum, []).groups[0]["lr"] = value
    assert str(caught.value) == message


def test_a_number_beyond_all_doubles(momentum):
    with pytest.raises(updraft.InvalidArgumentError, match="hyperparameter `lr` is not a number: "):
        updraft.ArrayOptimizer(momentum, [], lr=10**400)


def test_requirement_of_the_rule(momentum):
    weights = numpy.zeros(2, dtype="float32")
    with pytest.raises(updraft.InvalidArgumentError, match=r"Invalid learning rate: -1"):
        updraft.ArrayOptimizer(momentum, [weights], lr=-1)
    optimizer = updraft.ArrayOptimizer(momentum, [weights])
    with pytest.raises(ValueError, match=r"Invalid learning rate: -0\.5"):
        optimizer.groups[0]["lr"] = -0.5
    assert optimizer.groups[0]["lr"] == 0.1


def test_nan_and_unknown_hyperparameters(momentum):
    weights = numpy.zeros(2, dtype="float32")
    with pytest.raises(updraft.UpdraftError, match="lr"):
        updraft.ArrayOptimizer(momentum, [weights], lr=float("nan"))
    with pytest.raises(updraft.UpdraftError, match="learning_rate"):
        updraft.ArrayOptimizer(momentum, [weights], learning_rate=0.1)


@pytest.mark.parametrize("status", range(1, 8))
def test_every_status_has_a_class(status):
    error = errors.from_status(status, "text")
    assert isinstance(error, updraft.UpdraftError)
    assert type(error) is not updraft.UpdraftError
    assert str(error) == "text"


def test_statuses_are_in_the_order_of_the_header():
    header = pathlib.Path(__file__).parents[2] / "include" / "updraft-c" / "types.h"
    statuses = header.read_text().split("typedef enum upd_status UPD_INT32 {")[1].split("}")[0]
    names = [
        line.split()[0].removeprefix("UPD_").replace("_", "").lower()
        for line in statuses.splitlines()
        if line.startswith("  UPD_")
    ]
    assert len(names) == 8
    for status, name in enumerate(names[1:], 1):
        kind = type(errors.from_status(status, "")).__name__.lower()
        assert kind.removesuffix("error") == name.replace("ioerror", "file").removesuffix("error")


def test_an_unknown_status_is_a_defect():
    assert type(errors.from_status(99, "text")) is updraft.InternalError
