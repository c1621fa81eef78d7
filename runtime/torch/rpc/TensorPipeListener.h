//===- TensorPipeListener.h - TensorPipe's class for listeners ----------------------*- C++ -*-===//
// torch's wheel has the header of a transport's context, but not that of the listeners, which a
// custom context returns. This declares the class as in tensorpipe/transport/listener.h, in the
// version that torch 2.5 to 2.15 use. TensorPipe hasn't changed since 2022.

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
