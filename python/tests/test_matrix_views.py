"""Parameter groups whose parameters are stepped as matrices: `matrix_blocks`, `matrix_layout`."""

import copy
import io
import math

import pytest
import torch

import updraft
import updraft.optim

#: A rule with a state of each extent, which multiplies matrices.
RULE = """
rule Extents(lr = 0.1, mu = 0.9) {
  state buffer             = 0
  state row over row       = 0 when matrix
  state column over column = 0 when matrix
  state whole over tensor  = 0
  update(param, grad) {
    let b = mu * buffer + grad
    let r = if matrix then row_mean(b * b) else 0
    let c = if matrix then column_mean(b * b) else 0
    let w = norm(grad)
    let turned = if !matrix
                 then b
                 else if rows() <= columns() then gram(b) @ b else b @ gram(transpose(b))
    next buffer = b
    next row    = r
    next column = c
    next whole  = w
    next param  = param - lr * (turned / (1 + w * w) + b / (1 + r + c))
  }
}
"""


@pytest.fixture(scope="module")
def rule(tmp_path_factory):
    file = tmp_path_factory.mktemp("rules") / "extents.upd"
    file.write_text(RULE)
    return updraft.load(file)


def drawn(shape, seed):
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed))


#: Shape, entries of the group, and the matrices of a tensor.
VIEWS = {
    "equal": ((12, 5), {"matrix_blocks": 3}, lambda t: t.split(4)),
    "unequal": ((12, 5), {"matrix_blocks": (6, 2, 4)}, lambda t: t.split((6, 2, 4))),
    "of one row": ((3, 5), {"matrix_blocks": 3}, lambda t: t.split(1)),
    "one": ((12, 5), {"matrix_blocks": 1}, lambda t: [t]),
    "flat": ((6, 3, 2, 2), {"matrix_layout": "flat"}, lambda t: [t.reshape(6, 12)]),
    "flat blocks": (
        (6, 3, 2),
        {"matrix_layout": "flat", "matrix_blocks": [2, 4]},
        lambda t: t.reshape(6, 6).split((2, 4)),
    ),
    "transposed": ((5, 12), {"matrix_layout": "transposed"}, lambda t: [t.t()]),
    "transposed blocks": (
        (5, 12),
        {"matrix_layout": "transposed", "matrix_blocks": (6, 2, 4)},
        lambda t: t.t().split((6, 2, 4)),
    ),
}
MEMORY = {
    "contiguous": lambda t: t,
    "other order": lambda t: (
        t.permute(*range(t.dim())[::-1]).contiguous().permute(*range(t.dim())[::-1])
    ),
    "with gaps": lambda t: torch.stack([t, t], -1)[..., 0],
}


def grad_of(param, step):
    return drawn(param.shape, 100 + step)


@pytest.mark.parametrize("memory", MEMORY)
@pytest.mark.parametrize("view", VIEWS)
def test_steps_are_those_of_separate_parameters(rule, view, memory):
    shape, entries, matrices = VIEWS[view]
    first = drawn(shape, 1)
    param = torch.nn.Parameter(MEMORY[memory](first.clone()))
    apart = [torch.nn.Parameter(matrix.clone().contiguous()) for matrix in matrices(first)]
    optimizer = updraft.optimizer(rule, [{"params": [param], **entries}])
    reference = updraft.optimizer(rule, apart)
    for step in range(4):
        grad = grad_of(param, step)
        param.grad = MEMORY[memory](grad) if step % 2 else grad
        for each, its in zip(apart, matrices(grad), strict=True):
            each.grad = its.clone()
        optimizer.step()
        reference.step()
        if step == 1:
            saved = io.BytesIO()
            torch.save(optimizer.state_dict(), saved)
            saved.seek(0)
            optimizer = updraft.optimizer(rule, [{"params": [param], **entries}])
            optimizer.load_state_dict(torch.load(saved, weights_only=True))
    for each, its in zip(apart, matrices(param.detach()), strict=True):
        assert torch.equal(each.detach(), its)
    state = optimizer.state[param]
    assert state["buffer"].shape == param.shape
    for each, its in zip(apart, matrices(state["buffer"]), strict=True):
        assert torch.equal(reference.state[each]["buffer"], its)
    assert torch.equal(state["row"], torch.cat([reference.state[each]["row"] for each in apart]))
    columns = torch.cat([reference.state[each]["column"] for each in apart])
    assert torch.equal(state["column"], columns)
    whole = [reference.state[each]["whole"] for each in apart]
    assert torch.equal(state["whole"], whole[0] if len(whole) == 1 else torch.stack(whole))
    assert state["step"] == 4


