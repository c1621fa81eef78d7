//===- TensorFile.h - The tensors of a run, by parameter ----------------------------*- C++ -*-===//

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

  /// Valid as long as the tensor stays where it is.
  upd_tensor view() {
    return {bytes.data(), shape.data(), nullptr, static_cast<int32_t>(shape.size()),
            dtype,        UPD_CPU,      0,       0};
  }

  /// Becomes a copy of a view, which may be one of the tensor itself.
  void take(const upd_tensor &view);
};

/// All that belongs to one parameter.
struct Parameter {
  Tensor param;
  std::optional<Tensor> grad;
  std::map<std::string, Tensor> states;
  std::map<std::string, Tensor> scales; // of states in blocks, by their names; F32
  int64_t step = 0;

  /// What a state of bytes is the correction of, "param" or a state in BF16; none if nothing.
  std::optional<std::string> correctedBy(const std::string &state) const;
};

/// By name, in the order of names.
using Parameters = std::map<std::string, Parameter>;

struct FileContents {
  Parameters parameters;
  std::string rule;             // that they were stepped by; empty if the file does not say
  std::optional<uint64_t> seed; // of its random numbers, if the file says
};

/// Reads `param/NAME`, `grad/NAME`, `state/NAME/STATE` and the scalar `state/NAME/step`. A state in
/// blocks is its codes, with their kind in the metadata, and `state/NAME/STATE.scale`, as an
/// optimizer saves it. Any other tensor is refused: a misspelt name must not pass for an absent
/// one. Of an optimizer's metadata the hyperparameters are left out.
runtime::Status readContents(const std::string &path, FileContents &result);

/// Writes parameters, states and step counts under the same names, and the metadata.
runtime::Status writeContents(const std::string &path, const FileContents &contents);

} // namespace updraft::run

#endif // UPDRAFT_TOOLS_RUN_TENSORFILE_H
