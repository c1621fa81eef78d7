//===- Parts.h - The parts of the suite in this program -----------------------------*- C++ -*-===//

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

/// Compares steps on the device with steps on the CPU. Every bit must be equal.
void runCorrectness(Device &device, const Options &options, Recorder &recorder);
/// Measures steps beside the memory limit.
void runBenchmarks(Device &device, const Options &options, Recorder &recorder);
/// Measures the time from a rule to its first step.
void runCompilation(Device &device, const Options &options, Recorder &recorder);

} // namespace updraft::suite

#endif // UPDRAFT_TOOLS_GPUSUITE_PARTS_H
