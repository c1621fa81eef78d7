"""Arrays, names and addresses that a client takes or refuses."""

import subprocess
import sys

import numpy as np
import pytest

import updraft
from updraft.distributed.grpc import Client, Rows


def test_arrays_in_the_other_byte_order(addresses):
    with Client(addresses) as client:
        client.put({"w": np.array([1, 2, 3], ">f4"), "scalar": np.array(4, ">f8")})
        returned = client.get(["w", "scalar"])
    assert returned["w"].tolist() == [1, 2, 3]
    assert returned["scalar"].tolist() == 4


def test_tensors_of_torch_whose_memory_has_other_values(addresses):
    import torch

    negative = (torch.ones(3, dtype=torch.complex64) * 1j).conj().imag
    bfloat16 = torch.tensor([1.5, -2.0], dtype=torch.bfloat16)
    with Client(addresses) as client:
        client.put({"negative": negative, "bfloat16": bfloat16})
        returned = client.get(["negative", "bfloat16"])
    assert returned["negative"].tolist() == [-1, -1, -1]
    assert returned["bfloat16"].dtype.name == "bfloat16"
    assert returned["bfloat16"].tolist() == [1.5, -2]


def test_arrays_that_have_no_values_here(addresses):
    import torch

    with Client(addresses) as client:
        with pytest.raises(TypeError, match="tensor `w` is a masked array"):
            client.put({"w": np.ma.masked_array([1.0], [True], np.float32)})
        with pytest.raises(updraft.InvalidArgumentError, match="cannot read tensor `w`"):
            client.put({"w": torch.ones(2, device="meta")})


@pytest.mark.parametrize("indices", [[0.9, 1.7], [False, True], np.array([True, False])])
def test_indices_are_integers(addresses, indices):
    with Client(addresses) as client:
        client.put({"w": np.zeros((2, 1), np.float32)})
        optimizer = client.optimizer("o", "SGD", [{"params": ["w"], "lr": 1.0}])
        with optimizer.context() as context, pytest.raises(TypeError, match="give integers"):
            context.push({"w": Rows(indices, np.ones((2, 1), np.float32))})


def test_names_are_text(addresses):
    with Client(addresses) as client, pytest.raises(TypeError, match="the name of a parameter is"):
        client.put({5: np.ones(1, np.float32)})


def test_addresses():
    with pytest.raises(updraft.InvalidArgumentError, match="give a list of addresses"):
        Client("127.0.0.1:7070")
    with pytest.raises(updraft.InvalidArgumentError, match="listed twice"):
        Client(["127.0.0.1:7070", "127.0.0.1:7070"])


def test_a_parameter_twice_in_a_group(addresses):
    with Client(addresses) as client:
        client.put({"w": np.ones(1, np.float32)})
        with pytest.raises(updraft.InvalidArgumentError, match="group 0 has a parameter twice"):
            client.optimizer("o", "SGD", [{"params": ["w", "w"], "lr": 1.0}])


@pytest.mark.parametrize("groups", [[], [{"params": [], "lr": 1.0}]])
def test_an_optimizer_has_parameters(addresses, groups):
    with (
        Client(addresses) as client,
        pytest.raises(updraft.InvalidArgumentError, match="the optimizer `o` has no parameters"),
    ):
        client.optimizer("o", "SGD", groups)


def test_scaling_needs_an_age(addresses):
    with Client(addresses) as client:
        client.put({"w": np.ones(1, np.float32)})
        optimizer = client.optimizer("o", "SGD", [{"params": ["w"], "lr": 1.0}])
        with (
            optimizer.context() as context,
            pytest.raises(updraft.InvalidArgumentError, match="`scale_old` needs a `max_age`"),
        ):
            optimizer.step(context, scale_old=True)


FORKED = """
import os
from updraft.distributed.grpc import Client

client = Client(["127.0.0.1:1"])
if (child := os.fork()) == 0:
    try:
        client.get(["w"])
    except RuntimeError as error:
        os._exit(0 if "belongs to another process" in str(error) else 1)
    os._exit(2)
assert os.waitpid(child, 0)[1] == 0
"""


def test_a_fork_does_not_use_the_client():
    """It would send its requests under the same name."""
    subprocess.run([sys.executable, "-c", FORKED], check=True, timeout=60)
