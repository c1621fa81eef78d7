//===- ImportedNames.h - The imports in a rule's text -------------------------------*- C++ -*-===//

#ifndef UPDRAFT_RUNTIME_DIST_IMPORTEDNAMES_H
#define UPDRAFT_RUNTIME_DIST_IMPORTEDNAMES_H

#include <string>
#include <string_view>
#include <vector>

namespace updraft::dist {

/// The paths of imports in a text, valid or not, as written: every string after the word `import`,
/// except in comments.
std::vector<std::string> importedNames(std::string_view text);

} // namespace updraft::dist

#endif // UPDRAFT_RUNTIME_DIST_IMPORTEDNAMES_H
