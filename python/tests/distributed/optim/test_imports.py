"""Rules that import files: workers don't need the files."""

import contextlib
import json
import pathlib

import pytest
import torch
import torch.distributed.autograd as dist_autograd
from clients import on_client
from remote_models import backward, gradients, parameters

import updraft
from updraft.distributed.optim import DistributedOptimizer, compiled_execution
from updraft.distributed.optim.imports import Imports

FUNCTIONS = "fn twice(x) { return x + x }\n"
MIDDLE = 'import "../more files/functions.upd"\nfn fourfold(x) { return twice(twice(x)) }\n'
RULE = """
import "parts/middle.upd" // what it needs
rule Steep(lr = 0.5) { update(param, grad) { next param = param - lr * fourfold(grad) } }
"""


def write(folder, rule=RULE):
    for name in ("parts", "more files"):
        (folder / name).mkdir(parents=True)
    (folder / "more files" / "functions.upd").write_text(FUNCTIONS)
    (folder / "parts" / "middle.upd").write_text(MIDDLE)
    (folder / "steep.upd").write_text(rule)
    return folder / "steep.upd"


@updraft.rule
def plain(param, grad, lr=0.5):
    return param - lr * grad


@contextlib.contextmanager
def requests(change):
    """Replaces each request to workers with `change(request)`."""
    original = compiled_execution.request
    compiled_execution.request = lambda *arguments: change(original(*arguments))
    try:
        yield
    finally:
        compiled_execution.request = original


@on_client
def test_files_that_are_gone(folder):
    """They don't exist when the worker compiles."""
    path = write(folder / "rules")
    definition = updraft.load(path)

    def gone(request):
        path.parent.rename(folder / "elsewhere")
        return request

    for rule, factor, bound in (
        (definition, 2.0, 10.0),
        (updraft.chain(updraft.transforms.clip_by_value(bound=0.25), definition), 2.0, 0.25),
        (updraft.chain("clip_by_value(0.25)", "SGD"), 0.5, 0.25),
        (updraft.chain("clip_by_value(0.25)", plain), 0.5, 0.25),
    ):
        rrefs = parameters("worker1", (5,))
        before = rrefs[0].to_here().detach().clone()
        with requests(gone):
            optimizer = DistributedOptimizer(rule, rrefs, lr=0.5)
        assert not path.exists()
        (folder / "elsewhere").rename(path.parent)
        with dist_autograd.context() as context:
            backward(context, rrefs)
            (grad,) = gradients(context, rrefs)
            optimizer.step(context)
        moved = rrefs[0].to_here().detach()
        torch.testing.assert_close(moved, before - factor * grad.clamp(-bound, bound))


@on_client
def test_requests_name_no_file_of_this_machine():
    seen = []
    chain = updraft.chain("clip_by_value(0.25)", "AdamW")
    with requests(lambda request: seen.append(request) or request):
        DistributedOptimizer(chain, parameters("worker1", (5,)))
    assert str(pathlib.Path(updraft.__file__).parent) not in seen[0]
    assert [name.partition("-")[0] for name in json.loads(seen[0])["files"]] == ["adamw"]


@on_client
def test_compile_errors_of_a_worker_reach_the_client(folder):
    """Their text names the files, without the worker's folder."""
    path = write(folder / "rules")
    with (
        requests(lambda request: request.replace("fn twice(x)", "fn once(x)")),
        pytest.raises(ValueError, match=r"`twice`") as caught,
    ):
        DistributedOptimizer(path, parameters("worker1", (5,)))
    text = str(caught.value)
    assert text.startswith("no optimizer was made on `worker1`: middle-")
    assert "fn fourfold(x) { return twice(twice(x)) }" in text
    assert "/" not in text.replace("more files/", "").replace("// what it needs", ""), text


@on_client
def test_names_of_files_are_no_paths(folder):
    path = write(folder / "rules")

    def climbing(request):
        contents = json.loads(request)
        contents["files"]["../outside.upd"] = ""
        return json.dumps(contents)

    with requests(climbing), pytest.raises(ValueError) as caught:
        DistributedOptimizer(path, parameters("worker1", (5,)))
    assert str(caught.value) == (
        "no optimizer was made on `worker1`: a request has a file `../outside.upd`; names are of "
        "letters, digits, `_`, `-` and `.`"
    )


@on_client
def test_files_that_cannot_be_written(folder):
    path = write(folder / "rules")
    name = "n" * 300

    def longer(request):
        contents = json.loads(request)
        contents["files"][name] = ""
        return json.dumps(contents)

    with requests(longer), pytest.raises(RuntimeError) as caught:
        DistributedOptimizer(path, parameters("worker1", (5,)))
    assert str(caught.value) == (
        f"no optimizer was made on `worker1`: cannot write the file `{name}` of a rule: "
        "File name too long; TMPDIR names the folder for it"
    )


@on_client
def test_nothing_but_what_was_sent_is_imported(folder):
    """Files on the worker's disk are not used, wherever the import is."""
    path = write(folder / "rules")
    (folder / "outside.upd").write_text("fn outside(x) { return x }\n")
    for name in (str(folder / "outside.upd"), "../outside.upd", "functions.upd"):
        for text in (f'import "{name}"', f'fn near(x) {{ return x }} import // of it\n "{name}"'):

            def reaching(request, text=text):
                contents = json.loads(request)
                files = contents["files"]
                (middle,) = (file for file in files if file.startswith("middle-"))
                files[middle] += text
                return json.dumps(contents)

            with requests(reaching), pytest.raises(ValueError) as caught:
                DistributedOptimizer(path, parameters("worker1", (5,)))
            assert str(caught.value) == (
                f"no optimizer was made on `worker1`: cannot read `{name}`: it did not come with "
                "the rule"
            )

    # An import in a comment or a string doesn't count.
    def harmless(request):
        return request.replace("// what it needs", '// what it needs: import \\"it.upd\\"')

    with requests(harmless):
        DistributedOptimizer(path, parameters("worker1", (5,)))


def test_names_say_what_is_in_files(tmp_path):
    path = write(tmp_path / "one")
    one, other = Imports(), Imports()
    text = one.bundled(path.read_text(), str(path))
    assert sorted(name.partition("-")[0] for name in one.files) == ["functions", "middle"]
    (import_,) = (line for line in text.splitlines() if line.startswith("import"))
    assert import_.split('"')[1] in one.files
    assert str(tmp_path) not in text + "".join(one.files.values())
    # They have the same names in another folder.
    again = write(tmp_path / "two")
    assert other.bundled(again.read_text(), str(again)) == text
    assert other.files == one.files
    missing = 'import "nowhere.upd"\n'
    assert one.bundled(missing, str(path)) == missing
    circle = tmp_path / "circle.upd"
    circle.write_text('import "circle.upd"\n')
    closed = Imports()
    closed.bundled(circle.read_text(), str(circle))
    assert [*closed.files.values()] == ['import "circle.upd"\n']
