"""DTensor parameters: each rank steps its local part, and states are DTensors."""

import copy

import pytest
import torch
import torch.distributed as dist
import torch.multiprocessing as mp

import updraft
from updraft import lang, optim
from updraft.optim.shared_memory import layers_apart

from .torch_training import assert_close, parameters, set_gradients

SHAPES = [(6, 4), (5, 3), (7,), (1, 2), ()]


def placements_of(shape, kind):
    from torch.distributed.tensor import Replicate, Shard

    if kind == "replicated" or not shape:
        return [Replicate()]
    return [Shard(1 if kind == "columns" and len(shape) > 1 else 0)]


def distributed(params, mesh, kind):
    from torch.distributed.tensor import distribute_tensor

    return [
        torch.nn.Parameter(
            distribute_tensor(param.detach().clone(), mesh, placements_of(param.shape, kind))
        )
        for param in params
    ]


def distributed_gradients(params, plain, mesh):
    from torch.distributed.tensor import Replicate, distribute_tensor

    for number, (param, single) in enumerate(zip(params, plain, strict=True)):
        if single.grad is None:
            param.grad = None
            continue
        # One state has other placements than its parameter.
        placements = [Replicate()] if number == 0 else param.placements
        param.grad = distribute_tensor(single.grad.clone(), mesh, placements)


def run_steps(mesh, name, options, kind):
    plain = parameters(shapes=SHAPES)
    params = distributed(plain, mesh, kind)
    local = plain[2].detach().clone().requires_grad_()  # beside those of the mesh
    reference = getattr(torch.optim, name)(plain, foreach=False, **options)
    optimizer = getattr(optim, name)([*params, local], **options)
    for step in range(30):
        if step == 15:
            saved = copy.deepcopy(optimizer.state_dict())
            optimizer = getattr(optim, name)([*params, local], **options)
            optimizer.load_state_dict(saved)
        set_gradients(plain, step)
        distributed_gradients(params, plain, mesh)
        local.grad = plain[2].grad.clone()
        versions = [param._version for param in params]
        reference.step()
        optimizer.step()
        assert all(p._version > old for p, old in zip(params, versions, strict=True))
    assert_close(plain, [param.full_tensor() for param in params])
    assert_close([plain[2]], [local])
    for single, param in zip(plain, params, strict=True):
        theirs, ours = reference.state[single], optimizer.state[param]
        assert list(theirs) == list(ours)
        for key, value in theirs.items():
            if value.shape != single.shape or key == "step":
                assert ours[key].shape == value.shape, key
                continue
            assert type(ours[key]) is type(param.data)
            assert ours[key].shape == value.shape
            assert ours[key].placements == param.placements
            torch.testing.assert_close(ours[key].full_tensor(), value)


CLIPPED_SGD = updraft.chain(
    updraft.transforms.clip_by_global_norm(max_norm=1.0), updraft.load("SGD")(momentum=0.9)
)


@updraft.rule
def by_sizes(param, grad, lr=0.1):
    return param - lr * grad * lang.sqrt(lang.size())


@updraft.rule
def by_group_size(param, grad, lr=0.1):
    return param - lr * grad * lang.sqrt(lang.group_size())


REDUCING = [
    "Adafactor",
    "AdaBelief",
    "AdamMini",
    "CAME",
    "LAMB",
    "LARS",
    "NovoGrad",
    "Prodigy",
    "RowwiseAdagrad",
    "StableAdamW",
    CLIPPED_SGD,
    by_sizes,
    by_group_size,
]


# States with a value for each parameter, row or column. They may have the parameter's shape: if its
# extent is 1 there.
OVER_PART = (
    "step",
    "row_var",
    "col_var",
    "sum",
    "vmean",
    "exp_avg_sq_row",
    "exp_avg_sq_col",
    "exp_avg_res_row",
    "exp_avg_res_col",
)


