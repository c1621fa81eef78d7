//===- Hello.cpp - The first message on a connection ------------------------------------------===//

#include "runtime/dist/Hello.h"

#include <cstring>
#include <optional>

using namespace updraft::dist;

/// libnop's markers for the type of the next value.
static constexpr uint8_t unsigned8 = 0x80, unsigned64 = 0x83, variant = 0xb8, structure = 0xb9,
                         string = 0xbd;
/// The index of the message type.
static constexpr uint8_t spontaneousConnection = 0, requestedConnection = 1, clientHello = 1;

namespace {
class Reader {
public:
  explicit Reader(std::span<const uint8_t> bytes) : bytes(bytes) {}

  bool take(uint8_t expected) {
    if (bytes.empty() || bytes.front() != expected)
      return false;
    bytes = bytes.subspan(1);
    return true;
  }

  /// Values below 0x80 are stored directly, others after a marker for their size: 1, 2, 4 or 8
  /// bytes.
  std::optional<uint64_t> takeNumber() {
    if (bytes.empty())
      return std::nullopt;
    const uint8_t first = bytes.front();
    bytes = bytes.subspan(1);
    if (first < unsigned8)
      return first;
    const size_t size = size_t(1) << (first - unsigned8);
    if (first > unsigned64 || bytes.size() < size)
      return std::nullopt;
    uint64_t number = 0;
    std::memcpy(&number, bytes.data(), size);
    bytes = bytes.subspan(size);
    return number;
  }

  bool skip(uint64_t count) {
    if (bytes.size() < count)
      return false;
    bytes = bytes.subspan(count);
    return true;
  }

  bool atEnd() const { return bytes.empty(); }

private:
  std::span<const uint8_t> bytes;
};
} // namespace

static bool isMessage(std::span<const uint8_t> bytes, HelloTo to) {
  Reader reader(bytes);
  if (!reader.take(variant))
    return false;
  const std::optional<uint64_t> which = reader.takeNumber();
  // Each message is a structure with one member.
  if (!which || !reader.take(structure) || !reader.take(1))
    return false;
  if (to == HelloTo::Listener && *which == spontaneousConnection) {
    if (!reader.take(string))
      return false;
    const std::optional<uint64_t> size = reader.takeNumber();
    return size && reader.skip(*size) && reader.atEnd();
  }
  const uint64_t numbered = to == HelloTo::Listener ? requestedConnection : clientHello;
  return *which == numbered && reader.takeNumber() && reader.atEnd();
}

Hello updraft::dist::checkHello(std::span<const uint8_t> bytes, HelloTo to) {
  uint64_t size = 0;
  if (bytes.size() < sizeof(size))
    return Hello::Incomplete;
  std::memcpy(&size, bytes.data(), sizeof(size));
  if (size > longestHello - sizeof(size))
    return Hello::Wrong;
  bytes = bytes.subspan(sizeof(size));
  if (bytes.size() < size)
    return Hello::Incomplete;
  return isMessage(bytes.first(size), to) ? Hello::Valid : Hello::Wrong;
}
