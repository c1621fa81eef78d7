//===- Recorder.h - Records a compilation for a report ------------------------------*- C++ -*-===//
// MLIR's locations lead from operations to lines. From the LLVM dialect on, debug information
// carries them: an instruction has the number of a set of lines as its line number.

#ifndef UPDRAFT_LIB_DRIVER_RECORDER_H
#define UPDRAFT_LIB_DRIVER_RECORDER_H

#include "PassObserver.h"
#include "updraft/Driver/Recording.h"
#include "llvm/ADT/DenseMap.h"

#include <chrono>
#include <map>

namespace llvm {
class Module;
} // namespace llvm

namespace updraft {

class Recorder : public PassObserver {
public:
  /// Adds to `recording`, which must outlive the recorder.
  explicit Recorder(Recording &recording);

  /// The stage that the following texts belong to.
  void enter(Stage next);

  void beforePass() override { started = Clock::now(); }
  void afterPass(llvm::StringRef pass, bool failed, mlir::ModuleOp module) override;
  /// Records the module after translation or after a pass of LLVM.
  void add(llvm::StringRef pass, const llvm::Module &module);
  /// Records assembly or PTX with `.loc` directives, and removes what only debuggers need.
  void addAssembly(llvm::StringRef pass, llvm::StringRef assembly);

  /// Replaces the locations of the module's operations by the numbers of their sets of lines, for
  /// debug information.
  void numberPlaces(mlir::ModuleOp module);
  /// Returns the number of the set of lines of a location.
  uint32_t placeOf(mlir::Location loc);

private:
  using Clock = std::chrono::steady_clock;

  void add(llvm::StringRef pass, std::string text, std::vector<uint32_t> places);

  Recording &recording;
  std::map<std::vector<SourceLine>, uint32_t> numbers;
  llvm::DenseMap<mlir::Attribute, uint32_t> known;
  Stage stage = Stage::Updraft;
  Clock::time_point started;
};

} // namespace updraft

#endif // UPDRAFT_LIB_DRIVER_RECORDER_H
