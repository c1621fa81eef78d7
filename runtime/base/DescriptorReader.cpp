//===- DescriptorReader.cpp - The interface of a rule from its descriptor ---------------------===//
// Checks that every slice, text and enum value is within its bounds. RuleChecks.cpp checks the
// rest.

#include "runtime/base/DType.h"
#include "runtime/base/DescriptorSections.h"
#include "runtime/base/RuleChecks.h"
#include "runtime/base/Utf8.h"

#include <bit>
#include <fmt/format.h>

using namespace updraft::runtime;

namespace {

/// Remembers the first problem. After one, results are unspecified.
class DescriptorReader {
public:
  explicit DescriptorReader(const DescriptorSections &sections) : sections(sections) {}

  RuleInterface read();
  const std::string &message() const { return problem; }

private:
  void fail(std::string text) {
    if (problem.empty())
      problem = std::move(text);
  }

  std::string text(const upd_text &text);
  /// Checks that the records exist and that all slices together have no more than there are. This
  /// limits how much memory a damaged descriptor makes the reader allocate.
  bool take(upd_section_kind kind, const upd_slice &slice, const char *what);
  std::vector<uint32_t> indices(const upd_slice &slice, const char *what);
  upd_dtype dtype(upd_dtype value, const char *what);
  Extent extent(upd_extent value, const char *what);
  TensorClass tensors(upd_tensors value, const char *what);
  /// Returns a value of 0 to `last`, and 0 for others.
  uint32_t value(uint32_t value, uint32_t last, const char *what);
  /// Returns whether `flags` has the only flag that exists, 1.
  bool flag(uint32_t flags, const char *what);
  static double f64(const uint32_t (&halves)[2]);
  template <typename Record, typename Use> void each(upd_section_kind kind, Use use) {
    for (uint32_t i = 0; i < sections.count(kind) && problem.empty(); ++i)
      use(sections.record<Record>(kind, i));
  }
  template <typename Record, typename Use>
  void each(upd_section_kind kind, const upd_slice &slice, const char *what, Use use) {
    if (!take(kind, slice, what))
      return;
    for (uint32_t i = 0; i < slice.count && problem.empty(); ++i)
      use(sections.record<Record>(kind, slice.first + i));
  }

  StateInterface state(const upd_state_record &record);
  PlanInterface plan(const upd_plan_record &record);
  void addStream(const upd_stream_record &record, PlanInterface &plan);
  void addProduct(const upd_stage_record &record, PlanInterface &plan);
  void addCall(const upd_stage_record &record, PlanInterface &plan);
  void addStage(const upd_stage_record &record, PlanInterface &plan);

