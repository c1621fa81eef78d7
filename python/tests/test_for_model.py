"""`updraft.optim.for_model`: one optimizer for a model, with two rules."""

import copy
import io
import pickle
import warnings

import pytest
import torch
from torch import nn
from torch.distributed.checkpoint.state_dict import (
    StateDictOptions,
    get_optimizer_state_dict,
    set_optimizer_state_dict,
)

import updraft
import updraft.optim
from updraft.optim import for_model

from .conftest import MOMENTUM


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm = nn.LayerNorm(8)
        self.attn = nn.MultiheadAttention(8, 2)
        self.mlp = nn.Sequential(nn.Linear(8, 32), nn.GELU(), nn.Linear(32, 8))


class Transformer(nn.Module):
    def __init__(self, tied=False):
        super().__init__()
        self.wte = nn.Embedding(50, 8)
        self.pos_embed = nn.Parameter(torch.zeros(1, 6, 8))
        self.h = nn.ModuleList([Block(), Block()])
        self.lm_head = nn.Linear(8, 50, bias=False)
        if tied:
            self.lm_head.weight = self.wte.weight


TABLE = """\
rule   parameters                tensors  shape      why
Muon   h.*.attn.in_proj_weight         2  24 x 8     query, key and value; 3 matrices of 8 rows
Muon   h.*.attn.out_proj.weight        2  8 x 8      weight of Linear
Muon   h.*.mlp.0.weight                2  32 x 8     weight of Linear
Muon   h.*.mlp.2.weight                2  8 x 32     weight of Linear
AdamW  pos_embed                       1  1 x 6 x 8  named like an embedding
AdamW  wte.weight                      1  50 x 8     embedding
AdamW  h.*.norm.weight                 2  8          vector
AdamW  h.*.norm.bias                   2  8          vector
AdamW  h.*.attn.in_proj_bias           2  24         vector
AdamW  h.*.attn.out_proj.bias          2  8          vector
AdamW  h.*.mlp.0.bias                  2  32         vector
AdamW  h.*.mlp.2.bias                  2  8          vector
AdamW  lm_head.weight                  1  50 x 8     named like an output layer
Muon: 8 tensors, 1,536 elements
AdamW: 15 tensors, 1,024 elements
"""


def quiet(model, *args, **kwargs):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        return for_model(model, *args, verbose=False, **kwargs)


def set_gradients(model, step):
    generator = torch.Generator().manual_seed(step)
    for param in model.parameters():
        param.grad = torch.randn(param.shape, generator=generator)


def test_table(capsys):
    optimizer = for_model(Transformer(), "Muon + AdamW")
    printed = capsys.readouterr().out
    assert printed == TABLE
    entries = ("rule", "matrix_blocks", "matrix_layout")
    assert [[group.get(entry) for entry in entries] for group in optimizer.param_groups] == [
        ["Muon", 3, None],
        ["Muon", None, None],
        ["AdamW", None, None],
        ["AdamW", None, None],
    ]
    assert all(param.dim() == 1 for param in optimizer.param_groups[3]["params"])
    assert optimizer.param_groups[0]["param_names"] == [
        "h.0.attn.in_proj_weight",
        "h.1.attn.in_proj_weight",
    ]


def test_steps_are_those_of_two_optimizers():
    torch.manual_seed(0)
    model = Transformer()
    other = copy.deepcopy(model)
    optimizer = quiet(model, options={"Muon": {"lr": 0.02}, "AdamW": {"betas": (0.9, 0.95)}})
    names = dict(other.named_parameters())
    hidden = [route.name for route in optimizer.routes if route.rule == "Muon"]
    split = [name for name in hidden if "in_proj" in name]
    muon = updraft.optimizer(
        updraft.load("Muon"),
        [
            {"params": [names[name] for name in split], "matrix_blocks": (8, 8, 8)},
            {"params": [names[name] for name in hidden if name not in split]},
        ],
        lr=0.02,
    )
    rest = [param for name, param in names.items() if name not in hidden]
    adamw = updraft.optim.AdamW(rest, betas=(0.9, 0.95), numerics="ieee")
    for step in range(3):
        set_gradients(model, step)
        set_gradients(other, step)
        optimizer.step()
        muon.step()
        adamw.step()
    for one, theirs in zip(model.parameters(), other.parameters(), strict=True):
        assert torch.equal(one, theirs)
    assert set(optimizer.state[model.wte.weight]) == {"step", "exp_avg", "exp_avg_sq"}
    state = optimizer.state[model.h[0].attn.in_proj_weight]
    assert {name: value.shape for name, value in state.items()} == {
        "step": (),
        "momentum_buffer": (24, 8),
    }


