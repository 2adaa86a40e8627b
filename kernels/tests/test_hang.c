/* SPDX-License-Identifier: Apache-2.0 */
/* A process in state D or I (some clients of file systems) is in the same call of the kernel with up to two turns on a
 * processor from second to second. A loop may take what was requested, else a hundred times what is expected but at
 * least 30 s, and 300 s if nothing is expected yet; a call on a file 600 s; whole seconds, rounded up, and at most a
 * day. Time counts in full up to 10 ms of waiting for each turn on a processor, and never less than a tenth. */
#include <math.h>

#include "check.h"
#include "hang.h"

static void check_patience(double requested, double expected, double patience)
{
    hang_after_seconds = requested;
    const double found = hang_patience(expected);
    CHECK(found == patience, "%g s instead of %g s (requested %g s, expected %g s)", found, patience, requested,
          expected);
}

static void check_counted(double waited, double turns, double counted)
{
    const double found = hang_counted_seconds(8, waited, turns);
    CHECK(fabs(found - counted) < 1e-12, "of 8 s %g s instead of %g s (waited %g s for %g turns)", found, counted,
          waited, turns);
}

static void check_asleep(char letter, double turns, double asleep)
{
    const double found = hang_asleep_seconds(4, letter, turns);
    CHECK(found == asleep, "asleep for %g s instead of %g s (state %c, %g turns)", found, asleep, letter, turns);
}

int main(void)
{
    check_asleep('D', 0, 5);
    check_asleep('I', 2, 5);
    check_asleep('D', 3, 0);
    check_asleep('S', 0, 0);
    check_asleep('R', 0, 0);
    check_counted(0, 0, 8); /* stopped, asleep, or not counted by the system */
    check_counted(0, 5000, 8);
    check_counted(6, 600, 8);
    check_counted(6, 599, 8 * 0.01 * 599 / 6);
    check_counted(7.5, 150, 1.6);
    check_counted(7.5, 76, 8 * 0.01 * 76 / 7.5);
    check_counted(7.5, 74, 0.8);
    check_counted(8, 0, 0.8);
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