def reduce_over_parts(mesh, rule, kind):
    """A rule's reductions over parameters or the group cover all ranks."""
    shapes = [(6, 4), (5, 3), (2, 3, 4), (7,), (1, 2), ()]
    if rule == "RowwiseAdagrad":
        shapes = [shape for shape in shapes if len(shape) == 2]
    plain = parameters(shapes=shapes)
    params = distributed(plain, mesh, kind)
    reference, optimizer = (updraft.optimizer(rule, each, lr=0.01) for each in (plain, params))
    for step in range(10):
        if step == 5:
            saved = copy.deepcopy(optimizer.state_dict())
            optimizer = updraft.optimizer(rule, params, lr=0.01)
            optimizer.load_state_dict(saved)
        set_gradients(plain, step, absent={step % 3} if step > 6 else ())
        distributed_gradients(params, plain, mesh)
        versions = [param._version for param in params]
        reference.step()
        optimizer.step()
        for param, old in zip(params, versions, strict=True):
            assert (param._version > old) == (param.grad is not None)
    for single, param in zip(plain, params, strict=True):
        torch.testing.assert_close(param.full_tensor(), single.detach(), rtol=1e-4, atol=1e-5)
        theirs, ours = reference.state[single], optimizer.state[param]
        assert list(theirs) == list(ours)
        for name, value in theirs.items():
            other = ours[name]
            assert (other.shape, other.dtype) == (value.shape, value.dtype), name
            if value.shape == single.shape and name not in OVER_PART:
                assert other.placements == param.placements, name
            elif value.dim() != 0:
                assert all(placement.is_replicate() for placement in other.placements), name
            whole = other.full_tensor() if type(other) is type(param.data) else other
            torch.testing.assert_close(whole, value, rtol=1e-4, atol=1e-6)


def step_alike(mesh, plain, params, reference, optimizer, steps):
    """Steps both optimizers with the same gradients."""
    for step in range(steps):
        set_gradients(plain, step)
        distributed_gradients(params, plain, mesh)
        reference.step()
        optimizer.step()


def adafactor_as_of_one_process(mesh):
    """torch's Adafactor refuses sharded matrices, and uses a partial norm for sharded vectors."""
    plain = parameters(shapes=SHAPES)
    params = distributed(plain, mesh, "rows")
    reference, optimizer = torch.optim.Adafactor(plain, lr=0.1), optim.Adafactor(params, lr=0.1)
    step_alike(mesh, plain, params, reference, optimizer, 10)
    for single, param in zip(plain, params, strict=True):
        torch.testing.assert_close(param.full_tensor(), single.detach(), rtol=1e-4, atol=1e-5)
        assert list(reference.state[single]) == list(optimizer.state[param])


@updraft.rule
def preconditioned(param, grad, state, matrix, lr=0.1):
    left = state.setdefault("l", 0, over=("row", "row"), when=matrix) + lang.gram(grad)
    state["l"] = left
    return param - lr * lang.where(matrix, left @ grad, grad)


def square_states(mesh, kind):
    """Each rank has the square states of whole matrices."""
    plain = parameters(shapes=SHAPES)
    params = distributed(plain, mesh, kind)
    reference, optimizer = (updraft.optimizer(preconditioned, some) for some in (plain, params))
    step_alike(mesh, plain, params, reference, optimizer, 3)
    for single, param in zip(plain, params, strict=True):
        torch.testing.assert_close(param.full_tensor(), single.detach(), rtol=0, atol=0)
        for name, state in reference.state[single].items():
            ours = optimizer.state[param][name]
            assert ours.shape == state.shape
            assert name == "step" or ours.full_tensor().equal(state)