def test_one_state_dict():
    torch.manual_seed(0)
    model = Transformer()
    optimizer = quiet(model)
    set_gradients(model, 0)
    optimizer.step()
    file = io.BytesIO()
    torch.save(optimizer.state_dict(), file)
    others = []
    for make in (
        lambda: (copy.deepcopy(model), None),
        lambda: copy.deepcopy((model, optimizer)),
        lambda: pickle.loads(pickle.dumps((model, optimizer))),
    ):
        its_model, its = make()
        if its is None:
            its = quiet(its_model)
            file.seek(0)
            its.load_state_dict(torch.load(file, weights_only=True))
        others.append((its_model, its))
    for step in (1, 2):
        set_gradients(model, step)
        optimizer.step()
        for its_model, its in others:
            set_gradients(its_model, step)
            its.step()
    for its_model, its in others:
        for one, theirs in zip(model.parameters(), its_model.parameters(), strict=True):
            assert torch.equal(one, theirs)
        assert [group["rule"] for group in its.param_groups] == ["Muon", "Muon", "AdamW", "AdamW"]


def test_schedulers_change_all_groups():
    model = Transformer()
    optimizer = quiet(model, lr=0.01)
    scheduler = torch.optim.lr_scheduler.StepLR(optimizer, 1, 0.5)
    set_gradients(model, 0)
    optimizer.step()
    scheduler.step()
    assert [group["lr"] for group in optimizer.param_groups] == [0.005] * 4


DERIVED = [
    ("Muon + SGD", {"SGD": {"momentum": 0.9}}),
    ("Muon + RMSprop", {"RMSprop": {"momentum": 0.9}}),
    ("Muon + FTRL", {"FTRL": {"lr_power": -0.7}}),
    ("Muon + AdamW", {"Muon": {"ns_set": "deepseek_v4"}}),
    ("Scion + AdamW", {"Scion": {"norm": "ColNorm"}}),
]


@pytest.mark.parametrize(("rules", "options"), DERIVED)
def test_flags_follow_from_options(rules, options):
    """A flag that isn't set follows from the hyperparameters, now and later."""
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(6, 8), nn.Linear(8, 8), nn.Linear(8, 3))
    other = copy.deepcopy(model)
    optimizer = quiet(model, rules, options=options)
    mine = dict(other.named_parameters())
    apart = []
    for rule in rules.split(" + "):
        params = [mine[route.name] for route in optimizer.routes if route.rule == rule]
        apart.append(updraft.optimizer(updraft.load(rule), params, **options.get(rule, {})))
    for step in range(3):
        set_gradients(model, step)
        set_gradients(other, step)
        if step == 2 and "momentum" in apart[1].param_groups[0]:
            apart[1].param_groups[0]["momentum"] = 0.0
            for group in optimizer.param_groups[-2:]:
                group["momentum"] = 0.0
        for each in (optimizer, *apart):
            each.step()
    for one, theirs in zip(model.parameters(), other.parameters(), strict=True):
        assert torch.equal(one, theirs)


def test_the_rule_of_a_group_can_change():
    model = nn.Sequential(nn.Linear(6, 8), nn.Linear(8, 8), nn.Linear(8, 3))
    optimizer = quiet(model)
    optimizer.param_groups[0] |= {"rule": "AdamW", "betas": (0.9, 0.99), "eps": 1e-8}
    set_gradients(model, 0)
    optimizer.step()
    assert set(optimizer.state[model[0].weight]) == {"step", "exp_avg", "exp_avg_sq"}


