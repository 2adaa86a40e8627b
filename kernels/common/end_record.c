/* SPDX-License-Identifier: Apache-2.0 */
/* See end_record.h. */
#include "end_record.h"

#include <signal.h>

const char *signal_name(int number)
{
    return number == SIGTERM ? "SIGTERM" : "SIGINT";
}

char *put_text(char *at, const char *text)
{
    while (*text)
        *at++ = *text++;
    return at;
}

char *put_number(char *at, long number)
{
    char digits[24];
    int count = 0;
    do {
        digits[count++] = (char)('0' + number % 10);
        number /= 10;
    } while (number > 0);
    while (count > 0)
        *at++ = digits[--count];
    return at;
}

/* With six decimals. */
static char *put_seconds(char *at, double seconds)
{
    const long microseconds = (long)(seconds * 1e6 + 0.5);
    at = put_number(at, microseconds / 1000000);
    *at++ = '.';
    for (long unit = 100000; unit > 0; unit /= 10)
        *at++ = (char)('0' + microseconds / unit % 10);
    return at;
}

size_t end_record(char line[END_RECORD_BYTES], const struct end *end)
{
    char *at = put_text(line, "{\"record\":\"end\",\"sequence\":");
    at = put_number(at, end->sequence);
    at = put_text(at, ",\"status\":\"");
    at = put_text(at, end->status);
    at = put_text(at, "\",\"records\":");
    at = put_number(at, end->sequence + 1);
    at = put_text(at, ",\"elapsed_seconds\":");
    at = put_seconds(at, end->elapsed_seconds);
    *at++ = ',';
    if (end->note) {
        at = put_text(at, end->note + 1); /* a JSON object: without its opening brace */
    } else {
        at = put_text(at, "\"reason\":\"");
        at = put_text(at, end->reason);
        at = put_text(at, "\"}");
    }
    *at++ = '\n';
    return (size_t)(at - line);
}
