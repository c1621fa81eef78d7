//===- DescriptorWriter.cpp - The descriptor of a rule from its interface ---------------------===//
// Equal interfaces give equal bytes.

#include "runtime/base/DescriptorSections.h"
#include "runtime/base/RuleInterface.h"

#include <algorithm>
#include <array>
#include <bit>
#include <span>
#include <type_traits>

using namespace updraft::runtime;

namespace {

class DescriptorWriter {
public:
  explicit DescriptorWriter(const RuleInterface &rule) : rule(rule) {}

  std::string write() {
    addRule();
    for (const PlanInterface &plan : rule.plans)
      addPlan(plan);
    return assemble();
  }

private:
  struct Section {
    std::string bytes;
    uint32_t count = 0, stride = 1;
  };

  /// Returns the record's number.
  template <typename Record> uint32_t add(upd_section_kind kind, const Record &record) {
    Section &section = sections[kind];
    static_assert(std::has_unique_object_representations_v<Record> ||
                      std::is_same_v<Record, upd_hyper_record>,
                  "padding has no defined bytes");
    section.bytes.append(reinterpret_cast<const char *>(&record), sizeof(record));
    section.stride = sizeof(record);
    return section.count++;
  }

  upd_text text(const std::string &text) {
    Section &section = sections[UPD_SECTION_TEXT];
    const upd_text result{section.count, static_cast<uint32_t>(text.size())};
    section.bytes += text;
    section.count += result.length;
    return result;
  }

  upd_slice indices(std::span<const uint32_t> values) {
    const upd_slice result{sections[UPD_SECTION_INDEX].count, static_cast<uint32_t>(values.size())};
    for (const uint32_t value : values)
      add(UPD_SECTION_INDEX, value);
    return result;
  }

  void addRule();
  void addPlan(const PlanInterface &plan);
  upd_stream_record streamOf(const PlanInterface &plan, uint32_t number) const;
  upd_stage_record stageOf(const PlanInterface &plan, const StageInterface &stage);
  std::string assemble() const;

