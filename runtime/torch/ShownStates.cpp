//===- ShownStates.cpp - States that others have, too -----------------------------------------===//

#include "runtime/torch/ShownStates.h"

#include <algorithm>

using namespace updraft::torch_adapter;

ShownStates::Place ShownStates::placeOf(const at::TensorImpl &state) {
  return {dataOf(state), state.numel()};
}

void ShownStates::show(size_t param, const at::Tensor &state) {
  auto free = std::find_if(columns.begin(), columns.end(),
                           [&](const Column &column) { return !column.states[param].isAlive(); });
  if (free == columns.end())
    free = columns.insert(free, {std::vector<WatchedTensor>(params), std::vector<Place>(params)});
  free->states[param] = WatchedTensor(state);
  free->places[param] = placeOf(*state.unsafeGetTensorImpl());
}

void ShownStates::hide(size_t param, const WatchedTensor &state) {
  for (Column &column : columns)
    if (column.states[param].object() == state.object())
      column.states[param] = WatchedTensor();
}

bool ShownStates::haveMoved(size_t begin, size_t end) const {
  bool moved = false;
  for (size_t i = begin; i < end; i += tensorsAtOnce) {
    const size_t next = std::min(i + tensorsAtOnce, end);
    for (const Column &column : columns)
      prefetchWithStorages(column.states, i, next);
    for (const Column &column : columns)
      for (size_t param = i; param < next; ++param)
        if (const WatchedTensor &state = column.states[param]; state.isAlive())
          moved |= placeOf(*state.object()) != column.places[param];
  }
  return moved;
}
