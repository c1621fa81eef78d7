//===- Optimizer.cpp - An optimizer over Python arrays ----------------------------------------===//

#include "Optimizer.h"

#include "InterpreterExit.h"
#include "Status.h"

#include <algorithm>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

namespace nb = nanobind;
using namespace updraft::python;

namespace {
/// An absent gradient in the C API's form.
upd_tensor absent() {
  upd_tensor tensor{};
  tensor.rank = UPD_ABSENT;
  tensor.device = UPD_CPU;
  return tensor;
}

std::string describe(const char *what, size_t index) {
  return std::string(what) + " " + std::to_string(index);
}

[[noreturn]] void refuseMemory(const std::string &what) {
  raise(UPD_INVALID_ARGUMENT, ("the memory of " + what +
                               " is no longer that which the optimizer was given: the array, or "
                               "the storage of the tensor, has been resized or replaced; make a "
                               "new optimizer")
                                  .c_str());
}

/// Checks memory that steps and views of states use long after it was given.
void requireMemory(const TensorView &view, size_t param) {
  if (!view.hasMemory())
    refuseMemory(describe("parameter", param));
}
} // namespace

template <typename Function> void Optimizer::call(Function function) {
  upd_status status;
  {
    WithoutGIL withoutGIL;
    std::lock_guard<std::mutex> guard(lock);
    status = function(handle.get());
  }
  check(status);
}

template <typename Function> void Optimizer::callWithGIL(Function function) {
  std::unique_lock<std::mutex> guard(lock, std::try_to_lock);
  while (!guard.owns_lock()) {
    {
      WithoutGIL withoutGIL;
      std::lock_guard<std::mutex> wait(lock);
    }
    guard.try_lock();
  }
  function(handle.get());
}

Optimizer::Optimizer(const Rule &rule, const std::vector<Group> &groups)
    : probeCount(upd_rule_probe_count(rule.get())) {
  size_t count = 0;
  for (const Group &group : groups)
    count += nb::len(group.params);
  params.reserve(count);

  std::vector<upd_tensor> tensors;
  std::vector<const char *> names;
  std::vector<upd_hyper> hypers;
  for (const Group &group : groups) {
    for (nb::handle param : group.params) {
      params.emplace_back(param, describe("parameter", params.size()).c_str());
      tensors.push_back(params.back().tensor());
    }
    for (const std::string &name : group.names)
      names.push_back(name.c_str());
    for (const auto &[name, value] : group.hypers)
      hypers.push_back({name.c_str(), value});
  }

  std::vector<upd_group> views;
  const upd_tensor *nextTensor = tensors.data();
  const char *const *nextName = names.data();
  const upd_hyper *nextHyper = hypers.data();
  for (const Group &group : groups) {
    upd_group view{};
    view.params = nextTensor;
    view.param_count = nb::len(group.params);
    view.names = group.names.empty() ? nullptr : nextName;
    view.hypers = nextHyper;
    view.hyper_count = group.hypers.size();
    views.push_back(view);
    nextTensor += view.param_count;
    nextName += group.names.size();
    nextHyper += view.hyper_count;
  }
  upd_optimizer *optimizer = nullptr;
  check(upd_optimizer_create(rule.get(), views.data(), views.size(), nullptr, &optimizer));
  handle.reset(optimizer);
}

Optimizer::~Optimizer() = default;

void Optimizer::step(const nb::sequence &grads, const std::vector<RowGrad> &rowGrads) {
  std::vector<TensorView> keep;
  std::vector<upd_tensor> tensors;
  size_t count = nb::len(grads);
  keep.reserve(count);
  tensors.reserve(count);
  for (size_t i = 0; i < count; ++i) {
    nb::object grad = grads[i];
    if (grad.is_none()) {
      tensors.push_back(absent());
      continue;
    }
    keep.emplace_back(grad, describe("gradient", i).c_str());
    tensors.push_back(keep.back().tensor());
    if (i < params.size())
      requireMemory(params[i], i);
  }
  for (const RowGrad &rowGrad : rowGrads)
    if (rowGrad.param < params.size())
      requireMemory(params[rowGrad.param], rowGrad.param);
  requireBoundMemory();
  if (rowGrads.empty())
    return call([&](upd_optimizer *optimizer) {
      return upd_optimizer_step(optimizer, tensors.data(), tensors.size());
    });

  using IndexArray = nb::ndarray<const int64_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
  std::vector<IndexArray> indices;
  std::vector<upd_row_grad> rows;
  const bool anyWhole = !keep.empty();
  keep.reserve(keep.size() + rowGrads.size());
  for (const RowGrad &rowGrad : rowGrads) {
    indices.push_back(nb::cast<IndexArray>(rowGrad.indices));
    keep.emplace_back(rowGrad.values, describe("gradient", rowGrad.param).c_str());
    rows.push_back({rowGrad.param, indices.back().data(), indices.back().size(),
                    keep.back().tensor(), rowGrad.indexDims});
  }
  // If the parameters are the same, the engine keeps their plan.
  call([&](upd_optimizer *optimizer) {
    return upd_optimizer_step_rows(optimizer, anyWhole ? tensors.data() : nullptr,
                                   anyWhole ? tensors.size() : 0, rows.data(), rows.size());
  });
}

