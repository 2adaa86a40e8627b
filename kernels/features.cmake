# SPDX-License-Identifier: Apache-2.0
# Optional features of the MPI library. Without one of them, the parts that require it are left out.
include(CheckSymbolExists)
set(CMAKE_REQUIRED_LIBRARIES MPI::MPI_C)
if(COFFEECUP_MPI)
    check_symbol_exists(MPI_T_init_thread mpi.h COFFEECUP_MPI_TOOLS)
endif()
if(COFFEECUP_MPI_IO AND NOT COFFEECUP_SIMULATED)
    check_symbol_exists(MPI_File_open mpi.h COFFEECUP_MPI_IO_FOUND)
    if(NOT COFFEECUP_MPI_IO_FOUND)
        message(FATAL_ERROR "this MPI has no MPI-IO; build without it by -DCOFFEECUP_MPI_IO=OFF")
    endif()
endif()
if(COFFEECUP_SIMULATED OR NOT COFFEECUP_MPI)
    set(COFFEECUP_MPI_NEIGHBORHOODS FALSE) # SMPI 3.32 declares them, and aborts the run that calls one
else()
    check_symbol_exists(MPI_Neighbor_alltoallv mpi.h COFFEECUP_MPI_NEIGHBORHOODS)
endif()
unset(CMAKE_REQUIRED_LIBRARIES)
target_compile_definitions(coffeecup_options INTERFACE
    HAVE_MPI=$<BOOL:${COFFEECUP_MPI}>
    HAVE_MPI_IO=$<BOOL:${COFFEECUP_MPI_IO}>
    HAVE_MPI_TOOLS=$<BOOL:${COFFEECUP_MPI_TOOLS}>
    HAVE_MPI_NEIGHBORHOODS=$<BOOL:${COFFEECUP_MPI_NEIGHBORHOODS}>)
