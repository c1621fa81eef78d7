#!/usr/bin/env python3
"""Compares the headers of the C API and the library with the list of released declarations.

The list has a line for each function, type, struct member and constant of include/updraft-c, after
the API version that added it. Entries must not change; new ones are appended.

example: check-abi.py --list lib/CAPI/abi.txt --include include --library libupdraft.so --nm llvm-nm

exit code: 0 they agree, 1 they differ
"""

import argparse
import json
import pathlib
import re
import subprocess
import sys
import tempfile

LANGUAGES = (["-xc", "-std=c11"], ["-xc++", "-std=c++11"])


def source_of(include):
    headers = sorted((include / "updraft-c").glob("*.h"))
    return "".join(f'#include "updraft-c/{header.name}"\n' for header in headers)


def declarations(compiler, include):
    """Returns the top-level nodes of Clang's AST of the headers."""
    tree = subprocess.run(
        [compiler, *LANGUAGES[0], "-I", include, "-fsyntax-only", "-Xclang", "-ast-dump=json", "-"],
        input=source_of(include),
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    ).stdout
    return json.loads(tree)["inner"]


def measured(compiler, include, expressions):
    """Returns the values of constant expressions, which must be equal in C and C++."""
    lines = "".join(f'  printf("%lld\\n", (long long)({text}));\n' for text in expressions)
    source = f"{source_of(include)}#include <stdio.h>\nint main(void) {{\n{lines}}}\n"
    outputs = []
    for language in LANGUAGES:
        with tempfile.TemporaryDirectory() as folder:
            program = pathlib.Path(folder) / "measure"
            subprocess.run(
                [compiler, *language, "-I", include, "-", "-o", program],
                input=source,
                text=True,
                check=True,
            )
            outputs.append(subprocess.run([program], stdout=subprocess.PIPE, check=True).stdout)
    if outputs[0] != outputs[1]:
        sys.exit("error: sizes, offsets or constants differ between C and C++")
    return [int(line) for line in outputs[0].split()]


def described(compiler, include):
    """Returns the lines for the headers' declarations, and the names of the functions."""
    lines, expressions, functions = [], [], []

    def measure(line, expression):
        lines.append(line)
        expressions.append(expression)

    for node in declarations(compiler, include):
        name = node.get("name", "")
        if node["kind"] == "EnumDecl":
            for constant in node["inner"]:
                if constant["name"].startswith("UPD_"):
                    measure(f"constant {constant['name']} = {{}}", constant["name"])
        if not name.startswith("upd_"):
            continue
        if node["kind"] == "FunctionDecl":
            functions.append(name)
            lines.append(f"function {name}: {node['type']['qualType']}")
        elif node["kind"] == "EnumDecl":
            measure(f"enum {name}: {{}} bytes", f"sizeof({name})")
        elif node["kind"] == "TypedefDecl" and "(*)" in node["type"]["qualType"]:
            lines.append(f"type {name}: {node['type']['qualType']}")
        elif node["kind"] == "RecordDecl" and node.get("completeDefinition"):
            members = [member for member in node["inner"] if member["kind"] == "FieldDecl"]
            # Structs that tell their size may grow: by `struct_size`, or by a descriptor's stride.
            if members[0]["name"] != "struct_size" and not name.endswith("_record"):
                measure(f"struct {name}: {{}} bytes", f"sizeof({name})")
            for member in members:
                place = f"{name}, {member['name']}"
                kind = member["type"]["qualType"]
                measure(
                    f"member {name}.{member['name']}: {kind} at {{}}",
                    f"__builtin_offsetof({place})",
                )
    values = iter(measured(compiler, include, [*expressions, "UPD_API_VERSION"]))
    lines = [line.format(next(values)) if "{}" in line else line for line in lines]
    return lines, functions, next(values)


def exported(nm, library):
    output = subprocess.run(
        [nm, "-D", "--defined-only", library], stdout=subprocess.PIPE, text=True, check=True
    ).stdout
    return {line.split()[-1].partition("@")[0] for line in output.splitlines()}


def differences(path, lines, functions, version, symbols):
    present, listed, newest = set(lines), set(), 0
    for number, line in enumerate(path.read_text().splitlines(), 1):
        if line.startswith("#"):
            continue
        where = f"{path.name}:{number}: error:"
        match = re.fullmatch(r"([1-9]\d*) (.+)", line)
        if not match:
            yield f"{where} `{line}` is not of the form `VERSION DECLARATION`"
            continue
        added, declaration = int(match[1]), match[2]
        listed.add(declaration)
        if added < newest:
            yield (
                f"{where} version {added} comes after version {newest}; append new lines at the end"
            )
        newest = max(newest, added)
        if declaration not in present:
            yield (
                f"{where} `{declaration}` is removed or changed, which breaks programs; keep it, "
                "and add a new function or type"
            )
    for line in lines:
        if line not in listed:
            yield f"{path.name}: error: `{line}` is not listed; append `{version} {line}`"
    if newest != version:
        yield (
            f"{path.name}: error: UPD_API_VERSION is {version}, but the newest line is of version "
            f"{newest}; they are the same"
        )
    for name in sorted(symbols - set(functions)):
        yield f"{path.name}: error: `{name}` is exported, but no header declares it"
    for name in sorted(set(functions) - symbols):
        yield f"{path.name}: error: `{name}` is declared, but the library does not export it"


def main():
    parser = argparse.ArgumentParser(
        description=__doc__.splitlines()[0],
        epilog="\n".join(__doc__.splitlines()[2:]),
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--list", type=pathlib.Path, required=True)
    parser.add_argument("--include", type=pathlib.Path, required=True)
    parser.add_argument("--library", type=pathlib.Path, required=True)
    parser.add_argument("--nm", default="llvm-nm")
    parser.add_argument("--compiler", default="clang-22")
    arguments = parser.parse_args()

    lines, functions, version = described(arguments.compiler, arguments.include)
    symbols = exported(arguments.nm, arguments.library)
    found = [*differences(arguments.list, lines, functions, version, symbols)]
    print("\n".join(found), end="\n" if found else "")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
