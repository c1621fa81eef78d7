"""Checkpoints of the authors' SOAP continue here as they do in a transcription of their code."""

import io

import pytest
import torch
from published import SOAP
from published.soap import SIDES

import updraft
import updraft.optim

TOLERANCE = 1e-10  # of a parameter, at its scale
SHAPES = [(5, 8), (8, 5), (6, 6), (16, 13), (19,), ()]
AUTHORS_OPTIONS = {"max_precond_dim": 10000, "merge_dims": False, "precondition_1d": False}


def saved_by_authors(reference, shapes=None):
    """The `state_dict` that the authors' optimizer has where the transcription is now."""
    states, groups = {}, []
    for group in reference.param_groups:
        numbers = range(len(states), len(states) + len(group["params"]))
        beta = group["shampoo_beta"] if group["shampoo_beta"] >= 0 else group["beta2"]
        for number, param in zip(numbers, group["params"], strict=True):
            state = reference.state[param]
            shape = shapes[number] if shapes else param.shape
            bases = [[]] * param.dim()
            states[number] = {
                "step": state["step"] - 1,
                "exp_avg": state["m"].reshape(shape),
                "exp_avg_sq": state["v"].reshape(shape),
                "GG": [state["GG"][side] for side in SIDES] if "GG" in state else bases,
                "Q": [state["Q"][side] for side in SIDES] if "Q" in state else bases,
                "precondition_frequency": group["precondition_frequency"],
                "shampoo_beta": beta,
            }
        names = ("lr", "shampoo_beta", "eps", "weight_decay", "precondition_frequency")
        options = {name: group[name] for name in (*names, "normalize_grads", "correct_bias")}
        betas = {"betas": (group["beta1"], group["beta2"])}
        groups.append(options | betas | AUTHORS_OPTIONS | {"params": [*numbers]})
    file = io.BytesIO()
    torch.save({"state": states, "param_groups": groups}, file)
    file.seek(0)
    return torch.load(file, weights_only=True)


def stepped(steps, shapes=SHAPES, **options):
    """The transcription after some steps."""
    generator = torch.Generator().manual_seed(5)
    params = [
        torch.nn.Parameter(torch.randn(shape, generator=generator, dtype=torch.float64))
        for shape in shapes
    ]
    reference = SOAP(params, **options)
    for _ in range(steps):
        step(reference, generator)
    return reference, params, generator


def step(reference, generator):
    for group in reference.param_groups:
        for param in group["params"]:
            param.grad = torch.randn(param.shape, generator=generator, dtype=torch.float64)
    reference.step()


def assert_continues(reference, params, generator, optimizer, ours, steps=25):
    for number in range(steps):
        step(reference, generator)
        for param, its in zip(ours, params, strict=True):
            param.grad = its.grad.reshape(param.shape)
        optimizer.step()
        for param, its in zip(ours, params, strict=True):
            error = (param.reshape(its.shape) - its).abs().max() / its.abs().max()
            assert error <= TOLERANCE, f"step {number}, shape {tuple(param.shape)}: {error}"


OPTIONS = [
    {},
    {"precondition_frequency": 3, "shampoo_beta": 0.8, "lr": 0.05, "beta1": 0.9},
    {"precondition_frequency": 1, "normalize_grads": True, "weight_decay": 0.1},
    {"precondition_frequency": 4, "correct_bias": False, "eps": 1e-3},
]


@pytest.mark.parametrize("steps", [1, 2, 10, 11, 24])
@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_training_continues(options, steps):
    reference, params, generator = stepped(steps, **options)
    ours = [torch.nn.Parameter(param.detach().clone()) for param in params]
    # Options come from the checkpoint.
    optimizer = updraft.optim.SOAP(ours, lr=7.0, precondition_frequency=5)
    optimizer.load_state_dict(saved_by_authors(reference))
    (group,) = optimizer.param_groups
    assert not group.keys() & AUTHORS_OPTIONS.keys()
    assert optimizer.state[ours[0]]["step"] == steps
    assert_continues(reference, params, generator, optimizer, ours)


def test_the_result_is_a_checkpoint_of_the_rule():
    reference, params, generator = stepped(11)
    ours = [torch.nn.Parameter(param.detach().clone()) for param in params]
    first = updraft.optim.SOAP(ours)
    first.load_state_dict(saved_by_authors(reference))
    optimizer = updraft.optim.SOAP(ours)
    optimizer.load_state_dict(first.state_dict())
    assert_continues(reference, params, generator, optimizer, ours)


@pytest.mark.parametrize(
    ("layout", "shape", "matrix"),
    [("flat", (6, 3, 2, 2), (6, 12)), ("transposed", (5, 9), (5, 9)), ("flat", (4, 7), (4, 7))],
)
def test_matrix_layouts(layout, shape, matrix):
    """With `merge_dims`, the authors' code has such bases for filters of a convolution."""
    reference, params, generator = stepped(11, [matrix], precondition_frequency=4)
    ours = [torch.nn.Parameter(params[0].detach().clone().reshape(shape))]
    optimizer = updraft.optim.SOAP([{"params": ours, "matrix_layout": layout}])
    optimizer.load_state_dict(saved_by_authors(reference, [shape]))
    assert optimizer.param_groups[0]["matrix_layout"] == layout
    assert_continues(reference, params, generator, optimizer, ours)


