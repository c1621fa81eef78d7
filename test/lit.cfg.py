"""lit configuration: which files are tests, and the tools their RUN lines use."""

import glob
import importlib.util
import os
import shutil

import lit.formats
from lit.llvm import llvm_config

config.name = "updraft"
config.test_format = lit.formats.ShTest(execute_external=False)
config.suffixes = [".mlir", ".upd", ".test"]
config.excludes = ["Inputs", "CMakeLists.txt"]
# Tests of the long suites: tools/lint/run-long passes --param=long=1.
if not lit_config.params.get("long"):
    config.excludes.append("Long")
config.test_source_root = os.path.dirname(__file__)
config.test_exec_root = os.path.join(config.updraft_obj_root, "test")

# The presets with sanitizers build neither libupdraft.so nor what is linked to it.
if os.path.exists(os.path.join(config.updraft_obj_root, "lib", "libupdraft.so")):
    config.available_features.add("libupdraft")
if os.path.exists(os.path.join(config.updraft_tools_dir, "updraft-worker")):
    config.available_features.add("updraft-worker")
# Debian's package `systemd` has it. It needs no running systemd.
if shutil.which("systemd-analyze"):
    config.available_features.add("systemd-analyze")
if importlib.util.find_spec("yaml"):
    config.available_features.add("yaml")
if glob.glob(os.path.join(config.updraft_obj_root, "python", "updraft", "_updraft*.so")):
    config.available_features.add("python-module")

# lit runs in the environment that has torch, if there is one.
torch = importlib.util.find_spec("torch")
if torch:
    config.available_features.add("torch")
    config.substitutions.append(("%torch", torch.submodule_search_locations[0]))

if os.path.exists(os.path.join(config.updraft_obj_root, "build.ninja")) and shutil.which("ninja"):
    config.available_features.add("ninja")
if shutil.which("openssl"):
    config.available_features.add("openssl")

# Those of tools/setup, which are pinned, before those of the machine.
cuda_folders = (os.path.dirname(config.python_executable), None, "/usr/local/cuda/bin")
for tool in ("ptxas", "nvdisasm"):
    path = next(filter(None, (shutil.which(tool, path=folder) for folder in cuda_folders)), None)
    if path:
        config.available_features.add(tool)
        config.substitutions.append(("%" + tool, path))
        config.environment["UPDRAFT_" + tool.upper()] = path

# The one generator that tools/setup installs.
config.environment["CMAKE_GENERATOR"] = "Ninja"

# Tests must not read or fill the user's cache.
config.environment["UPDRAFT_CACHE_DIR"] = os.path.join(config.test_exec_root, "cache")

llvm_config.with_environment("PATH", config.llvm_tools_dir, append_path=True)
llvm_config.with_environment("PATH", config.updraft_tools_dir, append_path=True)
config.substitutions.append(("%rules", os.path.join(config.updraft_src_root, "rules")))
config.substitutions.append(("%python", config.python_executable))
config.substitutions.append(("%obj_root", config.updraft_obj_root))
engine_ptx = os.path.join(config.updraft_obj_root, "runtime", "kernels", "EngineKernels.ptx")
config.substitutions.append(("%engine_ptx", engine_ptx))
gpu_suite_folder = os.path.join(config.updraft_obj_root, "gpu-suite")
config.substitutions.append(("%gpu_suite_folder", gpu_suite_folder))
config.substitutions.append(("%gpu_suite", os.path.join(gpu_suite_folder, "gpu-suite")))
stand_in = os.path.join(config.updraft_obj_root, "unittests", "CUDA", "libstand_in_cuda.so")
config.substitutions.append(("%stand_in_cuda", stand_in))

llvm_config.add_tool_substitutions(
    [
        "updraft-opt",
        "updraft-format",
        "updraft-lsp",
        "updraft-mlir-lsp",
        "updraftc",
        "updraft-run",
        "updraft-bench",
    ],
    [config.updraft_tools_dir],
)
llvm_config.add_tool_substitutions(
    [
        "FileCheck",
        "not",
        "count",
        "split-file",
        "llvm-dwarfdump",
        "llvm-nm",
        "llvm-objdump",
        "llvm-readelf",
        "llvm-readobj",
    ],
    [config.llvm_tools_dir],
)
