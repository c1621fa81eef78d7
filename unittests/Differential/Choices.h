//===- Choices.h - The source of choices for random cases ---------------------------*- C++ -*-===//

#ifndef UPDRAFT_UNITTESTS_DIFFERENTIAL_CHOICES_H
#define UPDRAFT_UNITTESTS_DIFFERENTIAL_CHOICES_H

#include <cstdint>
#include <random>

namespace updraft::differential {

/// A source of choices: a seed, or the bytes of a fuzzer.
class Choices {
public:
  virtual ~Choices() = default;
  /// A number from 0 to `limit` - 1; `limit` is at least 1.
  virtual unsigned below(unsigned limit) = 0;
};

class SeededChoices : public Choices {
public:
  explicit SeededChoices(uint64_t seed) : random(seed) {}
  // A plain remainder, because standard distributions differ between libraries.
  unsigned below(unsigned limit) override { return random() % limit; }

private:
  std::mt19937_64 random;
};

} // namespace updraft::differential

#endif // UPDRAFT_UNITTESTS_DIFFERENTIAL_CHOICES_H