def test_a_state_is_the_memory_of_its_matrices(rule):
    """A tensor from `optimizer.state` shows later steps, as one of a whole parameter does."""
    param = torch.nn.Parameter(drawn((12, 5), 1))
    optimizer = updraft.optimizer(rule, [{"params": [param], "matrix_blocks": 3}])
    param.grad = drawn((12, 5), 2)
    optimizer.step()
    state = optimizer.state[param]
    buffer, row, step = state["buffer"], state["row"], state["step"]
    before = buffer.clone(), row.clone()
    param.grad = drawn((12, 5), 3)
    optimizer.step()
    assert optimizer.state[param]["buffer"] is buffer
    assert torch.equal(buffer, 0.9 * before[0] + param.grad)
    assert not torch.equal(row, before[1])
    assert step == 2


def test_step_counts_that_users_write(rule):
    """The count of the first matrix is the parameter's."""
    param = torch.nn.Parameter(drawn((12, 5), 1))
    options = {"lr": 0.1, "weight_decay": 0.0}
    adamw = updraft.load("AdamW")
    optimizer = updraft.optimizer(adamw, [{"params": [param], "matrix_blocks": 3}], **options)
    other = torch.nn.Parameter(param.detach().clone())
    reference = updraft.optimizer(adamw, [other], **options)
    for step in range(3):
        param.grad = other.grad = grad_of(param, step)
        for each, its in ((optimizer, param), (reference, other)):
            each.step()
            if step == 0:
                each.state[its]["step"].fill_(100.0)
    assert torch.equal(param.detach(), other.detach())
    assert optimizer.state[param]["step"] == 102


def test_blocks_in_a_list_may_change(rule):
    muon = updraft.load("Muon")
    param, other = (torch.nn.Parameter(drawn((12, 5), 1)) for _ in range(2))
    optimizer = updraft.optimizer(muon, [{"params": [param], "matrix_blocks": [4, 4, 4]}])
    reference = updraft.optimizer(muon, [{"params": [other], "matrix_blocks": 3}])
    for step in range(2):
        param.grad = other.grad = grad_of(param, step)
        optimizer.step()
        reference.step()
        optimizer.param_groups[0]["matrix_blocks"][:] = [6, 6]
        reference.param_groups[0]["matrix_blocks"] = 2
    assert torch.equal(param.detach(), other.detach())


def test_classes_of_torch_split_too():
    param, other = (torch.nn.Parameter(drawn((12, 5), 1)) for _ in range(2))
    optimizer = updraft.optim.Muon([{"params": [param], "matrix_blocks": 3}], numerics="ieee")
    group = {"params": [other], "matrix_blocks": 3}
    reference = updraft.optimizer(updraft.load("Muon"), [dict(group)])
    param.grad = other.grad = drawn((12, 5), 2)
    optimizer.step()
    reference.step()
    assert torch.equal(param.detach(), other.detach())
    with pytest.raises(updraft.UnsupportedError) as refusal:
        updraft.optim.Muon([group]).step()
    assert str(refusal.value) == (
        'the numerics "torch" can\'t step a group with `matrix_blocks` or `matrix_layout`; give '
        '"ieee"'
    )


def test_complex_matrices_are_refused():
    param = torch.nn.Parameter(torch.ones(6, 4, dtype=torch.complex64))
    with pytest.raises(updraft.UnsupportedError) as refusal:
        updraft.optimizer(updraft.load("Muon"), [param])
    assert str(refusal.value) == (
        "the rule `Muon` depends on rows, columns or batches, which complex parameters don't have: "
        "they are stepped as pairs of numbers"
    )


