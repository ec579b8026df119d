# Toolchain for machines without a C++ compiler: clang from the package `ziglang`, whose program the variable ZIG names.
set(CMAKE_CXX_COMPILER "$ENV{ZIG};c++")
set(CMAKE_CXX_ARCHIVE_CREATE "$ENV{ZIG} ar qc <TARGET> <OBJECTS>")
set(CMAKE_CXX_ARCHIVE_FINISH "$ENV{ZIG} ranlib <TARGET>")
set(CMAKE_TRY_COMPILE_TARGET_TYPE STATIC_LIBRARY)  # to link a program Zig would first compile a C++ library: a minute
# Zig compiles for the machine it runs on unless told otherwise.
add_compile_options(-mcpu=baseline)
add_link_options(-mcpu=baseline)
set(ENSAMPLE_ZIG ON)
