//===- Stepper.h - An optimizer over generated tensors ------------------------------*- C++ -*-===//

#ifndef UPDRAFT_TOOLS_BENCH_STEPPER_H
#define UPDRAFT_TOOLS_BENCH_STEPPER_H

#include "LimitKernel.h"
#include "updraft-c/optimizer.h"

#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace updraft::bench {

/// Throws std::runtime_error with the library's message unless `status` is UPD_OK.
void check(upd_status status);

/// A rule, and the number, size and storage of its tensors.
struct StepSetup {
  std::string ruleFile;
  std::vector<std::pair<std::string, std::string>> settings;
  std::vector<std::pair<std::string, const char *>> storage;
  int64_t tensors = 1;
  int64_t elements = 0;  // of each tensor
  int64_t rows = 0;      // of each tensor, if they are matrices
  std::string rule = {}; // in the file, or a chain; empty: the only one
  int64_t listed = 0;    // number of rows with a gradient, other rows in every step; 0: all
  std::string numerics = "ieee";
  std::optional<upd_pool> pool = {}; // threads to run on; empty: those of the process
};

/// Parameters and gradients filled with small numbers, and an optimizer over them that has taken
/// one step.
class Stepper {
public:
  explicit Stepper(const StepSetup &setup);
  ~Stepper();

  void step();
  /// The number of steps after which the lists of rows repeat.
  static constexpr size_t rowLists = 16;
  /// The streams that each pass over elements reads and writes, for the limit kernel, from the
  /// first element of the first tensor on. The tensors are contiguous if they are whole cache
  /// lines.
  std::vector<std::vector<LimitStream>> passes();
  /// The total over all tensors.
  int64_t elements() const { return setup.tensors * setup.elements; }

private:
  struct Memory;

  void chooseRows();
  std::vector<LimitStream> streams(const nlohmann::json &interface, const std::string &tensors);

  StepSetup setup;
  std::vector<int64_t> shape;
  std::vector<std::unique_ptr<Memory>> memory;
  std::vector<upd_tensor> params, grads;
  std::vector<int64_t> gradShape;
  std::vector<std::vector<int64_t>> lists; // of rows
  size_t nextList = 0;
  upd_rule *rule = nullptr;
  upd_optimizer *optimizer = nullptr;
};

} // namespace updraft::bench

#endif // UPDRAFT_TOOLS_BENCH_STEPPER_H
