//===- Choices.h - What generators of random cases choose by ------------------------*- C++ -*-===//

#ifndef UPDRAFT_UNITTESTS_DIFFERENTIAL_CHOICES_H
#define UPDRAFT_UNITTESTS_DIFFERENTIAL_CHOICES_H

#include <cstdint>
#include <random>

namespace updraft::differential {

/// Where the choices come from: a seed, or the bytes of a fuzzer.
class Choices {
public:
  virtual ~Choices() = default;
  /// A number from 0 to `limit` - 1; `limit` is at least 1.
  virtual unsigned below(unsigned limit) = 0;
};

class SeededChoices : public Choices {
public:
  explicit SeededChoices(uint64_t seed) : random(seed) {}
  // Standard distributions differ between libraries, so a plain remainder.
  unsigned below(unsigned limit) override { return random() % limit; }

private:
  std::mt19937_64 random;
};

} // namespace updraft::differential

#endif // UPDRAFT_UNITTESTS_DIFFERENTIAL_CHOICES_H
