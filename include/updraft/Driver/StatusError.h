//===- StatusError.h - Errors with a status code ------------------------------------*- C++ -*-===//
// The error type of the compiler's outer layers: a status code of the C API and a complete message.

#ifndef UPDRAFT_DRIVER_STATUSERROR_H
#define UPDRAFT_DRIVER_STATUSERROR_H

#include "updraft-c/types.h"
#include "llvm/Support/Error.h"

#include <string>

namespace updraft {

class StatusError : public llvm::ErrorInfo<StatusError> {
public:
  static char ID;

  StatusError(upd_status status, std::string message)
      : status(status), message(std::move(message)) {}

  upd_status getStatus() const { return status; }
  const std::string &getMessage() const { return message; }

  void log(llvm::raw_ostream &os) const override;
  std::error_code convertToErrorCode() const override;

private:
  upd_status status;
  std::string message;
};

inline llvm::Error makeError(upd_status status, std::string message) {
  return llvm::make_error<StatusError>(status, std::move(message));
}

/// Returns the status and message. Errors of other types have the status UPD_INTERNAL_ERROR.
std::pair<upd_status, std::string> takeStatus(llvm::Error error);

} // namespace updraft

#endif // UPDRAFT_DRIVER_STATUSERROR_H
