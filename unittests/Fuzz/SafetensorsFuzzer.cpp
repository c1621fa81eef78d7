//===- SafetensorsFuzzer.cpp - Files of tensors, damaged --------------------------------------===//
// If a file opens, it can be read completely, and written again with the same tensors. An optimizer
// loads matching tensors and refuses others. After loading, it saves a file that it can load again.

#include "FuzzTarget.h"

#include "FakeRules.h"
#include "runtime/base/Safetensors.h"

#include <sys/mman.h>
#include <unistd.h>

using namespace updraft::fuzz;
using namespace updraft::runtime;
using updraft::runtime::test::TestTensor;

namespace {

/// A file in memory.
class MemoryFile {
public:
  explicit MemoryFile(std::string_view bytes) : descriptor(memfd_create("fuzz", MFD_CLOEXEC)) {
    while (!bytes.empty()) {
      const ssize_t count = write(descriptor, bytes.data(), bytes.size());
      if (count <= 0)
        finding("no memory for the input");
      bytes.remove_prefix(static_cast<size_t>(count));
    }
  }
  ~MemoryFile() { close(descriptor); }
  MemoryFile(const MemoryFile &) = delete;
  MemoryFile &operator=(const MemoryFile &) = delete;
  std::string path() const { return "/proc/self/fd/" + std::to_string(descriptor); }

private:
  int descriptor;
};

/// A file on disk, because saving writes beside the file and renames it.
class ScratchFile {
public:
  ScratchFile() : name("/dev/shm/updraft-fuzz." + std::to_string(getpid())) {}
  ~ScratchFile() { unlink(name.c_str()); }
  ScratchFile(const ScratchFile &) = delete;
  ScratchFile &operator=(const ScratchFile &) = delete;
  const std::string &path() const { return name; }

private:
  std::string name;
};

void mustBeOk(const Status &status, const char *what) {
  if (!status.ok())
    finding(std::string(what) + ": " + status.message());
}

void mustExplain(const Status &status) {
  if (status.message().empty() || status.code() == UPD_INTERNAL_ERROR)
    finding("a refusal without its reason: " + status.message());
}

std::string elementsOf(const SafetensorsFile &file, const SafetensorsEntry &entry) {
  std::string bytes(entry.end - entry.begin, '\0');
  mustBeOk(file.read(entry, 0, bytes.data(), bytes.size()), "a tensor cannot be read");
  return bytes;
}

void checkEntries(const SafetensorsFile &file, uint64_t fileBytes) {
  uint64_t end = 0;
  for (const SafetensorsEntry &entry : file.tensors()) {
    if (entry.begin != end || entry.end < entry.begin || entry.end > fileBytes)
      finding("tensor `" + entry.name + "` is outside of the file");
    end = entry.end;
    if (file.find(entry.name) != &entry)
      finding("tensor `" + entry.name + "` is not found");
    elementsOf(file, entry);
    char beyond;
    if (file.read(entry, entry.end - entry.begin, &beyond, 1).ok())
      finding("tensor `" + entry.name + "` can be read beyond its end");
  }
}

void checkCopy(const SafetensorsFile &file) {
  SafetensorsWriter writer;
  for (const auto &[key, value] : file.metadata())
    writer.setMetadata(key, value);
  for (const SafetensorsEntry &entry : file.tensors())
    writer.add(entry.name, entry.type, entry.shape, [&](SafetensorsSink &sink) {
      const std::string bytes = elementsOf(file, entry);
      return sink.write(bytes.data(), bytes.size());
    });
  const ScratchFile scratch;
  mustBeOk(writer.save(scratch.path()), "a file cannot be written again");
  SafetensorsFile copy;
  mustBeOk(SafetensorsFile::open(scratch.path(), copy), "a written file cannot be opened");
  if (copy.metadata() != file.metadata() || copy.tensors().size() != file.tensors().size())
    finding("a written file has other contents");
  for (const SafetensorsEntry &entry : file.tensors()) {
    const SafetensorsEntry *same = copy.find(entry.name);
    if (!same || same->type != entry.type || same->shape != entry.shape ||
        elementsOf(copy, *same) != elementsOf(file, entry))
      finding("tensor `" + entry.name + "` is written as another");
  }
}

/// Two parameters, one of them column-major, with the states `size` (f32) and `last` (bf16).
void checkLoading(const std::string &path) {
  TestTensor<float> a({2, 3}, 1), b({2}, 1), gradA({2, 3}, 1), gradB({2}, 1);
  a.strides = gradA.strides = {1, 2};
  const std::vector<upd_tensor> params = {a.view(), b.view()}, grads = {gradA.view(), gradB.view()};
  const char *names[] = {"a", "b"};
  upd_group group = test::groupOf(params);
  group.names = names;
  std::unique_ptr<Optimizer> optimizer;
  mustBeOk(CpuOptimizer::create(test::initialRule(), &group, 1, nullptr, optimizer),
           "no optimizer");
  if (Status status = optimizer->load(path); !status.ok())
    return mustExplain(status);
  const ScratchFile scratch;
  mustBeOk(optimizer->save(scratch.path()), "what was loaded cannot be saved");
  mustBeOk(optimizer->load(scratch.path()), "what was saved cannot be loaded");
  // A step count may be so large that no step can follow.
  if (Status status = optimizer->step(grads.data(), grads.size()); !status.ok())
    mustExplain(status);
}

void fuzzSafetensors(std::string_view input) {
  const MemoryFile memory(input);
  SafetensorsFile file;
  if (Status status = SafetensorsFile::open(memory.path(), file); !status.ok()) {
    mustExplain(status);
    return;
  }
  checkEntries(file, input.size());
  checkCopy(file);
  checkLoading(memory.path());
}

std::vector<std::string> safetensorsWords() {
  return {"\"dtype\":",
          "\"shape\":",
          "\"data_offsets\":",
          "\"__metadata__\":{",
          "\"F64\"",
          "\"I64\"",
          "\"F32\"",
          "\"BF16\"",
          "\"F16\"",
          "\"U8\"",
          "\"updraft.rule\"",
          "\"Initial\"",
          "\"updraft.group.0.lr\"",
          "\"state/a/size\"",
          "\"state/a/last\"",
          "\"state/a/step\"",
          "\"state/b/size\"",
          "\"state/b/last\"",
          "\"state/b/step\"",
          "[2,3]",
          "[0,24]",
          "[]",
          "9223372036854775807",
          "18446744073709551615"};
}

} // namespace

const FuzzTarget updraft::fuzz::safetensorsTarget = {"safetensors", fuzzSafetensors, nullptr,
                                                     safetensorsWords};
