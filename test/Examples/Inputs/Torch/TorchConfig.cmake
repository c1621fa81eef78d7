# find_package(Torch) for the torch of $ENV{TORCH_INSTALL_PREFIX}. torch's own file, in a wheel with
# CUDA, needs a matching CUDA toolkit even for programs that use the CPU only.
set(root "$ENV{TORCH_INSTALL_PREFIX}")
add_library(torch INTERFACE IMPORTED)
target_compile_features(torch INTERFACE cxx_std_20)
target_include_directories(torch SYSTEM INTERFACE
  "${root}/include" "${root}/include/torch/csrc/api/include")
target_link_libraries(torch INTERFACE "${root}/lib/libtorch_cpu.so" "${root}/lib/libc10.so")
set(TORCH_LIBRARIES torch)
