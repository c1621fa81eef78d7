//===- RecordHeader.h - The header of a record in the journal -----------------------*- C++ -*-===//

#ifndef UPDRAFT_RUNTIME_STORE_RECORDHEADER_H
#define UPDRAFT_RUNTIME_STORE_RECORDHEADER_H

#include <cstdint>
#include <string_view>
#include <type_traits>
#include <vector>

namespace updraft::store {

/// Precedes the content of a record in a segment, in little-endian. Both are padded together to a
/// multiple of `alignment` bytes, so that headers behind a damaged one can be found.
struct RecordHeader {
  static constexpr uint64_t alignment = 64;
  static constexpr uint64_t magicNumber = 0x31306c6e72756a75; ///< "ujurnl01"

  uint64_t magic = magicNumber;
  uint64_t store = 0;         ///< the store's own number
  uint64_t number = 0;        ///< of the record
  uint64_t synced = 0;        ///< the last record that was on the disk when this one was written
  uint64_t bytes = 0;         ///< of the content
  uint64_t contentDigest = 0; ///< XXH3 of the content, with the record's number as its seed
  uint64_t unused = 0;
  uint64_t digest = 0; ///< XXH3 of the members above

  /// Sets what follows from the others and the content.
  void seal(uint64_t ofStore, const std::vector<std::string_view> &content);
  bool isValid(uint64_t ofStore) const;
  /// Whether it is the header of a record of another store.
  bool isOfAnother(uint64_t store) const;
  bool matches(const std::vector<std::string_view> &content) const;
  /// Of header, content and padding.
  uint64_t bytesInFile() const;
};
static_assert(sizeof(RecordHeader) == RecordHeader::alignment &&
              std::is_trivially_copyable_v<RecordHeader>);

} // namespace updraft::store

#endif // UPDRAFT_RUNTIME_STORE_RECORDHEADER_H
