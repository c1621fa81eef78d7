//===- Recording.h - A rule as text after every pass --------------------------------*- C++ -*-===//
// A compilation as texts, one after every pass. For each line of a text, a recording knows the
// lines of the rule that it was compiled from.

#ifndef UPDRAFT_DRIVER_RECORDING_H
#define UPDRAFT_DRIVER_RECORDING_H

#include "updraft/Driver/Stage.h"

#include <compare>
#include <cstdint>
#include <string>
#include <vector>

namespace updraft {

/// A line of the rule's file, of an import, or of the standard library; counts from 1.
struct SourceLine {
  std::string file;
  unsigned line;

  auto operator<=>(const SourceLine &) const = default;
};

/// The rule as text after a pass.
struct RecordedText {
  std::string pass;
  Stage stage; ///< that the pass belongs to; the last text of a stage is that of `updraftc --emit`
  std::string text;
  /// For each line of the text, an index into Recording::places.
  std::vector<uint32_t> places;
  uint64_t nanoseconds = 0; ///< that the pass took
};

struct Recording {
  /// Sets of lines of the rule, sorted. The first is empty.
  std::vector<std::vector<SourceLine>> places{{}};
  std::vector<RecordedText> texts;
};

} // namespace updraft

#endif // UPDRAFT_DRIVER_RECORDING_H
