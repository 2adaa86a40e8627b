/* Which implementation of MPI-I/O is at work, as far as that can be seen: it changes results several times over. */
#ifndef B_EFF_IO_COMPONENT_H
#define B_EFF_IO_COMPONENT_H

#include <jansson.h>
#include <stdbool.h>

/* The log's `component`, given the hints in effect for a file that is open: "romio", "ompio" or null. */
json_t *mpi_io_component(const json_t *hints);

#endif
