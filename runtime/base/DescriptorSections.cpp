//===- DescriptorSections.cpp - The records of a descriptor -----------------------------------===//

#include "runtime/base/DescriptorSections.h"

#include <bit>
#include <fmt/format.h>

using namespace updraft::runtime;

static_assert(std::endian::native == std::endian::little, "the integers of descriptors are");

static Status damaged(std::string text) {
  return invalidArgument("descriptor of a compiled rule: " + std::move(text));
}

Status DescriptorSections::open(std::string_view bytes, DescriptorSections &result) {
  upd_descriptor header;
  if (bytes.size() < sizeof(header))
    return damaged(
        fmt::format("expected a header of {} bytes, got {}", sizeof(header), bytes.size()));
  std::memcpy(&header, bytes.data(), sizeof(header));
  if (std::memcmp(header.magic, UPD_DESCRIPTOR_MAGIC, sizeof(header.magic)) != 0)
    return damaged("it doesn't start with `" UPD_DESCRIPTOR_MAGIC "`");
  if (header.major != UPD_DESCRIPTOR_MAJOR)
    return damaged(fmt::format("unsupported version {}.{}, expected {}.x; compile the rule again",
                               header.major, header.minor, int(UPD_DESCRIPTOR_MAJOR)));
  if (header.flags != 0)
    return damaged(fmt::format("unknown flags {:#x}", header.flags));
  if (header.size != bytes.size())
    return damaged(fmt::format("expected {} bytes, got {}", header.size, bytes.size()));
  if (header.section_count > (bytes.size() - sizeof(header)) / sizeof(upd_descriptor_section))
    return damaged(
        fmt::format("{} sections don't fit into {} bytes", header.section_count, bytes.size()));
  DescriptorSections opened;
  uint32_t seen = 0;
  for (uint32_t i = 0; i < header.section_count; ++i) {
    upd_descriptor_section section;
    std::memcpy(&section, bytes.data() + sizeof(header) + i * sizeof(section), sizeof(section));
    if (Status status = opened.add(bytes, section, seen); !status.ok())
      return status;
  }
  result = opened;
  return {};
}

Status DescriptorSections::add(std::string_view bytes, const upd_descriptor_section &section,
                               uint32_t &seen) {
  const auto kind = static_cast<uint32_t>(section.kind);
  if ((section.flags & ~uint32_t(UPD_SECTION_REQUIRED)) != 0)
    return damaged(fmt::format("section {} has unknown flags {:#x}", kind, section.flags));
  if (section.offset % 8 != 0)
    return damaged(
        fmt::format("section {} starts at {}, not at a multiple of 8", kind, section.offset));
  if (section.offset > bytes.size() ||
      uint64_t(section.count) * section.stride > bytes.size() - section.offset)
    return damaged(fmt::format("section {} has {} records of {} bytes at {}, which exceed {} bytes",
                               kind, section.count, section.stride, section.offset, bytes.size()));
  if (kind >= sectionKinds) {
    if ((section.flags & UPD_SECTION_REQUIRED) == 0)
      return {};
    return damaged(
        fmt::format("unknown required section {}; a newer Updraft compiled the rule", kind));
  }
  if ((seen >> kind & 1) != 0)
    return damaged(fmt::format("section {} appears twice", kind));
  seen |= uint32_t(1) << kind;
  const bool isText = kind == UPD_SECTION_TEXT;
  if (isText ? section.stride != 1 : section.stride < leastRecordBytes[kind])
    return damaged(fmt::format("section {} has records of {} bytes, expected {}{}", kind,
                               section.stride, isText ? "" : "at least ", leastRecordBytes[kind]));
  sections[kind] = {bytes.data() + section.offset, section.count, section.stride};
  return {};
}
