//===- Recorder.h - Results as they come --------------------------------------------*- C++ -*-===//
// Each part of the suite is a process: what a GPU's error makes of one says nothing about the
// next. It writes a line of JSON for every result, so that those before an end that nobody asked
// for are there.

#ifndef UPDRAFT_TOOLS_GPUSUITE_RECORDER_H
#define UPDRAFT_TOOLS_GPUSUITE_RECORDER_H

#include <fstream>
#include <functional>
#include <mutex>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>

namespace updraft::suite {

/// What cannot be done here, with the reason.
struct Skipped : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// Prints results and writes them to a file. Any thread.
class Recorder {
public:
  /// Appends to the file. Figures are left out where sizes are small or times mean nothing. Throws
  /// std::runtime_error.
  Recorder(std::string part, const std::string &path, bool hasFigures);

  /// Runs a test or a measurement, whose values are put beside its status: "passed", or "skipped"
  /// or "failed" with what it has thrown as `reason`.
  void run(const std::string &name, const std::function<nlohmann::ordered_json()> &body);
  /// A value that something is required of.
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
