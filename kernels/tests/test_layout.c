/* SPDX-License-Identifier: Apache-2.0 */
/* The bricks of a file by GlusterFS's attribute: as GlusterFS 10.3 answered, and as its documentation has it. */
#include <stdio.h>
#include <string.h>

#include "check.h"
#include "layout.h"

static void check_bricks(const char *pathinfo, const char *wanted)
{
    char server[SERVER_BYTES] = "before";
    bricks_of(pathinfo, server);
    CHECK(strcmp(server, wanted) == 0, "'%s': '%s'", pathinfo, server);
}

int main(void)
{
    check_bricks("(<DISTRIBUTE:cup-dht> <POSIX(/data/brick1):vm:/data/brick1/dir/strip-000000>)", "vm:/data/brick1");
    check_bricks("((<DISTRIBUTE:vol-dht> (<REPLICATE:vol-replicate-0> <POSIX(/b/1):one.site:/b/1/file> "
                 "<POSIX(/b/2):two.site:/b/2/file>)))",
                 "one.site:/b/1 two.site:/b/2");
    check_bricks("", "");
    check_bricks("<POSIX(/b/1", "");
    check_bricks("<POSIX(/b/1):host", "");
    char folder[SERVER_BYTES], longest[2 * SERVER_BYTES];
    memset(folder, 'x', sizeof folder - 1);
    folder[sizeof folder - 1] = '\0';
    snprintf(longest, sizeof longest, "<POSIX(/%s):h:/x/y>", folder);
    check_bricks(longest, "");
    return checks_status();
}
