"""QK-clip: `record_max_logits`, and the steps of MuonClip after it."""

import copy
import io

import pytest
import torch

import updraft
import updraft.optim

HEADS, WIDTH, INPUTS = 3, 4, 10
ROWS = HEADS * WIDTH


def drawn(*shape, seed=1):
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed))


def set_gradients(optimizer, step):
    for group in optimizer.param_groups:
        for number, param in enumerate(group["params"]):
            param.grad = drawn(*param.shape, seed=100 * step + number).to(param)


def pair(param, **entries):
    """MuonClip and Muon, after their first step with equal parameters."""
    params = [torch.nn.Parameter(param.clone()) for _ in range(2)]
    clipped, plain = (
        updraft.optimizer(updraft.load(name), [{"params": [each], **entries}])
        for name, each in zip(("MuonClip", "Muon"), params, strict=True)
    )
    for optimizer in (clipped, plain):
        set_gradients(optimizer, 0)
        optimizer.step()
    return (clipped, plain), params


def step(optimizers, number=1):
    for optimizer in optimizers:
        set_gradients(optimizer, number)
        optimizer.step()


def logits_of(queries, keys, inputs):
    """The attention logits of each head."""
    q, k = (torch.einsum("tc,hrc->htr", inputs, w.view(HEADS, WIDTH, -1)) for w in (queries, keys))
    return q @ k.mT / WIDTH**0.5


@pytest.mark.parametrize("alpha", [0.5, 0.25])
def test_the_largest_logit_becomes_the_threshold(alpha):
    """While nothing else changes the weights, and only where it is larger."""
    queries, keys = (torch.nn.Parameter(drawn(ROWS, INPUTS, seed=seed)) for seed in (1, 2))
    with torch.no_grad():
        queries[:WIDTH] *= 20
        keys[WIDTH : 2 * WIDTH] *= 10
        keys[2 * WIDTH :] /= 10
    inputs = drawn(30, INPUTS, seed=3)
    optimizer = updraft.optim.MuonClip(
        [
            {"params": [queries], "clip_exponent": alpha},
            {"params": [keys], "clip_exponent": 1 - alpha},
        ],
        lr=0.0,
        logit_threshold=30.0,
    )
    set_gradients(optimizer, 0)
    optimizer.step()
    before = logits_of(queries.detach(), keys.detach(), inputs)
    largest = before.amax((1, 2))
    assert (largest > 30).tolist() == [True, True, False]
    for param in (queries, keys):
        optimizer.record_max_logits(param, largest)
    optimizer.step()
    after = logits_of(queries.detach(), keys.detach(), inputs)
    gamma = (30 / largest).clamp(max=1)
    torch.testing.assert_close(after, before * gamma[:, None, None], rtol=1e-5, atol=1e-4)
    optimizer.step()
    assert torch.equal(logits_of(queries.detach(), keys.detach(), inputs), after)


class FusedAttention(torch.nn.Module):
    """Attention over tokens, with one weight for queries and keys."""

    def __init__(self, tokens=16, width=32, heads=4):
        super().__init__()
        self.heads = heads
        self.embed = torch.nn.Embedding(tokens, width)
        self.qk = torch.nn.Linear(width, 2 * width, bias=False)
        self.v = torch.nn.Linear(width, width, bias=False)
        self.head = torch.nn.Linear(width, tokens)

    def forward(self, tokens):
        x = self.embed(tokens)
        q, k, v = (
            part.unflatten(-1, (self.heads, -1)).transpose(-3, -2)
            for part in (*self.qk(x).chunk(2, -1), self.v(x))
        )
        logits = q @ k.mT / q.shape[-1] ** 0.5
        self.max_logits = logits.detach().amax((0, 2, 3))
        return self.head((logits.softmax(-1) @ v).transpose(-3, -2).flatten(-2))


def largest_logits_of(rule, **options):
    """Trains with a learning rate that lets logits grow. Returns the largest of each step."""
    torch.manual_seed(0)
    model = FusedAttention()
    options = {rule: {"lr": 1.0, "weight_decay": 0.0, **options}, "AdamW": {"lr": 0.01}}
    optimizer = updraft.optim.for_model(model, f"{rule} + AdamW", options=options, verbose=False)
    generator = torch.Generator().manual_seed(1)
    largest = []
    for _ in range(40):
        tokens = torch.randint(16, (8, 12), generator=generator)
        optimizer.zero_grad()
        scores = model(tokens).flatten(0, 1)
        torch.nn.functional.cross_entropy(scores, tokens.flip(1).flatten()).backward()
        if rule == "MuonClip":
            optimizer.record_max_logits(model.qk.weight, model.max_logits.repeat(2))
        largest.append(model.max_logits.max().item())
        optimizer.step()
    return largest


