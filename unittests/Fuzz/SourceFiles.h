//===- SourceFiles.h - Seeds from the files of the source tree ----------------------*- C++ -*-===//
// Rules, tests and the examples of the documentation are typical inputs, so the seeds are read from
// the source tree.

#ifndef UPDRAFT_UNITTESTS_FUZZ_SOURCEFILES_H
#define UPDRAFT_UNITTESTS_FUZZ_SOURCEFILES_H

#include "FuzzTarget.h"

namespace updraft::fuzz {

/// The files under `folder` of the source tree whose name ends in `suffix`, sorted by name.
std::vector<Seed> filesBelow(std::string_view folder, std::string_view suffix);

/// The parts of `files` between lines that equal `separator`.
std::vector<Seed> splitAt(std::string_view separator, const std::vector<Seed> &files);

/// The text in the documentation between "```LANGUAGE" and "```".
std::vector<Seed> documentationExamples(std::string_view language);

} // namespace updraft::fuzz

#endif // UPDRAFT_UNITTESTS_FUZZ_SOURCEFILES_H
