//===- LastError.cpp - The message behind upd_last_error --------------------------------------===//

#include "LastError.h"

static thread_local std::string lastError;

upd_status updraft::capi::fail(upd_status status, const std::string &message) noexcept {
  try {
    lastError = message;
  } catch (...) {
    lastError.clear();
  }
  return status;
}

int32_t upd_api_version(void) { return UPD_API_VERSION; }

const char *upd_last_error(void) { return lastError.c_str(); }