def refuse(mesh):
    """Cases that need torch's own step, and requirements that constructors check."""
    params = distributed(parameters(shapes=SHAPES), mesh, "rows")
    with pytest.raises(updraft.UnsupportedError) as error:
        updraft.optimizer("LAMB", params[:1], storage={"exp_avg": "q8_linear"})
    assert str(error.value) == (
        "the rule `LAMB` reduces over whole parameters, but a parameter has the placements "
        "(Shard(dim=0),); replicate it, or use an element-wise rule"
    )
    with pytest.raises(updraft.InvalidArgumentError) as error:
        optim.LAMB(params[:1], lr=-1.0)
    assert str(error.value) == "Invalid learning rate: -1.0"
    replicated = distributed(parameters(shapes=[(6, 4)]), mesh, "replicated")
    for some, name, state in (
        (params[:1], "AdamW", "exp_avg"),
        (replicated, "Lion", "exp_avg"),
        (params[:1], "Muon", "momentum_buffer"),
    ):
        with pytest.raises(updraft.UnsupportedError) as error:
            getattr(optim, name)(some, storage={"state": "q8_linear"})
        assert str(error.value) == (
            f"the rule `{'MuonMomentum' if name == 'Muon' else name}` stores the state `{state}` "
            "in blocks of codes, which parameters that are DTensors can't have; give it another "
            '`storage`, such as "bf16"'
        )
    with pytest.raises(updraft.UnsupportedError) as error:
        updraft.optimizer(updraft.load("Muon"), params[:1], probes=["gradient_norm"])
    assert str(error.value) == (
        "the rule `Muon` needs whole parameters, and the step has no probes of DTensors that it "
        "gathers; leave `probes` out"
    )
    local = parameters(shapes=[(3,)])
    with pytest.raises(updraft.UnsupportedError, match="stepped apart"):
        updraft.optimizer(CLIPPED_SGD, [*params, *local])


def muon(mesh, kind):
    """Each rank runs its part of the passes, and DTensor multiplies, with torch's bits."""
    shapes = [(6, 4), (5, 3), (8, 20), (2, 2)]
    plain = parameters(shapes=shapes)
    theirs, ours = (distributed(plain, mesh, kind) for _ in range(2))
    local = [plain[0].detach().clone().requires_grad_() for _ in range(2)]
    reference = torch.optim.Muon([*theirs, local[0]], lr=0.1)
    optimizer = optim.Muon([*ours, local[1]], lr=0.1)
    for step in range(8):
        if step == 3:  # each continues from the states of the other
            saved = [copy.deepcopy(each.state_dict()) for each in (optimizer, reference)]
            for each, other in zip((reference, optimizer), saved, strict=True):
                each.load_state_dict(other)
        if step == 5:
            for each in (reference, optimizer):
                each.param_groups[0].update(adjust_lr_fn="match_rms_adamw", lr=0.01)
        set_gradients(plain, step)
        for params, alone in zip((theirs, ours), local, strict=True):
            for param, single in zip(params, plain, strict=True):
                param.grad = distribute_like(param, single.grad)
            params[step % 3].grad = None
            alone.grad = plain[0].grad.clone()
        reference.step()
        optimizer.step()
    assert local[0].equal(local[1])
    for their, our in zip(theirs, ours, strict=True):
        assert their.full_tensor().equal(our.full_tensor())
        buffers = [
            each.state[param]["momentum_buffer"]
            for each, param in ((reference, their), (optimizer, our))
        ]
        assert type(buffers[1]) is type(our.data)
        assert buffers[1].placements == our.placements
        assert buffers[0].full_tensor().equal(buffers[1].full_tensor())


#: Rules with products of matrices; entries of the group; a state of the parameter's shape.
GATHERED = [
    ("Muon", {}, "momentum_buffer"),
    ("Muon", {"matrix_blocks": 2}, "momentum_buffer"),
    ("Muon", {"matrix_blocks": 2, "matrix_layout": "transposed"}, "momentum_buffer"),
    (optim.Muon, {"numerics": "ieee"}, "momentum_buffer"),
    ("NorMuon", {}, "momentum"),
    ("Dion2", {}, "momentum"),
    ("SOAP", {"precondition_frequency": 2}, "exp_avg_sq"),
    ("Shampoo", {"precondition_frequency": 2, "start_preconditioning_step": 2}, "filtered_grad"),
    ("KLShampoo", {"precondition_frequency": 2}, "exp_avg"),
    ("PSGDPro", {}, "exp_avg"),
]


