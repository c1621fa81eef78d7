//===- Stepper.cpp - An optimizer over generated tensors --------------------------------------===//

#include "Stepper.h"

#include "runtime/base/DType.h"

#include <algorithm>
#include <new>
#include <numeric>
#include <random>
#include <stdexcept>
#include <sys/mman.h>

using namespace updraft::bench;
using namespace updraft::harness;
using updraft::runtime::sizeOf;
using updraft::runtime::storeRounded;

/// Pages allocated directly from the system.
struct Stepper::Memory {
  explicit Memory(size_t bytes)
      : data(::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)),
        bytes(bytes) {
    if (data == MAP_FAILED)
      throw std::bad_alloc();
  }
  ~Memory() { ::munmap(data, bytes); }

  void *data;
  size_t bytes;
};

/// Fills with a pattern of values near `scale`.
static void fill(char *data, upd_dtype dtype, int64_t count, float scale) {
  const size_t size = sizeOf(dtype);
  for (int64_t i = 0; i < count; ++i)
    storeRounded(dtype, scale * (1.0f + 0.25f * static_cast<float>((i * 7919) % 101) / 101.0f),
                 data + static_cast<size_t>(i) * size);
}

Stepper::Stepper(const StepSetup &setup)
    : setup(setup), shape(setup.rows == 0 ? std::vector{setup.elements}
                                          : std::vector{setup.rows, setup.elements / setup.rows}),
      rule(compile(setup.rule, "", "")), optimizer(nullptr, upd_optimizer_release) {
  // One allocation for all parameters and one for all gradients. Each tensor has its own cache
  // lines.
  auto make = [&](upd_dtype dtype, float scale, const std::vector<int64_t> &sizes,
                  std::vector<upd_tensor> &tensors) {
    const int64_t elements =
        std::accumulate(sizes.begin(), sizes.end(), int64_t(1), std::multiplies<>());
    const int64_t stride = (elements * static_cast<int64_t>(sizeOf(dtype)) + 63) / 64 * 64;
    memory.push_back(std::make_unique<Memory>(stride * setup.tensors));
    auto *data = static_cast<char *>(memory.back()->data);
    for (int64_t i = 0; i < setup.tensors; ++i, data += stride) {
      fill(data, dtype, elements, scale);
      tensors.push_back(
          {data, sizes.data(), nullptr, static_cast<int32_t>(sizes.size()), dtype, UPD_CPU, 0, 0});
    }
  };
  gradShape = shape;
  if (setup.listed != 0) {
    gradShape[0] = setup.listed;
    chooseRows();
  }
  make(upd_rule_param_dtype(rule.get()), 0.5f, shape, params);
  make(upd_rule_grad_dtype(rule.get()), 1e-2f, gradShape, grads);

  optimizer = makeOptimizer(rule.get(), {params}, this->setup.pool ? &*this->setup.pool : nullptr);
  step();
}

Stepper::~Stepper() = default;

/// Puts each row into a list with the same probability.
void Stepper::chooseRows() {
  std::mt19937_64 random(7);
  for (size_t i = 0; i < rowLists; ++i) {
    std::vector<int64_t> &list = lists.emplace_back();
    int64_t missing = setup.listed;
    for (int64_t row = 0; row < shape[0]; ++row)
      if (static_cast<int64_t>(random() % static_cast<uint64_t>(shape[0] - row)) < missing) {
        list.push_back(row);
        --missing;
      }
  }
}

void Stepper::step() {
  if (lists.empty())
    return check(upd_optimizer_step(optimizer.get(), grads.data(), grads.size()));
  const std::vector<int64_t> &list = lists[nextList++ % rowLists];
  const upd_row_grad rows{0, list.data(), list.size(), grads[0], 0};
  check(upd_optimizer_step_rows(optimizer.get(), nullptr, 0, &rows, 1));
}

/// The plan's streams, by number. Streams that aren't over elements are empty.
std::vector<LimitStream> Stepper::streams(const runtime::RuleInterface &interface,
                                          const runtime::PlanInterface &plan) {
  using Kind = runtime::StreamInterface::Kind;
  std::vector<LimitStream> streams;
  for (const runtime::StreamInterface &stream : plan.streams) {
    upd_tensor tensor{};
    if (stream.kind == Kind::Param)
      tensor = params[0];
    else if (stream.kind == Kind::Grad)
      tensor = grads[0];
    else if (stream.kind == Kind::State && stream.over == runtime::Extent::Element)
      check(upd_optimizer_state(optimizer.get(), 0, interface.states[stream.state].name.c_str(),
                                &tensor));
    streams.push_back({tensor.data, static_cast<int>(sizeOf(tensor.dtype)), false});
  }
  return streams;
}

std::vector<std::vector<LimitStream>> Stepper::sweeps() {
  size_t size = 0;
  const auto *descriptor = reinterpret_cast<const char *>(upd_rule_descriptor(rule.get(), &size));
  runtime::RuleInterface interface;
  if (runtime::Status status = runtime::RuleInterface::read({descriptor, size}, interface);
      !status.ok())
    throw std::runtime_error(status.message());
  const auto unwanted =
      shape.size() < 2 ? runtime::TensorClass::Matrix : runtime::TensorClass::Vector;
  std::vector<std::vector<LimitStream>> sweeps;
  interface.plans.resize(interface.unprobedPlans());
  for (const runtime::PlanInterface &plan : interface.plans) {
    if (plan.tensors == unwanted)
      continue;
    const std::vector<LimitStream> all = streams(interface, plan);
    for (const runtime::SweepInterface &stage : plan.sweeps) {
      if (stage.over != runtime::Extent::Element)
        continue;
      auto has = [](const std::vector<uint32_t> &list, size_t stream) {
        return std::find(list.begin(), list.end(), stream) != list.end();
      };
      std::vector<LimitStream> sweep;
      for (size_t i = 0; i < all.size(); ++i) {
        const bool written = has(stage.writes, i);
        if (all[i].data && (written || has(stage.reads, i)))
          sweep.push_back({all[i].data, all[i].bytesPerElement, written});
      }
      sweeps.push_back(std::move(sweep));
    }
    for (const runtime::ProductInterface &product : plan.products)
      if (product.target && all[*product.target].data)
        sweeps.push_back({{all[*product.target].data, all[*product.target].bytesPerElement, true}});
  }
  return sweeps;
}
