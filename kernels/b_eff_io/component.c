/* See component.h. ROMIO gives itself away by its hints. Under Open MPI neither of its two components says anything, but
 * the first file that ompio opens makes it load parts of its own. */
#include "component.h"

#include <link.h>
#include <string.h>

struct loaded {
    bool ompio, romio;
};

static int look(struct dl_phdr_info *object, size_t bytes, void *data)
{
    struct loaded *loaded = data;
    (void)bytes;
    loaded->ompio = loaded->ompio || strstr(object->dlpi_name, "/mca_fbtl_");
    loaded->romio = loaded->romio || strstr(object->dlpi_name, "/mca_io_romio");
    return 0;
}

json_t *mpi_io_component(const json_t *hints)
{
    const char *name;
    json_t *value;
    struct loaded loaded = {false, false};
    json_object_foreach((json_t *)hints, name, value)
        if (strncmp(name, "romio_", strlen("romio_")) == 0)
            return json_string("romio");
    dl_iterate_phdr(look, &loaded);
    return loaded.ompio ? json_string("ompio") : loaded.romio ? json_string("romio") : json_null();
}
