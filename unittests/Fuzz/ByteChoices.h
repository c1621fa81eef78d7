//===- ByteChoices.h - An input as a sequence of choices ----------------------------*- C++ -*-===//

#ifndef UPDRAFT_UNITTESTS_FUZZ_BYTECHOICES_H
#define UPDRAFT_UNITTESTS_FUZZ_BYTECHOICES_H

#include "Choices.h"

#include <string_view>

namespace updraft::fuzz {

/// One byte per choice, and zeros after the end.
class ByteChoices : public differential::Choices {
public:
  explicit ByteChoices(std::string_view bytes) : bytes(bytes) {}
  unsigned below(unsigned limit) override {
    if (bytes.empty())
      return 0;
    const auto byte = static_cast<unsigned char>(bytes.front());
    bytes.remove_prefix(1);
    return byte % limit;
  }

private:
  std::string_view bytes;
};

} // namespace updraft::fuzz

#endif // UPDRAFT_UNITTESTS_FUZZ_BYTECHOICES_H
