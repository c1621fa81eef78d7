//===- SourceFiles.h - Seeds from the files of the source tree ----------------------*- C++ -*-===//
// Rules, tests and the examples of the documentation are what inputs look like, so they are looked
// for where they are.

#ifndef UPDRAFT_UNITTESTS_FUZZ_SOURCEFILES_H
#define UPDRAFT_UNITTESTS_FUZZ_SOURCEFILES_H

#include "FuzzTarget.h"

namespace updraft::fuzz {

/// The files below `folder` of the source tree whose name ends in `suffix`, by name.
std::vector<Seed> filesBelow(std::string_view folder, std::string_view suffix);

/// The parts of `files` that a line of `separator` parts.
std::vector<Seed> splitAt(std::string_view separator, const std::vector<Seed> &files);

/// What stands in the documentation between "```LANGUAGE" and "```".
std::vector<Seed> documentationExamples(std::string_view language);

} // namespace updraft::fuzz

#endif // UPDRAFT_UNITTESTS_FUZZ_SOURCEFILES_H
