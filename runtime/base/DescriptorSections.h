//===- DescriptorSections.h - The records of a descriptor ---------------------------*- C++ -*-===//

#ifndef UPDRAFT_RUNTIME_BASE_DESCRIPTORSECTIONS_H
#define UPDRAFT_RUNTIME_BASE_DESCRIPTORSECTIONS_H

#include "runtime/base/Status.h"
#include "updraft-c/descriptor.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <string_view>

namespace updraft::runtime {

/// The number of kinds of sections that this version knows.
inline constexpr size_t sectionKinds = UPD_SECTION_PROBE + 1;

/// The sizes of the records of each kind in the first version of the format that has them. No
/// record is shorter.
inline constexpr std::array<uint32_t, sectionKinds> leastRecordBytes = {1,  4,  44, 16, 24, 24, 8,
                                                                        20, 44, 16, 48, 12, 12};

/// Access within bounds to the sections of a descriptor (updraft-c/descriptor.h) that may be
/// damaged. A missing section has no records. The bytes must outlive it.
class DescriptorSections {
public:
  /// Checks the header and the table of sections. UPD_INVALID_ARGUMENT: the reason.
  static Status open(std::string_view bytes, DescriptorSections &result);

  uint32_t count(upd_section_kind kind) const { return sections[kind].count; }

  /// `index` is less than the count. Members that the record lacks are 0.
  template <typename Record> Record record(upd_section_kind kind, uint32_t index) const {
    const Section &section = sections[kind];
    Record result{};
    std::memcpy(&result, section.data + size_t(index) * section.stride,
                std::min<size_t>(section.stride, sizeof(Record)));
    return result;
  }

  std::string_view texts() const {
    return {sections[UPD_SECTION_TEXT].data, sections[UPD_SECTION_TEXT].count};
  }

private:
  struct Section {
    const char *data = nullptr;
    uint32_t count = 0, stride = 0;
  };

  Status add(std::string_view bytes, const upd_descriptor_section &section, uint32_t &seen);

  std::array<Section, sectionKinds> sections;
};

} // namespace updraft::runtime

#endif // UPDRAFT_RUNTIME_BASE_DESCRIPTORSECTIONS_H
