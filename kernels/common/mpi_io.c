/* SPDX-License-Identifier: Apache-2.0 */
/* See mpi_io.h. ROMIO is recognised by its hints, which Open MPI 4 does not pass on. Open MPI's components do not
 * report their names, but where they are files of their own, they are loaded when the first file is opened. From Open
 * MPI 5 on they usually are part of the library: ompio is then the only one that has no ROMIO hints. */
#include "mpi_io.h"

#include <errno.h>
#include <link.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "fail.h"
#include "io_error.h"

static int errno_of(int code, const char *text)
{
    int class = MPI_SUCCESS;
    MPI_Error_class(code, &class);
    return class == MPI_ERR_NO_SPACE        ? ENOSPC
           : class == MPI_ERR_QUOTA         ? EDQUOT
           : class == MPI_ERR_NO_SUCH_FILE  ? ENOENT
           : strstr(text, strerror(ENOSPC)) ? ENOSPC /* of ROMIO, in the class MPI_ERR_IO */
                                            : EIO;
}

const char *mpi_io_error(int code, const char *less_data)
{
    static char message[1024];
    char text[MPI_MAX_ERROR_STRING];
    mpi_error_text(code, text);
    snprintf(message, sizeof message, "%.700s; %s", text, io_remedy(errno_of(code, text), false, less_data));
    return message;
}

struct loaded {
    bool ompio, romio;
};

static int note_library(struct dl_phdr_info *object, size_t bytes, void *data)
{
    struct loaded *loaded = data;
    (void)bytes;
    loaded->ompio = loaded->ompio || strstr(object->dlpi_name, "/mca_fbtl_");
    loaded->romio = loaded->romio || strstr(object->dlpi_name, "/mca_io_romio");
    return 0;
}

static bool passes_on_hints_of_romio(void)
{
    char library[MPI_MAX_LIBRARY_VERSION_STRING] = "";
    int length = 0, major = 0;
    MPI_CHECK(MPI_Get_library_version(library, &length));
    return sscanf(library, "Open MPI v%d", &major) == 1 && major >= 5;
}

static json_t *component(const json_t *hints)
{
    const char *name;
    json_t *value;
    struct loaded loaded = {false, false};
    json_object_foreach((json_t *)hints, name,
                        value) if (strncmp(name, "romio_", strlen("romio_")) == 0) return json_string("romio");
    dl_iterate_phdr(note_library, &loaded);
    if (loaded.ompio || passes_on_hints_of_romio())
        return json_string("ompio");
    return loaded.romio ? json_string("romio") : json_null();
}

json_t *hints_in_effect(MPI_File file)
{
    json_t *effective = json_object();
    MPI_Info info = MPI_INFO_NULL;
    int keys = 0;
    if (MPI_File_get_info(file, &info) != MPI_SUCCESS || info == MPI_INFO_NULL)
        return effective;
    MPI_CHECK(MPI_Info_get_nkeys(info, &keys));
    for (int i = 0; i < keys; i++) {
        char name[MPI_MAX_INFO_KEY + 1] = "", value[MPI_MAX_INFO_VAL + 1] = "";
        int present = 0;
        MPI_CHECK(MPI_Info_get_nthkey(info, i, name));
        MPI_CHECK(MPI_Info_get(info, name, MPI_MAX_INFO_VAL, value, &present));
        if (present)
            json_object_set_new(effective, name, text_json(value));
    }
    MPI_CHECK(MPI_Info_free(&info));
    return effective;
}

void mpi_io_log_component(struct log *log, MPI_File file)
{
    static bool is_logged;
    if (!log || is_logged)
        return;
    json_t *hints = hints_in_effect(file);
    log_write(log, "mpi_io", OBJECT(field_json("component", component(hints))));
    json_decref(hints);
    is_logged = true;
}