def test_states_count_for_hyperparameters():
    """The authors' code reads these two from the states, not from the group."""
    reference, params, generator = stepped(11, precondition_frequency=4, shampoo_beta=0.7)
    saved = saved_by_authors(reference)
    saved["param_groups"][0] |= {"precondition_frequency": 2, "shampoo_beta": -1}
    ours = [torch.nn.Parameter(param.detach().clone()) for param in params]
    optimizer = updraft.optim.SOAP(ours)
    optimizer.load_state_dict(saved)
    (group,) = optimizer.param_groups
    assert (group["precondition_frequency"], group["shampoo_beta"]) == (4, 0.7)
    assert_continues(reference, params, generator, optimizer, ours)


def test_several_groups_and_parameters_without_states():
    generator = torch.Generator().manual_seed(5)
    params = [torch.nn.Parameter(torch.ones(shape, dtype=torch.float64)) for shape in SHAPES]
    reference = SOAP([{"params": params[:2], "lr": 0.05}, {"params": params[2:], "beta1": 0.8}])
    for _ in range(5):
        step(reference, generator)
    saved = saved_by_authors(reference)
    ours = [torch.nn.Parameter(param.detach().clone()) for param in params]
    optimizer = updraft.optim.SOAP([{"params": ours[:2]}, {"params": ours[2:]}])
    del saved["state"][1]
    del reference.state[params[1]]
    optimizer.load_state_dict(saved)
    assert ours[1] not in optimizer.state
    for number in range(12):
        for place, (param, its) in enumerate(zip(params, ours, strict=True)):
            if place != 1:
                grad = torch.randn(param.shape, generator=generator, dtype=torch.float64)
                param.grad = its.grad = grad
        params[1].grad = None  # Its first gradient would have a free choice of bases.
        reference.step()
        optimizer.step()
        for param, its in zip(params, ours, strict=True):
            assert (param - its).abs().max() <= TOLERANCE * param.abs().max(), number


def test_older_checkpoints_after_a_turn():
    """Code of before December 2024 has the first moments in the original space."""
    reference, params, generator = stepped(11)
    saved = saved_by_authors(reference)
    for state in saved["state"].values():
        if any(map(len, state["Q"])):
            left, right = state["Q"]
            state["exp_avg"] = left @ state["exp_avg"] @ right.T
    for state in saved["state"].values():  # the lines of docs/matrices.md
        if all(map(len, state["Q"])) and len(state["Q"]) == 2:
            left, right = state["Q"]
            average = state["exp_avg"]
            state["exp_avg"] = (left.T @ average.flatten(1) @ right).view_as(average)
    ours = [torch.nn.Parameter(param.detach().clone()) for param in params]
    optimizer = updraft.optim.SOAP(ours)
    optimizer.load_state_dict(saved)
    assert_continues(reference, params, generator, optimizer, ours)


SIDE = torch.eye(5)
ANEW = "remove the state of parameter 0 to start it again"
REFUSED = [
    ((5, 8), [SIDE, []], "[5, 0] rows, but here it has bases of [5, 8]", ANEW),
    ((5, 8), [torch.eye(40)], "[40] rows, but here it has bases of [5, 8]", ANEW),
    ((5, 2, 3), [SIDE] * 3, "[5, 5, 5] rows, but here it has none", ANEW),
    (
        (5, 2, 3),
        [SIDE, torch.eye(6)],
        "[5, 6] rows, but here it has none",
        'give its group `matrix_layout="flat"`',
    ),
    ((5,), [SIDE], "[5] rows, but here it has none", ANEW),
]


@pytest.mark.parametrize(("shape", "bases", "found", "hint"), REFUSED)
def test_other_bases_are_refused(shape, bases, found, hint):
    reference, _, _ = stepped(3, [(5, 8)])
    saved = saved_by_authors(reference)
    saved["state"][0] |= {
        "GG": bases,
        "Q": bases,
        "exp_avg": torch.ones(shape),
        "exp_avg_sq": torch.ones(shape),
    }
    param = torch.nn.Parameter(torch.ones(shape))
    optimizer = updraft.optim.SOAP([param], lr=0.5)
    with pytest.raises(updraft.InvalidArgumentError) as refusal:
        optimizer.load_state_dict(saved)
    assert str(refusal.value) == (
        f"parameter 0 of shape {shape} was saved with bases of {found}: `SOAP` has one for each "
        f"side of a matrix, and none otherwise; {hint}"
    )
    assert not optimizer.state
    assert optimizer.param_groups[0]["lr"] == 0.5


def test_several_frequencies_are_refused():
    reference, params, _ = stepped(3)
    saved = saved_by_authors(reference)
    saved["state"][2]["precondition_frequency"] = 2
    with pytest.raises(updraft.InvalidArgumentError) as refusal:
        updraft.optim.SOAP(
            [torch.nn.Parameter(param.detach()) for param in params]
        ).load_state_dict(saved)
    assert str(refusal.value) == (
        "parameters of group 0 were saved with several values of `precondition_frequency`: 2, 10; "
        "set one value in all of them"
    )


def test_other_numbers_of_parameters_are_refused_as_by_torch():
    reference, params, _ = stepped(3)
    with pytest.raises(ValueError, match="doesn't match the size of optimizer's group"):
        updraft.optim.SOAP(params[:2]).load_state_dict(saved_by_authors(reference))
