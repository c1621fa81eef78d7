"""Starting and shutting down with `auto_init_rpc`, in a world of only this process."""

import os
import time

import pytest
import torch
from torch.distributed import rpc

import updraft
from updraft import distributed
from updraft.distributed import launch, membership


def running():
    return rpc.api._is_current_rpc_agent_set(), torch.distributed.is_initialized()


def test_rpc_runs_only_within_the_function(place):
    order = []

    @distributed.auto_init_rpc(
        lambda: order.append(running()), lambda **of: f"only_{of['world_size']}"
    )
    def main(a, b=2):
        """Adds."""
        order.append(distributed.get_world_info().worker_name)
        assert distributed.get_worker_id("only_1") == 0
        assert torch.distributed.get_backend() == "gloo"
        assert os.environ["WORLD_SIZE"] == "1"
        distributed.barrier()
        return a + b

    assert main.__name__ == "main" and main.__doc__ == "Adds."
    # A process may join one world after another.
    assert [main(1), main(1, b=4)] == [3, 5]
    assert order == [(True, True), "only_1"] * 2
    assert running() == (False, False)
    assert "WORLD_SIZE" not in os.environ
    assert distributed.get_world_info().worker_name == "worker0"


@pytest.mark.parametrize("error", [ValueError("broken"), KeyboardInterrupt(), SystemExit(3)])
def test_rpc_ends_after_an_exception(in_world, error):
    def fail():
        raise error

    with pytest.raises(type(error)) as caught:
        in_world(fail)
    assert caught.value is error
    assert running() == (False, False)
    assert in_world(distributed.get_rank) == 0


def test_an_exception_of_the_first_function(place):
    def fail():
        raise ValueError("not ready")

    with pytest.raises(ValueError, match="not ready"):
        distributed.auto_init_rpc(fail)(distributed.get_rank)()
    assert running() == (False, False)


def test_options_are_those_of_rpc(place):
    options = rpc.TensorPipeRpcBackendOptions(num_worker_threads=3, rpc_timeout=0.2)

    @distributed.auto_init_rpc(backend=rpc.BackendType.TENSORPIPE, rpc_backend_options=options)
    def main():
        assert rpc.get_rpc_timeout() == pytest.approx(0.2)
        with pytest.raises(distributed.DistributedError, match=r"timeout \(200 ms\)"):
            distributed.remote_sync_call(time.sleep, args=(1,), partitioner=0)
        assert distributed.remote_sync_call(time.sleep, args=(0.4,), partitioner=0, timeout=0) == [
            None
        ]

    main()


def test_device_maps_go_to_rpc(place, monkeypatch):
    options = rpc.TensorPipeRpcBackendOptions()
    options.set_device_map("worker0", {"cpu": "cpu"})
    given = {}
    init_rpc = rpc.init_rpc

    def record(name, **others):
        given.update(others)
        init_rpc(name, **others)

    monkeypatch.setattr(rpc, "init_rpc", record)
    distributed.auto_init_rpc(rpc_backend_options=options)(distributed.get_rank)()
    assert given["rpc_backend_options"] is options
    assert given["rpc_backend_options"].device_maps == {
        "worker0": {torch.device("cpu"): torch.device("cpu")}
    }


def test_a_process_group_that_is_there_stays(place):
    torch.distributed.init_process_group(
        "gloo", store=torch.distributed.HashStore(), rank=0, world_size=1
    )
    try:
        group = torch.distributed.group.WORLD
        found = distributed.auto_init_rpc()(lambda: torch.distributed.group.WORLD)()
        assert found is group
        assert running() == (False, True)
    finally:
        torch.distributed.destroy_process_group()


def test_one_at_a_time(in_world):
    def again():
        with pytest.raises(
            distributed.DistributedError,
            match=r"^RPC is already running; `auto_init_rpc` cannot be nested$",
        ):
            distributed.auto_init_rpc()(distributed.get_rank)()
        assert distributed.remote_sync_call(distributed.get_rank, partitioner=0) == [0]

    in_world(again)


def test_nothing_to_decorate():
    with pytest.raises(
        TypeError,
        match=r"^`auto_init_rpc` needs parentheses; write `@auto_init_rpc\(\)`$",
    ):
        distributed.auto_init_rpc(distributed.get_rank)(None)


def test_without_rpc(place):
    message = (
        r"^RPC is not running; call this within a function with `auto_init_rpc`, or after"
        r" `torch.distributed.rpc.init_rpc`$"
    )
    for call in (
        distributed.barrier,
        lambda: distributed.remote_sync_call(max, args=(1, 2), partitioner=0),
        lambda: distributed.remote_async_call(max, args=(1, 2)),
        lambda: distributed.remote_async_call("linear", partitioner="worker0"),
        lambda: distributed.held_parameters("worker0"),
    ):
        with pytest.raises(distributed.DistributedError, match=message):
            call()


def test_rpc_of_others(place, monkeypatch):
    main = distributed.auto_init_rpc()(distributed.get_rank)
    with monkeypatch.context() as patched:
        patched.setattr(launch, "rpc_is_running", lambda: True)
        with pytest.raises(
            distributed.DistributedError,
            match=r"^RPC is already running; leave `init_rpc` to `auto_init_rpc`$",
        ):
            main()
    monkeypatch.setattr(rpc, "is_available", lambda: False)
    with pytest.raises(
        updraft.UnsupportedError,
        match=r"^this torch is built without RPC; install one that has it$",
    ):
        main()


def test_one_backend_after_another(place):
    """The properties of one world's members don't apply to the next world."""
    for chosen in (rpc.BackendType.UPDRAFT, rpc.BackendType.TENSORPIPE):
        joined = distributed.auto_init_rpc(backend=chosen)(membership.has_joined)()
        assert joined == (chosen is rpc.BackendType.UPDRAFT)
        assert not membership.has_joined()
