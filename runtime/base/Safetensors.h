//===- Safetensors.h - Files of named tensors ---------------------------------------*- C++ -*-===//
// Reads and writes the safetensors format: 8 bytes with the length of the header (little-endian),
// the header (JSON: for each tensor its dtype, shape and offsets, and text under `__metadata__`),
// and then the elements of all tensors, row-major and without gaps. Supports the types of
// parameters, states and step counts.

#ifndef UPDRAFT_RUNTIME_BASE_SAFETENSORS_H
#define UPDRAFT_RUNTIME_BASE_SAFETENSORS_H

#include "runtime/base/Status.h"

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace updraft::runtime {

enum class SafetensorsType { F64, I64, F32, BF16, F16, I8, U8 };

/// The size in bytes.
size_t sizeOf(SafetensorsType type);
/// The name in files: "BF16".
std::string_view nameOf(SafetensorsType type);
SafetensorsType safetensorsType(upd_dtype dtype);
/// None for I64, and for U8: its bytes don't tell the format of codes.
std::optional<upd_dtype> dtypeOf(SafetensorsType type);

struct SafetensorsEntry {
  std::string name;
  SafetensorsType type;
  std::vector<int64_t> shape;
  uint64_t begin; // in bytes from the end of the header
  uint64_t end;
};

/// An open file with a valid header. Several threads may read.
class SafetensorsFile {
public:
  /// Reads exactly `bytes` bytes from `offset` on.
  using Reader = std::function<Status(uint64_t offset, void *data, size_t bytes)>;

  /// UPD_NOT_FOUND: the file doesn't exist. UPD_IO_ERROR: it can't be read. UPD_INVALID_ARGUMENT:
  /// it is damaged or has another format. On success, all offsets are inside the file, and fit
  /// dtype and shape.
  static Status open(const std::string &path, SafetensorsFile &result);
  /// Opens the content of a file. The bytes must outlive the result. Messages call it `name`.
  static Status openBytes(std::string_view bytes, std::string name, SafetensorsFile &result);
  /// Opens a file of `bytes` bytes that `reader` reads.
  static Status openWith(Reader reader, uint64_t bytes, std::string name, SafetensorsFile &result);

  /// The path, or the name.
  const std::string &path() const { return name; }
  /// Ordered by offset.
  const std::vector<SafetensorsEntry> &tensors() const { return entries; }
  /// Null if there is no such tensor. Valid as long as the file.
  const SafetensorsEntry *find(const std::string &tensor) const;
  const std::map<std::string, std::string> &metadata() const { return texts; }

  /// Reads `bytes` bytes of an entry from `offset` on. They must be inside the entry.
  Status read(const SafetensorsEntry &entry, uint64_t offset, void *data, size_t bytes) const;

private:
  Status readHeader(uint64_t fileBytes);

  Reader reader;
  std::string name;
  uint64_t dataStart = 0;
  std::vector<SafetensorsEntry> entries;
  std::unordered_map<std::string, size_t> indices;
  std::map<std::string, std::string> texts;
};

/// Receives a tensor's elements.
class SafetensorsSink {
public:
  virtual ~SafetensorsSink() = default;
  virtual Status write(const void *data, size_t bytes) = 0;
};

/// Collects the content of a file, then writes it.
class SafetensorsWriter {
public:
  /// Writes the elements, row-major, when the file is saved.
  using Source = std::function<Status(SafetensorsSink &)>;

  void setMetadata(std::string key, std::string value);
  void add(std::string name, SafetensorsType type, std::vector<int64_t> shape, Source source);

  /// Writes to a file beside `path`, and renames it once it is complete and on the disk. So `path`
  /// is always either the old file or the complete new one. Refuses names that are duplicates or
  /// not UTF-8.
  Status save(const std::string &path) const;
  /// Sets `bytes` to the content of the file.
  Status write(std::string &bytes) const;

private:
  struct Tensor {
    std::string name;
    SafetensorsType type;
    std::vector<int64_t> shape;
    Source source;
    uint64_t bytes;
  };

  std::vector<const Tensor *> ordered() const;
  Status header(const std::vector<const Tensor *> &order, std::string &text) const;
  static Status write(const std::vector<const Tensor *> &order, const std::string &header,
                      SafetensorsSink &sink);

  std::vector<Tensor> tensors;
  std::map<std::string, std::string> metadata;
};

} // namespace updraft::runtime

#endif // UPDRAFT_RUNTIME_BASE_SAFETENSORS_H
