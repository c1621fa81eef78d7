//===- ImportedNames.h - What the text of a rule imports ----------------------------*- C++ -*-===//

#ifndef UPDRAFT_RUNTIME_TORCH_RPC_IMPORTEDNAMES_H
#define UPDRAFT_RUNTIME_TORCH_RPC_IMPORTEDNAMES_H

#include <string>
#include <string_view>
#include <vector>

namespace updraft::torch_adapter {

/// The paths of imports in a text, right or wrong, as they are written: every string behind the
/// word `import` that no comment hides.
std::vector<std::string> importedNames(std::string_view text);

} // namespace updraft::torch_adapter

#endif // UPDRAFT_RUNTIME_TORCH_RPC_IMPORTEDNAMES_H
