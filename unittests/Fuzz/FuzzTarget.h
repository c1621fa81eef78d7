//===- FuzzTarget.h - Functions that run on arbitrary bytes -------------------------*- C++ -*-===//
// A fuzz target takes any bytes and checks properties that must hold for all of them. It is built
// twice: with libFuzzer, which generates the bytes, and in FuzzTests, which replays the corpus.

#ifndef UPDRAFT_UNITTESTS_FUZZ_FUZZTARGET_H
#define UPDRAFT_UNITTESTS_FUZZ_FUZZTARGET_H

#include <string>
#include <string_view>
#include <vector>

namespace updraft::fuzz {

/// An input to start from.
struct Seed {
  std::string name; ///< its origin, as a valid file name
  std::string bytes;
};

struct FuzzTarget {
  const char *name; ///< also of its corpus
  /// Returns if everything is as expected, whether the input is valid or not; else calls `finding`.
  void (*run)(std::string_view input);
  /// Inputs from elsewhere in the source tree, in addition to the corpus. May be null.
  std::vector<Seed> (*seeds)();
  /// Words of the input's language. May be null.
  std::vector<std::string> (*words)();
};

extern const FuzzTarget languageTarget, dialectTarget, safetensorsTarget, interfaceTarget,
    packageTarget, rulesTarget, plansTarget, typingTarget, storeTarget, accessTarget, optionsTarget,
    messagesTarget;

/// Ends the process with a message, because a property doesn't hold.
[[noreturn]] void finding(const std::string &what);

/// The seeds in unittests/Fuzz/corpus/NAME. Files that end in `.escaped` contain bytes that aren't
/// text as `\xNN`.
std::vector<Seed> corpusOf(const FuzzTarget &target);

} // namespace updraft::fuzz

#endif // UPDRAFT_UNITTESTS_FUZZ_FUZZTARGET_H