def gather_matrices(mesh, name, entries, state, kind):
    """Products take whole matrices. The bits are those of one process."""
    shapes = [(6, 4), (8, 20), (2, 2)]
    if "matrix_blocks" not in entries:
        shapes += [(5, 3), (2, 3, 4), (1, 2)] + ([] if name is optim.Muon else [(7,)])
    plain = parameters(shapes=shapes)
    params = distributed(plain, mesh, kind)

    def optimizer_of(some):
        if isinstance(name, type):
            return name(some, lr=0.1, **entries)
        rule = updraft.load(name)
        return updraft.optimizer(rule, [{"params": some, **entries}], lr=0.1)

    reference, optimizer = optimizer_of(plain), optimizer_of(params)
    for step in range(6):
        if step == 3:
            saved = copy.deepcopy(optimizer.state_dict())
            optimizer = optimizer_of(params)
            optimizer.load_state_dict(saved)
        if step == 4:
            for each in (reference, optimizer):
                each.param_groups[0]["lr"] = 0.01
        set_gradients(plain, step, absent={step} if step > 3 else ())
        distributed_gradients(params, plain, mesh)
        versions = [param._version for param in params]
        kept = optimizer.state[params[0]].get(state)
        reference.step()
        optimizer.step()
        if step not in (0, 3):
            assert optimizer.state[params[0]][state] is kept
        for param, old in zip(params, versions, strict=True):
            assert (param._version > old) == (param.grad is not None)
    for single, param in zip(plain, params, strict=True):
        assert torch.equal(param.full_tensor(), single.detach())
        theirs, ours = reference.state[single], optimizer.state[param]
        assert list(theirs) == list(ours)
        assert ours.get("step") == theirs.get("step")
        assert ours[state].placements == param.placements
        assert torch.equal(ours[state].full_tensor(), theirs[state])


def refuse_to_gather(mesh):
    """A group's flag that the rule refuses is refused before a step."""
    (param,) = distributed(parameters(shapes=[(6, 4)]), mesh, "rows")
    optimizer = updraft.optimizer(updraft.load("Muon"), [param])
    before = param.full_tensor().clone()
    param.grad = torch.ones_like(param)
    optimizer.param_groups[0]["ns_set"] = "none"
    with pytest.raises(updraft.CompileError, match="Invalid ns_set value: none"):
        optimizer.step()
    assert torch.equal(param.full_tensor(), before)
    with pytest.raises(updraft.InvalidArgumentError, match="don't make 5 equal blocks"):
        updraft.optimizer(updraft.load("Muon"), [{"params": [param], "matrix_blocks": 5}])


def muon_of_one_row(mesh):
    """A rank without rows; torch refuses to add different placements."""
    plain = parameters(shapes=[(1, 2)])
    params = distributed(plain, mesh, "rows")
    reference, optimizer = torch.optim.Muon(plain, lr=0.1), optim.Muon(params, lr=0.1)
    for step in range(4):
        set_gradients(plain, step)
        distributed_gradients(params, plain, mesh)
        reference.step()
        optimizer.step()
    assert (plain[0] - params[0].full_tensor()).abs().max() <= 0.01


def distribute_like(param, tensor):
    from torch.distributed.tensor import distribute_tensor

    return distribute_tensor(tensor.clone(), param.device_mesh, param.placements)


def swap_local(mesh):
    """Replaces the local tensor, as a module that shards does."""
    plain = parameters(shapes=SHAPES)
    params = distributed(plain, mesh, "rows")
    reference, optimizer = torch.optim.AdamW(plain, lr=0.1), optim.AdamW(params, lr=0.1)
    for step in range(4):
        if step == 2:
            for param in params:
                param._local_tensor = param._local_tensor.clone()
        set_gradients(plain, step)
        distributed_gradients(params, plain, mesh)
        reference.step()
        optimizer.step()
    assert_close(plain, [param.full_tensor() for param in params], 4)


