//===- FuzzTarget.h - What is run on arbitrary bytes --------------------------------*- C++ -*-===//
// A fuzz target takes any bytes and checks what must hold for all of them. It is built twice: with
// libFuzzer, which invents the bytes, and into FuzzTests, which replays the corpus.

#ifndef UPDRAFT_UNITTESTS_FUZZ_FUZZTARGET_H
#define UPDRAFT_UNITTESTS_FUZZ_FUZZTARGET_H

#include <string>
#include <string_view>
#include <vector>

namespace updraft::fuzz {

/// An input to start from.
struct Seed {
  std::string name; ///< where it is from, fit to be a file's name
  std::string bytes;
};

struct FuzzTarget {
  const char *name; ///< of its corpus too
  /// Returns where all is well, whether the input is valid or refused; else calls `finding`.
  void (*run)(std::string_view input);
  /// Inputs found elsewhere in the source tree, beside those of the corpus. May be null.
  std::vector<Seed> (*seeds)();
  /// Words that the input's language is made of. May be null.
  std::vector<std::string> (*words)();
};

extern const FuzzTarget languageTarget, dialectTarget, safetensorsTarget, interfaceTarget,
    rulesTarget, plansTarget, typingTarget;

/// Ends the process with a message: something does not hold.
[[noreturn]] void finding(const std::string &what);

/// The seeds in unittests/Fuzz/corpus/NAME. A file that ends in `.escaped` holds bytes that are no
/// text, as `\xNN`.
std::vector<Seed> corpusOf(const FuzzTarget &target);

} // namespace updraft::fuzz

#endif // UPDRAFT_UNITTESTS_FUZZ_FUZZTARGET_H