def test_rules_of_a_whole_group_have_one():
    groups = quiet(Transformer(), "Muon + Prodigy").param_groups
    assert [group["rule"] for group in groups] == ["Muon", "Muon", "Prodigy"]


def test_rules_of_a_whole_group_refuse_several_views():
    model = nn.Sequential(nn.Conv2d(4, 8, 3), nn.Flatten(), *(nn.Linear(8, 8) for _ in range(3)))
    rules = [updraft.chain("clip_by_global_norm(1.0)", "Muon"), "AdamW"]
    with pytest.raises(updraft.UnsupportedError) as refusal:
        quiet(model, rules)
    assert str(refusal.value) == (
        "the rule `clip_by_global_norm_Muon` depends on a whole group, but its parameters are "
        "split into matrices in several ways, which need a group each: 0.weight (filters of a "
        "convolution), 2.weight (weight of Linear); give the parameters of all ways but one the "
        "other rule with `route`, or clip with `updraft.optim.with_clipping`"
    )
    groups = quiet(model, rules, route={"0.weight": "AdamW"}).param_groups
    hidden = [group["param_names"] for group in groups if group["rule"] != "AdamW"]
    assert hidden == [["2.weight", "3.weight", "4.weight"]]


def test_a_full_state_dict_of_torch():
    """torch turns tuples in groups into lists."""
    options = StateDictOptions(full_state_dict=True)
    model = Transformer()
    coefficients = [(3.4445, -4.775, 2.0315)]
    muon = {"ns_set": "custom", "ns_coefficients": coefficients}
    optimizer = quiet(model, options={"Muon": muon}, blocks={"h.*.mlp.0.weight": (16, 16)})
    set_gradients(model, 0)
    optimizer.step()
    saved = get_optimizer_state_dict(model, optimizer, options=options)
    set_optimizer_state_dict(model, optimizer, saved, options=options)
    set_gradients(model, 1)
    optimizer.step()


def test_hooks_may_adapt_a_state_dict():
    model = Transformer()
    optimizer = quiet(model)
    saved = optimizer.state_dict()
    for group in saved["param_groups"]:
        group["rule"] = group["rule"].lower()

    def adapt(_, given):
        for group in given["param_groups"]:
            group["rule"] = {"muon": "Muon", "adamw": "AdamW"}[group["rule"]]

    optimizer.register_load_state_dict_pre_hook(adapt)
    optimizer.load_state_dict(saved)
    assert optimizer.param_groups[0]["rule"] == "Muon"


def test_a_refused_step_changes_nothing():
    """All groups step, or none."""
    model = Transformer()
    optimizer = quiet(model)
    set_gradients(model, 0)
    model.lm_head.weight.grad = model.lm_head.weight.grad.to_sparse()
    optimizer.param_groups[2]["weight_decay"] = "none"
    before = [param.detach().clone() for param in model.parameters()]
    with pytest.raises(TypeError):
        optimizer.step()
    for param, value in zip(model.parameters(), before, strict=True):
        assert torch.equal(param, value)


def reasons(model, *rules, **options):
    found = quiet(model, *rules, **options).routes
    return {route.name: (route.rule, route.reason, route.view) for route in found}


