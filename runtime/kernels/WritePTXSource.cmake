# cmake -DPTX=FILE -DTEMPLATE=FILE -DOUTPUT=FILE [-DTHREADS=N] -P WritePTXSource.cmake: PTX as a C++
# source. With THREADS, kernels are bounded to blocks of N threads, two for each multiprocessor, so
# that the driver's compiler can give each thread as many registers as fit.
file(READ "${PTX}" text)
if(THREADS)
  string(REGEX REPLACE "(\\.entry [A-Za-z0-9_]+\\([^)]*\\))[^\n]*\n"
                       "\\1\n.maxntid ${THREADS}, 1, 1\n.minnctapersm 2\n" text "${text}")
endif()
configure_file("${TEMPLATE}" "${OUTPUT}" @ONLY)
