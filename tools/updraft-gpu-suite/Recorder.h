//===- Recorder.h - Records results as they arrive ----------------------------------*- C++ -*-===//
// Each part of the suite is a process, so that a GPU error in one part doesn't affect the next. It
// writes a line of JSON for every result, so that a crash keeps the results before it.

#ifndef UPDRAFT_TOOLS_GPUSUITE_RECORDER_H
#define UPDRAFT_TOOLS_GPUSUITE_RECORDER_H

#include <fstream>
#include <functional>
#include <mutex>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>

namespace updraft::suite {

/// Thrown for a test that can't run here, with the reason.
struct Skipped : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// Prints results and writes them to a file. Thread-safe.
class Recorder {
public:
  /// Appends to the file. Without `hasFigures`, figures are omitted, because the sizes are small or
  /// the times meaningless. Throws std::runtime_error.
  Recorder(std::string part, const std::string &path, bool hasFigures);

  /// Runs a test or a measurement and records its values with a status: "passed", or "skipped" or
  /// "failed" with the message of the exception as `reason`.
  void run(const std::string &name, const std::function<nlohmann::ordered_json()> &body);
  /// Records a value that has a minimum.
  void figureAtLeast(const std::string &name, double value, double aim);
  void figureAtMost(const std::string &name, double value, double aim);

private:
  void write(const nlohmann::ordered_json &line, const std::string &text);
  void figure(const std::string &name, double value, const char *bound, double aim, bool reached);

  std::string part;
  std::ofstream file;
  bool hasFigures;
  std::mutex mutex;
};

} // namespace updraft::suite

#endif // UPDRAFT_TOOLS_GPUSUITE_RECORDER_H
