"""Stepping, groups, hyperparameters and states."""

import numpy
import pytest

import updraft


def ones(*shape, dtype="float32"):
    return numpy.ones(shape, dtype=dtype)


def test_a_step_is_in_place(momentum):
    weights = ones(2, 3)
    address = weights.ctypes.data
    optimizer = updraft.ArrayOptimizer(momentum, [weights])
    optimizer.step([ones(2, 3)])
    numpy.testing.assert_array_equal(weights, numpy.float32(1) - numpy.float32(0.1))
    assert weights.ctypes.data == address


def test_a_parameter_without_a_gradient_does_not_change(momentum):
    first, second = ones(2), ones(2)
    optimizer = updraft.ArrayOptimizer(momentum, [first, second])
    optimizer.step([None, ones(2)])
    assert first.tolist() == [1, 1]
    assert second.tolist() != [1, 1]
    assert optimizer.state(0) == {}
    assert set(optimizer.state(1)) == {"velocity"}
    assert (optimizer.step_count(0), optimizer.step_count(1)) == (0, 1)


def test_gradients_are_not_written(momentum):
    grad = numpy.arange(5, dtype="float32")
    before = grad.copy()
    updraft.ArrayOptimizer(momentum, [ones(5)]).step([grad])
    numpy.testing.assert_array_equal(grad, before)


def test_read_only_gradients_are_accepted(momentum):
    grad = ones(5)
    grad.flags.writeable = False
    weights = ones(5)
    updraft.ArrayOptimizer(momentum, [weights]).step([grad])
    assert weights[0] != 1


def test_groups(momentum):
    first, second = ones(2), ones(2)
    optimizer = updraft.ArrayOptimizer(
        momentum, [{"params": [first], "lr": 0.5}, {"params": [second]}], lr=0.25
    )
    assert [group["lr"] for group in optimizer.groups] == [0.5, 0.25]
    assert dict(optimizer.groups[1]) == {"lr": 0.25, "mu": 0.9}
    assert optimizer.groups[0].params[0] is first
    optimizer.step([ones(2), ones(2)])
    assert (first[0], second[0]) == (0.5, 0.75)

    optimizer.groups[1]["lr"] = 0
    optimizer.step([ones(2), ones(2)])
    assert second[0] == 0.75
    with pytest.raises(KeyError):
        optimizer.groups[0]["momentum"]
    with pytest.raises(updraft.UpdraftError):
        optimizer.groups[0]["momentum"] = 1
    with pytest.raises(TypeError):
        del optimizer.groups[0]["lr"]


def test_several_hyperparameters_are_set_at_once_or_not_at_all(momentum):
    text = 'rule R(low = 1, high = 2) require low < high else "{low} is not below {high}" { '
    text += "update(param, grad) { next param = param - low * high * grad } }"
    group = updraft.ArrayOptimizer(updraft.compile(text), [ones(2)]).groups[0]
    group.update(low=5, high=6)
    assert dict(group) == {"low": 5, "high": 6}
    group.update({"high": 3}, low=1)
    assert dict(group) == {"low": 1, "high": 3}
    group.update([("low", 2)])
    for error, values in (
        (updraft.InvalidArgumentError, {"low": 7}),
        (updraft.InvalidArgumentError, {"high": 8, "low": float("nan")}),
        (updraft.NotFoundError, {"high": 8, "middle": 1}),
        (TypeError, {"high": 8, "low": "1"}),
    ):
        with pytest.raises(error):
            group.update(values)
        assert dict(group) == {"low": 2, "high": 3}


def test_bad_groups(momentum):
    with pytest.raises(updraft.InvalidArgumentError) as caught:
        updraft.ArrayOptimizer(momentum, [{"lr": 0.1}])
    assert str(caught.value) == 'a parameter group has no "params"; give it a list of arrays'
    with pytest.raises(updraft.InvalidArgumentError) as caught:
        updraft.ArrayOptimizer(momentum, [{"params": [ones(2)], "names": ["a", "b"]}])
    assert str(caught.value) == (
        "a parameter group has 1 params and 2 names; give one name per parameter or none"
    )


def test_an_array_in_place_of_a_list(momentum):
    def refusal(function, *arguments):
        with pytest.raises(TypeError) as caught:
            function(*arguments)
        return str(caught.value)

    weights = ones(4, 4)
    optimizer = updraft.ArrayOptimizer(momentum, [weights])
    assert refusal(updraft.ArrayOptimizer, momentum, weights) == (
        "`params` is one array; give a list of arrays, `[array]`, or of groups"
    )
    assert refusal(updraft.ArrayOptimizer, momentum, {"params": [weights]}) == (
        "`params` is one group; give a list of groups, `[group]`"
    )
    assert refusal(updraft.ArrayOptimizer, momentum, [{"params": weights}]) == (
        '"params" of a group is one array; give a list, `[array]`'
    )
    assert refusal(updraft.ArrayOptimizer, momentum, [weights, {"params": [ones(2)]}]) == (
        "`params` has both arrays and groups; give all arrays in groups"
    )
    for grads in (ones(4, 4), {"w": ones(4, 4)}, "text"):
        assert refusal(optimizer.step, grads) == (
            f"`grads` is {type(grads)}; give a list with one gradient, or None, per parameter"
        )
    assert weights.tolist() == ones(4, 4).tolist()


