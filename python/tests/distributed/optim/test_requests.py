"""Requests to create optimizers on workers."""

import json

import pytest
import torch

import updraft
from updraft.distributed.optim.hypers import HyperReaders
from updraft.distributed.optim.kinds import maker
from updraft.distributed.optim.request import request


def requested(given, **options):
    optimizer = maker(given)([torch.nn.Parameter(torch.zeros(1, 1))], **options)
    readers = HyperReaders(optimizer.correspondence)
    text = request(optimizer, readers, [([0], [0])], optimizer.param_groups, [["worker1"]], True)
    return json.loads(text)


def choices(given, **options):
    (group,) = requested(given, **options)["groups"]
    return group["choices"]["f32"]


@pytest.mark.parametrize("given", ["AdamW", torch.optim.AdamW, updraft.optim.AdamW], ids=str)
def test_a_name_and_the_classes_ask_for_the_same(given):
    assert requested(given) == requested("AdamW")
    assert requested(given)["numerics"] == "torch"
    storage = {"exp_avg": "q8_linear"}
    chosen = requested(given, numerics="fast", storage=storage, seed=3)
    assert chosen["numerics"] == "fast"
    assert chosen["storage"] == storage
    assert chosen["groups"][0]["seed"] == 3


def test_a_rule_is_taken_as_it_is_written():
    assert requested(updraft.load("AdamW"))["numerics"] == "ieee"


def test_hyperparameters_that_determine_flags_come_first():
    first, everything, nothing = choices(updraft.load("SGD"), lr=0.5, momentum=0.25)
    assert first == {"momentum": "0.25"}
    assert everything["lr"] == "0.5"
    assert everything["momentum"] == "0.25"
    assert nothing == {}
    first, _, _ = choices(updraft.load("SGD"), lr=0.5)
    assert first == {}


@pytest.mark.parametrize("multiplies_bf16", [False, True])
def test_products_of_muon_depend_on_the_type_of_parameters(monkeypatch, multiplies_bf16):
    monkeypatch.setattr(updraft.optim.muon, "_cpu_multiplies_bf16", lambda: multiplies_bf16)
    (group,) = requested(updraft.optim.Muon, numerics="fast")["groups"]
    products = {
        storage: json.loads(made[0]["products"]) for storage, made in group["choices"].items()
    }
    fast = "bf16" if multiplies_bf16 else "full"
    assert products == {"f32": fast, "f64": "full", "bf16": fast, "f16": fast}
