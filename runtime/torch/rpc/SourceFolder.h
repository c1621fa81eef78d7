//===- SourceFolder.h - Imported files during a compilation -------------------------*- C++ -*-===//

#ifndef UPDRAFT_RUNTIME_TORCH_RPC_SOURCEFOLDER_H
#define UPDRAFT_RUNTIME_TORCH_RPC_SOURCEFOLDER_H

#include <string>
#include <utility>
#include <vector>

namespace updraft::torch_adapter {

/// A temporary folder with the files of a request; the destructor removes it. A request has file
/// names, not paths, so nothing else on the disk is written.
class SourceFolder {
public:
  /// Throws ValueError if a name isn't a plain file name, and RuntimeError if writing fails.
  explicit SourceFolder(const std::vector<std::pair<std::string, std::string>> &files);
  ~SourceFolder();
  SourceFolder(const SourceFolder &) = delete;

  /// The path that a file with this name has, or would have.
  std::string pathOf(const std::string &name) const { return path + "/" + name; }
  /// Removes the folder from paths in messages.
  std::string withoutFolder(std::string text) const;

private:
  std::string path;
};

} // namespace updraft::torch_adapter

#endif // UPDRAFT_RUNTIME_TORCH_RPC_SOURCEFOLDER_H
