//===- torch_worker_functions.cpp - Functions that a worker loads ----------------------------===//
// The first is that of docs/distributed.md.

#include <ATen/ATen.h>
#include <torch/library.h>

#include <sstream>
#include <stdexcept>
#include <string>
#include <tuple>

static at::Tensor tower(const at::Tensor &ids, const at::Tensor &table, const at::Tensor &weight) {
  return at::linear(at::embedding(table, ids).mean(1).relu(), weight);
}

TORCH_LIBRARY_FRAGMENT(updraft_functions, library) {
  library.def("tower(Tensor ids, Tensor table, Tensor weight) -> Tensor", tower);
}

static std::tuple<at::Tensor, at::Tensor, std::string>
spread(const std::vector<at::Tensor> &ends, const at::Scalar &factor, double limit,
       at::IntArrayRef numbers, std::string text, const std::optional<at::Tensor> &offset) {
  std::ostringstream said;
  said << limit << ' ' << numbers[0] + numbers[1] << ' ' << text;
  const at::Tensor low = ends[0] * factor;
  return {offset ? low + *offset : low, ends[1] * factor, said.str()};
}

/// Lets no step write the parameter, as long as the process lives.
static bool holdLocks(const at::Tensor &param) {
  const auto type = torch::getCustomClass("__torch__.torch.classes.updraft.StorageLocks");
  static std::vector<c10::IValue> held;
  held.emplace_back(c10::ivalue::Object::create(type, 1));
  type->getMethod("__init__")({held.back(), std::vector<at::Tensor>{param}});
  type->getMethod("lock")({held.back()});
  return true;
}

/// Fails with an error whose text is these bytes.
static bool failWith(at::IntArrayRef bytes) {
  throw std::runtime_error(std::string(bytes.begin(), bytes.end()));
}

TORCH_LIBRARY_FRAGMENT(updraft_functions, library) {
  library.def("fail_with(int[] bytes) -> bool", failWith);
  library.def("hold_locks(Tensor param) -> bool", holdLocks);
  library.def("spread(Tensor[] ends, Scalar factor, float limit, int[] numbers, str text, "
              "Tensor? offset) -> (Tensor, Tensor, str)",
              spread);
}
