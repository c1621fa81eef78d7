//===- RuleCase.h - One comparison of a compiled and an interpreted rule ------------*- C++ -*-===//
// The rule to compile, its flags, types and hyperparameters, and the tensors to step.

#ifndef UPDRAFT_UNITTESTS_DIFFERENTIAL_RULECASE_H
#define UPDRAFT_UNITTESTS_DIFFERENTIAL_RULECASE_H

#include "updraft/Frontend/StorageType.h"
#include "gtest/gtest.h"

#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace updraft::differential {

using updraft::StorageType;

/// A hyperparameter that is set before a step; steps count from 1.
struct HyperChange {
  int step;
  std::string name;
  double value;
};

/// A tensor of the case. Every stream starts at a different element of a cache line, unless
/// `aligned`.
struct TensorShape {
  int64_t count;
  bool aligned;
  std::vector<int64_t> dimensions = {}; // of `count` elements in all; empty: a vector
};

/// The host, or the target in UPDRAFT_DIFFERENTIAL_TARGET: the emulator.
std::string usualTarget();

struct RuleCase {
  std::string source;
  std::string filename;
  std::string rule;                   // empty: the only one in the file
  std::string target = usualTarget(); // as in CompileRequest; this machine must be able to run it
  std::vector<std::pair<std::string, std::string>> settings;
  std::vector<std::pair<std::string, StorageType>> storage;
  std::vector<HyperChange> changes;
  std::vector<TensorShape> tensors;
  /// Adds matrices: of one and of several blocks of rows and with batches if the rule has a variant
  /// for matrices, else two small ones.
  bool withMatrices = false;
  int steps = 5;
  uint64_t seed = 0;
  std::string numerics = "ieee";
  bool ordinary = false; // no special values, which would make every reduction NaN
  /// A NaN, encoded in f64, in the given states: as the value of a row or tensor, and as the middle
  /// element.
  std::optional<uint64_t> givenNaN = {};
  std::vector<std::string> probes = {}; // those of the request
};

/// Runs the case compiled, through the C API, and interpreted, and compares every bit after every
/// step. A failure describes the first difference, with the inputs of its element.
testing::AssertionResult compiledEqualsInterpreted(const RuleCase &ruleCase);

/// Sets every hyperparameter to values inside and outside of its range. The compiled rule must
/// refuse exactly the values that break a requirement, with the requirement's message.
testing::AssertionResult requirementsAgree(const RuleCase &ruleCase);

/// Sizes around the width of a vector, at aligned and unaligned starts.
std::vector<TensorShape> smallTensors();

/// Sizes around those of blocks with one scale, and matrices with rows of such sizes.
std::vector<TensorShape> blockTensors();

/// "amsgrad=true param=bf16 …".
std::string describe(const RuleCase &ruleCase);

} // namespace updraft::differential

#endif // UPDRAFT_UNITTESTS_DIFFERENTIAL_RULECASE_H
