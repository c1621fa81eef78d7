//===- PackedRule.h - A package for the tests of the C++ API ------------------------*- C++ -*-===//

#ifndef UPDRAFT_UNITTESTS_CXX_PACKEDRULE_H
#define UPDRAFT_UNITTESTS_CXX_PACKEDRULE_H

#include "updraft/Package.h"

#include <string>

namespace updraft::test {

/// A package of AdamW for this CPU, in f32 and with a parameter in bf16.
const std::string &packedAdamW();

/// The rule in f32.
inline Rule loadAdamW() {
  return Package::openBuffer(packedAdamW().data(), packedAdamW().size()).value().load().value();
}

} // namespace updraft::test

#endif // UPDRAFT_UNITTESTS_CXX_PACKEDRULE_H