def test_kinds_of_modules():
    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.filters = nn.Conv2d(3, 4, 3)
            self.depth = nn.Conv1d(4, 4, 1, groups=4)
            self.lstm = nn.LSTM(4, 5)
            self.gru = nn.GRUCell(4, 5)
            self.rnn = nn.RNN(4, 5, nonlinearity="relu")
            self.norm = nn.LayerNorm((3, 4))
            self.experts = nn.Parameter(torch.ones(2, 4, 6))
            self.one = nn.Linear(4, 1)
            self.cls_token = nn.Parameter(torch.ones(3, 4))
            self.classifier = nn.Linear(4, 4)
            self.to_kv = nn.Linear(4, 6)
            self.scale = nn.Parameter(torch.tensor(1.0))
            self.last = nn.Linear(4, 9)

    view = updraft.optim.matrix_views.MatrixView
    found = reasons(Model())
    assert {name: each for name, each in found.items() if "bias" not in name} == {
        "filters.weight": ("Muon", "filters of a convolution", view(layout="flat")),
        "depth.weight": ("AdamW", "one row or column", None),
        "lstm.weight_ih_l0": ("Muon", "4 gates", view(4)),
        "lstm.weight_hh_l0": ("Muon", "4 gates", view(4)),
        "gru.weight_ih": ("Muon", "3 gates", view(3)),
        "gru.weight_hh": ("Muon", "3 gates", view(3)),
        "rnn.weight_ih_l0": ("Muon", "weight of RNN", None),
        "rnn.weight_hh_l0": ("Muon", "weight of RNN", None),
        "norm.weight": ("AdamW", "normalization", None),
        "experts": ("Muon", "3-D: a batch of matrices", None),
        "one.weight": ("AdamW", "one row or column", None),
        "cls_token": ("AdamW", "named like an embedding", None),
        "classifier.weight": ("AdamW", "named like an output layer", None),
        "to_kv.weight": ("Muon", "key and value", view(2)),
        "scale": ("AdamW", "scalar", None),
        "last.weight": ("Muon", "weight of Linear", None),
    }
    assert {each for name, each in found.items() if "bias" in name} == {
        ("AdamW", "vector", None),
        ("AdamW", "normalization", None),
    }


def test_output_layers():
    """The last linear layer is one only if nothing shows that it isn't."""
    stack = [nn.ModuleDict({"a": nn.Linear(8, 8), "b": nn.Linear(8, 8)}) for _ in range(2)]
    found = reasons(nn.Sequential(*stack))
    assert {rule for rule, _, _ in found.values()} == {"Muon", "AdamW"}
    assert found["1.b.weight"] == ("Muon", "weight of Linear", None)
    model = nn.ModuleDict({"lm_head": nn.Linear(8, 50), "body": nn.Linear(8, 8)})
    found = reasons(model)
    assert found["lm_head.weight"][:2] == ("AdamW", "named like an output layer")
    assert found["body.weight"][:2] == ("Muon", "weight of Linear")
    with pytest.warns(UserWarning, match="9000 x 8 looks like an embedding or an output layer"):
        for_model(nn.Sequential(nn.Linear(8, 9000), nn.Linear(9000, 4)), verbose=False)


def test_parametrizations_are_of_their_modules():
    model = nn.Sequential(
        nn.utils.parametrizations.weight_norm(nn.Embedding(9, 8)),
        nn.utils.parametrizations.spectral_norm(nn.Conv2d(3, 4, 3)),
        nn.Linear(8, 8),
        nn.Linear(8, 3),
    )
    found = reasons(model)
    parametrized = "parametrizations.weight.original"
    assert found[f"0.{parametrized}1"][:2] == ("AdamW", "embedding")
    assert found[f"1.{parametrized}"][:2] == ("Muon", "filters of a convolution")


def test_projections_of_lstms_have_no_gates():
    found = reasons(nn.Sequential(nn.LSTM(8, 8, proj_size=6), nn.Linear(6, 3)))
    assert found["0.weight_hh_l0"][1] == "4 gates"
    assert found["0.weight_hr_l0"] == ("Muon", "weight of LSTM", None)


def test_tied_weights_are_embeddings():
    found = reasons(Transformer(tied=True))
    assert found["wte.weight"] == ("AdamW", "embedding, tied to lm_head.weight", None)
    assert "lm_head.weight" not in found


