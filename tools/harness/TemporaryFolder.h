//===- TemporaryFolder.h - A folder for the time of a test --------------------------*- C++ -*-===//

#ifndef UPDRAFT_TOOLS_HARNESS_TEMPORARYFOLDER_H
#define UPDRAFT_TOOLS_HARNESS_TEMPORARYFOLDER_H

#include <cstdlib>
#include <filesystem>
#include <stdexcept>
#include <string>
#include <system_error>

namespace updraft::harness {

/// A folder in $TMPDIR that the destructor removes with all it contains.
class TemporaryFolder {
public:
  /// Throws std::runtime_error.
  TemporaryFolder() : name((std::filesystem::temp_directory_path() / "updraft-XXXXXX").string()) {
    if (!::mkdtemp(name.data()))
      throw std::runtime_error("cannot create a folder such as `" + name + "`");
  }
  ~TemporaryFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(name, ignored);
  }
  TemporaryFolder(const TemporaryFolder &) = delete;
  TemporaryFolder &operator=(const TemporaryFolder &) = delete;

  const std::string &path() const { return name; }

private:
  std::string name;
};

} // namespace updraft::harness

#endif // UPDRAFT_TOOLS_HARNESS_TEMPORARYFOLDER_H
