//===- StateFiles.cpp - States of an optimizer on several workers -----------------------------===//
// Files as in docs/runtime.md, "Files". Hyperparameters stay on their workers.

#include "runtime/client/StateFiles.h"

#include "runtime/base/OptimizerFileNames.h"
#include "runtime/base/Safetensors.h"

#include <fmt/format.h>
#include <stdexcept>

using namespace updraft;
using runtime::SafetensorsEntry;
using runtime::SafetensorsFile;
using runtime::SafetensorsSink;
using runtime::SafetensorsWriter;

namespace {

/// The parameter in "state/PARAMETER/STATE".
std::string parameterOf(const std::string &name) {
  const size_t end = name.rfind('/');
  const size_t begin = runtime::statePrefix.size();
  if (!name.starts_with(runtime::statePrefix) || end < begin)
    throw std::invalid_argument(fmt::format("`{}` is not a state of an optimizer", name));
  return name.substr(begin, end - begin);
}

void setMetadata(SafetensorsWriter &writer, const SafetensorsFile *file) {
  writer.setMetadata("updraft.states", "all"); // marks a file of states, even if there are none
  if (file)
    for (const auto &[key, value] : file->metadata())
      if (key.starts_with(runtime::storageKey))
        writer.setMetadata(key, value);
}

/// `file` must outlive the writer.
void add(SafetensorsWriter &writer, const SafetensorsFile &file, const SafetensorsEntry &entry) {
  writer.add(entry.name, entry.type, entry.shape, [&](SafetensorsSink &sink) {
    std::string data(entry.end - entry.begin, '\0');
    if (runtime::Status status = file.read(entry, 0, data.data(), data.size()); !status.ok())
      return status;
    return sink.write(data.data(), data.size());
  });
}

std::string contentOf(const SafetensorsWriter &writer) {
  std::string result;
  if (const runtime::Status status = writer.write(result); !status.ok())
    throw std::runtime_error(status.message());
  return result;
}

} // namespace

std::string dist::joinStates(const std::vector<std::string> &files) {
  std::vector<SafetensorsFile> opened(files.size());
  SafetensorsWriter writer;
  for (size_t i = 0; i < files.size(); ++i) {
    if (const auto status = SafetensorsFile::openBytes(files[i], "the states", opened[i]);
        !status.ok())
      throw std::runtime_error(status.message());
    setMetadata(writer, &opened[i]);
    for (const SafetensorsEntry &entry : opened[i].tensors())
      add(writer, opened[i], entry);
  }
  return contentOf(writer);
}

std::map<size_t, std::string>
dist::splitStates(const std::string &file,
                  const std::function<size_t(const std::string &parameter)> &workerOf) {
  SafetensorsFile opened;
  if (const auto status = SafetensorsFile::openBytes(file, "the states", opened); !status.ok())
    throw std::invalid_argument(status.message());
  std::map<size_t, SafetensorsWriter> writers;
  for (const SafetensorsEntry &entry : opened.tensors())
    add(writers[workerOf(parameterOf(entry.name))], opened, entry);
  std::map<size_t, std::string> result;
  for (auto &[worker, writer] : writers) {
    setMetadata(writer, &opened);
    result.emplace(worker, contentOf(writer));
  }
  return result;
}

std::string dist::noStates() {
  SafetensorsWriter writer;
  setMetadata(writer, nullptr);
  return contentOf(writer);
}
