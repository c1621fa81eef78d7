//===- FreedMemory.h - Memory of messages -------------------------------------------*- C++ -*-===//

#ifndef UPDRAFT_RUNTIME_GRPC_FREEDMEMORY_H
#define UPDRAFT_RUNTIME_GRPC_FREEDMEMORY_H

namespace updraft::worker {

/// Has malloc keep freed memory of up to 64 MiB in each of its arenas, for all of this process.
/// Otherwise the memory of most messages of 1 MiB is new pages, and zeroing them takes longer than
/// copying the message. Called before there are threads. Has no effect with other libraries than
/// glibc.
void keepFreedMemory();

} // namespace updraft::worker

#endif // UPDRAFT_RUNTIME_GRPC_FREEDMEMORY_H
