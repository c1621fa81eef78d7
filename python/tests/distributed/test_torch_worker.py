"""`updraft-torch-worker`: a member of a world of torch's RPC without Python."""

import json
import pathlib
import re
import signal
import subprocess
import sys

import pytest

from .ports import free_port
from .torch_worker import BUILD, LIMIT, PROGRAM, outcome

pytest.importorskip("torch")

FUNCTIONS = BUILD / "python" / "torch" / "libtorch_worker_functions.so"
CLIENT = pathlib.Path(__file__).with_name("torch_worker_client.py")
PAGE = BUILD.parents[1] / "docs" / "distributed.md"

pytestmark = pytest.mark.skipif(not PROGRAM.exists(), reason="the worker is not built")


def checks():
    text = CLIENT.read_text()
    return [line[4 : line.index("(")] for line in text.splitlines() if line[:10] == "def check_"]


@pytest.fixture(scope="module")
def world(start_in_module):
    """The client's results, and the worker's exit."""
    port = free_port()
    command = [PROGRAM, "--name=ps", "--load", FUNCTIONS, "--rpc-threads=4"]
    worker = start_in_module(port, 1, *command)
    client = start_in_module(port, 0, sys.executable, CLIENT)
    code, out, err = outcome(client)
    assert code == 0, err
    # Otherwise leaving would have waited for them.
    assert "pending UserRRefs" not in err
    return json.loads(out.splitlines()[-1]), (port, *outcome(worker))


@pytest.mark.parametrize("name", checks())
def test_client(world, name):
    results, _ = world
    assert results[name] is None, results[name]


def test_all_leave_together(world):
    port, code, out, err = world[1]
    assert (code, out) == (0, f"`ps` serves, 1 of 2 at localhost:{port}\n"), err


def blocks_of_the_page(language):
    return re.findall(rf"^```{language}\n(.*?)^```", PAGE.read_text(), re.MULTILINE | re.DOTALL)


def test_the_page(start, cache):
    program = cache / "page.py"
    *blocks, _ = blocks_of_the_page("python")  # the last one is for a world of Python
    program.write_text("\n".join(blocks) + "\ntrain()\n")
    port = free_port()
    worker = start(port, 1, PROGRAM, "--name=ps")
    code, _, err = outcome(start(port, 0, sys.executable, program))
    assert code == 0, err
    assert outcome(worker)[0] == 0


def test_functions_of_the_page_are_those_that_are_loaded():
    [block] = blocks_of_the_page("cpp")
    text = CLIENT.with_name("torch_worker_functions.cpp").read_text()
    parts = block.split("\n\n")
    assert len(parts) == 3
    assert [part for part in parts if part not in text] == []


@pytest.mark.parametrize("transports", ["uv", "uv,shm"])
def test_a_client_with_sockets_alone(start, transports):
    port = free_port()
    worker = start(port, 1, PROGRAM, "--name=ps", f"--transports={transports}")
    client = start(port, 0, sys.executable, CLIENT, "ask", UPDRAFT_TEST_TRANSPORTS="uv")
    code, _, err = outcome(client)
    assert code == 0, err
    assert outcome(worker)[0] == 0


def threads_of(process):
    tasks = pathlib.Path(f"/proc/{process.pid}/task").iterdir()
    return {task.joinpath("comm").read_text().strip() for task in tasks}


@pytest.mark.parametrize("options, polls", [([], True), (["--transports=uv"], False)])
def test_sockets_alone_need_no_polling_thread(start, options, polls):
    port = free_port()
    worker = start(port, 1, PROGRAM, "--name=ps", *options)
    client = start(port, 0, sys.executable, CLIENT, "wait")
    assert client.stdout.readline() == "joined\n"
    threads = threads_of(worker)
    assert "TP_UV_loop" in threads
    assert ("TP_SHM_reactor" in threads) == polls
    out, err = client.communicate("\n", timeout=LIMIT)
    assert (client.returncode, out) == (0, ""), err


def test_the_worker_hosts_the_store(start):
    port = free_port()
    worker = start(port, 0, PROGRAM)
    client = start(port, 1, sys.executable, CLIENT, "nothing")
    assert outcome(client)[0] == 0
    code, out, err = outcome(worker)
    assert (code, out) == (0, f"`worker0` serves, 0 of 2 at localhost:{port}\n"), err


def test_several_clients_and_another_working_directory(start, tmp_path):
    """The directory is empty, and rules and libraries aren't searched relative to it."""
    port = free_port()
    place = {"folder": tmp_path, "WORLD_SIZE": "4", "UPDRAFT_CACHE_DIR": str(tmp_path / "cache")}
    worker = start(port, 3, PROGRAM, "--name=ps", **place)
    clients = [start(port, rank, sys.executable, CLIENT, "share", **place) for rank in range(3)]
    for client in clients:
        code, _, err = outcome(client)
        assert code == 0, err
    code, out, err = outcome(worker)
    assert (code, out) == (0, f"`ps` serves, 3 of 4 at localhost:{port}\n"), err


