//===- Parameters.cpp - The parameters on a worker --------------------------------------------===//

#include "runtime/server/Parameters.h"

#include "runtime/server/Refusal.h"

#include <cstring>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <mutex>
#include <numeric>
#include <utility>

using namespace updraft::server;

updraft::dist::StorageLocks updraft::server::locksOf(const Parameters &parameters) {
  std::vector<runtime::MemoryRange> ranges;
  for (const auto &parameter : parameters)
    ranges.emplace_back(parameter->tensor.data(), parameter->tensor.bytes());
  return dist::StorageLocks(
      ranges, [parameters](size_t place) { return fmt::format("`{}`", parameters[place]->name); });
}

/// The header of a snapshot's file lists them, and its size is limited.
static constexpr size_t mostParameters = 65'536;

Refusal updraft::server::lockTimeout() {
  return {Reason::Unavailable,
          "a step holds a parameter or the optimizer, maybe because another worker doesn't say "
          "whether it is to be applied; try again"};
}

std::vector<ParameterCopy> updraft::server::copiesOf(const Parameters &parameters, Budget &budget,
                                                     dist::Patience patience) {
  std::vector<ParameterCopy> copies;
  for (const auto &parameter : parameters) {
    const std::string what = fmt::format("a copy of `{}`", parameter->name);
    copies.push_back({Tensor(parameter->tensor.dtype(), parameter->tensor.shape(), budget, what), 0,
                      budget.reserve(Budget::pageBytes, what)});
  }
  std::vector<size_t> places(parameters.size());
  std::iota(places.begin(), places.end(), size_t(0));
  const dist::StorageLocks locks = locksOf(parameters);
  const auto exclusive = locks.lock(places, patience);
  if (!exclusive)
    throw lockTimeout();
  for (size_t i = 0; i < parameters.size(); ++i) {
    copies[i].version = parameters[i]->version;
    if (const size_t bytes = copies[i].tensor.bytes())
      std::memcpy(copies[i].tensor.data(), parameters[i]->tensor.data(), bytes);
  }
  return copies;
}

void ParameterStore::restore(const std::string &name, Tensor tensor, uint64_t version) {
  const std::lock_guard guard(mutex);
  add(name, std::move(tensor), version);
}

void ParameterStore::add(const std::string &name, Tensor tensor, uint64_t version) {
  auto added = std::make_shared<Parameter>();
  added->name = name;
  added->tensor = std::move(tensor);
  added->version = version;
  byName.emplace(name, std::move(added));
}

uint64_t ParameterStore::put(const std::string &name, Tensor tensor, Recorder &recorder,
                             dist::Patience patience) {
  std::shared_ptr<Parameter> existing;
  {
    const ChangeGate::Change change(recorder.gate);
    const std::lock_guard guard(mutex);
    const auto found = byName.find(name);
    if (found == byName.end()) {
      if (byName.size() >= mostParameters)
        throw Refusal(
            Reason::ResourceExhausted,
            fmt::format("the worker has {} parameters, and takes no more", byName.size()));
      const uint64_t record = recorder.put(name, tensor);
      add(name, std::move(tensor), 1);
      return record;
    }
    existing = found->second;
  }
  if (existing->tensor.dtype() != tensor.dtype() || existing->tensor.shape() != tensor.shape())
    throw Refusal(Reason::AlreadyExists,
                  fmt::format("parameter `{}` is {}, not {}; give the other another name", name,
                              textOf(existing->tensor.dtype(), existing->tensor.shape()),
                              textOf(tensor.dtype(), tensor.shape())));
  const dist::StorageLocks locks = locksOf({existing});
  const auto exclusive = locks.lock({0}, patience);
  if (!exclusive)
    throw lockTimeout();
  const ChangeGate::Change change(recorder.gate);
  const uint64_t record = recorder.put(name, tensor);
  if (tensor.bytes() != 0)
    std::memcpy(existing->tensor.data(), tensor.data(), tensor.bytes());
  ++existing->version;
  return record;
}

Parameters ParameterStore::find(const std::vector<std::string> &names) const {
  const std::shared_lock guard(mutex);
  Parameters result;
  std::vector<std::string> missing;
  for (const std::string &name : names) {
    const auto found = byName.find(name);
    if (found == byName.end())
      missing.push_back(name);
    else
      result.push_back(found->second);
  }
  if (!missing.empty())
    throw Refusal(Reason::NotFound,
                  fmt::format("the worker has no parameter{} `{}`; put {} first",
                              missing.size() == 1 ? "" : "s", fmt::join(missing, "`, `"),
                              missing.size() == 1 ? "it" : "them"));
  return result;
}

Parameters ParameterStore::all() const {
  const std::shared_lock guard(mutex);
  Parameters result;
  for (const auto &[name, parameter] : byName)
    result.push_back(parameter);
  return result;
}