double Optimizer::getHyper(size_t group, const std::string &name) {
  double value = 0;
  call([&](upd_optimizer *optimizer) {
    return upd_optimizer_get_hyper(optimizer, group, name.c_str(), &value);
  });
  return value;
}

void Optimizer::setHypers(size_t group, const std::vector<std::pair<std::string, double>> &values) {
  std::vector<upd_hyper> hypers;
  hypers.reserve(values.size());
  for (const auto &[name, value] : values)
    hypers.push_back({name.c_str(), value});
  call([&](upd_optimizer *optimizer) {
    return upd_optimizer_set_hypers(optimizer, group, hypers.data(), hypers.size());
  });
}

uint64_t Optimizer::getSeed() {
  uint64_t seed = 0;
  call([&](upd_optimizer *optimizer) { return upd_optimizer_get_seed(optimizer, &seed); });
  return seed;
}

void Optimizer::setSeed(uint64_t seed) {
  call([&](upd_optimizer *optimizer) { return upd_optimizer_set_seed(optimizer, seed); });
}

int64_t Optimizer::getStep(size_t param) {
  int64_t step = 0;
  call([&](upd_optimizer *optimizer) { return upd_optimizer_get_step(optimizer, param, &step); });
  return step;
}

void Optimizer::setStep(size_t param, int64_t step) {
  call([&](upd_optimizer *optimizer) { return upd_optimizer_set_step(optimizer, param, step); });
}

void Optimizer::setProbeEvery(uint64_t every) {
  call([&](upd_optimizer *optimizer) { return upd_optimizer_set_probe_every(optimizer, every); });
}

uint64_t Optimizer::getProbeEvery() {
  uint64_t every = 0;
  call([&](upd_optimizer *optimizer) { return upd_optimizer_get_probe_every(optimizer, &every); });
  return every;
}

// Takes no lock, so that a step isn't waited for.
std::tuple<uint64_t, uint64_t, std::vector<Optimizer::ProbeRow>>
Optimizer::readProbes(uint64_t cursor) const {
  constexpr size_t rowsPerCall = 256;
  std::vector<upd_probe_row> rows(rowsPerCall);
  std::vector<double> values(rowsPerCall * probeCount);
  std::vector<ProbeRow> result;
  uint64_t lost = 0;
  for (size_t count = rowsPerCall; count == rowsPerCall;) {
    uint64_t missed = 0;
    check(upd_optimizer_read_probes(handle.get(), &cursor, rows.data(), values.data(), rowsPerCall,
                                    &count, &missed));
    lost += missed;
    for (size_t i = 0; i < count; ++i)
      result.emplace_back(rows[i].step, rows[i].param,
                          std::vector<double>(values.begin() + i * probeCount,
                                              values.begin() + (i + 1) * probeCount));
  }
  return {cursor, lost, std::move(result)};
}

nb::object Optimizer::state(nb::handle self, size_t param, const std::string &name) {
  nb::object array = nb::none();
  callWithGIL([&](upd_optimizer *optimizer) {
    upd_tensor tensor{};
    const upd_status status = upd_optimizer_state(optimizer, param, name.c_str(), &tensor);
    if (status == UPD_NOT_FOUND)
      return;
    check(status);
    nb::object owner = nb::borrow(self);
    // A state over a group may be bound through another parameter.
    for (const BoundState &bound : boundStates)
      if (bound.view.tensor().data == tensor.data) {
        bound.requireMemory();
        owner = bound.view.owner();
      }
    array = toArray(tensor, owner);
  });
  return array;
}

void Optimizer::bindState(size_t param, const std::string &state, nb::handle array) {
  // Swapped with the view that it replaces, which is then destroyed after the lock is released.
  BoundState added{param, state, TensorView(array, ("state `" + state + "`").c_str())};
  callWithGIL([&](upd_optimizer *optimizer) {
    upd_tensor before{};
    upd_optimizer_state(optimizer, param, state.c_str(), &before);
    check(upd_optimizer_bind_state(optimizer, param, state.c_str(), &added.view.tensor()));
    auto replaced = std::find_if(boundStates.begin(), boundStates.end(), [&](const auto &bound) {
      return before.data && bound.view.tensor().data == before.data;
    });
    if (replaced != boundStates.end())
      std::swap(*replaced, added);
    else
      boundStates.push_back(std::move(added));
  });
}