def test_the_timeline_shows_calls_and_steps(start, tmp_path):
    port = free_port()
    place = {"UPDRAFT_TIMELINE": str(tmp_path / "worker-%p.json")}
    worker = start(port, 1, PROGRAM, "--name=ps", **place)
    client = start(port, 0, sys.executable, CLIENT, "share")
    assert outcome(client)[0] == 0
    code, _, err = outcome(worker)
    assert code == 0, err
    events = json.loads((tmp_path / f"worker-{worker.pid}.json").read_text())["traceEvents"]
    assert events[0]["args"]["name"] == "updraft-torch-worker, rank 1"
    spans = [(event["cat"], event["name"]) for event in events if event["ph"] == "X"]
    assert spans.count(("rpc", "hold")) == 1
    assert spans.count(("rpc", "step")) == 25
    assert spans.count(("step", "apply SGD")) == 25


def test_a_client_that_goes_away(start):
    port = free_port()
    worker = start(port, 1, PROGRAM, "--name=ps")
    client = start(port, 0, sys.executable, CLIENT, "go away")
    assert outcome(client)[0] == 0
    code, _, err = outcome(worker)
    assert code == 1
    assert f"error: lost the world at localhost:{port}: " in err


def test_a_client_that_dies_within_a_context(start):
    """It doesn't host the store. The worker continues to serve another client."""
    port = free_port()
    worker = start(port, 0, PROGRAM, "--name=ps", WORLD_SIZE="3")
    dying, surviving = [
        start(port, rank, sys.executable, CLIENT, what, WORLD_SIZE="3")
        for rank, what in ((1, "die within a context"), (2, "survive"))
    ]
    assert surviving.stdout.readline() == "joined\n"
    code, _, err = outcome(dying)
    assert code == 0, err
    out, err = surviving.communicate("go on\n", timeout=LIMIT)
    assert (surviving.returncode, out) == (0, "stepped\n"), err
    assert worker.poll() is None


def test_a_worker_that_dies_in_a_step_is_named_and_the_others_finish(start):
    port = free_port()
    options = ["--load", FUNCTIONS, "--rpc-threads=4"]
    dying, surviving = [
        start(port, rank, PROGRAM, f"--name=ps{rank}", *options, WORLD_SIZE="3") for rank in (1, 2)
    ]
    client = start(port, 0, sys.executable, CLIENT, "step while one dies", WORLD_SIZE="3")
    assert client.stdout.readline() == "stepping\n", client.stderr.read()
    assert surviving.poll() is None
    dying.kill()
    code, out, err = outcome(client)
    assert (code, out) == (0, "told\n"), err


def test_a_worker_that_is_stopped(start):
    port = free_port()
    worker = start(port, 1, PROGRAM, "--name=ps")
    client = start(port, 0, sys.executable, CLIENT, "wait")
    assert client.stdout.readline() == "joined\n"
    assert "serves" in worker.stdout.readline()
    worker.send_signal(signal.SIGTERM)
    code, out, _ = outcome(worker)
    assert code == 128 + signal.SIGTERM
    assert out == "stopped by signal 15\n"
    out, _ = client.communicate("go on\n", timeout=LIMIT)
    assert out == "RuntimeError\n"


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["--store=localhost"], 105, "--store: `localhost` is not of the form HOST:PORT"),
        (["--rank=2"], 105, "--rank: 2 is out of range for a world of 2"),
        (["--transports=uv,mail"], 105, "--transports: mail not in {{ibv,shm,uv}}"),
        (["--rpc-threads=0"], 105, "--rpc-threads: Value 0 not in range"),
        (["--library=none.so"], 2, "error: cannot use `none.so` as Updraft's library: none.so: "),
        (["--load=none.so"], 2, "error: `none.so` does not load: none.so: "),
        (["--timeout=1"], 1, "error: could not join the world at localhost:{port}: "),
        pytest.param(
            ["--transports=ibv"],
            1,
            "error: could not join the world at localhost:{port}: this machine supports none of "
            "the transports `ibv`; all support `uv` (sockets)\n",
            marks=pytest.mark.skipif(
                pathlib.Path("/sys/class/infiniband").exists(), reason="the machine has InfiniBand"
            ),
        ),
    ],
)
def test_bad_command_lines(start, arguments, code, message):
    port = free_port()
    worker = start(port, 1, PROGRAM, *arguments)
    found, _, err = outcome(worker)
    assert found == code, err
    assert message.format(port=port) in err


def undefined(path):
    listing = subprocess.run(
        ["nm", "-D", "--undefined-only", path], capture_output=True, text=True, check=True
    )
    return [line.split()[-1] for line in listing.stdout.splitlines()]


def test_no_python_in_it():
    [adapter] = (BUILD / "python" / "updraft").glob("libupdraft_torch-*.so")
    for path in (PROGRAM, adapter, BUILD / "lib" / "libupdraft.so"):
        symbols = undefined(path)
        assert symbols
        assert [name for name in symbols if name.startswith(("Py", "_Py"))] == []
    loaded = subprocess.run(["ldd", PROGRAM], capture_output=True, text=True, check=True).stdout
    names = [line.split()[0] for line in loaded.splitlines()]
    assert "libtorch_cpu.so" in names
    assert [name for name in names if name.startswith(("libpython", "libtorch_python"))] == []
