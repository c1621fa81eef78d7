"""Checks that the hash for the build id covers all inputs of the compiler.

usage: check-build-id.py BUILD ROOT
"""

import pathlib
import re
import subprocess
import sys
import tempfile

# Excludes the code of the tools, build scripts, build outputs, and what updraftc uses only for
# packages, reports and timelines, which aren't cached.
NOT_OF_THE_COMPILER = (
    "tools/",
    "cmake/",
    "build/",
    ".venv/",
    "lib/Packager/",
    "lib/Reference/",
    "lib/Report/",
    "rules/adamw.upd",
    "runtime/cpu/",
    "runtime/matrix/",
    "runtime/optimizer/",
    "runtime/package/",
    "runtime/timeline/",
)


def ninja(build, *arguments):
    command = ["ninja", "-C", str(build), "-t", *arguments]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.splitlines()


def compiled(build, root):
    """The files under `root` that updraftc is built from, with the headers they include."""
    inputs = set(ninja(build, "inputs", "bin/updraftc"))
    found = set(inputs)
    included = False
    for line in ninja(build, "deps"):
        if line.startswith(" "):
            if included:
                found.add(line.strip())
        elif line:
            included = line.split(":")[0] in inputs
    for name in found:
        path = (build / name).resolve()
        if path.is_relative_to(root) and path.is_file():
            relative = str(path.relative_to(root))
            if not relative.startswith(NOT_OF_THE_COMPILER):
                yield relative


def embedded(build):
    text = (build / "lib/Frontend/EmbeddedStandardLibrary.cpp").read_text()
    return {f"rules/{name}" for name in re.findall(r'^ *\{"([^"]+)", R"upd\(', text, re.MULTILINE)}


def check_list(build, root):
    listed = set((build / "lib/Driver/compiler_sources.txt").read_text().split())
    library, others = embedded(build), set(compiled(build, root))
    kinds = {pathlib.Path(name).suffix for name in others}
    assert {".cpp", ".h", ".td", ".def"} <= kinds, kinds
    if missing := sorted((library | others) - listed):
        sys.exit("not part of the build id:\n  " + "\n  ".join(missing))
    print(f"{len(library)} embedded files, {len(others - library)} others: all are hashed")


def check_hash(root):
    def identity(**files):
        version = files.pop("version", "1.0")
        with tempfile.TemporaryDirectory() as name:
            folder = pathlib.Path(name)
            for file, text in files.items():
                (folder / file).write_text(text)
            (folder / "list").write_text("".join(f"{file}\n" for file in files))
            options = {"LIST": folder / "list", "ROOT": folder, "OUTPUT": folder / "id"}
            command = ["cmake", *(f"-D{key}={value}" for key, value in options.items())]
            command += [f"-DVERSION={version}", "-P", root / "cmake/HashSources.cmake"]
            subprocess.run(command, check=True)
            return re.search(r'SOURCE_HASH "([0-9a-f]{16})"', (folder / "id").read_text())[1]

    same = [identity(a="1", b="2"), identity(a="1", b="2")]
    others = [
        identity(a="1", b="3"),
        identity(a="2", b="1"),
        identity(a="1", c="2"),
        identity(a="1"),
        identity(a="1", b="2", version="1.1"),
    ]
    assert len(set(same)) == 1 and len({*same, *others}) == 1 + len(others), (same, others)
    print("contents, names and the version count")


def main():
    build, root = (pathlib.Path(name).resolve() for name in sys.argv[1:])
    check_list(build, root)
    check_hash(root)


if __name__ == "__main__":
    main()