def test_conv1d_of_transformers():
    """Its weight has inputs as rows, so query, key and value are beside one another."""

    class Conv1D(nn.Module):
        def __init__(self, outputs, inputs):
            super().__init__()
            self.weight = nn.Parameter(torch.randn(inputs, outputs))

    model = nn.ModuleDict({"c_attn": Conv1D(24, 8), "c_proj": Conv1D(8, 8)})
    view = updraft.optim.matrix_views.MatrixView
    assert reasons(model) == {
        "c_attn.weight": ("Muon", "query, key and value", view(3, "transposed")),
        "c_proj.weight": ("Muon", "weight of Conv1D", view(None, "transposed")),
    }


@pytest.mark.parametrize("rule", ["SOAP", "Shampoo", "KLShampoo", "PSGDPro"])
def test_rules_with_square_states_step_fused_weights_as_one_matrix(rule, capsys):
    model = Transformer()
    optimizer = for_model(model, f"{rule} + AdamW")
    assert "query, key and value, as one matrix\n" in capsys.readouterr().out
    set_gradients(model, 1)
    before = model.h[0].attn.in_proj_weight.clone()
    for _ in range(2):
        optimizer.step()
    assert not torch.equal(model.h[0].attn.in_proj_weight, before)


def test_wrapped_models_have_the_names_of_the_model():
    def names(model):
        optimizer = quiet(model, "Muon + AdamW", route={"1.0.weight": "Muon"})
        return [group["param_names"] for group in optimizer.param_groups]

    model = nn.Sequential(nn.Linear(4, 8), nn.Sequential(nn.Linear(8, 8)), nn.Linear(8, 2))
    plain = names(model)
    model[1] = torch.compile(model[1])
    assert "_orig_mod.1._orig_mod.0.weight" in dict(torch.compile(model).named_parameters())
    assert names(torch.compile(model)) == plain


def test_chosen_routes_and_blocks():
    view = updraft.optim.matrix_views.MatrixView
    found = reasons(
        Transformer(),
        "Muon + AdamW",
        route={"h.*.mlp.*.weight": "AdamW", "h.1.*": "AdamW", "h.1.mlp.0.weight": "Muon"},
        blocks={"h.0.attn.in_proj_weight": (12, 6, 6), "*.out_proj.weight": 2},
    )
    assert found["h.0.mlp.0.weight"] == ("AdamW", "`route` has `h.*.mlp.*.weight`", None)
    assert found["h.1.mlp.0.weight"] == ("Muon", "`route` has `h.1.mlp.0.weight`", None)
    expected = ("Muon", "`blocks` has `h.0.attn.in_proj_weight`", view((12, 6, 6)))
    assert found["h.0.attn.in_proj_weight"] == expected
    assert found["h.0.attn.out_proj.weight"][2] == view(2)


WARNINGS = [
    (
        {"route": {"wte.weight": "Muon"}},
        "wte.weight: embedding: `Muon` is for weights of hidden layers",
    ),
    (
        {"route": {"h.0.norm.bias": "Muon"}},
        "h.0.norm.bias: vector: `Muon` is for weights of hidden layers",
    ),
    (
        {"route": {"lm_head.weight": "Muon"}},
        "lm_head.weight: named like an output layer: `Muon` is for weights of hidden layers",
    ),
    ({"route": {"*": "AdamW"}}, "no parameter of the model is stepped with `Muon`"),
]


@pytest.mark.parametrize(("options", "message"), WARNINGS)
def test_warnings_about_routes(options, message):
    with pytest.warns(UserWarning) as found:
        for_model(Transformer(), verbose=False, **options)
    assert [str(each.message) for each in found] == [message]
    assert found[0].filename == __file__


def test_warnings_about_shapes():
    model = nn.ModuleDict(
        {
            "query_key_value": nn.Linear(4, 12),
            "qkv_proj": nn.Linear(4, 16),
            "table": nn.ParameterList([torch.ones(9000, 4)]),
            "out": nn.Linear(4, 4),
        }
    )
    with pytest.warns(UserWarning) as found:
        for_model(model, verbose=False)
    assert [str(each.message) for each in found] == [
        "query_key_value.weight: query, key and value are one matrix, and their order in its rows "
        "differs between models; give `blocks`",
        "qkv_proj.weight: query, key and value may be one matrix of 16 rows; give their rows as "
        "`blocks`",
        "table.0: 9000 x 4 looks like an embedding or an output layer; give its rule as `route`",
    ]


