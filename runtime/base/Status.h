//===- Status.h - The result of a call that can fail --------------------------------*- C++ -*-===//
// The runtime's only error type: a status code of the C API and a complete message for the user.

#ifndef UPDRAFT_RUNTIME_BASE_STATUS_H
#define UPDRAFT_RUNTIME_BASE_STATUS_H

#include "updraft-c/types.h"

#include <string>
#include <utility>

namespace updraft::runtime {

class [[nodiscard]] Status {
public:
  /// Constructs success.
  Status() = default;
  Status(upd_status code, std::string text) : statusCode(code), text(std::move(text)) {}

  bool ok() const { return statusCode == UPD_OK; }
  upd_status code() const { return statusCode; }
  /// Empty on success.
  const std::string &message() const { return text; }

private:
  upd_status statusCode = UPD_OK;
  std::string text;
};

inline Status invalidArgument(std::string text) { return {UPD_INVALID_ARGUMENT, std::move(text)}; }
inline Status notFound(std::string text) { return {UPD_NOT_FOUND, std::move(text)}; }
inline Status ioError(std::string text) { return {UPD_IO_ERROR, std::move(text)}; }

} // namespace updraft::runtime

#endif // UPDRAFT_RUNTIME_BASE_STATUS_H