void Optimizer::BoundState::requireMemory() const {
  if (!view.hasMemory())
    refuseMemory("state `" + name + "` of " + describe("parameter", param));
}

void Optimizer::requireBoundMemory() const {
  for (const BoundState &bound : boundStates)
    bound.requireMemory();
}

void Optimizer::save(const std::string &path) {
  requireBoundMemory();
  call([&](upd_optimizer *optimizer) { return upd_optimizer_save(optimizer, path.c_str()); });
}

void Optimizer::load(const std::string &path) {
  requireBoundMemory();
  call([&](upd_optimizer *optimizer) { return upd_optimizer_load(optimizer, path.c_str()); });
}

int Optimizer::traverse(visitproc visit, void *arg) const {
  for (const TensorView &param : params)
    if (const int stop = param.traverse(visit, arg))
      return stop;
  for (const BoundState &bound : boundStates)
    if (const int stop = bound.view.traverse(visit, arg))
      return stop;
  return 0;
}

void Optimizer::clear() {
  // The optimizer refers to the arrays. Calls after its release raise an error.
  handle.reset();
  // The destructor of an array may run its own code, which must find these members empty.
  const auto paramsToDrop = std::exchange(params, {});
  const auto statesToDrop = std::exchange(boundStates, {});
}

namespace {
int traverseOptimizer(PyObject *self, visitproc visit, void *arg) {
  Py_VISIT(Py_TYPE(self));
  return nb::inst_ready(self) ? nb::inst_ptr<Optimizer>(self)->traverse(visit, arg) : 0;
}

int clearOptimizer(PyObject *self) {
  if (nb::inst_ready(self))
    nb::inst_ptr<Optimizer>(self)->clear();
  return 0;
}

const PyType_Slot collection[] = {{Py_tp_traverse, reinterpret_cast<void *>(traverseOptimizer)},
                                  {Py_tp_clear, reinterpret_cast<void *>(clearOptimizer)},
                                  {0, nullptr}};
} // namespace

void updraft::python::bindOptimizer(nb::module_ &module) {
  using GroupTuple =
      std::tuple<nb::list, std::vector<std::string>, std::vector<std::pair<std::string, double>>>;
  nb::class_<Optimizer>(module, "Optimizer", nb::type_slots(collection))
      .def(
          "__init__",
          [](Optimizer *self, const Rule &rule, std::vector<GroupTuple> groups) {
            std::vector<Optimizer::Group> converted;
            converted.reserve(groups.size());
            for (auto &[params, names, hypers] : groups)
              converted.push_back({params, std::move(names), std::move(hypers)});
            new (self) Optimizer(rule, converted);
          },
          nb::arg("rule"), nb::arg("groups"))
      .def(
          "step",
          [](Optimizer &self, const nb::sequence &grads,
             std::vector<std::tuple<size_t, nb::object, nb::object, int32_t>> rows) {
            std::vector<Optimizer::RowGrad> rowGrads;
            rowGrads.reserve(rows.size());
            for (auto &[param, indices, values, dims] : rows)
              rowGrads.push_back({param, std::move(indices), std::move(values), dims});
            // Gets the gradients' memory with Python code.
            waitingAtExit([&] { self.step(grads, rowGrads); });
          },
          nb::arg("grads"), nb::arg("rows"))
      .def("get_hyper", &Optimizer::getHyper, nb::arg("group"), nb::arg("name"))
      .def("set_hypers", &Optimizer::setHypers, nb::arg("group"), nb::arg("hypers"))
      .def("get_seed", &Optimizer::getSeed)
      .def("set_seed", &Optimizer::setSeed, nb::arg("seed"))
      .def("get_step", &Optimizer::getStep, nb::arg("param"))
      .def("set_step", &Optimizer::setStep, nb::arg("param"), nb::arg("step"))
      .def("bind_state", &Optimizer::bindState, nb::arg("param"), nb::arg("state"),
           nb::arg("array").none())
      .def(
          "state",
          [](nb::handle self, size_t param, const std::string &name) {
            return nb::cast<Optimizer &>(self).state(self, param, name);
          },
          nb::arg("param"), nb::arg("state"))
      .def("__reduce__",
           [](const Optimizer &) -> nb::object {
             throw nb::type_error(
                 "an optimizer is not pickled or copied, since it steps the arrays "
                 "that it was made with; write its states with `save`, and `load` "
                 "them into an optimizer of the copies");
           })
      .def("set_probe_every", &Optimizer::setProbeEvery, nb::arg("every"))
      .def("get_probe_every", &Optimizer::getProbeEvery)
      .def("read_probes", &Optimizer::readProbes, nb::arg("cursor"))
      .def("save", &Optimizer::save, nb::arg("path"))
      .def("load", &Optimizer::load, nb::arg("path"))
      .def_prop_ro("param_count", &Optimizer::paramCount);
}