REFUSED = [
    (
        {"rules": "Muon"},
        "`rules` has one rule; give one for hidden weights and one for everything else, such as "
        '"Muon + AdamW"',
    ),
    ({"rules": "AdamW + AdamW"}, "`rules` has `AdamW` twice; give two rules"),
    (
        {"route": {"h.*": "SGD"}},
        "`route` gives `h.*` the rule `SGD`; the rules are `Muon` and `AdamW`",
    ),
    (
        {"route": {"layers.*": "AdamW"}},
        "no parameter matches the pattern `layers.*` of `route`; names are those of "
        "`model.named_parameters()`, and `*` stands for any characters",
    ),
    (
        {"blocks": {"*.in_proj_weight": 5}},
        "`blocks` of h.0.attn.in_proj_weight: the 24 rows of a parameter of shape (24, 8) don't "
        "make 5 equal blocks; give the rows of each block",
    ),
    (
        {"blocks": {"*.in_proj_weight": 2.0}},
        "`blocks` of h.0.attn.in_proj_weight: the `matrix_blocks` of a parameter group are 2.0; "
        "give the rows of each block, such as (768, 768, 768), or the number of equal blocks",
    ),
    (
        {"blocks": {"wte.weight": 2}},
        "no parameter of `Muon` matches the pattern `wte.weight` of `blocks`; names are those of "
        "`model.named_parameters()`, and `*` stands for any characters",
    ),
    ({"options": {"SGD": {}}}, "`options` has `SGD`; the rules are `Muon` and `AdamW`"),
    (
        {"options": {"AdamW": {"momentum": 0.9}}},
        "the rule `AdamW` has no option `momentum`; there are `lr`, `betas`, `eps`, "
        "`weight_decay`, `amsgrad`, `maximize`",
    ),
    (
        {"rules": "Lion + AdamW", "momentum": 0.9},
        "neither rule has an option `momentum`; there are `lr`, `betas`, `weight_decay`, "
        "`maximize`, `eps`, `amsgrad`",
    ),
    (
        {"storage": {"exp": "bf16"}},
        "no rule has the state `exp` of `storage`; the states are `exp_avg`, `exp_avg_sq`, "
        "`momentum_buffer`",
    ),
    ({"lr": -1.0}, "Learning rate should be >= 0 but is: -1.0"),
]


@pytest.mark.parametrize(("options", "message"), REFUSED)
def test_refused_arguments(options, message):
    with pytest.raises(updraft.InvalidArgumentError) as refusal:
        for_model(Transformer(), verbose=False, **options)
    assert str(refusal.value) == message


def test_refused_models_and_groups():
    message = "found a generator; pass the model, not its parameters"
    with pytest.raises(updraft.InvalidArgumentError, match=message):
        for_model(torch.nn.Linear(2, 2).parameters())
    with pytest.raises(updraft.InvalidArgumentError, match="the model has no parameters"):
        for_model(nn.ReLU(), verbose=False)
    model = Transformer()
    optimizer = quiet(model)
    more = [nn.Parameter(torch.ones(2))]
    with pytest.raises(updraft.InvalidArgumentError) as refusal:
        optimizer.add_param_group({"params": more})
    assert str(refusal.value) == 'a parameter group has no `rule`; give "Muon" or "AdamW"'
    with pytest.raises(updraft.InvalidArgumentError) as refusal:
        optimizer.add_param_group({"params": more, "rule": "SGD"})
    assert str(refusal.value) == (
        'a parameter group has the `rule` \'SGD\'; give "Muon" or "AdamW"'
    )
    named = {"rule": "AdamW", "param_names": ["more"]}
    with pytest.raises(updraft.InvalidArgumentError, match="parameters of two dimensions"):
        optimizer.add_param_group({"params": more, "matrix_blocks": 2, **named})
    optimizer.add_param_group({"params": more, **named})
    assert optimizer.param_groups[-1]["betas"] == (0.9, 0.999)


