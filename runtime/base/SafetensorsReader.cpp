//===- SafetensorsReader.cpp - Opening files of named tensors ---------------------------------===//
// Parses the header by events, without building a tree. So invalid content is refused where it
// occurs, whatever its size or depth.

#include "runtime/base/Safetensors.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <fmt/format.h>
#include <limits>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <sys/stat.h>
#include <tuple>
#include <unistd.h>
#include <utility>

using namespace updraft::runtime;

static constexpr uint64_t maxHeaderBytes = 100'000'000;
static constexpr size_t lengthBytes = 8;
static constexpr size_t maxRank = 64;

size_t updraft::runtime::sizeOf(SafetensorsType type) {
  switch (type) {
  case SafetensorsType::F64:
  case SafetensorsType::I64:
    return 8;
  case SafetensorsType::F32:
    return 4;
  case SafetensorsType::BF16:
  case SafetensorsType::F16:
    return 2;
  case SafetensorsType::I8:
  case SafetensorsType::U8:
    return 1;
  }
  return 0;
}

std::string_view updraft::runtime::nameOf(SafetensorsType type) {
  switch (type) {
  case SafetensorsType::F64:
    return "F64";
  case SafetensorsType::I64:
    return "I64";
  case SafetensorsType::F32:
    return "F32";
  case SafetensorsType::BF16:
    return "BF16";
  case SafetensorsType::F16:
    return "F16";
  case SafetensorsType::I8:
    return "I8";
  case SafetensorsType::U8:
    return "U8";
  }
  return "unknown";
}

SafetensorsType updraft::runtime::safetensorsType(upd_dtype dtype) {
  switch (dtype) {
  case UPD_F32:
    return SafetensorsType::F32;
  case UPD_F64:
    return SafetensorsType::F64;
  case UPD_BF16:
    return SafetensorsType::BF16;
  case UPD_F16:
    return SafetensorsType::F16;
  case UPD_I8:
    return SafetensorsType::I8;
  case UPD_Q8_LINEAR:
  case UPD_Q8_COMPANDED:
    return SafetensorsType::U8;
  }
  return SafetensorsType::F32;
}

std::optional<upd_dtype> updraft::runtime::dtypeOf(SafetensorsType type) {
  for (upd_dtype dtype : {UPD_F32, UPD_F64, UPD_BF16, UPD_F16, UPD_I8})
    if (safetensorsType(dtype) == type)
      return dtype;
  return std::nullopt;
}

static std::optional<SafetensorsType> parseType(std::string_view name) {
  for (SafetensorsType type :
       {SafetensorsType::F64, SafetensorsType::I64, SafetensorsType::F32, SafetensorsType::BF16,
        SafetensorsType::F16, SafetensorsType::I8, SafetensorsType::U8})
    if (name == nameOf(type))
      return type;
  return std::nullopt;
}

namespace {

/// {"NAME": {"dtype": "F32", "shape": [2, 3], "data_offsets": [0, 24]}, "__metadata__": {"K": "V"}}
class HeaderHandler {
public:
  using number_integer_t = nlohmann::json::number_integer_t;
  using number_unsigned_t = nlohmann::json::number_unsigned_t;
  using number_float_t = nlohmann::json::number_float_t;
  using string_t = nlohmann::json::string_t;
  using binary_t = nlohmann::json::binary_t;

  std::vector<SafetensorsEntry> entries;
  std::unordered_map<std::string, size_t> indices;
  std::map<std::string, std::string> metadata;
  std::string problem;

  bool null() { return misplaced("null"); }
  bool boolean(bool) { return misplaced("a truth value"); }
  bool number_integer(number_integer_t) { return misplaced("a negative number"); }
  bool number_float(number_float_t, const string_t &) { return misplaced("a fraction"); }
  bool binary(binary_t &) { return misplaced("binary data"); }

  bool number_unsigned(number_unsigned_t value) {
    if (place != Place::Shape && place != Place::Offsets)
      return misplaced("a number");
    if (value > static_cast<uint64_t>(std::numeric_limits<int64_t>::max()))
      return fail(fmt::format("tensor `{}` has a number that is too large", tensorName));
    if (numbers.size() == maxRank)
      return fail(fmt::format("tensor `{}` has more than {} dimensions", tensorName, maxRank));
    numbers.push_back(static_cast<int64_t>(value));
    return true;
  }

  bool string(string_t &value) {
    if (place == Place::MetadataValue) {
      place = Place::Metadata;
      if (!metadata.emplace(metadataKey, value).second)
        return fail(fmt::format("`{}` appears twice in its metadata", metadataKey));
      return true;
    }
    if (place != Place::DType)
      return misplaced("text");
    type = parseType(value);
    if (!type)
      return fail(
          fmt::format("tensor `{}` has dtype `{}`; supported are F64, F32, BF16, F16, I64, I8, U8",
                      tensorName, value));
    place = Place::Tensor;
    return true;
  }