def test_names_that_are_nearly_entries():
    param = torch.nn.Parameter(torch.ones(6, 4))
    with pytest.warns(UserWarning, match="it reads `matrix_blocks`"):
        updraft.optimizer(updraft.load("Muon"), [{"params": [param], "matrix_block": 3}])


def test_states_of_whole_parameters_can_be_split(rule):
    """The momentum of an optimizer without blocks becomes that of the blocks."""
    param = torch.nn.Parameter(drawn((12, 5), 1))
    muon = updraft.load("Muon")
    plain = updraft.optimizer(muon, [param])
    param.grad = drawn((12, 5), 2)
    plain.step()
    split = updraft.optimizer(muon, [{"params": [param], "matrix_blocks": (6, 2, 4)}])
    split.load_state_dict(plain.state_dict())
    assert split.param_groups[0]["matrix_blocks"] == (6, 2, 4)
    buffer = split.state[param]["momentum_buffer"].clone()
    apart = [torch.nn.Parameter(each.clone()) for each in param.detach().split((6, 2, 4))]
    reference = updraft.optimizer(muon, apart)
    for each, its, grad in zip(
        apart, buffer.split((6, 2, 4)), param.grad.split((6, 2, 4)), strict=True
    ):
        reference.state[each] = {"step": torch.tensor(1.0), "momentum_buffer": its.clone()}
        each.grad = grad
    split.step()
    reference.step()
    assert torch.equal(param.detach(), torch.cat([each.detach() for each in apart]))


def test_copies_and_moved_memory(rule):
    param = torch.nn.Parameter(drawn((12, 5), 1))
    other = torch.nn.Parameter(param.detach().clone())
    optimizer = updraft.optimizer(rule, [{"params": [param], "matrix_blocks": 3}])
    reference = updraft.optimizer(rule, [{"params": [other], "matrix_blocks": 3}])
    for step in range(5):
        param.grad = other.grad = grad_of(param, step)
        optimizer.step()
        reference.step()
        if step == 1:
            param.data = param.data.clone()
        if step == 2:
            param, optimizer = copy.deepcopy((param, optimizer))
        if step == 3:
            optimizer.param_groups[0]["lr"] = reference.param_groups[0]["lr"] = 0.01
    assert torch.equal(param.detach(), other.detach())


def test_other_blocks_during_training(rule):
    """A group's entries may change between steps, like flags of the rule."""
    muon = updraft.load("Muon")
    param = torch.nn.Parameter(drawn((12, 5), 1))
    optimizer = updraft.optimizer(muon, [{"params": [param], "matrix_blocks": 3}])
    param.grad = drawn((12, 5), 2)
    optimizer.step()
    before = param.detach().clone()
    optimizer.param_groups[0]["matrix_blocks"] = None
    optimizer.step()
    whole = torch.nn.Parameter(before)
    reference = updraft.optimizer(muon, [whole])
    reference.state[whole] = {
        "step": torch.tensor(1.0),
        "momentum_buffer": param.grad * (1 - 0.95),
    }
    whole.grad = param.grad
    reference.step()
    assert torch.allclose(param.detach(), whole.detach(), atol=1e-6)


def test_several_parameters_some_without_gradients(rule):
    params = [torch.nn.Parameter(drawn((4 * n, 3), n)) for n in (1, 2, 3)]
    start = [param.detach().clone() for param in params]
    optimizer = updraft.optimizer(rule, [{"params": params, "matrix_blocks": 4}])
    params[0].grad, params[2].grad = drawn((4, 3), 7), drawn((12, 3), 8)
    optimizer.step()
    assert set(optimizer.state) == {params[0], params[2]}
    params[1].grad = drawn((8, 3), 9)
    optimizer.step()
    assert [optimizer.state[param]["step"].item() for param in params] == [2, 1, 2]
    assert all(
        not torch.equal(param.detach(), before) for param, before in zip(params, start, strict=True)
    )


