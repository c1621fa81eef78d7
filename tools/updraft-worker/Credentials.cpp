//===- Credentials.cpp - A worker's certificates ----------------------------------------------===//

#include "Credentials.h"

#include "InputFile.h"

#include <grpcpp/security/tls_certificate_provider.h>
#include <grpcpp/security/tls_credentials_options.h>

#include <cstdlib>

using namespace updraft;
using namespace updraft::worker;
using grpc::experimental::FileWatcherCertificateProvider;

/// How often files are looked at.
static constexpr unsigned refreshSeconds = 5;

void worker::checkFiles(const TLSFiles &files) {
  for (const std::string &file : {files.certificate, files.key, files.clientCA, files.peerCA})
    if (!file.empty())
      readInput(file);
}

void worker::requireTLS13() {
  // gRPC 1.51 has no setting for the least version. TLS 1.2 needs one of these suites, and never
  // has this one, because it needs a key that both sides know; TLS 1.3 has suites of its own.
  setenv("GRPC_SSL_CIPHER_SUITES", "PSK-AES128-GCM-SHA256", 1);
}

std::shared_ptr<grpc::ServerCredentials> worker::serverCredentials(const TLSFiles &files) {
  if (!files.isUsed())
    return grpc::InsecureServerCredentials();
  grpc::experimental::TlsServerCredentialsOptions options(
      std::make_shared<FileWatcherCertificateProvider>(files.key, files.certificate, files.clientCA,
                                                       refreshSeconds));
  options.watch_identity_key_cert_pairs();
  if (files.clientCA.empty()) {
    options.set_cert_request_type(GRPC_SSL_DONT_REQUEST_CLIENT_CERTIFICATE);
  } else {
    options.watch_root_certs();
    options.set_cert_request_type(GRPC_SSL_REQUEST_AND_REQUIRE_CLIENT_CERTIFICATE_AND_VERIFY);
  }
  return grpc::experimental::TlsServerCredentials(options);
}

std::shared_ptr<grpc::ChannelCredentials> worker::peerCredentials(const TLSFiles &files) {
  if (!files.isUsed())
    return grpc::InsecureChannelCredentials();
  grpc::experimental::TlsChannelCredentialsOptions options;
  options.set_certificate_provider(std::make_shared<FileWatcherCertificateProvider>(
      files.key, files.certificate, files.peerCA.empty() ? files.clientCA : files.peerCA,
      refreshSeconds));
  options.watch_identity_key_cert_pairs();
  options.watch_root_certs();
  return grpc::experimental::TlsCredentials(options);
}
