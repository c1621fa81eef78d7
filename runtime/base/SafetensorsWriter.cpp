//===- SafetensorsWriter.cpp - Writing files of named tensors ---------------------------------===//

#include "runtime/base/Safetensors.h"
#include "runtime/files/FileReplacement.h"

#include <algorithm>
#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <unordered_set>

using namespace updraft;
using namespace updraft::runtime;

namespace {

/// Buffers small writes, because tensors with strides are written in small pieces.
class BufferedFile : public SafetensorsSink {
public:
  explicit BufferedFile(const std::string &path) : path(path), file(path) {}

  Status open() {
    buffer.reserve(bufferBytes);
    return statusOf(file.open());
  }

  Status write(const void *data, size_t bytes) override {
    if (buffer.size() + bytes > bufferBytes)
      if (Status status = flush(); !status.ok())
        return status;
    const auto *source = static_cast<const char *>(data);
    if (bytes > bufferBytes)
      return statusOf(file.write(source, bytes));
    buffer.insert(buffer.end(), source, source + bytes);
    return {};
  }

  Status publish() {
    if (Status status = flush(); !status.ok())
      return status;
    return statusOf(file.publish());
  }

private:
  static constexpr size_t bufferBytes = 1 << 16;

  Status flush() {
    Status status = statusOf(file.write(buffer.data(), buffer.size()));
    buffer.clear();
    return status;
  }

  Status statusOf(const files::Failure &failure) const {
    return failure ? ioError(fmt::format("cannot write `{}`: {}", path, *failure)) : Status();
  }

  const std::string &path;
  files::FileReplacement file;
  std::vector<char> buffer;
};

class BytesSink : public SafetensorsSink {
public:
  explicit BytesSink(std::string &to) : to(to) {}
  Status write(const void *data, size_t bytes) override {
    to.append(static_cast<const char *>(data), bytes);
    return {};
  }

private:
  std::string &to;
};

class CountingSink : public SafetensorsSink {
public:
  explicit CountingSink(SafetensorsSink &to) : to(to) {}
  Status write(const void *data, size_t bytes) override {
    written += bytes;
    return to.write(data, bytes);
  }
  uint64_t bytesWritten() const { return written; }

private:
  SafetensorsSink &to;
  uint64_t written = 0;
};

} // namespace

void SafetensorsWriter::setMetadata(std::string key, std::string value) {
  metadata.insert_or_assign(std::move(key), std::move(value));
}

void SafetensorsWriter::add(std::string name, SafetensorsType type, std::vector<int64_t> shape,
                            Source source) {
  uint64_t bytes = sizeOf(type);
  for (int64_t size : shape)
    bytes *= static_cast<uint64_t>(size);
  tensors.push_back({std::move(name), type, std::move(shape), std::move(source), bytes});
}

Status SafetensorsWriter::header(const std::vector<const Tensor *> &order,
                                 std::string &text) const {
  nlohmann::ordered_json json = nlohmann::ordered_json::object();
  if (!metadata.empty())
    json["__metadata__"] = metadata;
  // Finding a member of an ordered object is a linear search, so names are checked separately.
  auto &members = json.get_ref<nlohmann::ordered_json::object_t &>();
  members.reserve(order.size() + 1);
  std::unordered_set<std::string_view> seen;
  uint64_t offset = 0;
  for (const Tensor *tensor : order) {
    if (tensor->name == "__metadata__" || !seen.insert(tensor->name).second)
      return invalidArgument(fmt::format(
          "a file cannot hold two tensors `{}`, or one of a reserved name", tensor->name));
    members.push_back({tensor->name,
                       {{"dtype", nameOf(tensor->type)},
                        {"shape", tensor->shape},
                        {"data_offsets", {offset, offset + tensor->bytes}}}});
    offset += tensor->bytes;
  }
  try {
    text = json.dump();
  } catch (const nlohmann::json::exception &) {
    return invalidArgument("a name is not UTF-8, which the safetensors format requires");
  }
  text.resize((text.size() + 7) / 8 * 8, ' ');
  return {};
}

std::vector<const SafetensorsWriter::Tensor *> SafetensorsWriter::ordered() const {
  // Larger elements come first, so that all are aligned in the file.
  std::vector<const Tensor *> order;
  order.reserve(tensors.size());
  for (const Tensor &tensor : tensors)
    order.push_back(&tensor);
  std::sort(order.begin(), order.end(), [](const Tensor *a, const Tensor *b) {
    const size_t sizeA = sizeOf(a->type), sizeB = sizeOf(b->type);
    return sizeA != sizeB ? sizeA > sizeB : a < b; // otherwise in order of insertion
  });
  return order;
}

Status SafetensorsWriter::write(const std::vector<const Tensor *> &order, const std::string &text,
                                SafetensorsSink &sink) {
  unsigned char length[8];
  for (size_t i = 0; i < sizeof(length); ++i)
    length[i] = static_cast<unsigned char>(text.size() >> 8 * i);
  if (Status status = sink.write(length, sizeof(length)); !status.ok())
    return status;
  if (Status status = sink.write(text.data(), text.size()); !status.ok())
    return status;
  for (const Tensor *tensor : order) {
    CountingSink elements(sink);
    if (Status status = tensor->source(elements); !status.ok())
      return status;
    if (elements.bytesWritten() != tensor->bytes)
      return {UPD_INTERNAL_ERROR,
              fmt::format("tensor `{}` wrote {} bytes instead of {}", tensor->name,
                          elements.bytesWritten(), tensor->bytes)};
  }
  return {};
}

Status SafetensorsWriter::save(const std::string &path) const {
  const std::vector<const Tensor *> order = ordered();
  std::string text;
  if (Status status = header(order, text); !status.ok())
    return status;
  BufferedFile file(path);
  if (Status status = file.open(); !status.ok())
    return status;
  if (Status status = write(order, text, file); !status.ok())
    return status;
  return file.publish();
}

Status SafetensorsWriter::write(std::string &bytes) const {
  const std::vector<const Tensor *> order = ordered();
  std::string text;
  if (Status status = header(order, text); !status.ok())
    return status;
  uint64_t total = sizeof(uint64_t) + text.size();
  for (const Tensor *tensor : order)
    total += tensor->bytes;
  bytes.clear();
  bytes.reserve(total); // growing would take twice the memory
  BytesSink sink(bytes);
  return write(order, text, sink);
}
