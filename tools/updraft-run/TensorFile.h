//===- TensorFile.h - The tensors of a run by parameter -----------------------------*- C++ -*-===//

#ifndef UPDRAFT_TOOLS_RUN_TENSORFILE_H
#define UPDRAFT_TOOLS_RUN_TENSORFILE_H

#include "runtime/base/Status.h"

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace updraft::run {

/// A tensor in memory, row-major.
struct Tensor {
  upd_dtype dtype = UPD_F32;
  std::vector<int64_t> shape;
  std::vector<char> bytes;

  /// Valid while the tensor isn't moved or changed.
  upd_tensor view() {
    return {bytes.data(), shape.data(), nullptr, static_cast<int32_t>(shape.size()),
            dtype,        UPD_CPU,      0,       0};
  }

  /// Copies a view, which may be a view of this tensor.
  void take(const upd_tensor &view);
};

/// All tensors of a parameter.
struct Parameter {
  Tensor param;
  std::optional<Tensor> grad;
  std::map<std::string, Tensor> states;
  std::map<std::string, Tensor> scales; // scales of states in blocks, by state; F32
  int64_t step = 0;
  bool hasStep = false; // the file has the step count

  /// The tensor that a state of bytes corrects: "param" or a BF16 state. Empty if there isn't one.
  std::optional<std::string> correctedBy(const std::string &state) const;
};

/// Sorted by name.
using Parameters = std::map<std::string, Parameter>;

struct FileContents {
  Parameters parameters;
  std::string rule;             // the rule of earlier steps; empty if the file doesn't say
  std::optional<uint64_t> seed; // seed of the random numbers, if the file has it
};

/// Reads `param/NAME`, `grad/NAME`, `state/NAME/STATE` and the scalar `state/NAME/step`. A state in
/// blocks consists of its codes, whose format is in the metadata, and `state/NAME/STATE.scale`, as
/// an optimizer saves it. Any other tensor is an error, so that a misspelled name isn't ignored.
/// Hyperparameters in an optimizer's metadata are ignored.
runtime::Status readContents(const std::string &path, FileContents &result);

/// Writes parameters, states and step counts under the same names, and the metadata.
runtime::Status writeContents(const std::string &path, const FileContents &contents);

} // namespace updraft::run

#endif // UPDRAFT_TOOLS_RUN_TENSORFILE_H
