"""Pages of the C and C++ headers."""

import re

import header_pages
import headers
import pytest

from .conftest import ROOT

C = [headers.read(f"updraft-c/{name}.h") for name in header_pages.C_HEADERS]
CPP = [headers.read(f"updraft/{name}") for name in header_pages.CPP_HEADERS]


def test_every_declaration_of_the_c_api_is_on_a_page():
    """`abi.txt` lists the functions and types. Another test compares it with the headers."""
    text = (ROOT / "lib" / "CAPI" / "abi.txt").read_text()
    listed = set(re.findall(r"^\d+ function (upd_\w+)", text, re.MULTILINE))
    listed |= set(re.findall(r"^\d+ struct (upd_\w+)", text, re.MULTILINE))
    assert len(listed) > 80
    assert listed <= {name for header in C for name in header.names()}


def test_every_header_of_the_c_api_has_a_page():
    folder = ROOT / "include" / "updraft-c"
    assert {f"{name}.h" for name in header_pages.C_HEADERS} == {
        path.name for path in folder.glob("*.h")
    }


@pytest.mark.parametrize("header", [*C, *CPP], ids=lambda header: header.path)
def test_declarations_without_bodies(header):
    assert header.title
    assert header.groups

    def check(group):
        assert group.code.count("{") == group.code.count("}")
        assert group.code.count("(") == group.code.count(")")
        assert "UPD_EXPORT" not in group.code
        assert not re.search(r"^\s*(return\b|private:)", group.code, re.MULTILINE)
        for member in group.members:
            check(member)

    for group in header.groups:
        check(group)


def test_a_class():
    (optimizer,) = (header for header in CPP if header.path == "updraft/Optimizer.h")
    (group,) = (group for group in optimizer.groups if group.names == ["Optimizer"])
    code = "\n".join(member.code for member in group.members)
    assert "Result<void> step(Span<const upd_tensor> grads);" in code
    assert "explicit Optimizer(upd_optimizer *owned = nullptr);" in code
    # It is private.
    assert "std::unique_ptr<upd_optimizer" not in code


def test_names_in_comments_link_to_declarations():
    page = header_pages.pages()["api/c/optimizer"]
    assert "([`upd_rule_check_hypers`](#c-rule-upd_rule_check_hypers))" in page
    assert "(c-optimizer-upd_optimizer_step)=\n### `upd_optimizer_step`\n" in page