  bool start_object(size_t) {
    switch (place) {
    case Place::Start:
      place = Place::Names;
      return true;
    case Place::Name:
      place = Place::Tensor;
      type.reset();
      shape.reset();
      offsets.reset();
      return true;
    case Place::MetadataName:
      place = Place::Metadata;
      return true;
    default:
      return misplaced("an object");
    }
  }

  bool key(string_t &name) {
    // The C API would end the name there, so two tensors could have the same name.
    if (name.find('\0') != string_t::npos)
      return fail(fmt::format("the name `{}` has a null character", withoutNull(name)));
    switch (place) {
    case Place::Names:
      if (name == "__metadata__") {
        if (hasMetadata)
          return fail("`__metadata__` appears twice");
        hasMetadata = true;
        place = Place::MetadataName;
        return true;
      }
      tensorName = name;
      place = Place::Name;
      if (!indices.emplace(name, entries.size()).second)
        return fail(fmt::format("tensor `{}` appears twice", name));
      return true;
    case Place::Metadata:
      metadataKey = name;
      place = Place::MetadataValue;
      return true;
    default: // Place::Tensor
      if (name == "dtype" && !type)
        place = Place::DType;
      else if (name == "shape" && !shape)
        place = Place::ShapeStart;
      else if (name == "data_offsets" && !offsets)
        place = Place::OffsetsStart;
      else
        return fail(fmt::format("tensor `{}` has an unknown or second `{}`", tensorName, name));
      return true;
    }
  }

  bool end_object() {
    switch (place) {
    case Place::Tensor:
      place = Place::Names;
      return addTensor();
    case Place::Metadata:
      place = Place::Names;
      return true;
    default: // Place::Names
      place = Place::End;
      return true;
    }
  }

  bool start_array(size_t) {
    numbers.clear();
    if (place == Place::ShapeStart)
      place = Place::Shape;
    else if (place == Place::OffsetsStart)
      place = Place::Offsets;
    else
      return misplaced("an array");
    return true;
  }

  bool end_array() {
    if (place == Place::Shape)
      shape = numbers;
    else if (numbers.size() == 2)
      offsets = {static_cast<uint64_t>(numbers[0]), static_cast<uint64_t>(numbers[1])};
    else
      return fail(
          fmt::format("tensor `{}` has {} offsets instead of 2", tensorName, numbers.size()));
    place = Place::Tensor;
    return true;
  }

  template <typename Exception>
  bool parse_error(size_t position, const string_t &, const Exception &) {
    return fail(fmt::format("its header is not JSON at byte {}", position));
  }

private:
  enum class Place {
    Start,
    Names,
    Name,
    Tensor,
    DType,
    ShapeStart,
    Shape,
    OffsetsStart,
    Offsets,
    MetadataName,
    Metadata,
    MetadataValue,
    End
  };

  bool fail(std::string text) {
    if (problem.empty())
      problem = std::move(text);
    return false;
  }

  /// Writes the null character as in the header.
  static std::string withoutNull(const std::string &name) {
    std::string text;
    for (char c : name)
      text += c == '\0' ? std::string("\\u0000") : std::string(1, c);
    return text;
  }

  bool misplaced(const char *what) {
    const bool inTensor = place >= Place::Name && place <= Place::Offsets;
    if (inTensor)
      return fail(fmt::format("its header has {} where it doesn't belong, in tensor `{}`", what,
                              tensorName));
    return fail(fmt::format("its header has {} where it doesn't belong", what));
  }

  bool addTensor() {
    if (!type || !shape || !offsets)
      return fail(fmt::format("tensor `{}` lacks its {}", tensorName,
                              !type    ? "dtype"
                              : !shape ? "shape"
                                       : "data_offsets"));
    if (offsets->first > offsets->second)
      return fail(fmt::format("tensor `{}` ends before it begins", tensorName));
    const uint64_t bytes = offsets->second - offsets->first;
    uint64_t expected = sizeOf(*type);
    bool empty = false, tooLarge = false;
    for (int64_t size : *shape) {
      if (size == 0)
        empty = true;
      else if (expected > std::numeric_limits<uint64_t>::max() / static_cast<uint64_t>(size))
        tooLarge = true;
      else
        expected *= static_cast<uint64_t>(size);
    }
    if (empty)
      expected = 0;
    if ((tooLarge && !empty) || bytes != expected)
      return fail(fmt::format("tensor `{}` has {} bytes, which do not fit its dtype and shape",
                              tensorName, bytes));
    entries.push_back({tensorName, *type, *shape, offsets->first, offsets->second});
    return true;
  }

  Place place = Place::Start;
  std::string tensorName, metadataKey;
  std::optional<SafetensorsType> type;
  std::optional<std::vector<int64_t>> shape;
  std::optional<std::pair<uint64_t, uint64_t>> offsets;
  std::vector<int64_t> numbers;
  bool hasMetadata = false;
};

Status damaged(const std::string &path, const std::string &what) {
  return invalidArgument(fmt::format("`{}` is not a valid safetensors file: {}", path, what));
}

Status cannotRead(const std::string &path, const char *reason) {
  return ioError(fmt::format("cannot read `{}`: {}", path, reason));
}

/// Owns a descriptor.
class OpenFile {
public:
  explicit OpenFile(int descriptor) : descriptor(descriptor) {}
  OpenFile(const OpenFile &) = delete;
  OpenFile &operator=(const OpenFile &) = delete;
  ~OpenFile() { close(descriptor); }

