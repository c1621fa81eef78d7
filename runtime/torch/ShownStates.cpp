//===- ShownStates.cpp - States that others have, too -----------------------------------------===//

#include "runtime/torch/ShownStates.h"

#include <algorithm>

using namespace updraft::torch_adapter;

ShownStates::Place ShownStates::placeOf(const at::Tensor &state) {
  const at::TensorImpl &impl = *state.unsafeGetTensorImpl();
  return {dataOf(impl), impl.numel()};
}

void ShownStates::show(size_t param, const at::Tensor &state) {
  auto free = std::find_if(columns.begin(), columns.end(),
                           [&](const Column &column) { return !column.states[param].defined(); });
  if (free == columns.end())
    free = columns.insert(free, {std::vector<at::Tensor>(params), std::vector<Place>(params)});
  free->states[param] = state;
  free->places[param] = placeOf(state);
}

void ShownStates::hide(size_t param, const at::Tensor &state) {
  for (Column &column : columns)
    if (column.states[param].is_same(state))
      column.states[param] = at::Tensor();
}

bool ShownStates::haveMoved(size_t begin, size_t end) const {
  bool moved = false;
  for (size_t i = begin; i < end; i += tensorsAtOnce) {
    const size_t next = std::min(i + tensorsAtOnce, end);
    for (const Column &column : columns)
      prefetchWithStorages(column.states, i, next);
    for (const Column &column : columns)
      for (size_t param = i; param < next; ++param)
        if (const at::Tensor &state = column.states[param]; state.defined())
          moved |= placeOf(state) != column.places[param];
  }
  return moved;
}
