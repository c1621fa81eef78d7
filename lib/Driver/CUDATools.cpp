//===- CUDATools.cpp - Programs of the CUDA toolkit -------------------------------------------===//
// Only NVIDIA's own programs can produce the machine code of a GPU. Updraft runs them instead of
// linking them, so it works without them.

#include "CUDATools.h"

#include "runtime/files/FileReplacement.h"
#include "updraft/Driver/StatusError.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Process.h"
#include "llvm/Support/Program.h"

using namespace updraft;
namespace fs = llvm::sys::fs;

namespace {
struct Tool {
  llvm::StringRef name;
  llvm::StringRef variable; // the environment variable that names it
  llvm::StringRef purpose;
  llvm::StringRef package; // on PyPI
};

constexpr Tool ptxas{"ptxas", "UPDRAFT_PTXAS", "makes machine code of PTX", "nvidia-cuda-nvcc"};
constexpr Tool nvdisasm{"nvdisasm", "UPDRAFT_NVDISASM", "prints a GPU's machine code",
                        "nvidia-cuda-nvdisasm"};
constexpr Tool cuobjdump{"cuobjdump", "UPDRAFT_CUOBJDUMP", "", ""};

/// The toolkit's folder for programs, which is often not in PATH.
std::string toolkitFolder() {
  llvm::SmallString<128> folder(llvm::sys::Process::GetEnv("CUDA_HOME").value_or(""));
  if (folder.empty())
    folder = "/usr/local/cuda";
  llvm::sys::path::append(folder, "bin");
  return folder.str().str();
}

/// Returns "" if there is none.
llvm::Expected<std::string> find(const Tool &tool) {
  if (auto named = llvm::sys::Process::GetEnv(tool.variable); named && !named->empty()) {
    if (fs::can_execute(*named))
      return *named;
    return makeError(
        UPD_NOT_FOUND,
        llvm::formatv("{0} names `{1}`, which is not a program; name a `{2}`, or leave it "
                      "unset to have one looked for",
                      tool.variable, *named, tool.name)
            .str());
  }
  if (auto inPath = llvm::sys::findProgramByName(tool.name))
    return *inPath;
  if (auto ofToolkit = llvm::sys::findProgramByName(tool.name, {toolkitFolder()}))
    return *ofToolkit;
  return std::string();
}

llvm::Error notFound(const Tool &tool, llvm::StringRef orElse = "") {
  return makeError(
      UPD_NOT_FOUND,
      llvm::formatv(
          "no `{0}`{1}, which {2}: {3} is not set, and it is neither in PATH nor in `{4}`; "
          "`pip install {5}` puts one into `nvidia/cu13/bin` of its site-packages, for "
          "{3} to name",
          tool.name, orElse, tool.purpose, tool.variable, toolkitFolder(), tool.package)
          .str());
}

/// A folder for the files that a program reads and writes; removed at the end of its scope.
class ScratchFolder {
public:
  ScratchFolder() {
    failure = fs::createUniqueDirectory("updraft-cuda", path);
    // Machine code is read from the folder, so the group must not have access, whatever the umask
    // is.
    if (!failure)
      failure = fs::setPermissions(path, fs::owner_all);
  }
  ~ScratchFolder() {
    if (!failure)
      fs::remove_directories(path);
  }
  ScratchFolder(const ScratchFolder &) = delete;
  ScratchFolder &operator=(const ScratchFolder &) = delete;

  std::string file(llvm::StringRef name) const {
    llvm::SmallString<128> file(path);
    llvm::sys::path::append(file, name);
    return file.str().str();
  }

  llvm::Error write(llvm::StringRef name, llvm::StringRef bytes) const {
    files::Failure why;
    if (failure)
      why = failure.message();
    else
      why = files::writeFile(file(name), bytes, files::OtherNames::KeepOld, files::Synced::No);
    if (!why)
      return llvm::Error::success();
    return makeError(UPD_IO_ERROR, "cannot write a temporary file: " + *why +
                                       "; TMPDIR names the folder for them");
  }

  /// Returns "" if the file is missing.
  std::string read(llvm::StringRef name) const {
    auto buffer = llvm::MemoryBuffer::getFile(file(name));
    return buffer ? (*buffer)->getBuffer().str() : std::string();
  }

private:
  llvm::SmallString<128> path;
  std::error_code failure;
};

/// Runs a program and writes its output and messages to the files `output` and `messages`.
/// `refusal` describes the failure if it ends with an error.
llvm::Error run(const std::string &program, llvm::ArrayRef<std::string> arguments,
                const ScratchFolder &folder, llvm::StringRef refusal) {
  llvm::SmallVector<llvm::StringRef> words{program};
  words.append(arguments.begin(), arguments.end());
  const std::string output = folder.file("output"), messages = folder.file("messages");
  std::string reason;
  int code = llvm::sys::ExecuteAndWait(program, words, /*Env=*/std::nullopt,
                                       {llvm::StringRef(), output, messages},
                                       /*SecondsToWait=*/0, /*MemoryLimit=*/0, &reason);
  if (code == 0)
    return llvm::Error::success();
  if (code < 0)
    return makeError(UPD_UNSUPPORTED, "`" + program +
                                          (code == -1 ? "` cannot be run: " : "` has crashed: ") +
                                          reason);
  return makeError(UPD_UNSUPPORTED,
                   llvm::formatv("`{0}` {1} (exit code {2}):\n{3}{4}", program, refusal, code,
                                 folder.read("messages"), folder.read("output"))
                       .str());
}
} // namespace

llvm::Expected<AssembledPTX> updraft::assemblePTX(llvm::StringRef ptx, const GPUTarget &target) {
  auto program = find(ptxas);
  if (!program)
    return program.takeError();
  if (program->empty())
    return notFound(ptxas);
  ScratchFolder folder;
  if (llvm::Error error = folder.write("kernels.ptx", ptx))
    return error;
  if (llvm::Error error =
          run(*program,
              {"-v", "-arch=" + target.architecture, folder.file("kernels.ptx"), "-o",
               folder.file("kernels.cubin")},
              folder,
              "makes no code for `" + target.architecture +
                  "`; the one of CUDA 12.9 or later knows all GPUs that Updraft has"))
    return error;
  std::string cubin = folder.read("kernels.cubin");
  if (cubin.empty())
    return makeError(UPD_UNSUPPORTED,
                     "`" + *program + "` has written no machine code; is it NVIDIA's `ptxas`?");
  return AssembledPTX{std::move(cubin), folder.read("messages") + folder.read("output")};
}

llvm::Expected<std::string> updraft::disassemble(llvm::StringRef cubin) {
  const std::pair<const Tool &, std::string> candidates[] = {{nvdisasm, "-c"},
                                                             {cuobjdump, "-sass"}};
  for (const auto &[tool, option] : candidates) {
    auto program = find(tool);
    if (!program)
      return program.takeError();
    if (program->empty())
      continue;
    ScratchFolder folder;
    if (llvm::Error error = folder.write("kernels.cubin", cubin))
      return error;
    if (llvm::Error error = run(*program, {option, folder.file("kernels.cubin")}, folder,
                                "does not print the machine code; one as new as `ptxas` does"))
      return error;
    return folder.read("output");
  }
  return notFound(nvdisasm, " or `cuobjdump`");
}