  Status read(const std::string &path, uint64_t offset, void *data, size_t bytes) const {
    auto *target = static_cast<char *>(data);
    while (bytes != 0) {
      const ssize_t count = pread(descriptor, target, bytes, static_cast<off_t>(offset));
      if (count < 0 && errno == EINTR)
        continue;
      if (count < 0)
        return cannotRead(path, std::strerror(errno));
      if (count == 0)
        return cannotRead(path, "it ends too early");
      target += count;
      offset += static_cast<uint64_t>(count);
      bytes -= static_cast<size_t>(count);
    }
    return {};
  }

private:
  const int descriptor;
};

} // namespace

Status SafetensorsFile::open(const std::string &path, SafetensorsFile &result) {
  // Without O_NONBLOCK, opening a pipe waits for a writer.
  const int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (descriptor < 0) {
    if (errno == ENOENT)
      return notFound(fmt::format("there is no file `{}`", path));
    return cannotRead(path, std::strerror(errno));
  }
  const auto owner = std::make_shared<const OpenFile>(descriptor);
  struct stat facts;
  if (fstat(descriptor, &facts) != 0)
    return cannotRead(path, std::strerror(errno));
  if (!S_ISREG(facts.st_mode))
    return cannotRead(path, "it is not a regular file");
  return openWith([owner, path](uint64_t offset, void *data,
                                size_t bytes) { return owner->read(path, offset, data, bytes); },
                  static_cast<uint64_t>(facts.st_size), path, result);
}

Status SafetensorsFile::openBytes(std::string_view bytes, std::string name,
                                  SafetensorsFile &result) {
  return openWith(
      [bytes](uint64_t offset, void *data, size_t count) {
        std::memcpy(data, bytes.data() + offset, count);
        return Status();
      },
      bytes.size(), std::move(name), result);
}

Status SafetensorsFile::openWith(Reader reader, uint64_t bytes, std::string name,
                                 SafetensorsFile &result) {
  SafetensorsFile file;
  file.reader = std::move(reader);
  file.name = std::move(name);
  if (Status status = file.readHeader(bytes); !status.ok())
    return status;
  result = std::move(file);
  return {};
}

Status SafetensorsFile::readHeader(uint64_t fileBytes) {
  if (fileBytes < lengthBytes)
    return damaged(name, "it is shorter than 8 bytes");
  unsigned char length[lengthBytes];
  if (Status status = reader(0, length, sizeof(length)); !status.ok())
    return status;
  uint64_t headerBytes = 0;
  for (size_t i = lengthBytes; i-- > 0;)
    headerBytes = headerBytes << 8 | length[i];
  if (headerBytes > maxHeaderBytes)
    return damaged(
        name, fmt::format("its header has {} bytes, more than {}", headerBytes, maxHeaderBytes));
  if (headerBytes > fileBytes - lengthBytes)
    return damaged(name, "its header is longer than the file");
  std::string header(headerBytes, '\0');
  if (Status status = reader(lengthBytes, header.data(), headerBytes); !status.ok())
    return status;
  if (header.empty() || header.front() != '{')
    return damaged(name, "its header does not start with a brace");

  HeaderHandler handler;
  if (!nlohmann::json::sax_parse(header, &handler))
    return damaged(name, handler.problem);
  dataStart = lengthBytes + headerBytes;
  entries = std::move(handler.entries);
  texts = std::move(handler.metadata);
  std::sort(entries.begin(), entries.end(), [](const auto &a, const auto &b) {
    return std::tie(a.begin, a.end, a.name) < std::tie(b.begin, b.end, b.name);
  });
  uint64_t end = 0;
  for (size_t i = 0; i < entries.size(); ++i) {
    const SafetensorsEntry &entry = entries[i];
    if (entry.begin != end)
      return damaged(name, fmt::format("tensor `{}` begins at {}, not at {}, where the one before "
                                       "it ends",
                                       entry.name, entry.begin, end));
    end = entry.end;
    indices[entry.name] = i;
  }
  if (end != fileBytes - dataStart)
    return damaged(name, fmt::format("its tensors have {} bytes, but {} follow the header", end,
                                     fileBytes - dataStart));
  return {};
}

const SafetensorsEntry *SafetensorsFile::find(const std::string &tensor) const {
  auto found = indices.find(tensor);
  return found == indices.end() ? nullptr : &entries[found->second];
}

Status SafetensorsFile::read(const SafetensorsEntry &entry, uint64_t offset, void *data,
                             size_t bytes) const {
  if (offset > entry.end - entry.begin || bytes > entry.end - entry.begin - offset)
    return {UPD_INTERNAL_ERROR, fmt::format("reading beyond the end of tensor `{}`", entry.name)};
  return reader(dataStart + entry.begin + offset, data, bytes);
}
