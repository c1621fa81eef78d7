# cmake -DPTX=FILE -DTEMPLATE=FILE -DOUTPUT=FILE -P WritePTXSource.cmake: PTX as a C++ source.
file(READ "${PTX}" text)
configure_file("${TEMPLATE}" "${OUTPUT}" @ONLY)
