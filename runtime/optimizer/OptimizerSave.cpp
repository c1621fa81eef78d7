//===- OptimizerSave.cpp - Saving the state of an optimizer -----------------------------------===//

#include "runtime/base/DType.h"
#include "runtime/base/MessageText.h"
#include "runtime/base/OptimizerFileNames.h"
#include "runtime/base/Safetensors.h"
#include "runtime/optimizer/Optimizer.h"
#include "runtime/optimizer/RowMajorRuns.h"

#include <fmt/format.h>

using namespace updraft::runtime;

template <typename Value> static Status writeValue(SafetensorsSink &sink, Value value) {
  return sink.write(&value, sizeof(value));
}

static Status writeRowMajor(SafetensorsSink &sink, const void *data, const TensorLayout &layout,
                            size_t elementBytes) {
  const auto *bytes = static_cast<const char *>(data);
  for (RowMajorRuns runs(layout); !runs.atEnd(); runs.next()) {
    const int64_t count = runs.stride() == 1 ? 1 : runs.length();
    const size_t size = runs.stride() == 1 ? runs.length() * elementBytes : elementBytes;
    for (int64_t i = 0; i < count; ++i)
      if (Status status = sink.write(bytes + (runs.start() + i * runs.stride()) *
                                                 static_cast<int64_t>(elementBytes),
                                     size);
          !status.ok())
        return status;
  }
  return {};
}

/// Makes `data` point to memory that the host can read: unchanged, or to `copy`.
Status Optimizer::onHost(const void *&data, size_t bytes, std::vector<char> &copy) const {
  if (device.isCpu())
    return {};
  copy.resize(bytes);
  if (Status status = readMemory(copy.data(), data, bytes); !status.ok())
    return status;
  data = copy.data();
  return {};
}

Status Optimizer::collect(SafetensorsWriter &writer) {
  if (Status status = checkWhole(); !status.ok())
    return status;
  if (Status status = settleStates(); !status.ok())
    return status;
  std::vector<int64_t> steps(paramCount());
  if (Status status = getSteps(steps.data(), steps.size()); !status.ok())
    return status;
  GroupHypers now = hypers;
  if (Status status = hypersNow(now); !status.ok())
    return status;
  writer.setMetadata(std::string(ruleKey), interface().name);
  if (usesRandom())
    writer.setMetadata(std::string(seedKey), std::to_string(seed));
  const std::vector<std::string> &hyperNames = hypers.hyperNames();
  for (size_t i = 0; i < groupCount(); ++i)
    for (size_t j = 0; j < hyperNames.size(); ++j)
      writer.setMetadata(fmt::format("{}{}.{}", groupKey, i, hyperNames[j]),
                         numberText(now.of(i)[j]));

  for (const StateInterface &state : interface().states)
    if (isBlocked(state.dtype))
      writer.setMetadata(fmt::format("{}{}", storageKey, state.name),
                         std::string(nameOf(state.dtype)));

  for (size_t i = 0; i < params.size(); ++i) {
    if (Status status = checkBoundStates(i); !status.ok())
      return status;
    const bool saveStates = ownsStates(i) && hasStates(i);
    const int64_t step = steps[i];
    // A state of the group may be there before the first step.
    bool hasShared = false;
    for (size_t j = 0; j < stateCount(); ++j)
      hasShared = hasShared ||
                  (isShared(j) && isOf(i, j) && stateOrigins[slotOf(i, j)] != StateOrigin::None);
    if (!saveStates && !hasShared && step == 0)
      continue;
    const std::string prefix = fmt::format("{}{}/", statePrefix, names[i]);
    for (size_t j = 0; j < stateCount(); ++j) {
      const StateInterface &state = interface().states[j];
      if (!isOf(i, j) || stateOrigins[slotOf(i, j)] == StateOrigin::None ||
          !(saveStates || isShared(j)))
        continue;
      const void *data = statePointers[slotOf(i, j)];
      const TensorLayout layout = layoutOf(i, j);
      writer.add(prefix + state.name, safetensorsType(state.dtype),
                 {layout.shape, layout.shape + layout.rank},
                 [this, layout, data, bytes = sizeOf(state.dtype)](SafetensorsSink &sink) {
                   std::vector<char> copy;
                   const void *own = data;
                   const size_t total = static_cast<size_t>(layout.elements) * bytes;
                   if (Status status = onHost(own, total, copy); !status.ok())
                     return status;
                   return writeRowMajor(sink, own, layout, bytes);
                 });
      if (!isBlocked(state.dtype))
        continue;
      const TensorLayout &scales = scaleLayouts[i];
      const QuantBlocks blocks = blocksOf(i);
      writer.add(fmt::format("{}{}{}", prefix, state.name, scaleSuffix), SafetensorsType::F32,
                 {scales.shape, scales.shape + scales.rank},
                 [this, data, blocks](SafetensorsSink &sink) {
                   std::vector<char> copy;
                   const size_t total = blocks.bytes() - blocks.scalesOffset();
                   const void *own = static_cast<const char *>(data) + blocks.scalesOffset();
                   if (Status status = onHost(own, total, copy); !status.ok())
                     return status;
                   return sink.write(own, total);
                 });
    }
    if (step <= maxFloatStep)
      writer.add(
          prefix + std::string(stepName), SafetensorsType::F32, {},
          [step](SafetensorsSink &sink) { return writeValue(sink, static_cast<float>(step)); });
    else
      writer.add(prefix + std::string(stepName), SafetensorsType::I64, {},
                 [step](SafetensorsSink &sink) { return writeValue(sink, step); });
  }
  return {};
}

Status Optimizer::save(const std::string &path) {
  SafetensorsWriter writer;
  if (Status status = collect(writer); !status.ok())
    return status;
  return writer.save(path);
}

Status Optimizer::saveBytes(std::string &bytes) {
  SafetensorsWriter writer;
  if (Status status = collect(writer); !status.ok())
    return status;
  return writer.write(bytes);
}
