//===- AccessEntry.cpp - A client and its role ------------------------------------------------===//

#include "AccessEntry.h"

#include <cstdint>
#include <fmt/format.h>
#include <sstream>
#include <stdexcept>

using namespace updraft;
using namespace updraft::worker;
using package::Digest;

static Role roleOf(const std::string &name) {
  if (name == "reader")
    return Role::Reader;
  if (name == "trainer")
    return Role::Trainer;
  if (name == "admin")
    return Role::Admin;
  if (name == "peer")
    return Role::Peer;
  throw std::runtime_error(
      fmt::format("unknown role `{}`; the roles are reader, trainer, admin and peer", name));
}

static Digest digestFrom(const std::string &hex) {
  Digest result;
  const auto digit = [&](char one) {
    const std::string_view digits = "0123456789abcdef";
    const size_t value = digits.find(one);
    if (value == std::string_view::npos)
      throw std::runtime_error(fmt::format("`{}` is not a SHA-256 digest in lower-case hex", hex));
    return value;
  };
  if (hex.size() != 2 * result.size())
    throw std::runtime_error(
        fmt::format("`{}` is not a SHA-256 digest, which has {} digits", hex, 2 * result.size()));
  for (size_t i = 0; i < result.size(); ++i)
    result[i] = static_cast<uint8_t>(digit(hex[2 * i]) << 4 | digit(hex[2 * i + 1]));
  if (result == package::digestOf(""))
    throw std::runtime_error(fmt::format(
        "`{}` is the digest of the empty text, which isn't a token; was $TOKEN unset?", hex));
  return result;
}

static std::time_t timeFrom(const std::string &text) {
  std::tm parsed{};
  const char *const end = strptime(text.c_str(), "%Y-%m-%dT%H:%M:%SZ", &parsed);
  if (!end || *end != '\0')
    throw std::runtime_error(fmt::format("`{}` is not a time such as 2027-01-31T00:00:00Z", text));
  return timegm(&parsed);
}

static AccessEntry parse(const std::string &line) {
  std::istringstream words(line);
  std::string kind, identity, role, word;
  words >> kind >> identity >> role;
  AccessEntry entry;
  if (kind == "token")
    entry.token = digestFrom(identity);
  else if (kind == "certificate" && !identity.empty())
    entry.commonName = identity;
  else
    throw std::runtime_error("expected `token SHA256 ROLE` or `certificate COMMON-NAME ROLE`, and "
                             "then `optimizer=NAME`, "
                             "`client=NAME` and `until=TIME`");
  entry.role = roleOf(role);
  while (words >> word) {
    if (word.starts_with("optimizer=") && word.size() > 10)
      entry.optimizers.insert(word.substr(10));
    else if (word.starts_with("client=") && word.size() > 7)
      entry.clients.push_back(word.substr(7));
    else if (word.starts_with("until="))
      entry.until = timeFrom(word.substr(6));
    else
      throw std::runtime_error(fmt::format(
          "unknown word `{}`; expected `optimizer=NAME`, `client=NAME` or `until=TIME`", word));
  }
  return entry;
}

std::vector<AccessEntry> worker::parseAccess(std::string_view text, const std::string &file) {
  std::istringstream lines{std::string(text)};
  std::vector<AccessEntry> result;
  std::string line;
  for (int number = 1; std::getline(lines, line); ++number) {
    const size_t first = line.find_first_not_of(" \t\r");
    if (first == std::string::npos || line[first] == '#')
      continue;
    try {
      result.push_back(parse(line));
    } catch (const std::runtime_error &error) {
      throw std::runtime_error(fmt::format("{}:{}:1: error: {}", file, number, error.what()));
    }
  }
  return result;
}