def test_clipping_and_gradient_scaling():
    muon = updraft.load("Muon")
    param, whole = (torch.nn.Parameter(drawn((12, 5), 1)) for _ in range(2))
    optimizer = updraft.optim.with_clipping(
        updraft.optimizer(muon, [{"params": [param], "matrix_blocks": 3}]), 0.5
    )
    reference = updraft.optimizer(muon, [{"params": [whole], "matrix_blocks": 3}])
    scaler = torch.amp.GradScaler("cpu", init_scale=8.0)
    for step in range(3):
        grad = grad_of(param, step)
        loss = (param * grad).sum()
        param.grad = None
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
        whole.grad = grad.clone()
        torch.nn.utils.clip_grad_norm_([whole], 0.5)
        reference.step()
    assert math.isclose(optimizer.last_grad_norm, grad.norm(), rel_tol=1e-6)
    assert torch.allclose(param.detach(), whole.detach(), atol=1e-5)


@pytest.mark.parametrize("dtype", [torch.float64, torch.bfloat16, torch.float16])
def test_dtypes(rule, dtype):
    param = torch.nn.Parameter(drawn((12, 5), 1).to(dtype))
    apart = [torch.nn.Parameter(each.clone()) for each in param.detach().split(4)]
    optimizer = updraft.optimizer(rule, [{"params": [param], "matrix_blocks": 3}])
    reference = updraft.optimizer(rule, apart)
    param.grad = drawn((12, 5), 2).to(dtype)
    for each, grad in zip(apart, param.grad.split(4), strict=True):
        each.grad = grad
    optimizer.step()
    reference.step()
    assert torch.equal(param.detach(), torch.cat([each.detach() for each in apart]))


REFUSED = [
    (
        {"matrix_blocks": 0},
        (12, 5),
        "the `matrix_blocks` of a parameter group are 0; give the rows of each block, such as "
        "(768, 768, 768), or the number of equal blocks",
    ),
    (
        {"matrix_blocks": (6, 6.0)},
        (12, 5),
        "the `matrix_blocks` of a parameter group are (6, 6.0); give the rows of each block, such "
        "as (768, 768, 768), or the number of equal blocks",
    ),
    (
        {"matrix_blocks": ()},
        (12, 5),
        "the `matrix_blocks` of a parameter group are (); give the rows of each block, such as "
        "(768, 768, 768), or the number of equal blocks",
    ),
    (
        {"matrix_blocks": 5},
        (12, 5),
        "the 12 rows of a parameter of shape (12, 5) don't make 5 equal blocks; give the rows of "
        "each block",
    ),
    (
        {"matrix_blocks": (6, 5)},
        (12, 5),
        "`matrix_blocks` has 11 rows, but a parameter of shape (12, 5) has 12",
    ),
    (
        {"matrix_blocks": 3},
        (12,),
        "a parameter of shape (12,) is in a group with `matrix_blocks`; give parameters of two "
        "dimensions",
    ),
    (
        {"matrix_blocks": 3, "matrix_layout": "transposed"},
        (2, 12, 5),
        "a parameter of shape (2, 12, 5) is in a group with `matrix_blocks` and `matrix_layout`; "
        "give parameters of two dimensions",
    ),
    (
        {"matrix_layout": "flat"},
        (5,),
        "a parameter of shape (5,) is in a group with `matrix_layout`; give parameters of two or "
        "more dimensions",
    ),
    (
        {"matrix_layout": "rows"},
        (12, 5),
        'the `matrix_layout` of a parameter group is \'rows\'; give "flat", "transposed" or None',
    ),
]


@pytest.mark.parametrize(("entries", "shape", "message"), REFUSED)
def test_refused_entries(rule, entries, shape, message):
    param = torch.nn.Parameter(torch.ones(shape))
    with pytest.raises(updraft.InvalidArgumentError) as refusal:
        updraft.optimizer(rule, [{"params": [param], **entries}])
    assert str(refusal.value) == message