def test_logits_stay_small_in_training():
    """A step of Muon can only add so much to those that the step before has clipped."""
    assert max(largest_logits_of("Muon")) > 1000
    assert 30 < max(largest_logits_of("MuonClip", logit_threshold=30.0)) < 100


VIEWS = {
    "whole": ((ROWS, INPUTS), {}, lambda t: t),
    "each head apart": ((ROWS, INPUTS), {"matrix_blocks": HEADS}, lambda t: t),
    "transposed": ((INPUTS, ROWS), {"matrix_layout": "transposed"}, lambda t: t.t()),
    "batch": ((HEADS, WIDTH, INPUTS), {}, lambda t: t.view(ROWS, INPUTS)),
    "flat": ((ROWS, 5, 2), {"matrix_layout": "flat"}, lambda t: t.view(ROWS, INPUTS)),
}


@pytest.mark.parametrize("view", VIEWS)
def test_rows_of_heads(view):
    """Those of a large logit are multiplied after the step of Muon. The others have its bits."""
    shape, entries, matrix = VIEWS[view]
    optimizers, (param, other) = pair(drawn(*shape), **entries)
    optimizers[0].record_max_logits(param, [400.0, 100.0, 1600.0])
    step(optimizers)
    factors = torch.tensor([0.5, 1.0, 0.25]).repeat_interleave(WIDTH)[:, None]
    assert torch.equal(matrix(param.detach()), matrix(other.detach()) * factors)
    assert (optimizers[0].state[param]["max_logits"] == 0).all()
    step(optimizers, 2)
    assert param.shape == other.shape
    if view == "whole":
        assert torch.equal(
            optimizers[0].state[param]["momentum_buffer"],
            optimizers[1].state[other]["momentum_buffer"],
        )


@pytest.mark.parametrize("dtype", [torch.float64, torch.bfloat16, torch.float16])
def test_dtypes(dtype):
    optimizers, (param, other) = pair(drawn(ROWS, INPUTS).to(dtype))
    assert optimizers[0].state[param]["max_logits"].dtype == torch.float32
    optimizers[0].record_max_logits(param, torch.tensor([400, 0, 1600]))
    step(optimizers)
    factors = torch.tensor([0.5, 1.0, 0.25]).repeat_interleave(WIDTH)[:, None].to(dtype)
    assert torch.equal(param.detach(), other.detach() * factors)


def test_calls_before_a_step_count_with_their_maximum():
    optimizers, (param, other) = pair(drawn(ROWS, INPUTS))
    held = optimizers[0].state[param]["max_logits"]
    for values in ([400.0, 3.0, -torch.inf], [7.0, -5.0, -2.0], [300.0, 1600.0, -9.0]):
        optimizers[0].record_max_logits(param, values)
    assert held[::WIDTH].flatten().tolist() == [400, 1600, 0]
    step(optimizers)
    factors = torch.tensor([0.5, 0.25, 1.0]).repeat_interleave(WIDTH)[:, None]
    assert torch.equal(param.detach(), other.detach() * factors)
    assert optimizers[0].state[param]["max_logits"] is held
    assert (held == 0).all()


def test_a_number_for_each_row():
    """In a fused weight, rows of values get 0. Other powers of the factor are other logits."""
    optimizers, (param, other) = pair(drawn(ROWS, INPUTS))
    largest = torch.tensor([400.0] * 4 + [0.0] * 4)
    rotary = 100 * (largest[:4] / 100) ** 2
    optimizers[0].record_max_logits(param, torch.cat([largest, rotary]))
    step(optimizers)
    factors = torch.tensor([0.5, 1.0, 0.25]).repeat_interleave(WIDTH)[:, None]
    assert torch.equal(param.detach(), other.detach() * factors)


def test_logits_before_the_first_step_are_dropped():
    params = [torch.nn.Parameter(drawn(ROWS, INPUTS)) for _ in range(2)]
    optimizers = [
        updraft.optimizer(name, [param])
        for name, param in zip(("MuonClip", "MuonClip"), params, strict=True)
    ]
    optimizers[0].record_max_logits(params[0], [400.0])
    assert not optimizers[0].state
    step(optimizers)
    assert torch.equal(*params)


