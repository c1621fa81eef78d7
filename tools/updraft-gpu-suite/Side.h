//===- Side.h - A rule that steps made-up tensors, on the CPU or on the device ------*- C++ -*-===//
// Two sides with the same rule, tensors and steps must agree in every bit.

#ifndef UPDRAFT_TOOLS_GPUSUITE_SIDE_H
#define UPDRAFT_TOOLS_GPUSUITE_SIDE_H

#include "Device.h"
#include "Values.h"
#include "tools/harness/Optimizer.h"

#include <set>

namespace updraft::suite {

class Side {
public:
  /// Of tensors in so many groups, dealt to them in turn. `device` is null for the CPU.
  Side(Device *device, const harness::RuleRequest &request, const std::vector<TensorShape> &shapes,
       size_t groups = 1);

  bool hasHyper(const std::string &name) const;
  double defaultOf(const std::string &name) const;
  void setHyper(size_t group, const std::string &name, double value);
  /// Has a hyperparameter of the first group read from memory, where setRead changes it.
  void bindHyper(const std::string &name, float value);
  void setRead(float value);
  /// Has steps skipped if the number in memory is not 0.
  void setFoundInf(float value);
  /// Has the count of a tensor's steps in the suite's memory. Of the device only.
  void bindStep(size_t tensor);
  float boundStep();

  /// New gradients, of those that are not absent.
  void makeGradients(uint64_t seed, const std::set<size_t> &absent = {});
  void step();
  /// New gradients, of some rows of each tensor that has any; and a step with them.
  void makeRowGradients(uint64_t seed);
  void stepRows();

  void save(const std::string &path) const;
  void load(const std::string &path);

  size_t tensors() const { return shapes.size(); }
  const TensorShape &shape(size_t tensor) const { return shapes[tensor]; }
  std::vector<std::string> states() const;
  upd_dtype paramType() const { return upd_rule_param_dtype(rule.get()); }
  std::vector<char> param(size_t tensor);
  /// False if the tensor has no such state.
  bool state(size_t tensor, const std::string &name, std::vector<char> &bytes, upd_dtype &dtype);
  std::vector<int64_t> steps();

private:
  /// Memory of this side.
  struct Memory {
    Memory(Device *device, size_t bytes);
    std::unique_ptr<Buffer> buffer;
    std::unique_ptr<char[]> own;
    char *data;
  };

  upd_tensor number(const Memory &memory) const;
  void write(void *memory, const std::vector<char> &bytes);
  void writeNumber(std::unique_ptr<Memory> &memory, float value);
  std::vector<char> read(const void *memory, size_t bytes);
  std::vector<upd_tensor> makeTensors(upd_dtype dtype);

  Device *device;
  std::vector<TensorShape> shapes;
  std::vector<std::unique_ptr<Memory>> memory;
  std::unique_ptr<Memory> lr, foundInf, boundCount;
  std::vector<std::unique_ptr<Memory>> indices;
  std::vector<std::vector<int64_t>> rowSizes; // of the values of `rowGrads`
  std::vector<upd_row_grad> rowGrads;
  std::vector<upd_tensor> params, allGrads, grads;
  harness::Rule rule;
  harness::Optimizer optimizer;
};

/// Throws std::runtime_error with the first difference in a parameter, a state or a step count.
void compare(Side &cpu, Side &device, const std::string &when);

} // namespace updraft::suite

#endif // UPDRAFT_TOOLS_GPUSUITE_SIDE_H
