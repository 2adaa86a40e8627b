/* SPDX-License-Identifier: Apache-2.0 */
/* A loop may take what was requested, else a hundred times what is expected but at least 30 s, and 300 s if nothing is
 * expected yet; a call on a file 600 s; whole seconds, rounded up, and at most a day. */
#include "check.h"
#include "hang.h"

static void check_patience(double requested, double expected, double patience)
{
    hang_after_seconds = requested;
    const double found = hang_patience(expected);
    CHECK(found == patience, "%g s instead of %g s (requested %g s, expected %g s)", found, patience, requested,
          expected);
}

int main(void)
{
    check_patience(0, 0, 300);
    check_patience(0, 1e-9, 30);
    check_patience(0, 0.3, 30);
    check_patience(0, 0.304, 31);
    check_patience(0, 863.99, 86399);
    check_patience(0, 865, 86400);
    check_patience(3, 0, 3);
    check_patience(3, 1000, 3);
    check_patience(2.5, 1000, 3);
    CHECK(hang_patience_of_files() == 3, "%g s", hang_patience_of_files());
    hang_after_seconds = 0;
    CHECK(hang_patience_of_files() == 600, "%g s", hang_patience_of_files());
    return checks_status();
}
