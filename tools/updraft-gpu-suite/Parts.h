//===- Parts.h - The parts of the suite that are in this program --------------------*- C++ -*-===//

#ifndef UPDRAFT_TOOLS_GPUSUITE_PARTS_H
#define UPDRAFT_TOOLS_GPUSUITE_PARTS_H

#include "Device.h"
#include "Recorder.h"

namespace updraft::suite {

struct Options {
  std::string rulesFolder;
  bool quick = false;            // small sizes, few storage types
  std::vector<std::string> only; // rules; empty: all
  int jobs = 1;                  // threads
};

/// Steps on the device beside steps on the CPU: every bit must be the same.
void runCorrectness(Device &device, const Options &options, Recorder &recorder);
/// How long steps take, beside the limit of their bytes.
void runBenchmarks(Device &device, const Options &options, Recorder &recorder);
/// How long it takes from a rule to its first step.
void runCompilation(Device &device, const Options &options, Recorder &recorder);

} // namespace updraft::suite

#endif // UPDRAFT_TOOLS_GPUSUITE_PARTS_H
