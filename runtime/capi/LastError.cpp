//===- LastError.cpp - The message behind upd_last_error --------------------------------------===//

#include "runtime/capi/LastError.h"

#include "runtime/base/OutOfMemory.h"

#include <exception>
#include <new>

using namespace updraft;

static thread_local std::string lastError;

upd_status updraft::capi::fail(upd_status status, const std::string &message) noexcept {
  try {
    lastError = message;
  } catch (...) {
    lastError.clear();
  }
  return status;
}

upd_status updraft::capi::failByException() noexcept {
  try {
    throw;
  } catch (const runtime::OutOfMemory &e) {
    return fail(UPD_OUT_OF_MEMORY, e.what());
  } catch (const std::bad_alloc &) {
    return fail(UPD_OUT_OF_MEMORY, "out of memory");
  } catch (const std::exception &e) {
    return fail(UPD_INTERNAL_ERROR, e.what());
  } catch (...) {
    return fail(UPD_INTERNAL_ERROR, "unknown exception");
  }
}

int32_t upd_api_version(void) { return UPD_API_VERSION; }

const char *upd_last_error(void) { return lastError.c_str(); }