def test_refused_state_dicts():
    model = Transformer()
    optimizer = quiet(model)
    with pytest.raises(updraft.InvalidArgumentError) as refusal:
        optimizer.load_state_dict(quiet(model, "NAdam + Lion").state_dict())
    assert str(refusal.value) == (
        "parameter group 0 was saved for the rule 'NAdam', and the optimizer steps it with `Muon`; "
        "make the optimizer with the same rules"
    )
    other = quiet(model, blocks={"*.in_proj_weight": (12, 6, 6)})
    with pytest.raises(updraft.InvalidArgumentError) as refusal:
        optimizer.load_state_dict(other.state_dict())
    assert str(refusal.value) == (
        "parameter group 0 was saved with other `matrix_blocks` or `matrix_layout`; make the "
        "optimizer with the same `blocks`"
    )


def test_frozen_parameters_are_marked_and_not_counted(capsys):
    model = nn.Sequential(nn.Linear(4, 4), nn.Linear(4, 4), nn.Linear(4, 4))
    model[0].requires_grad_(False)
    for_model(model)
    assert capsys.readouterr().out == (
        "rule   parameters  tensors  shape  why\n"
        "Muon   0.weight          1  4 x 4  weight of Linear; frozen\n"
        "Muon   *.weight          2  4 x 4  weight of Linear\n"
        "AdamW  0.bias            1  4      vector; frozen\n"
        "AdamW  *.bias            2  4      vector\n"
        "Muon: 2 tensors, 32 elements\n"
        "AdamW: 2 tensors, 8 elements\n"
    )


def test_storage_of_bf16_parameters():
    model = nn.Sequential(nn.Embedding(8, 4), nn.Linear(4, 4), nn.LayerNorm(4), nn.Linear(4, 8))
    model.bfloat16()[2].float()
    optimizer = quiet(model, storage={"param": "bf16_corrected"})
    for param in model.parameters():
        param.grad = torch.ones_like(param)
    optimizer.step()
    corrected = {
        name for name, p in model.named_parameters() if "param_correction" in optimizer.state[p]
    }
    assert corrected == {"0.weight", "1.weight", "1.bias", "3.weight", "3.bias"}


def test_storage_of_each_rule():
    model = Transformer()
    optimizer = quiet(model, storage={"momentum_buffer": "bf16", "exp_avg": "f16"})
    set_gradients(model, 0)
    optimizer.step()
    momentum = optimizer.state[model.h[0].mlp[0].weight]["momentum_buffer"]
    moments = optimizer.state[model.wte.weight]
    types = momentum.dtype, moments["exp_avg"].dtype, moments["exp_avg_sq"].dtype
    assert types == (torch.bfloat16, torch.float16, torch.float32)


def test_rules_of_the_caller(tmp_path):
    """Rules that aren't in the package have options by the names in their files."""
    file = tmp_path / "momentum.upd"
    file.write_text(MOMENTUM)
    optimizer = quiet(
        Transformer(), ["NAdam", updraft.load(file)], options={"Momentum": {"mu": 0.8}}
    )
    assert optimizer.param_groups[-1]["mu"] == 0.8
    assert repr(optimizer).startswith("NAdam + Momentum (")


def test_training_reaches_a_lower_loss():
    torch.manual_seed(0)
    model = nn.Sequential(
        nn.Linear(10, 32), nn.Tanh(), nn.Linear(32, 32), nn.Tanh(), nn.Linear(32, 3)
    )
    inputs = torch.randn(64, 10)
    labels = (inputs @ torch.randn(10, 3)).argmax(1)
    optimizer = quiet(model, options={"Muon": {"lr": 0.02}, "AdamW": {"lr": 0.003}})
    first = None
    for _ in range(60):
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(model(inputs), labels)
        loss.backward()
        optimizer.step()
        first = first or loss.item()
    assert loss.item() < 0.1 * first
