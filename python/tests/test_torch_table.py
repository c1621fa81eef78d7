"""The configurations and bad inputs of torch's table of optimizers, compared with torch."""

import copy
import warnings

import pytest
import torch
from torch.testing._internal.common_optimizers import OptimizerErrorEnum, optim_db

from updraft import optim

from .torch_training import assert_close, assert_same_states

STEPS = 30
SHAPES = [(13, 11), (7,), (1,), (3, 5, 2), ()]
LOW = [torch.bfloat16, torch.float16]
DTYPES = [torch.float32, torch.float64, *LOW, torch.complex64, torch.complex128]

INFOS = [info for info in optim_db if info.name in optim.__all__]
# SparseAdam and LBFGS have separate tests below.
DENSE = [
    info for info in INFOS if not info.only_supports_sparse_grads and not info.step_requires_closure
]


def options_of(info):
    """All options of the table; those with `capturable` are listed for CUDA."""
    for device in ("cpu", "cuda"):
        for entry in info.optim_inputs_func(device=device):
            if device == "cpu" or "capturable" in entry.kwargs:
                yield entry.desc.replace(" ", "_"), entry.kwargs


CONFIGURATIONS = [
    pytest.param(info, options, id=f"{info.name}-{description}")
    for info in DENSE
    for description, options in options_of(info)
]


def parameters(info, dtype=torch.float32):
    generator = torch.Generator().manual_seed(5)
    wide = torch.complex128 if dtype.is_complex else torch.float64
    # Muon only accepts matrices.
    shapes = [(13, 11), (7, 9)] if info.name == "Muon" else SHAPES
    return [
        torch.nn.Parameter(torch.randn(shape, generator=generator, dtype=wide).to(dtype))
        for shape in shapes
    ]


def set_gradients(params, step, dtype=None):
    """Sets random gradients that are exact in every type that `dtype` can store."""
    generator = torch.Generator().manual_seed(step)
    for param in params:
        wide = torch.complex128 if param.is_complex() else torch.float64
        grad = torch.randn(param.shape, generator=generator, dtype=wide)
        param.grad = grad.to(dtype or param.dtype).to(param.dtype)


def for_loop(info, options):
    """The same options for torch's for-loop, which doesn't support `capturable` on the CPU."""
    flags = {flag: False for flag in ("foreach", "fused") if flag in info.supported_impls}
    changed = {"capturable": False} if "capturable" in options else {}
    return copy.deepcopy(options) | changed | flags


def in_python(options):
    """The same options without tensors, for which torch would compute in f32."""

    def plain(value):
        if isinstance(value, tuple):
            return tuple(plain(part) for part in value)
        return value.item() if isinstance(value, torch.Tensor) else value

    return {name: plain(value) for name, value in options.items()}


def real(params):
    return [torch.view_as_real(p.detach()) if p.is_complex() else p.detach() for p in params]


@pytest.mark.parametrize(
    ("info", "options", "dtype"),
    [
        pytest.param(info, options, dtype, id=f"{info.name}-{description}-{dtype}")
        for info in DENSE
        for description, options in options_of(info)
        for dtype in DTYPES
        if info.supports_complex or not dtype.is_complex
    ],
)
def test_thirty_steps(info, options, dtype):
    ours = parameters(info, dtype)
    stored = dtype if dtype in LOW else None
    # States with few bits are computed in f32 and rounded once. torch doesn't have an option for
    # this.
    computed = torch.float32 if stored else dtype
    theirs = [torch.nn.Parameter(param.detach().to(computed, copy=True)) for param in ours]
    optimizer = getattr(optim, info.name)(ours, **copy.deepcopy(options))
    wide = dtype in (torch.float64, torch.complex128)
    reference = info.optim_cls(theirs, **for_loop(info, in_python(options) if wide else options))
    for step in range(STEPS):
        for params in (theirs, ours):
            set_gradients(params, step, stored)
        optimizer.step()
        reference.step()
        if stored:
            round_stored(reference, optimizer, theirs, ours, stored)
    if stored:
        # A difference in the last place of f32 rarely changes the rounded number.
        assert_close(real(theirs), real(ours), 1, stored)
    else:
        # torch multiplies NAdam's product of momenta in f32.
        assert_close(
            real(theirs), real(ours), dtype=torch.float32 if info.name == "NAdam" else None
        )
        assert_same_states(reference, optimizer)


def round_stored(reference, optimizer, theirs, ours, dtype):
    """Rounds the parameters of an f32 optimizer, and its states that have few bits in ours."""
    for their, our in zip(theirs, ours, strict=True):
        their.data.copy_(their.data.to(dtype))
        for name, value in reference.state[their].items():
            if optimizer.state[our][name].dtype == dtype:
                value.copy_(value.to(dtype))


