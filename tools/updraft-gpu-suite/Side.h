//===- Side.h - Steps of generated tensors, on CPU or device ------------------------*- C++ -*-===//
// Two sides with the same rule, tensors and steps must be bitwise equal.

#ifndef UPDRAFT_TOOLS_GPUSUITE_SIDE_H
#define UPDRAFT_TOOLS_GPUSUITE_SIDE_H

#include "Device.h"
#include "Values.h"
#include "tools/harness/Optimizer.h"

#include <set>

namespace updraft::suite {

class Side {
public:
  /// Deals the tensors in turn to the given number of groups. `device` is null for the CPU.
  Side(Device *device, const harness::RuleRequest &request, const std::vector<TensorShape> &shapes,
       size_t groups = 1);

  bool hasHyper(const std::string &name) const;
  double defaultOf(const std::string &name) const;
  void setHyper(size_t group, const std::string &name, double value);
  /// Binds a hyperparameter of the first group to memory. setRead changes the value.
  void bindHyper(const std::string &name, float value);
  void setRead(float value);
  /// Sets the number in memory that makes steps skip if it isn't 0.
  void setFoundInf(float value);
  /// Binds the step count of a tensor to the suite's memory. Only on a device.
  void bindStep(size_t tensor);
  float boundStep();

  /// Generates new gradients for all tensors that are not in `absent`.
  void makeGradients(uint64_t seed, const std::set<size_t> &absent = {});
  void step();
  /// Generates gradients for some rows of each tensor that has rows. stepRows() uses them.
  void makeRowGradients(uint64_t seed);
  void stepRows();

  void save(const std::string &path) const;
  void load(const std::string &path);

  size_t tensors() const { return shapes.size(); }
  const TensorShape &shape(size_t tensor) const { return shapes[tensor]; }
  std::vector<std::string> states() const;
  /// Whether steps multiply matrices.
  bool multiplies() const { return hasStage("product"); }
  /// Whether a product may round its operands to this type: "bf16" or "f16".
  bool rounds(const std::string &format) const { return hasStage("operand_format", format); }
  /// Whether steps have functions of matrices.
  bool hasMatrixFunctions() const { return hasStage("call"); }
  upd_dtype paramType() const { return upd_rule_param_dtype(rule.get()); }
  std::vector<char> param(size_t tensor);
  /// Returns false if the tensor doesn't have this state.
  bool state(size_t tensor, const std::string &name, std::vector<char> &bytes, upd_dtype &dtype);
  std::vector<int64_t> steps();

private:
  /// Whether a stage of a plan has the member in the rule's interface, with this text if it isn't
  /// empty.
  bool hasStage(const std::string &member, const std::string &text = "") const;

  /// An allocation of this side.
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
  std::vector<std::vector<int64_t>> rowSizes; // sizes of the values in `rowGrads`
  std::vector<upd_row_grad> rowGrads;
  std::vector<upd_tensor> params, allGrads, grads;
  harness::Rule rule;
  harness::Optimizer optimizer;
};

/// Throws std::runtime_error with the first difference in a parameter, a state or a step count.
void compare(Side &cpu, Side &device, const std::string &when);

} // namespace updraft::suite

#endif // UPDRAFT_TOOLS_GPUSUITE_SIDE_H
