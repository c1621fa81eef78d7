//===- RecordHeader.cpp - The header of a record in the journal -------------------------------===//

#include "runtime/store/RecordHeader.h"

#include "runtime/store/Checksum.h"

#include <cstddef>
#include <string>

using namespace updraft::store;

static uint64_t digestOf(const RecordHeader &header) {
  return checksum({{reinterpret_cast<const char *>(&header), offsetof(RecordHeader, digest)}}, 0);
}

void RecordHeader::seal(uint64_t ofStore, const std::vector<std::string_view> &content) {
  store = ofStore;
  bytes = 0;
  for (std::string_view part : content)
    bytes += part.size();
  contentDigest = checksum(content, number);
  digest = digestOf(*this);
}

bool RecordHeader::isValid(uint64_t ofStore) const {
  return magic == magicNumber && store == ofStore && digest == digestOf(*this);
}

bool RecordHeader::isOfAnother(uint64_t own) const {
  return magic == magicNumber && store != own && digest == digestOf(*this);
}

bool RecordHeader::matches(const std::vector<std::string_view> &content) const {
  return contentDigest == checksum(content, number);
}

uint64_t RecordHeader::bytesInFile() const {
  return (sizeof(*this) + bytes + alignment - 1) / alignment * alignment;
}
