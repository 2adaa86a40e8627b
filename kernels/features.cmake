# What the MPI library has beyond the core that every kernel needs. What needs one of these is left out without it.
include(CheckSymbolExists)
set(CMAKE_REQUIRED_LIBRARIES MPI::MPI_C)
check_symbol_exists(MPI_T_init_thread mpi.h COFFEECUP_MPI_TOOLS)
if(COFFEECUP_SIMULATED)
    set(COFFEECUP_MPI_NEIGHBORHOODS FALSE) # SMPI 3.32 declares them, and aborts the run that calls one
else()
    check_symbol_exists(MPI_Neighbor_alltoallv mpi.h COFFEECUP_MPI_NEIGHBORHOODS)
endif()
unset(CMAKE_REQUIRED_LIBRARIES)
target_compile_definitions(coffeecup_options INTERFACE
    HAVE_MPI_TOOLS=$<BOOL:${COFFEECUP_MPI_TOOLS}>
    HAVE_MPI_NEIGHBORHOODS=$<BOOL:${COFFEECUP_MPI_NEIGHBORHOODS}>)
