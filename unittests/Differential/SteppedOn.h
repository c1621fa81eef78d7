//===- SteppedOn.h - The devices to step rules on -----------------------------------*- C++ -*-===//
// The emulator and, if there is one, a GPU.

#ifndef UPDRAFT_UNITTESTS_DIFFERENTIAL_STEPPEDON_H
#define UPDRAFT_UNITTESTS_DIFFERENTIAL_STEPPEDON_H

#include "runtime/gpu/Device.h"
#include "updraft-c/types.h"
#include "gtest/gtest.h"

#include <memory>
#include <string>
#include <vector>

namespace updraft::differential {

/// A device, and the target to compile rules for.
struct SteppedOn {
  std::shared_ptr<gpu::Device> device; ///< has the tensors
  upd_device kind;
  std::string target;
  std::string whyNot; ///< why there is no device

  /// Whether memory of the device has the bits of elements here. Any two NaNs are the same.
  bool has(const void *data, upd_dtype dtype, const void *expected, size_t bytes) const;

  static SteppedOn open(const std::string &name);
  /// The names of the available devices.
  static std::vector<const char *> names();
};

/// On a device.
template <typename... More>
class OnDevice : public testing::TestWithParam<std::tuple<const char *, More...>> {
protected:
  const SteppedOn on = SteppedOn::open(std::get<0>(this->GetParam()));
};

} // namespace updraft::differential

#endif // UPDRAFT_UNITTESTS_DIFFERENTIAL_STEPPEDON_H