def share_memory(mesh):
    """Two DTensors and a plain tensor with shared memory, and a separate DTensor."""
    from torch.distributed.tensor import DTensor

    first, apart = distributed(parameters(shapes=[(6, 4), (5, 3)]), mesh, "rows")
    memory = first.to_local().detach()
    again = torch.nn.Parameter(DTensor.from_local(memory, mesh, first.placements))
    params = [first, apart, again, torch.nn.Parameter(memory)]
    assert layers_apart(params) == [[0, 1], [2], [3]]
    expected = memory - 3.0, apart.to_local().detach() - 1.0
    optimizer = optim.SGD(params, lr=1.0)
    for param in params:
        param.grad = torch.ones_like(param)
    optimizer.step()
    torch.testing.assert_close((memory, apart.to_local().detach()), expected)


def clip(mesh, kind):
    """The norm covers the parts of all ranks, and other tensors."""
    plain = parameters(shapes=SHAPES)
    params = distributed(plain, mesh, kind)
    reference = torch.optim.AdamW(plain, lr=0.1, foreach=False)
    optimizer = optim.with_clipping(optim.AdamW(params, lr=0.1), 0.5)
    for step in range(5):
        set_gradients(plain, step)
        distributed_gradients(params, plain, mesh)
        norm = torch.nn.utils.clip_grad_norm_(plain, 0.5)
        reference.step()
        optimizer.step()
        torch.testing.assert_close(optimizer.last_grad_norm, norm)
    assert_close(plain, [param.full_tensor() for param in params], 50)


def work(rank, address, jobs, ranks):
    torch.set_num_threads(1)
    dist.init_process_group("gloo", init_method=f"file://{address}", rank=rank, world_size=ranks)
    mesh = dist.device_mesh.init_device_mesh("cpu", (ranks,))
    try:
        for function, *arguments in jobs:
            function(mesh, *arguments)
    finally:
        dist.destroy_process_group()


def spawn(tmp_path, jobs, ranks=2):
    # A fork already has the modules, and code in this process must not start threads of torch.
    arguments = str(tmp_path / "store"), jobs, ranks
    mp.start_processes(work, arguments, nprocs=ranks, start_method="fork")


CASES = [
    ("AdamW", {"lr": 0.1, "amsgrad": True}),
    ("SGD", {"lr": 0.1, "momentum": 0.9, "nesterov": True}),
    ("NAdam", {"lr": 0.1}),
    ("RMSprop", {"lr": 0.1, "centered": True}),
    ("ASGD", {"lr": 0.1}),
]


@pytest.mark.parametrize("kind", ["rows", "columns", "replicated"])
def test_thirty_steps(tmp_path, kind):
    more = [("Adafactor", {"lr": 0.1, "eps": (1e-7, 1e-3)})] if kind == "replicated" else []
    spawn(tmp_path, [(run_steps, name, options, kind) for name, options in CASES + more])


@pytest.mark.parametrize("kind", ["rows", "columns"])
def test_rules_that_reduce(tmp_path, kind):
    spawn(tmp_path, [(reduce_over_parts, rule, kind) for rule in REDUCING])


def test_adafactor(tmp_path):
    spawn(tmp_path, [(adafactor_as_of_one_process,)])


def test_states_of_square_matrices(tmp_path):
    spawn(tmp_path, [(square_states, kind) for kind in ("rows", "columns", "replicated")])


def test_unsupported_cases_are_refused(tmp_path):
    spawn(tmp_path, [(refuse,)])


def test_muon(tmp_path):
    jobs = [(muon, kind) for kind in ("rows", "columns", "replicated")]
    spawn(tmp_path, [*jobs, (muon_of_one_row,)])


@pytest.mark.parametrize(
    ("kind", "ranks"), [("rows", 2), ("columns", 2), ("replicated", 2), ("rows", 3)]
)
def test_products_of_whole_matrices(tmp_path, kind, ranks):
    jobs = [(gather_matrices, *case, kind) for case in GATHERED]
    spawn(tmp_path, [*jobs, (refuse_to_gather,)], ranks)


def test_local_tensors_that_are_replaced(tmp_path):
    spawn(tmp_path, [(swap_local,)])


def test_parameters_that_share_memory(tmp_path):
    spawn(tmp_path, [(share_memory,)])


def test_clipping(tmp_path):
    spawn(tmp_path, [(clip, kind) for kind in ("rows", "columns", "replicated")])
