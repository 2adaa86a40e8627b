"""PRIOMark, the parallel I/O benchmark of user-defined workloads."""