  const RuleInterface &rule;
  std::array<Section, sectionKinds> sections;
};

static void setF64(uint32_t (&halves)[2], double value) {
  const auto bits = std::bit_cast<uint64_t>(value);
  halves[0] = static_cast<uint32_t>(bits);
  halves[1] = static_cast<uint32_t>(bits >> 32);
}

void DescriptorWriter::addRule() {
  add(UPD_SECTION_RULE,
      upd_rule_record{text(rule.name), text(rule.numerics),
                      text(rule.gpu.empty() ? "host" : rule.gpu), rule.compute, rule.param,
                      rule.grad, static_cast<upd_extent>(rule.dependsOn), 0});
  for (const auto &[flag, value] : rule.statics)
    add(UPD_SECTION_STATIC, upd_static_record{text(flag), text(value)});
  for (const HyperInterface &hyper : rule.hypers)
    add(UPD_SECTION_HYPER, upd_hyper_record{hyper.defaultValue, text(hyper.name), 0, 0});
  for (const StateInterface &state : rule.states)
    add(UPD_SECTION_STATE,
        upd_state_record{text(state.name), state.dtype, static_cast<upd_extent>(state.over),
                         static_cast<upd_tensors>(state.tensors),
                         state.fromStep ? uint32_t(UPD_STATE_FROM_STEP) : 0});
  for (const std::string &message : rule.messages)
    add(UPD_SECTION_MESSAGE, upd_message_record{text(message)});
  for (const DerivedInterface &derived : rule.derived)
    add(UPD_SECTION_DERIVED,
        upd_derived_record{text(derived.flag), indices(derived.hypers), derived.message});
  for (const ProbeInterface &probe : rule.probes) {
    upd_probe_record record{text(probe.name), probe.end ? uint32_t(UPD_PROBE_BUCKET) : 0, {}};
    setF64(record.end, probe.end.value_or(0));
    add(UPD_SECTION_PROBE, record);
  }
}

void DescriptorWriter::addPlan(const PlanInterface &plan) {
  upd_plan_record record{};
  record.prefix = text(plan.prefix);
  record.tensors = static_cast<upd_tensors>(plan.tensors);
  record.flags = (plan.usesRandom ? UPD_PLAN_RANDOM : 0) | (plan.skips ? UPD_PLAN_SKIPS : 0) |
                 (plan.isProbed ? UPD_PLAN_PROBED : 0) |
                 (plan.shapes == AllMatrices ? 0 : plan.shapes);
  record.row_scalars = plan.rowScalars;
  setF64(record.chosen, plan.chosen);
  record.streams = {sections[UPD_SECTION_STREAM].count, static_cast<uint32_t>(plan.streams.size())};
  for (uint32_t i = 0; i < plan.streams.size(); ++i)
    add(UPD_SECTION_STREAM, streamOf(plan, i));
  record.scalars = indices(plan.scalarStates);
  record.stages = {sections[UPD_SECTION_STAGE].count, static_cast<uint32_t>(plan.sequence.size())};
  for (const StageInterface &stage : plan.sequence)
    add(UPD_SECTION_STAGE, stageOf(plan, stage));
  std::vector<uint32_t> exclusive;
  for (const auto &[first, second] : plan.exclusiveConditions)
    exclusive.insert(exclusive.end(), {first, second});
  record.exclusive_conditions = indices(exclusive);
  add(UPD_SECTION_PLAN, record);
}

upd_stream_record DescriptorWriter::streamOf(const PlanInterface &plan, uint32_t number) const {
  const StreamInterface &stream = plan.streams[number];
  upd_stream_record record{static_cast<upd_stream_kind>(stream.kind), 0, stream.dtype,
                           static_cast<upd_extent>(stream.over)};
  if (stream.kind == StreamInterface::Kind::State)
    record.of = stream.state;
  if (stream.kind == StreamInterface::Kind::Scales)
    record.of = static_cast<uint32_t>(
        std::find_if(plan.streams.begin(), plan.streams.end(),
                     [&](const StreamInterface &blocks) { return blocks.scales == number; }) -
        plan.streams.begin());
  return record;
}

upd_stage_record DescriptorWriter::stageOf(const PlanInterface &plan, const StageInterface &stage) {
  upd_stage_record record{};
  record.kind = static_cast<upd_stage_kind>(stage.kind);
  record.flags = stage.byTensor ? UPD_PROLOGUE_BY_TENSOR : 0;
  if (stage.kind == StageInterface::Kind::Product) {
    const ProductInterface &product = plan.products[stage.index];
    record.flags = (product.lhsTransposed ? UPD_PRODUCT_LHS_TRANSPOSED : 0) |
                   (product.rhsTransposed ? UPD_PRODUCT_RHS_TRANSPOSED : 0) |
                   (product.symmetric ? UPD_PRODUCT_SYMMETRIC : 0) |
                   (product.operandFormat == UPD_BF16 ? UPD_PRODUCT_BF16 : 0) |
                   (product.operandFormat == UPD_F16 ? UPD_PRODUCT_F16 : 0) |
                   (product.addend ? UPD_PRODUCT_SUM : 0) |
                   (product.target ? UPD_PRODUCT_UPDATE : 0);
    record.over = static_cast<upd_extent>(plan.streams[product.result].over);
    std::vector<uint32_t> reads{product.lhs, product.rhs};
    if (product.addend)
      reads.push_back(*product.addend);
    record.reads = indices(reads);
    record.scales[0] = product.scale;
    record.scales[1] = product.addendScale;
    if (product.target)
      record.writes = indices(std::array{*product.target});
    record.update_scales[0] = product.sumScale;
    record.update_scales[1] = product.targetScale;
    record.makes = indices(std::array{product.result});
  }
  record.condition = stage.condition;
  if (stage.kind == StageInterface::Kind::Call) {
    const CallInterface &call = plan.calls[stage.index];
    record.function = static_cast<upd_matrix_function>(call.function);
    record.over = static_cast<upd_extent>(plan.streams[call.result].over);
    record.reads = indices(call.operands);
    record.makes = indices(std::array{call.result});
  }
  if (!stage.isSweep())
    return record;
  const SweepInterface &sweep = plan.sweeps[stage.index];
  record.over = static_cast<upd_extent>(sweep.over);
  record.loop = sweep.isMatrix ? UPD_LOOP_MATRIX : sweep.isBatches ? UPD_LOOP_BATCH : UPD_LOOP_FLAT;
  record.reads = indices(sweep.reads);
  record.writes = indices(sweep.writes);
  record.makes = indices(sweep.makes);
  record.reductions = {sections[UPD_SECTION_REDUCTION].count,
                       static_cast<uint32_t>(sweep.reductions.size())};
  for (const ReductionInterface &reduction : sweep.reductions)
    add(UPD_SECTION_REDUCTION,
        upd_reduction_record{static_cast<upd_reduction_kind>(reduction.kind),
                             static_cast<upd_extent>(reduction.over), reduction.into});
  return record;
}

std::string DescriptorWriter::assemble() const {
  auto aligned = [](size_t bytes) { return (bytes + 7) / 8 * 8; };
  const auto written = static_cast<size_t>(std::count_if(
      sections.begin(), sections.end(), [](const Section &section) { return section.count != 0; }));
  const size_t start = aligned(sizeof(upd_descriptor) + written * sizeof(upd_descriptor_section));
  std::string table, contents;
  for (size_t kind = 0; kind < sections.size(); ++kind) {
    const Section &section = sections[kind];
    if (section.count == 0)
      continue;
    const upd_descriptor_section entry{static_cast<upd_section_kind>(kind), UPD_SECTION_REQUIRED,
                                       static_cast<uint32_t>(start + contents.size()),
                                       section.count, section.stride};
    table.append(reinterpret_cast<const char *>(&entry), sizeof(entry));
    contents += section.bytes;
    contents.resize(aligned(contents.size()));
  }
  const upd_descriptor header{UPD_DESCRIPTOR_MAGIC,
                              UPD_DESCRIPTOR_MAJOR,
                              UPD_DESCRIPTOR_MINOR,
                              static_cast<uint32_t>(written),
                              static_cast<uint32_t>(start + contents.size()),
                              0};
  std::string result(reinterpret_cast<const char *>(&header), sizeof(header));
  result += table;
  result.resize(start);
  return result + contents;
}

} // namespace

std::string RuleInterface::write() const { return DescriptorWriter(*this).write(); }
