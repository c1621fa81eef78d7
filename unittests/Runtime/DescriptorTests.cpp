//===- DescriptorTests.cpp - The bytes of a rule's descriptor ---------------------------------===//
// Damage, and descriptors of older and newer versions.

#include "FakeRules.h"
#include "ReductionRules.h"

#include "runtime/base/DescriptorSections.h"
#include "runtime/base/RuleInterface.h"

#include <gtest/gtest.h>

#include <cstring>

using namespace updraft::runtime;

namespace {

std::string descriptor() { return test::factoredRule()->interface.write(); }

constexpr size_t tableStart = sizeof(upd_descriptor);

upd_descriptor headerOf(const std::string &bytes) {
  upd_descriptor header;
  std::memcpy(&header, bytes.data(), sizeof(header));
  return header;
}

void setHeader(std::string &bytes, const upd_descriptor &header) {
  std::memcpy(bytes.data(), &header, sizeof(header));
}

/// Calls `change` with the table's entry of a section that the descriptor has.
template <typename Change> std::string withSection(upd_section_kind kind, Change change) {
  std::string bytes = descriptor();
  for (uint32_t i = 0; i < headerOf(bytes).section_count; ++i) {
    upd_descriptor_section section;
    char *const place = bytes.data() + tableStart + i * sizeof(section);
    std::memcpy(&section, place, sizeof(section));
    if (section.kind != kind)
      continue;
    change(section);
    std::memcpy(place, &section, sizeof(section));
    return bytes;
  }
  ADD_FAILURE() << "no section " << kind;
  return bytes;
}

upd_descriptor_section sectionOf(upd_section_kind kind) {
  upd_descriptor_section result{};
  withSection(kind, [&](const upd_descriptor_section &section) { result = section; });
  return result;
}

/// A descriptor whose table has an empty section after the others.
std::string withFurtherSection(uint32_t kind, uint32_t flags) {
  std::string bytes = descriptor();
  upd_descriptor header = headerOf(bytes);
  const size_t added = sizeof(upd_descriptor_section), padded = (added + 7) / 8 * 8;
  std::string table = bytes.substr(tableStart, header.section_count * added);
  const size_t contents = (tableStart + table.size() + 7) / 8 * 8;
  for (size_t i = 0; i < header.section_count; ++i) {
    upd_descriptor_section section;
    std::memcpy(&section, table.data() + i * added, added);
    section.offset += static_cast<uint32_t>(padded);
    std::memcpy(table.data() + i * added, &section, added);
  }
  const upd_descriptor_section further{static_cast<upd_section_kind>(kind), flags,
                                       static_cast<uint32_t>(contents + padded), 0, 4};
  table.append(reinterpret_cast<const char *>(&further), added);
  std::string result(tableStart, '\0');
  result += table;
  result.resize(contents + padded);
  result += bytes.substr(contents);
  ++header.section_count;
  header.size = static_cast<uint32_t>(result.size());
  setHeader(result, header);
  return result;
}

/// The message without its start, or "".
std::string problemOf(const std::string &bytes) {
  RuleInterface rule;
  const Status status = RuleInterface::read(bytes, rule);
  const std::string start = "descriptor of a compiled rule: ";
  return status.ok() ? "" : status.message().substr(start.size());
}

TEST(Descriptor, ReadsTheSameBytesAgain) {
  RuleInterface rule;
  ASSERT_TRUE(RuleInterface::read(descriptor(), rule).ok());
  EXPECT_EQ(rule.write(), descriptor());
}

TEST(Descriptor, RefusesAnyPrefix) {
  const std::string bytes = descriptor();
  for (size_t length = 0; length < bytes.size(); ++length)
    EXPECT_NE(problemOf(bytes.substr(0, length)), "") << length;
  EXPECT_NE(problemOf(bytes + '\0'), "");
}

/// A flipped bit of a default or a name gives another valid rule. Any other is an error, and none
/// makes the reader leave the bytes, which the sanitizers show.
TEST(Descriptor, SurvivesAnyFlippedBit) {
  const std::string bytes = descriptor();
  size_t refused = 0;
  for (size_t bit = 0; bit < 8 * bytes.size(); ++bit) {
    std::string damaged = bytes;
    damaged[bit / 8] = static_cast<char>(damaged[bit / 8] ^ (1 << bit % 8));
    RuleInterface rule;
    if (!RuleInterface::read(damaged, rule).ok())
      ++refused;
    else
      EXPECT_EQ(rule.plans.size(), 2u);
  }
  EXPECT_GT(refused, 4 * bytes.size());
}

TEST(Descriptor, ReportsItsVersion) {
  std::string bytes = descriptor();
  upd_descriptor header = headerOf(bytes);
  header.minor = 7;
  setHeader(bytes, header);
  EXPECT_EQ(problemOf(bytes), "");
  header.major = 2;
  setHeader(bytes, header);
  EXPECT_EQ(problemOf(bytes), "unsupported version 2.7, expected 1.x; compile the rule again");
  EXPECT_EQ(problemOf("{\"format\": 3, \"name\": \"old\"}     "),
            "it doesn't start with `UPDRULE`");
}

TEST(Descriptor, SkipsUnknownSectionsUnlessTheyAreRequired) {
  EXPECT_EQ(problemOf(withFurtherSection(99, 0)), "");
  EXPECT_EQ(problemOf(withFurtherSection(99, UPD_SECTION_REQUIRED)),
            "unknown required section 99; a newer Updraft compiled the rule");
  EXPECT_EQ(problemOf(withFurtherSection(99, 2)), "section 99 has unknown flags 0x2");
  EXPECT_EQ(problemOf(withFurtherSection(UPD_SECTION_STATE, 0)), "section 5 appears twice");
}

/// In records of twice the size, every second record of before looks like new members.
TEST(Descriptor, IgnoresNewMembersOfRecords) {
  const std::string bytes = withSection(UPD_SECTION_STREAM, [](auto &section) {
    ASSERT_EQ(section.count % 2, 0u);
    section.stride *= 2;
    section.count /= 2;
  });
  DescriptorSections sections;
  ASSERT_TRUE(DescriptorSections::open(bytes, sections).ok());
  DescriptorSections original;
  const std::string before = descriptor();
  ASSERT_TRUE(DescriptorSections::open(before, original).ok());
  const auto second = sections.record<upd_stream_record>(UPD_SECTION_STREAM, 1);
  const auto third = original.record<upd_stream_record>(UPD_SECTION_STREAM, 2);
  EXPECT_EQ(std::memcmp(&second, &third, sizeof(second)), 0);
}

TEST(Descriptor, RefusesSectionsOutOfBounds) {
  EXPECT_EQ(problemOf(withSection(UPD_SECTION_STATE, [](auto &section) { section.offset += 4; })),
            "section 5 starts at " + std::to_string(sectionOf(UPD_SECTION_STATE).offset + 4) +
                ", not at a multiple of 8");
  EXPECT_NE(
      problemOf(withSection(UPD_SECTION_STATE, [](auto &section) { section.offset = 0xfffffff8; })),
      "");
  EXPECT_NE(
      problemOf(withSection(UPD_SECTION_STATE, [](auto &section) { section.count = 0xffffffff; })),
      "");
  EXPECT_EQ(problemOf(withSection(UPD_SECTION_STATE, [](auto &section) { section.stride = 4; })),
            "section 5 has records of 4 bytes, expected at least 24");
  EXPECT_EQ(problemOf(withSection(UPD_SECTION_RULE, [](auto &section) { section.count = 0; })),
            "expected 1 rule, got 0");
}

TEST(Descriptor, HasNoEmptySections) {
  const std::string bytes = descriptor();
  for (uint32_t i = 0; i < headerOf(bytes).section_count; ++i) {
    upd_descriptor_section section;
    std::memcpy(&section, bytes.data() + tableStart + i * sizeof(section), sizeof(section));
    EXPECT_NE(section.count, 0u) << section.kind;
  }
}

/// The last members are then those of a newer version, which a record of an older one lacks.
TEST(Descriptor, ReadsMissingMembersAsZero) {
  struct Longer {
    upd_state_record known;
    uint32_t added[4];
  };
  const std::string bytes = descriptor();
  DescriptorSections sections;
  ASSERT_TRUE(DescriptorSections::open(bytes, sections).ok());
  const auto longer = sections.record<Longer>(UPD_SECTION_STATE, 1);
  const auto known = sections.record<upd_state_record>(UPD_SECTION_STATE, 1);
  EXPECT_EQ(std::memcmp(&longer.known, &known, sizeof(known)), 0);
  for (uint32_t value : longer.added)
    EXPECT_EQ(value, 0u);
}

/// A descriptor whose last stage is a product, after `change` to that stage's record.
template <typename Change> std::string withProduct(Change change) {
  RuleInterface rule = test::factoredRule()->interface;
  PlanInterface &plan = rule.plans.back();
  const auto result = static_cast<uint32_t>(plan.streams.size());
  plan.streams.push_back({StreamInterface::Kind::Temporary, rule.compute, Extent::RowsByRows});
  plan.products = {{0, 0, result, false, true, true}};
  plan.sequence.push_back(StageInterface::product(0));
  std::string bytes = rule.write();
  for (uint32_t i = 0; i < headerOf(bytes).section_count; ++i) {
    upd_descriptor_section section;
    std::memcpy(&section, bytes.data() + tableStart + i * sizeof(section), sizeof(section));
    if (section.kind != UPD_SECTION_STAGE)
      continue;
    upd_stage_record stage;
    char *const place = bytes.data() + section.offset + (section.count - 1) * section.stride;
    std::memcpy(&stage, place, sizeof(stage));
    change(stage);
    std::memcpy(place, &stage, sizeof(stage));
  }
  return bytes;
}

TEST(Descriptor, RefusesOtherMembersOfAProduct) {
  using Stage = upd_stage_record;
  EXPECT_EQ(problemOf(withProduct([](Stage &) {})), "");
  const std::string members =
      "a product has other members than two operands, an addend, a target and a result";
  EXPECT_EQ(problemOf(withProduct([](Stage &stage) { stage.reads.count = 1; })), members);
  EXPECT_EQ(problemOf(withProduct([](Stage &stage) { stage.makes.count = 0; })), members);
  EXPECT_EQ(problemOf(withProduct([](Stage &stage) { std::swap(stage.makes, stage.reads); })),
            members);
  EXPECT_EQ(problemOf(withProduct([](Stage &stage) { std::swap(stage.makes, stage.writes); })),
            members);
  EXPECT_EQ(problemOf(withProduct([](Stage &stage) { stage.reductions.count = 1; })), members);
  EXPECT_EQ(problemOf(withProduct([](Stage &stage) { stage.loop = UPD_LOOP_MATRIX; })), members);
  EXPECT_EQ(problemOf(withProduct([](Stage &stage) { stage.flags |= UPD_PROLOGUE_BY_TENSOR; })),
            members);
  EXPECT_EQ(problemOf(withProduct([](Stage &stage) { stage.flags |= 256; })), members);
  EXPECT_EQ(problemOf(withProduct([](Stage &stage) { stage.flags |= UPD_PRODUCT_UPDATE; })),
            members);
  EXPECT_EQ(problemOf(withProduct([](Stage &stage) { stage.flags |= UPD_PRODUCT_SUM; })), members);
  EXPECT_EQ(problemOf(withProduct(
                [](Stage &stage) { stage.flags |= UPD_PRODUCT_BF16 | UPD_PRODUCT_F16; })),
            "a product is both bf16 and f16");
  EXPECT_EQ(problemOf(withProduct([](Stage &stage) { stage.kind = upd_stage_kind(4); })),
            "unknown kind of a stage 4, expected 0 to 3");
  EXPECT_EQ(problemOf(withProduct([](Stage &stage) { stage.function = UPD_FUNCTION_SORT_ROWS; })),
            "a stage that is not a call has a function");
  EXPECT_NE(problemOf(withProduct([](Stage &stage) { stage.kind = UPD_STAGE_SWEEP; })), "");
  EXPECT_EQ(problemOf(withProduct([](Stage &stage) { stage.kind = UPD_STAGE_PROLOGUE; })),
            "unknown flags of a stage 12, expected 0 to 1");
}

TEST(Descriptor, RefusesOtherMembersOfACall) {
  using Stage = upd_stage_record;
  // The left operand alone is that of a transpose.
  const auto withCall = [](auto change) {
    return withProduct([&](Stage &stage) {
      stage.kind = UPD_STAGE_CALL;
      stage.flags = 0;
      stage.function = UPD_FUNCTION_SOLVE_LOWER;
      change(stage);
    });
  };
  const std::string members =
      "a call of `solve_lower` has other members than its operands and a result";
  EXPECT_EQ(problemOf(withCall([](Stage &) {})),
            "a call of `solve_lower` takes an element and an element and makes rows x rows");
  EXPECT_EQ(problemOf(withCall([](Stage &stage) { stage.reads.count = 1; })), members);
  EXPECT_EQ(problemOf(withCall([](Stage &stage) { stage.makes.count = 0; })), members);
  EXPECT_EQ(problemOf(withCall([](Stage &stage) { stage.flags = 1; })), members);
  EXPECT_EQ(problemOf(withCall([](Stage &stage) { stage.reductions.count = 1; })), members);
  EXPECT_EQ(problemOf(withCall([](Stage &stage) { stage.loop = UPD_LOOP_BATCH; })), members);
  EXPECT_EQ(problemOf(withCall([](Stage &stage) { stage.function = upd_matrix_function(14); })),
            "unknown function of a call 14, expected 0 to 13");
}

TEST(Descriptor, RefusesAConditionBeyondTheRow) {
  EXPECT_EQ(
      problemOf(withProduct([](upd_stage_record &stage) { stage.condition = 1000; })).substr(0, 38),
      "a stage has the condition 1000 of a ro");
}

TEST(Descriptor, RefusesUnknownFlagsOfPlans) {
  std::string bytes = descriptor();
  const upd_descriptor_section section = sectionOf(UPD_SECTION_PLAN);
  upd_plan_record plan;
  std::memcpy(&plan, bytes.data() + section.offset, sizeof(plan));
  plan.flags = 64;
  std::memcpy(bytes.data() + section.offset, &plan, sizeof(plan));
  EXPECT_EQ(problemOf(bytes), "unknown flags of a plan 64, expected 0 to 63");
}

TEST(Descriptor, RefusesExclusiveConditionsThatAreNotPairs) {
  std::string bytes = descriptor();
  const upd_descriptor_section section = sectionOf(UPD_SECTION_PLAN);
  upd_plan_record plan;
  std::memcpy(&plan, bytes.data() + section.offset, sizeof(plan));
  plan.exclusive_conditions = plan.scalars;
  plan.exclusive_conditions.count = 1;
  plan.scalars.count = 0;
  std::memcpy(bytes.data() + section.offset, &plan, sizeof(plan));
  EXPECT_EQ(problemOf(bytes), "`exclusive_conditions` of a plan are not pairs");
}

TEST(Descriptor, RefusesBytesThatAreNotText) {
  std::string bytes = descriptor();
  for (char byte : {'\xff', '\0'}) {
    bytes[sectionOf(UPD_SECTION_TEXT).offset] = byte;
    EXPECT_EQ(problemOf(bytes), "the text at 0 is not UTF-8 without null characters");
  }
}

/// Slices that overlap could make a small file take much memory.
TEST(Descriptor, RefusesOverlappingSlices) {
  std::string bytes = descriptor();
  const upd_descriptor_section states = sectionOf(UPD_SECTION_STATE);
  upd_state_record first, second;
  std::memcpy(&first, bytes.data() + states.offset, sizeof(first));
  std::memcpy(&second, bytes.data() + states.offset + states.stride, sizeof(second));
  second.name = {0, first.name.offset + first.name.length};
  std::memcpy(bytes.data() + states.offset + states.stride, &second, sizeof(second));
  EXPECT_EQ(problemOf(bytes), "slices of section 0 overlap");
  second.name = {0, 1u << 20};
  std::memcpy(bytes.data() + states.offset + states.stride, &second, sizeof(second));
  EXPECT_EQ(problemOf(bytes).substr(0, 35), "a text ends at 1048576 of section 0");
}

} // namespace
