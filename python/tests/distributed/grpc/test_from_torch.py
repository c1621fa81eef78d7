"""The programs of docs/from-torch-rpc.md, beside torch."""

import re

import torch

from .conftest import ROOT


def test_the_page(addresses, torch_with_rounded_root):
    """Training moves from torch to workers and back, and has torch's bits."""
    text = (ROOT / "docs" / "from-torch-rpc.md").read_text()
    training, checkpoints = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
    for port, address in zip(("7070", "7071"), addresses, strict=True):
        training = training.replace(f"127.0.0.1:{port}", address)
    inputs, targets = torch.randn(4, 3), torch.randn(4, 1)
    local = torch.nn.Linear(3, 1)
    theirs = torch.optim.AdamW(local.parameters(), lr=1e-2, foreach=False)

    def step_local(count):
        for _ in range(count):
            theirs.zero_grad()
            torch.nn.functional.mse_loss(local(inputs), targets).backward()
            theirs.step()

    step_local(3)
    names = {}
    exec(training, names)
    exec(checkpoints, names)
    names["load"]({"model": local.state_dict(), "optimizer": theirs.state_dict()})
    step_local(3)
    for _ in range(3):
        names["step"](inputs, targets)
    saved = names["save"]()
    names["client"].close()
    for name, value in local.state_dict().items():
        assert torch.equal(saved["model"][name], value)
    states = theirs.state_dict()["state"]
    assert saved["optimizer"]["state"].keys() == states.keys()
    for number, state in states.items():
        for key, value in state.items():
            assert torch.equal(saved["optimizer"]["state"][number][key], value)
