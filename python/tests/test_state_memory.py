"""States of `updraft.optim` that get other memory, or are read while steps create more."""

import copy

import pytest
import torch

from updraft import optim
from updraft.optim.states import Generation, OptimizerState

SHAPE = (6, 10)


def replace_data(state):
    state.data = torch.full_like(state, 0.25)


def share(state):
    state.share_memory_()
    state.mul_(0.5)


def plain(values):
    return torch.nn.Parameter(values)


def with_gaps(values):
    return torch.nn.Parameter(values.repeat_interleave(2, dim=1)[:, ::2])


CASES = [
    (lambda module, params: module.AdamW(params, lr=0.1), plain),
    (lambda module, params: module.AdamW(params, lr=0.1), with_gaps),
    (lambda module, params: module.Muon(params, lr=0.1), plain),
]


@pytest.mark.parametrize("change", [replace_data, share])
@pytest.mark.parametrize("bound", [False, True], ids=["made here", "loaded"])
@pytest.mark.parametrize("case", CASES, ids=["AdamW", "AdamW with gaps", "Muon"])
def test_states_that_get_other_memory(case, bound, change):
    make, parameter = case
    after = []
    for module in (torch.optim, optim):
        torch.manual_seed(0)
        params = [parameter(torch.randn(SHAPE)) for _ in range(3)]
        optimizer = make(module, params)
        for step in range(4):
            for param in params:
                param.grad = torch.randn(SHAPE)
            if step == 1 and bound:
                optimizer.load_state_dict(copy.deepcopy(optimizer.state_dict()))
            if step == 2:
                for name, state in optimizer.state[params[1]].items():
                    if name != "step":
                        change(state)
            optimizer.step()
        after.append((params, [optimizer.state[param] for param in params]))
    torch.testing.assert_close(*after, rtol=1e-5, atol=1e-6)


def test_states_made_while_somebody_looks():
    first, second = (torch.nn.Parameter(torch.zeros(1)) for _ in range(2))
    states = OptimizerState.of(Generation(), {})

    class Source:
        """Creates the states of one parameter while those of another are read."""

        def __init__(self):
            self.waiting = [second, first]

        def take_states(self):
            taken = self.waiting.pop()
            if self.waiting:
                states.expect(self)
            yield taken, {"exp_avg": torch.zeros(1)}

    states.expect(Source())
    assert len(states) == 1
    assert len(states) == 2
    assert list(states) == [first, second]
