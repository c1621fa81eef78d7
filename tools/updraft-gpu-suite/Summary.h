//===- Summary.h - The suite's JSON -------------------------------------------------*- C++ -*-===//

#ifndef UPDRAFT_TOOLS_GPUSUITE_SUMMARY_H
#define UPDRAFT_TOOLS_GPUSUITE_SUMMARY_H

#include <nlohmann/json.hpp>
#include <string>

namespace updraft::suite {

/// The results of all parts, in the format of docs/gpu-suite.md.
class Summary {
public:
  Summary();

  void setDevice(nlohmann::ordered_json description) {
    document["device"] = std::move(description);
  }
  /// Adds the lines that a part wrote. `ending` is the reason why it failed, or empty.
  void addPart(const std::string &part, const std::string &linesFile, const std::string &ending);
  void addResult(const std::string &part, const std::string &name, const std::string &status,
                 const std::string &reason);
  /// Throws std::runtime_error.
  void write(const std::string &path);

  int count(const std::string &status) const;
  std::string text() const;

private:
  nlohmann::ordered_json document;
};

} // namespace updraft::suite

#endif // UPDRAFT_TOOLS_GPUSUITE_SUMMARY_H
