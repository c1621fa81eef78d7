//===- Hello.h - What a member of a world sends first on a connection ---------------*- C++ -*-===//

#ifndef UPDRAFT_RUNTIME_DIST_HELLO_H
#define UPDRAFT_RUNTIME_DIST_HELLO_H

#include <cstddef>
#include <cstdint>
#include <span>

namespace updraft::dist {

/// To whom a connection is made: a listener of TensorPipe, or a lane of its channel `mpt`.
enum class HelloTo { Listener, Lane };

enum class Hello { Incomplete, Valid, Wrong };

/// No hello is longer, in bytes: the longest has the name of a worker, of at most 128.
constexpr size_t longestHello = 512;

/// Looks at what has come of a connection so far: a length of eight bytes, and as many bytes, in
/// which libnop has packed one of the two messages that may come first.
Hello checkHello(std::span<const uint8_t> bytes, HelloTo to);

} // namespace updraft::dist

#endif // UPDRAFT_RUNTIME_DIST_HELLO_H