def test_generators(momentum):
    first, second = ones(2), ones(2)
    optimizer = updraft.ArrayOptimizer(momentum, (array for array in (first, second)))
    optimizer.step(ones(2) for _ in range(2))
    grouped = updraft.ArrayOptimizer(momentum, ({"params": iter([a])} for a in (first, second)))
    grouped.step(iter([None, ones(2)]))
    numpy.testing.assert_array_equal(first, numpy.float32(1) - numpy.float32(0.1))
    assert (second < first).all()


def test_the_number_of_gradients(momentum):
    def refusal(optimizer, grads):
        with pytest.raises(updraft.InvalidArgumentError) as caught:
            optimizer.step(grads)
        return str(caught.value)

    assert refusal(updraft.ArrayOptimizer(momentum, [ones(2), ones(2)]), [ones(2)]) == (
        "there is 1 gradient for 2 parameters; give None for an absent one"
    )
    assert refusal(updraft.ArrayOptimizer(momentum, [ones(2)]), []) == (
        "there are 0 gradients for 1 parameter; give None for an absent one"
    )


def test_repr(momentum):
    one = updraft.ArrayOptimizer(momentum, [ones(2)])
    two = updraft.ArrayOptimizer(momentum, [ones(2), ones(2)])
    assert repr(one) == "<updraft optimizer Momentum, 1 parameter>"
    assert repr(two) == "<updraft optimizer Momentum, 2 parameters>"
    assert repr(one.groups[0]) == "Group({'lr': 0.1, 'mu': 0.9}, 1 parameter)"
    assert repr(two.groups[0]) == "Group({'lr': 0.1, 'mu': 0.9}, 2 parameters)"


def test_no_parameters_at_all(momentum):
    optimizer = updraft.ArrayOptimizer(momentum, [])
    optimizer.step([])


def test_state_is_a_view(momentum):
    weights = ones(2, 3)
    optimizer = updraft.ArrayOptimizer(momentum, [weights])
    optimizer.step([ones(2, 3)])
    velocity = optimizer.state(0)["velocity"]
    assert (velocity.shape, velocity.dtype) == ((2, 3), numpy.float32)
    numpy.testing.assert_array_equal(velocity, ones(2, 3))
    velocity[...] = 0
    optimizer.step([numpy.zeros((2, 3), dtype="float32")])
    numpy.testing.assert_array_equal(optimizer.state(0)["velocity"], 0)
    assert optimizer.state(0)["velocity"].ctypes.data == velocity.ctypes.data
    with pytest.raises(updraft.UpdraftError):
        optimizer.state(1)


def test_bound_state_is_used(momentum):
    weights, velocity = ones(4), ones(4)
    optimizer = updraft.ArrayOptimizer(momentum, [weights], lr=1.0, mu=0.5)
    optimizer.bind_state(0, "velocity", velocity)
    optimizer.step([ones(4)])
    assert velocity.tolist() == [1.5] * 4
    assert weights.tolist() == [-0.5] * 4
    with pytest.raises(updraft.UpdraftError):
        optimizer.bind_state(0, "speed", ones(4))


def test_states_in_blocks_are_not_bound():
    rule = updraft.load("Lion").compile(storage={"state": "q8_linear"})
    optimizer = updraft.ArrayOptimizer(rule, [ones(4)])
    with pytest.raises(updraft.UnsupportedError) as caught:
        optimizer.bind_state(0, "exp_avg", ones(4))
    assert str(caught.value) == (
        "cannot bind state `exp_avg`: q8_linear keeps codes and scales in one allocation; write to "
        "the arrays of `state(0)`, or load a file"
    )


def test_seed_can_be_set(adamw):
    optimizer = updraft.ArrayOptimizer(adamw, [ones(3)])
    assert optimizer.seed == 0
    optimizer.seed = 2**64 - 1
    assert optimizer.seed == 2**64 - 1
    with pytest.raises(updraft.InvalidArgumentError) as caught:
        optimizer.seed = -1
    assert str(caught.value) == "expected a seed from 0 to 2^64 - 1, got -1"
    with pytest.raises(TypeError, match="the seed is <class 'str'>; give an integer"):
        optimizer.seed = "1"


def test_step_count_can_be_set(adamw):
    weights, other = ones(4), ones(4)
    optimizer = updraft.ArrayOptimizer(adamw, [weights])
    optimizer.set_step_count(0, 1000)
    optimizer.step([ones(4)])
    updraft.ArrayOptimizer(adamw, [other]).step([ones(4)])
    assert optimizer.step_count(0) == 1001
    assert weights[0] != other[0]


