//===- Safetensors.h - Files of named tensors ---------------------------------------*- C++ -*-===//
// Reads and writes the safetensors format: 8 bytes with the length of the header (little-endian),
// the header (JSON: for each tensor its dtype, shape and offsets, and text under `__metadata__`),
// and then the elements of all tensors, row-major and without gaps. The five types here are all
// that optimizer state needs.

#ifndef UPDRAFT_RUNTIME_BASE_SAFETENSORS_H
#define UPDRAFT_RUNTIME_BASE_SAFETENSORS_H

#include "runtime/base/Status.h"

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace updraft::runtime {

enum class SafetensorsType { F64, I64, F32, BF16, F16, I8, U8 };

/// In bytes.
size_t sizeOf(SafetensorsType type);
/// As files write it: "BF16".
std::string_view nameOf(SafetensorsType type);
SafetensorsType safetensorsType(upd_dtype dtype);

struct SafetensorsEntry {
  std::string name;
  SafetensorsType type;
  std::vector<int64_t> shape;
  uint64_t begin; // in bytes, from the end of the header
  uint64_t end;
};

/// An open file whose header was found right. Reading is safe from several threads.
class SafetensorsFile {
public:
  SafetensorsFile() = default;
  SafetensorsFile(SafetensorsFile &&other) noexcept;
  SafetensorsFile &operator=(SafetensorsFile &&other) noexcept;
  ~SafetensorsFile();

  /// UPD_NOT_FOUND if there is no file, UPD_IO_ERROR if it can't be read, UPD_INVALID_ARGUMENT if
  /// it is damaged or of another format. All offsets lie in the file afterwards, and fit dtype and
  /// shape.
  static Status open(const std::string &path, SafetensorsFile &result);

  const std::string &path() const { return name; }
  /// Ordered by offset.
  const std::vector<SafetensorsEntry> &tensors() const { return entries; }
  /// Null if there is none of that name. Valid as long as the file.
  const SafetensorsEntry *find(const std::string &tensor) const;
  const std::map<std::string, std::string> &metadata() const { return texts; }

  /// Reads `bytes` bytes of an entry, starting `offset` bytes into it, which must lie in it.
  Status read(const SafetensorsEntry &entry, uint64_t offset, void *data, size_t bytes) const;

private:
  int descriptor = -1;
  std::string name;
  uint64_t dataStart = 0;
  std::vector<SafetensorsEntry> entries;
  std::unordered_map<std::string, size_t> indices;
  std::map<std::string, std::string> texts;
};

/// Where a tensor's elements are written to.
class SafetensorsSink {
public:
  virtual ~SafetensorsSink() = default;
  virtual Status write(const void *data, size_t bytes) = 0;
};

/// Collects what a file is to hold, then writes it.
class SafetensorsWriter {
public:
  /// Writes the elements, row-major, when their turn comes.
  using Source = std::function<Status(SafetensorsSink &)>;

  void setMetadata(std::string key, std::string value);
  void add(std::string name, SafetensorsType type, std::vector<int64_t> shape, Source source);

  /// Writes to a file beside `path`, and renames it once it is complete and on the disk: `path` is
  /// then the whole file, or what it was. Refuses names that appear twice or are not UTF-8.
  Status save(const std::string &path) const;

private:
  struct Tensor {
    std::string name;
    SafetensorsType type;
    std::vector<int64_t> shape;
    Source source;
    uint64_t bytes;
  };

  Status header(const std::vector<const Tensor *> &order, std::string &text) const;

  std::vector<Tensor> tensors;
  std::map<std::string, std::string> metadata;
};

} // namespace updraft::runtime

#endif // UPDRAFT_RUNTIME_BASE_SAFETENSORS_H
