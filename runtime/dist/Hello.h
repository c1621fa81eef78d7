//===- Hello.h - The first message on a connection ----------------------------------*- C++ -*-===//

#ifndef UPDRAFT_RUNTIME_DIST_HELLO_H
#define UPDRAFT_RUNTIME_DIST_HELLO_H

#include <cstddef>
#include <cstdint>
#include <span>

namespace updraft::dist {

/// The receiver of a connection: a listener of TensorPipe, or a lane of its channel `mpt`.
enum class HelloTo { Listener, Lane };

enum class Hello { Incomplete, Valid, Wrong };

/// The maximum length of a hello in bytes. The longest contains a worker's name of up to 128 bytes.
constexpr size_t longestHello = 512;

/// Checks the bytes received so far: a length of eight bytes, followed by that many bytes, in which
/// libnop has packed one of the two possible first messages.
Hello checkHello(std::span<const uint8_t> bytes, HelloTo to);

} // namespace updraft::dist

#endif // UPDRAFT_RUNTIME_DIST_HELLO_H
