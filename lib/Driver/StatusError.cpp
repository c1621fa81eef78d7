//===- StatusError.cpp - Errors with a status code --------------------------------------------===//

#include "updraft/Driver/StatusError.h"

#include "llvm/Support/raw_ostream.h"

using namespace updraft;

char StatusError::ID = 0;

void StatusError::log(llvm::raw_ostream &os) const { os << message; }

std::error_code StatusError::convertToErrorCode() const { return llvm::inconvertibleErrorCode(); }

std::pair<upd_status, std::string> updraft::takeStatus(llvm::Error error) {
  upd_status status = UPD_INTERNAL_ERROR;
  std::string message;
  llvm::handleAllErrors(
      std::move(error),
      [&](const StatusError &e) {
        status = e.getStatus();
        message = e.getMessage();
      },
      [&](const llvm::ErrorInfoBase &e) { message = e.message(); });
  return {status, std::move(message)};
}