@pytest.mark.parametrize("dtype", LOW, ids=["bfloat16", "float16"])
@pytest.mark.parametrize(("info", "options"), CONFIGURATIONS)
def test_states_of_few_bits_are_stored_as_in_torch(info, options, dtype):
    theirs, ours = parameters(info, dtype), parameters(info, dtype)
    reference = info.optim_cls(theirs, **for_loop(info, options))
    optimizer = getattr(optim, info.name)(ours, **copy.deepcopy(options))
    for params, each in ((theirs, reference), (ours, optimizer)):
        set_gradients(params, 0)
        each.step()
    assert_same_states(reference, optimizer)


def outcome(make, params):
    """The parameters after some steps, or the exception of the constructor or a step."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            optimizer = make(params)
        for step in range(3):
            set_gradients(params, step)
            optimizer.step()
    except Exception as error:
        return type(error), str(error)
    return [param.detach() for param in params]


FLAGS = [
    {"foreach": True},
    {"fused": True},
    {"foreach": True, "fused": True},
    {"fused": True, "differentiable": True},
]


@pytest.mark.parametrize("flags", FLAGS, ids=lambda flags: "_".join(flags))
@pytest.mark.parametrize(("info", "options"), CONFIGURATIONS)
def test_flags_are_refused_as_in_torch_or_change_nothing(info, options, flags):
    def make(kind, more):
        return lambda params: kind(params, **copy.deepcopy(options), **more)

    kind = getattr(optim, info.name)
    theirs = outcome(make(info.optim_cls, flags), parameters(info))
    ours = outcome(make(kind, flags), parameters(info))
    if isinstance(theirs, tuple) and theirs[0] is not AssertionError:
        assert ours == theirs
        return
    # On the CPU, torch refuses `capturable` with an assertion.
    without = outcome(make(kind, {}), parameters(info))
    assert isinstance(ours, list)
    assert all(our.equal(other) for our, other in zip(ours, without, strict=True))


LAYOUTS = {
    "group_each": lambda params: [{"params": [param]} for param in params],
    "options": lambda params: [{"params": params[:1], "lr": 0.5}, {"params": params[1:]}],
    "one_without_parameters": lambda params: [{"params": []}, {"params": params}],
    "names": lambda params: [(f"p{number}", param) for number, param in enumerate(params)],
    "not_a_list": lambda params: iter(params),
    "not_a_list_in_group": lambda params: [{"params": iter(params), "maximize": True}],
}


@pytest.mark.parametrize("layout", LAYOUTS.values(), ids=LAYOUTS)
@pytest.mark.parametrize("info", DENSE, ids=lambda info: info.name)
def test_layouts_of_groups(info, layout):
    theirs, ours = parameters(info), parameters(info)
    reference = info.optim_cls(layout(theirs), **for_loop(info, {}))
    optimizer = getattr(optim, info.name)(layout(ours))
    for step in range(5):
        for params, each in ((theirs, reference), (ours, optimizer)):
            set_gradients(params, step)
            each.step()
    assert_close(theirs, ours, 5)
    assert_same_states(reference, optimizer)
    for mine, other in zip(
        optimizer.state_dict()["param_groups"], reference.state_dict()["param_groups"], strict=True
    ):
        assert mine.keys() == other.keys()
        assert mine.get("param_names") == other.get("param_names")


@pytest.mark.parametrize("info", DENSE, ids=lambda info: info.name)
def test_types_in_one_group(info):
    dtypes = [torch.float32, torch.float64, torch.float32, torch.float64]

    def mixed():
        return [
            torch.nn.Parameter(param.detach().to(dtype, copy=True))
            for param, dtype in zip(parameters(info) * 2, dtypes, strict=False)
        ]

    theirs, ours = mixed(), mixed()
    reference = info.optim_cls(theirs, **for_loop(info, {}))
    optimizer = getattr(optim, info.name)(ours)
    for step in range(5):
        for params, each in ((theirs, reference), (ours, optimizer)):
            set_gradients(params, step)
            each.step()
    for their, our in zip(theirs, ours, strict=True):
        nadam = info.name == "NAdam"
        assert_close([their], [our], 5, torch.float32 if nadam else None)
    assert_same_states(reference, optimizer)


ERRORS = [
    pytest.param(info, number, id=f"{info.name}-{number}")
    for info in INFOS
    for number in range(len(info.optim_error_inputs_func("cpu", torch.float32)))
]


@pytest.mark.parametrize(("info", "number"), ERRORS)
def test_bad_inputs(info, number):
    raised = []
    for kind in (info.optim_cls, getattr(optim, info.name)):
        error = info.optim_error_inputs_func("cpu", torch.float32)[number]
        given = error.optimizer_error_input
        params = [torch.nn.Parameter(torch.zeros(1, 1))] if given.params is None else given.params
        if issubclass(error.error_type, Warning):
            with pytest.warns(error.error_type, match=error.error_regex) as warned:
                kind(params, **given.kwargs)
            raised.append(str(warned[0].message))
            continue
        with pytest.raises(error.error_type, match=error.error_regex) as caught:
            optimizer = kind(params, **given.kwargs)
            assert error.error_on is OptimizerErrorEnum.STEP_ERROR
            optimizer.step()
        raised.append(str(caught.value))
    assert raised[0] == raised[1]


def sparse_options(info):
    for description, options in options_of(info):
        if "weight_decay" not in options and "capturable" not in options:
            yield description, options


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64], ids=["f32", "f64"])
@pytest.mark.parametrize(
    ("info", "options"),
    [
        pytest.param(info, options, id=f"{info.name}-{description}")
        for info in INFOS
        if info.supports_sparse or info.only_supports_sparse_grads
        for description, options in sparse_options(info)
    ],
)
def test_sparse_gradients(info, options, dtype):
    tables = [[torch.nn.Parameter(torch.ones(20, 4, dtype=dtype))] for _ in range(2)]
    optimizers = [
        kind(params, **in_python(options))
        for kind, params in zip((info.optim_cls, getattr(optim, info.name)), tables, strict=True)
    ]
    for step in range(8):
        if step == 4:  # each continues from the states of the other
            saved = [copy.deepcopy(optimizer.state_dict()) for optimizer in optimizers]
            for optimizer, other in zip(optimizers, reversed(saved), strict=True):
                optimizer.load_state_dict(other)
        for (table,), optimizer in zip(tables, optimizers, strict=True):
            generator = torch.Generator().manual_seed(step)
            rows = torch.randint(20, (1, 7), generator=generator)
            values = torch.randn(7, 4, generator=generator, dtype=dtype)
            table.grad = torch.sparse_coo_tensor(rows, values, (20, 4))
            optimizer.step()
    assert_close(*tables, 8)


@pytest.mark.parametrize("name", ["SGD", "Adagrad"])
def test_decay_and_sparse_gradients_are_refused_as_in_torch(name):
    raised = []
    for module in (torch.optim, optim):
        table = torch.nn.Parameter(torch.ones(20, 4))
        optimizer = getattr(module, name)([table], lr=0.1)
        for weight_decay in (0, 0.1):
            optimizer.param_groups[0]["weight_decay"] = weight_decay
            table.grad = torch.sparse_coo_tensor([[1, 5]], torch.ones(2, 4), (20, 4))
            if weight_decay:
                with pytest.raises(RuntimeError) as error:
                    optimizer.step()
                raised.append(str(error.value))
            else:
                optimizer.step()
    assert raised[0] == raised[1]


def test_momentum_of_sparse_gradients_in_some_steps():
    """The buffer continues in other steps, and is dense where torch's is sparse."""
    tables = [torch.nn.Parameter(torch.ones(20, 4)) for _ in range(2)]
    theirs, ours = (
        module.SGD([table], lr=0.1, momentum=0.9)
        for module, table in zip((torch.optim, optim), tables, strict=True)
    )
    for step in range(8):
        for table, optimizer in zip(tables, (theirs, ours), strict=True):
            generator = torch.Generator().manual_seed(step)
            grad = torch.randn(20, 4, generator=generator)
            table.grad = grad if step % 3 == 0 else (grad * (grad > 1)).to_sparse(1)
            optimizer.step()
    assert_close(*([table] for table in tables), 8)
    assert not ours.state[tables[1]]["momentum_buffer"].is_sparse


@pytest.mark.parametrize("dtype", [torch.float64, torch.complex128], ids=["f64", "complex128"])
@pytest.mark.parametrize(
    ("info", "options"),
    [
        pytest.param(info, options, id=f"{info.name}-{description}")
        for info in INFOS
        if info.step_requires_closure
        for description, options in options_of(info)
    ],
)
def test_steps_with_a_closure(info, options, dtype):
    """Evaluates the loss as often as torch's, with the same result."""
    losses = []
    for kind in (info.optim_cls, getattr(optim, info.name)):
        params = parameters(info, dtype)
        optimizer = kind(params, **in_python(options))
        sign = -1 if options.get("maximize") else 1
        evaluated = []

        def closure(params=params, optimizer=optimizer, sign=sign, evaluated=evaluated):
            optimizer.zero_grad()
            loss = sign * sum((param.abs() ** 4 + (param - 1).abs() ** 2).sum() for param in params)
            loss.backward()
            evaluated.append(loss.item())
            return loss

        for _ in range(3):
            optimizer.step(closure)
        losses.append(evaluated)
    theirs, ours = losses
    assert len(ours) == len(theirs)
    assert ours == pytest.approx(theirs, rel=1e-9)
