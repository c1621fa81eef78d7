//===- AccessFuzzer.cpp - Access files of a parameter server ----------------------------------===//
// A text is either a list of clients or refused with its line.

#include "FuzzTarget.h"

#include "tools/updraft-worker/AccessEntry.h"

#include <stdexcept>

using namespace updraft::fuzz;

static void run(std::string_view input) {
  try {
    for (const updraft::worker::AccessEntry &entry : updraft::worker::parseAccess(input, "access"))
      if (entry.token.has_value() != entry.commonName.empty())
        finding("a client has both a token and a certificate, or neither");
  } catch (const std::runtime_error &error) {
    if (!std::string_view(error.what()).starts_with("access:"))
      finding(std::string("a refusal without its line: ") + error.what());
  }
}

static std::vector<std::string> words() {
  return {"token ",
          "certificate ",
          "reader",
          "trainer",
          " admin",
          " peer",
          " until=2027-01-31T00:00:00Z",
          " optimizer=",
          " client=",
          std::string(64, 'a')};
}

const FuzzTarget updraft::fuzz::accessTarget = {"access", run, nullptr, words};
