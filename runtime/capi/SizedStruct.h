//===- SizedStruct.h - Structs that a later version may extend ----------------------*- C++ -*-===//
// A struct whose first member is `struct_size` only gets new members at its end, and each defaults
// to 0. A program and a library of different versions therefore understand each other. The library
// reads the members that a smaller struct has. From a larger struct it reads the members that it
// knows, if all others are 0.
//===---------------------------------------------------------------------------------------===//

#ifndef UPDRAFT_RUNTIME_CAPI_SIZEDSTRUCT_H
#define UPDRAFT_RUNTIME_CAPI_SIZEDSTRUCT_H

#include "runtime/base/Status.h"

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <string>
#include <type_traits>

namespace updraft::capi {

/// Larger sizes are mistakes, such as uninitialized memory.
constexpr size_t largestStructSize = 4096;

/// Copies the members that `*given` has and sets the others to 0. `firstSize` is the size in the
/// first version. Fails with UPD_INVALID_ARGUMENT for a size that no version has, and with
/// UPD_UNSUPPORTED if a member that this library doesn't know is not 0.
template <typename Struct>
runtime::Status readSized(const Struct *given, size_t firstSize, const std::string &name,
                          Struct &result) {
  static_assert(std::is_trivially_copyable_v<Struct>);
  // The memory may be shorter than this version's struct.
  size_t size;
  const auto *bytes = reinterpret_cast<const char *>(given);
  std::memcpy(&size, bytes + offsetof(Struct, struct_size), sizeof(size));
  const std::string found = "struct_size of " + name + " is " + std::to_string(size);
  const std::string known = std::to_string(sizeof(Struct));
  if (size < firstSize || size > largestStructSize || size % alignof(Struct) != 0)
    return runtime::invalidArgument(found + "; set it to sizeof(" + name + "), which is " + known +
                                    " in this version of the library");
  if (size > sizeof(Struct) &&
      std::any_of(bytes + sizeof(Struct), bytes + size, [](char byte) { return byte != 0; }))
    return {UPD_UNSUPPORTED,
            found + ", and a field behind the " + known +
                " bytes that this library knows is not zero; leave what is newer than the "
                "library zero, or install the version that the program was built with"};
  result = {};
  std::memcpy(&result, bytes, std::min(size, sizeof(Struct)));
  return {};
}

} // namespace updraft::capi

#endif // UPDRAFT_RUNTIME_CAPI_SIZEDSTRUCT_H
