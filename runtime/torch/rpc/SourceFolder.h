//===- SourceFolder.h - Files that a rule imports, for the time of compiling it -----*- C++ -*-===//

#ifndef UPDRAFT_RUNTIME_TORCH_RPC_SOURCEFOLDER_H
#define UPDRAFT_RUNTIME_TORCH_RPC_SOURCEFOLDER_H

#include <string>
#include <utility>
#include <vector>

namespace updraft::torch_adapter {

/// A folder of this process with files that came with a request; it goes with the object. A request
/// names files, not paths: nothing else of the disk is written.
class SourceFolder {
public:
  /// Throws ValueError for a name that is no plain file name, RuntimeError where the disk refuses.
  explicit SourceFolder(const std::vector<std::pair<std::string, std::string>> &files);
  ~SourceFolder();
  SourceFolder(const SourceFolder &) = delete;

  /// The path that a file of this name has, or would have.
  std::string pathOf(const std::string &name) const { return path + "/" + name; }
  /// Messages with what names files, and not the folder.
  std::string withoutFolder(std::string text) const;

private:
  std::string path;
};

} // namespace updraft::torch_adapter

#endif // UPDRAFT_RUNTIME_TORCH_RPC_SOURCEFOLDER_H
