//===- PlainStream.h - A stream of bytes over gRPC ----------------------------------*- C++ -*-===//
// The baseline of pushes: messages without fields, which the receiver copies into memory that it
// has used before.

#ifndef UPDRAFT_TOOLS_BENCH_PLAINSTREAM_H
#define UPDRAFT_TOOLS_BENCH_PLAINSTREAM_H

#include <cstddef>
#include <memory>
#include <string>

namespace updraft::bench {

/// PEM files in a folder: ca.pem, and cert.pem and key.pem, which both sides use.
struct TLSFolder {
  std::string path; ///< empty: without TLS

  std::string file(const char *name) const { return path + "/" + name; }
  /// The text of a file, or nothing without TLS.
  std::string read(const char *name) const;
};

/// Makes an authority and a certificate for 127.0.0.1 with openssl, in a folder that exists. Throws
/// std::runtime_error.
void makeCertificates(const TLSFolder &folder);

/// The main function of a process that receives streams of at most `bytes` bytes.
int plainStreamServer(size_t bytes, const TLSFolder &tls);

/// Sends to such a process. Throws std::runtime_error.
class PlainStream {
public:
  PlainStream(const std::string &address, const TLSFolder &tls);
  ~PlainStream();
  /// Returns once the other side has copied all bytes.
  void send(const char *data, size_t bytes, size_t chunkBytes);

private:
  struct Connection;
  std::unique_ptr<Connection> connection;
};

} // namespace updraft::bench

#endif // UPDRAFT_TOOLS_BENCH_PLAINSTREAM_H
