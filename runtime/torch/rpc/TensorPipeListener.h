//===- TensorPipeListener.h - What TensorPipe accepts connections by ----------------*- C++ -*-===//
// torch's wheel has the header of a transport's context, but not that of its listeners, which a
// context of one's own returns. This declares the class as tensorpipe/transport/listener.h does in
// the version that torch 2.5 to 2.15 are built with, from which TensorPipe has not moved since
// 2022.

#ifndef UPDRAFT_RUNTIME_TORCH_RPC_TENSORPIPELISTENER_H
#define UPDRAFT_RUNTIME_TORCH_RPC_TENSORPIPELISTENER_H

#include <tensorpipe/common/error.h>
#include <tensorpipe/transport/context.h>

#include <functional>
#include <memory>
#include <string>

namespace tensorpipe::transport {

class Listener {
public:
  using accept_callback_fn =
      std::function<void(const Error &error, std::shared_ptr<Connection> connection)>;

  virtual void accept(accept_callback_fn fn) = 0;
  virtual std::string addr() const = 0;
  virtual void setId(std::string id) = 0;
  virtual void close() = 0;
  virtual ~Listener() = default;
};

} // namespace tensorpipe::transport

#endif // UPDRAFT_RUNTIME_TORCH_RPC_TENSORPIPELISTENER_H