  const DescriptorSections &sections;
  std::string problem;
  std::array<uint64_t, sectionKinds> taken = {}; // records, in all slices read
};

std::string DescriptorReader::text(const upd_text &text) {
  if (!take(UPD_SECTION_TEXT, {text.offset, text.length}, "a text"))
    return {};
  const std::string_view found = sections.texts().substr(text.offset, text.length);
  if (!isUtf8(found) || found.find('\0') != std::string_view::npos)
    fail(fmt::format("the text at {} is not UTF-8 without null characters", text.offset));
  return std::string(found);
}

bool DescriptorReader::take(upd_section_kind kind, const upd_slice &slice, const char *what) {
  const uint32_t count = sections.count(kind);
  if (slice.first > count || slice.count > count - slice.first) {
    fail(fmt::format("{} ends at {} of section {}, which ends at {}", what,
                     uint64_t(slice.first) + slice.count, int(kind), count));
    return false;
  }
  taken[kind] += slice.count;
  if (taken[kind] > count)
    fail(fmt::format("slices of section {} overlap", int(kind)));
  return problem.empty();
}

std::vector<uint32_t> DescriptorReader::indices(const upd_slice &slice, const char *what) {
  std::vector<uint32_t> result;
  each<uint32_t>(UPD_SECTION_INDEX, slice, what, [&](uint32_t index) { result.push_back(index); });
  return result;
}

uint32_t DescriptorReader::value(uint32_t value, uint32_t last, const char *what) {
  if (value <= last)
    return value;
  fail(fmt::format("unknown {} {}, expected 0 to {}", what, value, last));
  return 0;
}

upd_dtype DescriptorReader::dtype(upd_dtype value, const char *what) {
  if (!isKnownDType(value))
    fail(fmt::format("unknown element type {} of {}", int(value), what));
  return value;
}

Extent DescriptorReader::extent(upd_extent value, const char *what) {
  return static_cast<Extent>(this->value(uint32_t(value), UPD_EXTENT_CHOSEN_BY_CHOSEN, what));
}

TensorClass DescriptorReader::tensors(upd_tensors value, const char *what) {
  return static_cast<TensorClass>(this->value(uint32_t(value), UPD_MATRICES, what));
}

bool DescriptorReader::flag(uint32_t flags, const char *what) { return value(flags, 1, what) != 0; }

double DescriptorReader::f64(const uint32_t (&halves)[2]) {
  return std::bit_cast<double>(uint64_t(halves[1]) << 32 | halves[0]);
}

StateInterface DescriptorReader::state(const upd_state_record &record) {
  return {text(record.name), dtype(record.dtype, "a state"),
          extent(record.over, "extent of a state"),
          tensors(record.tensors, "class of tensors of a state"),
          flag(record.flags, "flags of a state")};
}

void DescriptorReader::addStream(const upd_stream_record &record, PlanInterface &plan) {
  using Kind = StreamInterface::Kind;
  const auto kind =
      static_cast<Kind>(value(uint32_t(record.kind), UPD_STREAM_TEMPORARY, "kind of a stream"));
  StreamInterface stream{kind, dtype(record.dtype, "a stream"),
                         extent(record.over, "extent of a stream")};
  const auto number = static_cast<uint32_t>(plan.streams.size());
  if (kind == Kind::State) {
    stream.state = record.of;
  } else if (kind == Kind::Scales) {
    if (record.of >= number || !isBlocked(plan.streams[record.of].dtype) ||
        plan.streams[record.of].scales != StreamInterface::none)
      return fail(fmt::format("stream {} has the scales of stream {}, which needs none", number,
                              record.of));
    plan.streams[record.of].scales = number;
  }
  if (kind != Kind::Temporary) {
    if (plan.firstTemporary != number)
      return fail(fmt::format("stream {} follows a temporary but is not one", number));
    plan.firstTemporary = number + 1;
  }
  plan.streams.push_back(stream);
}

void DescriptorReader::addProduct(const upd_stage_record &record, PlanInterface &plan) {
  constexpr uint32_t allFlags = UPD_PRODUCT_LHS_TRANSPOSED | UPD_PRODUCT_RHS_TRANSPOSED |
                                UPD_PRODUCT_SYMMETRIC | UPD_PRODUCT_BF16 | UPD_PRODUCT_F16 |
                                UPD_PRODUCT_SUM | UPD_PRODUCT_UPDATE;
  const std::vector<uint32_t> reads = indices(record.reads, "`reads` of a product");
  const std::vector<uint32_t> makes = indices(record.makes, "`makes` of a product");
  const std::vector<uint32_t> writes = indices(record.writes, "`writes` of a product");
  const bool adds = (record.flags & UPD_PRODUCT_SUM) != 0;
  const bool updates = (record.flags & UPD_PRODUCT_UPDATE) != 0;
  if (reads.size() != (adds ? 3 : 2) || writes.size() != (updates ? 1 : 0) || makes.size() != 1 ||
      (record.flags & ~allFlags) != 0 || (record.reductions.count | uint32_t(record.loop)) != 0)
    return fail("a product has other members than two operands, an addend, a target and a result");
  const bool isBF16 = (record.flags & UPD_PRODUCT_BF16) != 0;
  const bool isF16 = (record.flags & UPD_PRODUCT_F16) != 0;
  if (isBF16 && isF16)
    return fail("a product is both bf16 and f16");
  plan.sequence.push_back(StageInterface::product(static_cast<uint32_t>(plan.products.size())));
  plan.products.push_back({reads[0], reads[1], makes[0],
                           (record.flags & UPD_PRODUCT_LHS_TRANSPOSED) != 0,
                           (record.flags & UPD_PRODUCT_RHS_TRANSPOSED) != 0,
                           (record.flags & UPD_PRODUCT_SYMMETRIC) != 0,
                           isBF16  ? std::optional(UPD_BF16)
                           : isF16 ? std::optional(UPD_F16)
                                   : std::nullopt,
                           adds ? std::optional(reads[2]) : std::nullopt, record.scales[0],
                           record.scales[1], updates ? std::optional(writes[0]) : std::nullopt,
                           record.update_scales[0], record.update_scales[1]});
}

void DescriptorReader::addCall(const upd_stage_record &record, PlanInterface &plan) {
  const auto function = static_cast<MatrixFunction>(
      value(uint32_t(record.function), UPD_FUNCTION_SCATTER_COLUMNS, "function of a call"));
  const std::vector<uint32_t> reads = indices(record.reads, "`reads` of a call");
  const std::vector<uint32_t> makes = indices(record.makes, "`makes` of a call");
  const size_t operands = isSolver(function) || takesKeys(function) ? 2 : 1;
  if (reads.size() != operands || makes.size() != 1 ||
      (record.flags | record.writes.count | record.reductions.count | uint32_t(record.loop)) != 0)
    return fail(fmt::format("a call of `{}` has other members than its operands and a result",
                            nameOf(function)));
  plan.sequence.push_back(StageInterface::call(static_cast<uint32_t>(plan.calls.size())));
  plan.calls.push_back({function, reads, makes[0]});
}

void DescriptorReader::addStage(const upd_stage_record &record, PlanInterface &plan) {
  using Kind = StageInterface::Kind;
  const auto kind =
      static_cast<Kind>(value(uint32_t(record.kind), UPD_STAGE_CALL, "kind of a stage"));
  if (kind != Kind::Call && uint32_t(record.function) != 0)
    fail("a stage that is not a call has a function");
  if (kind != Kind::Product && (record.scales[0] | record.scales[1] | record.update_scales[0] |
                                record.update_scales[1]) != 0)
    fail("a stage that is not a product has scales");
  if (kind == Kind::Product)
    return addProduct(record, plan);
  if (kind == Kind::Call)
    return addCall(record, plan);
  const bool byTensor = flag(record.flags, "flags of a stage");
  if (kind == Kind::Prologue) {
    const uint32_t others = record.condition | uint32_t(record.over) | uint32_t(record.loop) |
                            record.reads.count | record.writes.count | record.makes.count |
                            record.reductions.count;
    if (others != 0)
      fail("a prologue has members of a sweep");
    plan.sequence.push_back(StageInterface::prologue(plan.prologues++, byTensor));
    return;
  }
  if (byTensor)
    fail("a sweep has the flag of a prologue");
  plan.sequence.push_back(StageInterface::sweep(static_cast<uint32_t>(plan.sweeps.size())));
  const uint32_t loop = value(uint32_t(record.loop), UPD_LOOP_BATCH, "loop of a sweep");
  SweepInterface sweep;
  sweep.reads = indices(record.reads, "`reads` of a sweep");
  sweep.writes = indices(record.writes, "`writes` of a sweep");
  sweep.makes = indices(record.makes, "`makes` of a sweep");
  sweep.over = extent(record.over, "extent of a sweep");
  sweep.isMatrix = loop == UPD_LOOP_MATRIX;
  sweep.isBatches = loop == UPD_LOOP_BATCH;
  each<upd_reduction_record>(
      UPD_SECTION_REDUCTION, record.reductions, "`reductions` of a sweep",
      [&](const upd_reduction_record &reduction) {
        sweep.reductions.push_back(
            {static_cast<ReductionInterface::Kind>(
                 value(uint32_t(reduction.kind), UPD_REDUCTION_MAX, "kind of a reduction")),
             extent(reduction.over, "extent of a reduction"), reduction.into});
      });
  plan.sweeps.push_back(std::move(sweep));
}

PlanInterface DescriptorReader::plan(const upd_plan_record &record) {
  PlanInterface plan;
  plan.tensors = tensors(record.tensors, "class of tensors of a plan");
  plan.prefix = text(record.prefix);
  plan.rowScalars = record.row_scalars;
  const uint32_t flags =
      value(record.flags, UPD_PLAN_RANDOM | UPD_PLAN_SKIPS | UPD_PLAN_PROBED | AllMatrices,
            "flags of a plan");
  plan.usesRandom = (flags & UPD_PLAN_RANDOM) != 0;
  plan.skips = (flags & UPD_PLAN_SKIPS) != 0;
  plan.isProbed = (flags & UPD_PLAN_PROBED) != 0;
  if ((flags & AllMatrices) != 0)
    plan.shapes = flags & AllMatrices;
  plan.chosen = f64(record.chosen);
  each<upd_stream_record>(UPD_SECTION_STREAM, record.streams, "`streams` of a plan",
                          [&](const upd_stream_record &stream) { addStream(stream, plan); });
  plan.scalarStates = indices(record.scalars, "`scalars` of a plan");
  each<upd_stage_record>(UPD_SECTION_STAGE, record.stages, "`stages` of a plan",
                         [&](const upd_stage_record &stage) {
                           addStage(stage, plan);
                           if (problem.empty())
                             plan.sequence.back().condition = stage.condition;
                         });
  const std::vector<uint32_t> exclusive =
      indices(record.exclusive_conditions, "`exclusive_conditions` of a plan");
  if (exclusive.size() % 2 != 0)
    fail("`exclusive_conditions` of a plan are not pairs");
  for (size_t i = 0; i + 1 < exclusive.size(); i += 2)
    plan.exclusiveConditions.emplace_back(exclusive[i], exclusive[i + 1]);
  return plan;
}

RuleInterface DescriptorReader::read() {
  RuleInterface result;
  if (sections.count(UPD_SECTION_RULE) != 1) {
    fail(fmt::format("expected 1 rule, got {}", sections.count(UPD_SECTION_RULE)));
    return result;
  }
  const auto rule = sections.record<upd_rule_record>(UPD_SECTION_RULE, 0);
  result.name = text(rule.name);
  result.numerics = text(rule.numerics);
  result.gpu = text(rule.target);
  if (result.gpu == "host")
    result.gpu.clear();
  if (rule.flags != 0)
    fail(fmt::format("unknown flags {:#x} of the rule", rule.flags));
  result.compute = dtype(rule.compute, "the computation");
  result.param = dtype(rule.param, "the parameter");
  result.grad = dtype(rule.grad, "the gradient");
  result.dependsOn = extent(rule.depends_on, "extent of `depends_on`");
  each<upd_static_record>(UPD_SECTION_STATIC, [&](const upd_static_record &record) {
    result.statics.emplace_back(text(record.name), text(record.value));
  });
  each<upd_hyper_record>(UPD_SECTION_HYPER, [&](const upd_hyper_record &record) {
    if ((record.flags | record.unused) != 0)
      fail(fmt::format("unknown flags {:#x} of a hyperparameter", record.flags));
    result.hypers.push_back({text(record.name), record.default_value});
  });
  each<upd_state_record>(UPD_SECTION_STATE, [&](const upd_state_record &record) {
    result.states.push_back(state(record));
  });
  each<upd_message_record>(UPD_SECTION_MESSAGE, [&](const upd_message_record &record) {
    result.messages.push_back(text(record.text));
  });
  each<upd_derived_record>(UPD_SECTION_DERIVED, [&](const upd_derived_record &record) {
    result.derived.push_back(
        {text(record.flag), indices(record.hypers, "`hypers` of a derived flag"), record.message});
  });
  each<upd_probe_record>(UPD_SECTION_PROBE, [&](const upd_probe_record &record) {
    ProbeInterface probe{text(record.name)};
    if (flag(record.flags, "flags of a probe"))
      probe.end = f64(record.end);
    result.probes.push_back(std::move(probe));
  });
  each<upd_plan_record>(UPD_SECTION_PLAN, [&](const upd_plan_record &record) {
    result.plans.push_back(plan(record));
  });
  return result;
}

} // namespace

Status RuleInterface::read(std::string_view descriptor, RuleInterface &result) {
  DescriptorSections sections;
  if (Status status = DescriptorSections::open(descriptor, sections); !status.ok())
    return status;
  DescriptorReader reader(sections);
  RuleInterface found = reader.read();
  std::string problem = reader.message();
  if (problem.empty())
    problem = problemOf(found);
  if (!problem.empty())
    return invalidArgument("descriptor of a compiled rule: " + problem);
  result = std::move(found);
  return {};
}
