"""Packages that a client sends to `updraft-torch-worker`."""

import json
import pathlib
import subprocess
import sys

import pytest

from .ports import free_port
from .torch_worker import BUILD, PROGRAM, outcome

pytest.importorskip("torch")

CLIENT = pathlib.Path(__file__).with_name("packages_client.py")
RULE = BUILD.parents[1] / "rules" / "adamw.upd"
TOOL = BUILD / "bin" / "updraftc"

pytestmark = pytest.mark.skipif(not PROGRAM.exists(), reason="the worker is not built")


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """A key, and the rule as a text, a signed package and an unsigned one."""
    folder = tmp_path_factory.mktemp("packages")
    key, public = folder / "key.pem", folder / "public.pem"
    subprocess.run(["openssl", "genpkey", "-algorithm", "ed25519", "-out", key], check=True)
    subprocess.run(["openssl", "pkey", "-in", key, "-pubout", "-out", public], check=True)
    pack = [TOOL, "pack", RULE, "--target=x86-64-v2,x86-64-v3,aarch64", "-o"]
    signed, unsigned = folder / "signed.updraft", folder / "unsigned.updraft"
    subprocess.run([*pack, signed, "--sign", key], check=True)
    subprocess.run([*pack, unsigned], check=True)
    return public, signed, unsigned


def results(start, paths, *options):
    port = free_port()
    worker = start(port, 1, PROGRAM, "--name=ps", *options)
    code, out, err = outcome(start(port, 0, sys.executable, CLIENT, *paths))
    assert code == 0, err
    assert outcome(worker)[0] == 0
    return json.loads(out.splitlines()[-1])


def test_a_signed_package_steps_like_the_text(start, files):
    public, signed, unsigned = files
    options = ("--require-signature", public)
    text, packed, refused = results(start, (RULE, signed, unsigned), *options)
    assert packed == text
    assert f"package `{unsigned}` is not signed, and a signature is required" in refused


def test_packages_are_refused_without_a_key(start, files):
    _, signed, _ = files
    [refused] = results(start, (signed,))
    assert (
        f"this worker takes no packages, but got `{signed}`; send the rule's text, or start the "
        "worker with `--require-signature`"
    ) in refused


def test_a_package_in_place_of_a_text_is_refused(start):
    [refused] = results(start, ("--as-text",))
    assert "the text of rule `" in refused and "` is a package" in refused


def test_a_key_that_cannot_be_read(start):
    code, _, err = outcome(start(free_port(), 1, PROGRAM, "--require-signature=missing.pem"))
    assert (code, err) == (
        2,
        "error: cannot read the key `missing.pem`: No such file or directory\n",
    )


def test_a_file_without_a_public_key(start, tmp_path):
    key = tmp_path / "key.pem"
    key.write_text("secret")
    code, _, err = outcome(start(free_port(), 1, PROGRAM, "--require-signature", key))
    assert (code, err) == (2, f"error: `{key}` has no public key in PEM format\n")