def test_recorded_logits_are_saved():
    (optimizer, _), (param, _) = pair(drawn(ROWS, INPUTS))
    optimizer.record_max_logits(param, [400.0, 0.0, 200.0])
    file = io.BytesIO()
    torch.save(optimizer.state_dict(), file)
    file.seek(0)
    other = torch.nn.Parameter(param.detach().clone())
    loaded = updraft.optim.MuonClip([other])
    loaded.load_state_dict(torch.load(file, weights_only=True))
    copied_param, copied = copy.deepcopy((param, optimizer))
    step([optimizer, loaded, copied])
    assert torch.equal(param, other)
    assert torch.equal(param, copied_param)


def test_a_skipped_step_keeps_them():
    (optimizer, _), (param, _) = pair(drawn(ROWS, INPUTS))
    before = param.detach().clone()
    optimizer.record_max_logits(param, [400.0])
    scaler = torch.amp.GradScaler("cpu", init_scale=8.0)
    param.grad = None
    scaler.scale((param * torch.inf).sum()).backward()
    scaler.step(optimizer)
    scaler.update()
    assert torch.equal(param, before)
    assert (optimizer.state[param]["max_logits"] == 400).all()


class Attention(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.wte = torch.nn.Embedding(20, 8)
        self.q_proj = torch.nn.Linear(8, ROWS)
        self.k_proj = torch.nn.Linear(8, ROWS)
        self.lm_head = torch.nn.Linear(ROWS, 20)


@pytest.mark.parametrize("blocks", [None, {"[qk]_proj.weight": HEADS}])
def test_one_optimizer_for_a_model(blocks):
    models = [Attention(), Attention()]
    models[1].load_state_dict(models[0].state_dict())
    optimizers = [
        updraft.optim.for_model(model, f"{name} + AdamW", blocks=blocks, verbose=False)
        for name, model in zip(("MuonClip", "Muon"), models, strict=True)
    ]
    step(optimizers, 0)
    query = models[0].q_proj.weight
    optimizers[0].record_max_logits(query, [400.0, 100.0, 1600.0])
    step(optimizers)
    factors = torch.tensor([0.5, 1.0, 0.25]).repeat_interleave(WIDTH)[:, None]
    for (name, one), other in zip(
        models[0].named_parameters(), models[1].parameters(), strict=True
    ):
        expected = other * factors if one is query else other
        assert torch.equal(one, expected), name
    with pytest.raises(updraft.UnsupportedError) as refusal:
        optimizers[0].record_max_logits(models[0].wte.weight, [1.0])
    assert str(refusal.value) == (
        "the rule `AdamW` doesn't clip attention logits; choose one that does, such as `MuonClip`"
    )


REFUSED = [
    (
        [1.0] * 5,
        "`values` has 5 numbers for a parameter of 12 rows; give one for each head, whose rows are "
        "consecutive and equally many, or one for each row",
    ),
    (
        [],
        "`values` has 0 numbers for a parameter of 12 rows; give one for each head, whose rows are "
        "consecutive and equally many, or one for each row",
    ),
    (
        [1.0, torch.nan, torch.inf],
        "the largest logit of head 1 is nan; give numbers below infinity",
    ),
    (
        [1.0, -torch.inf, torch.inf],
        "the largest logit of head 2 is inf; give numbers below infinity",
    ),
]


@pytest.mark.parametrize(("values", "message"), REFUSED)
def test_refused_values(values, message):
    (optimizer, _), (param, _) = pair(drawn(ROWS, INPUTS))
    optimizer.record_max_logits(param, [7.0])
    with pytest.raises(updraft.InvalidArgumentError) as refusal:
        optimizer.record_max_logits(param, values)
    assert str(refusal.value) == message
    assert (optimizer.state[param]["max_logits"] == 7).all()


def test_refused_parameters():
    matrix, vector = torch.nn.Parameter(drawn(4, 3)), torch.nn.Parameter(drawn(5))
    optimizer = updraft.optim.MuonClip([matrix, vector])
    step([optimizer])
    with pytest.raises(updraft.InvalidArgumentError) as refusal:
        optimizer.record_max_logits(vector, [1.0])
    assert str(refusal.value) == (
        "a parameter of shape (5,) has no state `max_logits`; give a matrix, whose rows are outputs"
    )
    with pytest.raises(updraft.InvalidArgumentError) as refusal:
        optimizer.record_max_logits(torch.ones(4, 3), [1.0])
    assert str(refusal.value) == (
        "a parameter of shape (4, 3) isn't one of the optimizer's; give one of `param_groups`"
    )
    muon = updraft.optimizer("Lion", [torch.nn.Parameter(drawn(4, 3))])
    with pytest.raises(updraft.UnsupportedError, match="the rule `Lion` doesn't clip"):
        muon.record_max_logits(muon.param_groups[0]["params"][0], [1.0])