@pytest.mark.parametrize(
    "grads, text",
    [
        ([], "1"),
        ([ones(3)], "shape"),
        ([ones(2, dtype="float64")], "f64"),
        ([numpy.ones(2, dtype="int32")], "int32"),
        (["text"], "gradient 0"),
    ],
)
def test_bad_gradients_change_nothing(momentum, grads, text):
    weights = ones(2)
    optimizer = updraft.ArrayOptimizer(momentum, [weights])
    with pytest.raises((updraft.UpdraftError, TypeError), match=text):
        optimizer.step(grads)
    assert weights.tolist() == [1, 1]
    assert optimizer.state(0) == {}


def test_a_gradient_that_is_a_parameter(momentum):
    weights = ones(2)
    optimizer = updraft.ArrayOptimizer(momentum, [weights])
    with pytest.raises(updraft.UpdraftError, match="overlap"):
        optimizer.step([weights])


def test_parameters_that_overlap(momentum):
    memory = ones(10)
    with pytest.raises(updraft.UpdraftError, match="overlap"):
        updraft.ArrayOptimizer(momentum, [memory[:6], memory[5:]])


def test_save_and_load(adamw, tmp_path):
    def made():
        weights = numpy.linspace(-1, 1, 7, dtype="float32")
        return weights, updraft.ArrayOptimizer(
            adamw, [{"params": [weights], "names": ["w"]}], lr=0.01
        )

    path = tmp_path / "state.safetensors"
    weights, optimizer = made()
    grad = numpy.sin(weights)
    optimizer.step([grad])
    optimizer.groups[0]["lr"] = 0.125
    optimizer.save(path)
    middle = weights.copy()
    optimizer.step([grad])

    again, restored = made()
    again[...] = middle
    restored.load(path)
    assert restored.groups[0]["lr"] == 0.125
    assert restored.step_count(0) == 1
    restored.step([grad])
    numpy.testing.assert_array_equal(again, weights)

    tensors = pytest.importorskip("safetensors.numpy").load_file(path)
    assert set(tensors) == {"state/w/exp_avg", "state/w/exp_avg_sq", "state/w/step"}


def test_loading_a_file_of_another_rule(adamw, momentum, tmp_path):
    path = tmp_path / "state"
    updraft.ArrayOptimizer(adamw, [{"params": [ones(2)]}, {"params": [ones(2)]}]).save(path)

    def refusal(optimizer):
        with pytest.raises(updraft.InvalidArgumentError) as caught:
            optimizer.load(path)
        return str(caught.value).removeprefix(f"`{path}` does not fit the optimizer: ")

    optimizer = updraft.ArrayOptimizer(momentum, [ones(2)])
    assert refusal(optimizer) == "it is of rule `AdamW`, not `Momentum`"
    optimizer = updraft.ArrayOptimizer(adamw, [ones(2), ones(2)])
    assert refusal(optimizer) == "it has 2 groups, but the optimizer has 1"


def test_loading_what_is_no_file(adamw, tmp_path):
    optimizer = updraft.ArrayOptimizer(adamw, [ones(2)])
    with pytest.raises(updraft.UpdraftError, match="none"):
        optimizer.load(tmp_path / "none")
    (tmp_path / "bad").write_bytes(b"\xff" * 100)
    with pytest.raises(updraft.UpdraftError):
        optimizer.load(tmp_path / "bad")
    assert optimizer.state(0) == {}
    with pytest.raises(updraft.FileError):
        optimizer.save(tmp_path / "no" / "folder")


@pytest.mark.parametrize("over", ["", " over tensor"])
@pytest.mark.parametrize("shapes", [[(1, 2)], [(3,)], [(1, 2), (3,)]])
def test_initial_values_may_depend_on_the_class_of_tensors(over, shapes):
    """In a group of one class of tensors, and in one of both."""
    rule = updraft.compile(
        f"rule R(lr = 1) {{ state m{over} = if matrix then 5 else 2 "
        "update(param, grad) { next m = m + 1 next param = param - lr * m } }"
    )
    params = [numpy.zeros(shape, dtype="float32") for shape in shapes]
    optimizer = updraft.ArrayOptimizer(rule, params)
    for _ in range(2):
        optimizer.step([numpy.ones_like(param) for param in params])
    for param in params:
        assert (param == (-11 if param.ndim == 2 else -5)).all()


def test_a_state_of_the_group_is_saved_before_the_first_step(tmp_path):
    rule = updraft.compile("""
rule Counted(lr = 0.1) {
  state count over group = 0

  update(param, grad) {
    next count = count + 1
    next param = param - lr * (count + 1) * grad
  }
}
""")
    params = [numpy.zeros(3, numpy.float32) for _ in range(2)]
    saved, loaded = (updraft.ArrayOptimizer(rule, [param], lr=1.0) for param in params)
    saved.bind_state(0, "count", numpy.array(5.0))
    saved.save(tmp_path / "states.safetensors")
    loaded.load(tmp_path / "states.safetensors")
    for optimizer in (saved, loaded):
        optimizer.step([numpy.ones(3, numpy.float32)])
    assert params[0].tolist() == params[1].tolist() == [-6] * 3
