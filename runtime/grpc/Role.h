//===- Role.h - Roles of clients ----------------------------------------------------*- C++ -*-===//

#ifndef UPDRAFT_RUNTIME_GRPC_ROLE_H
#define UPDRAFT_RUNTIME_GRPC_ROLE_H

namespace updraft::worker {

/// Each role may do what the ones before may, except for Peer.
enum class Role {
  Reader,  ///< reads parameters and descriptions
  Trainer, ///< pushes gradients, steps, sets hyperparameters
  Admin,   ///< writes parameters, creates and deletes optimizers, takes snapshots
  Peer,    ///< another worker, which takes part in steps of several workers
};

} // namespace updraft::worker

#endif // UPDRAFT_RUNTIME_GRPC_ROLE_H