def test_refused_kinds(rule):
    param = torch.nn.Parameter(torch.ones(12, 5))
    group = {"params": [param], "matrix_blocks": 3}
    with pytest.raises(updraft.UnsupportedError) as refusal:
        updraft.optimizer("Lion", [group], storage={"exp_avg": "q8_linear"})
    assert str(refusal.value) == (
        "the rule `Lion` keeps states in blocks or with corrections, which can't be split into "
        "matrices; choose another `storage`, or give the parameters a group without "
        "`matrix_blocks` and `matrix_layout`"
    )
    optimizer = updraft.optimizer(rule, [group])
    param.grad = torch.ones(12, 5).to_sparse()
    with pytest.raises(updraft.UnsupportedError) as refusal:
        optimizer.step()
    assert str(refusal.value) == (
        "a gradient of layout torch.sparse_coo can't be split into matrices; give dense gradients "
        "to groups with `matrix_blocks` or `matrix_layout`"
    )
    assert torch.equal(param.detach(), torch.ones(12, 5))
    param.grad = torch.ones(12, 5)
    optimizer.step()
    state = optimizer.state[param]
    state["row"] = torch.ones(7, 1)
    with pytest.raises(updraft.InvalidArgumentError) as refusal:
        optimizer.step()
    assert str(refusal.value) == (
        "a state of shape (7, 1) can't be split like its parameter of shape (12, 5) into 3 matrices"
    )


SQUARE = """
rule Square(lr = 0.1) {
  state left over (row, row) = 0 when matrix
  update(param, grad) {
    let l = if matrix then left + gram(grad) else 0
    next left  = l when matrix
    next param = param - lr * (if matrix then l @ grad else grad)
  }
}
"""


def test_states_of_square_matrices(tmp_path):
    file = tmp_path / "square.upd"
    file.write_text(SQUARE)
    square = updraft.load(file)
    param = torch.nn.Parameter(torch.ones(4, 3, 2))
    optimizer = updraft.optimizer(square, [{"params": [param], "matrix_layout": "flat"}])
    param.grad = torch.ones(4, 3, 2)
    optimizer.step()
    assert torch.equal(optimizer.state[param]["left"], torch.full((4, 4), 6.0))
    with pytest.raises(updraft.UnsupportedError) as refusal:
        updraft.optimizer(
            square, [{"params": [torch.nn.Parameter(torch.ones(4, 3))], "matrix_blocks": 2}]
        )
    assert str(refusal.value) == (
        "the rule `Square` has the state `left` of square matrices, which `matrix_blocks` can't "
        "split; give each block a parameter of its own"
    )


@pytest.mark.parametrize("shape", [(4, 4), (4, 3)])
def test_square_states_of_a_transposed_parameter(shape):
    """They have the parameter's shape if it is square."""
    start, transposed = drawn(shape, 1), {"matrix_layout": "transposed"}
    param, other = (torch.nn.Parameter(each.clone()) for each in (start, start.t()))
    optimizer = updraft.optimizer("SOAP", [{"params": [param], **transposed}])
    reference = updraft.optimizer("SOAP", [other])
    for step in range(4):
        param.grad = drawn(shape, 2 + step)
        other.grad = param.grad.t().contiguous()
        optimizer.step()
        reference.step()
        ours, theirs = optimizer.state[param], reference.state[other]
        for name in ("Q_left", "Q_right", "GG_left"):
            assert torch.equal(ours[name], theirs[name]), name
        assert torch.equal(ours["exp_avg"], theirs["exp_avg"].t())
        if step == 1:
            saved = reference.state_dict()["state"][0]
            state = {
                name: (value.t() if name.startswith("exp") else value).clone()
                for name, value in saved.items()
            }
            groups = optimizer.state_dict()["param_groups"]
            optimizer = updraft.optimizer("SOAP", [{"params": [param], **transposed}])
            optimizer.load_state_dict({"state": {0: state}, "param_groups": groups})
    assert torch.equal(param.detach(), other.detach().t())


def test_differentiable_steps_are_refused():
    """Operators of torch would step the whole parameter."""
    param = torch.nn.Parameter(torch.ones(12, 5))
    group = {"params": [param], "matrix_blocks": 3, "differentiable": True}
    with pytest.raises(updraft.UnsupportedError) as refusal:
        updraft.optimizer(updraft.load("LAMB"), [group])
    assert str(refusal.value) == (
        "operators of torch can't step a group with `matrix_blocks` or `matrix_layout`"
    )
