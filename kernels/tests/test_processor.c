/* SPDX-License-Identifier: Apache-2.0 */
/* The model of a processor is read from files as the kernel of Linux writes them on x86, POWER and ARM, and is "" where
 * none is stated. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "check.h"
#include "cores.h"

static void check_model(const char *text, const char *expected)
{
    char path[] = "/tmp/coffeecup-processor-XXXXXX", model[32];
    const int file = mkstemp(path);
    CHECK(file >= 0 && write(file, text, strlen(text)) == (ssize_t)strlen(text), "cannot write %s", path);
    close(file);
    processor_model(path, model, sizeof model);
    CHECK(strcmp(model, expected) == 0, "'%s' instead of '%s'", model, expected);
    unlink(path);
}

int main(void)
{
    char model[32] = "before";
    check_model("processor\t: 0\ncpu family\t: 6\nmodel\t\t: 85\nmodel name\t: Xeon 6148\ncpu MHz\t\t: 2400\n\n"
                "processor\t: 1\nmodel name\t: Xeon 9999\n",
                "Xeon 6148");
    check_model("processor\t: 0\ncpu\t\t: POWER9\nclock\t\t: 3800MHz\n\nprocessor\t: 1\ncpu\t\t: POWER9\n", "POWER9");
    check_model("processor\t: 0\nCPU implementer\t: 0x41\nCPU part\t: 0xd0c\n\n", "0x41 0xd0c");
    check_model("model name\t: 0123456789012345678901234567890123456789\n", "0123456789012345678901234567890");
    check_model("processor\t: 0\n", "");
    processor_model("/nonexistent", model, sizeof model);
    CHECK(strcmp(model, "") == 0, "'%s' of a file that does not exist", model);
    return checks_status();
}
