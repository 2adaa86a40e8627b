/* SPDX-License-Identifier: Apache-2.0 */
/* Lines of the trace, formed without functions that take a lock. See recorder.h. */
#include "recorder.h"

#include <errno.h>
#include <stdatomic.h>
#include <sys/mman.h>

#include "../trace/trace_format.h"

void line_begin(struct line *line, size_t more_bytes)
{
    line->error = errno;
    line->mapped = NULL;
    line->at = line->room;
    line->end = line->room + sizeof line->room;
    if (more_bytes <= sizeof line->room / 2)
        return;
    line->mapped_bytes = more_bytes + sizeof line->room;
    void *memory = mmap(NULL, line->mapped_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED)
        return; /* the line is cut off and the reader refuses it, which is better than stopping the program */
    line->mapped = line->at = memory;
    line->end = line->at + line->mapped_bytes;
}

static void put(struct line *line, char c)
{
    if (line->at < line->end)
        *line->at++ = c;
}

void line_text(struct line *line, const char *text)
{
    while (*text)
        put(line, *text++);
}

void line_number(struct line *line, int64_t number)
{
    char digit[20];
    int digits = 0;
    uint64_t rest = number < 0 ? -(uint64_t)number : (uint64_t)number;
    put(line, ' ');
    if (number < 0)
        put(line, '-');
    do
        digit[digits++] = (char)('0' + rest % 10);
    while (rest /= 10);
    while (digits)
        put(line, digit[--digits]);
}

void line_flags(struct line *line, int flags)
{
    put(line, ' ');
    for (int i = 0; i < KNOWN_MODES; i++)
        if ((flags & O_ACCMODE) == trace_modes[i].bits)
            line_text(line, trace_modes[i].name);
    for (int i = 0; i < KNOWN_FLAGS; i++)
        if ((flags & trace_flags[i].bits) == trace_flags[i].bits) {
            put(line, '|');
            line_text(line, trace_flags[i].name);
            flags &= ~trace_flags[i].bits;
        }
}

void line_escaped(struct line *line, const char *text)
{
    static const char hexadecimal[] = "0123456789ABCDEF";
    put(line, ' ');
    for (; *text; text++) {
        const unsigned char c = (unsigned char)*text;
        if (c > ' ' && c < 0x7f && c != '%') {
            put(line, *text);
        } else {
            put(line, '%');
            put(line, hexadecimal[c >> 4]);
            put(line, hexadecimal[c & 15]);
        }
    }
}
