/* See records.h. */
#include "records.h"

double type_seconds(const struct type_result *result)
{
    return result->open_seconds + result->pattern_seconds + result->close_seconds;
}

json_t *measurement_json(const struct subject *subject, int number, const struct pattern *pattern,
                         const struct result *result, double scheduled_seconds, json_t *hints)
{
    return json_pack("{s:i, s:s, s:s, s:i, s:I, s:I, s:I, s:I, s:s, s:f, s:f, s:f, s:f, s:f, s:f, s:f, s:f, s:i, s:f, s:f, s:o}",
                     "partition", subject->processes, "method", methods[subject->method].name, "type", subject->type->name,
                     "pattern", number, "chunk_bytes", (json_int_t)pattern->chunk_bytes, "call_bytes",
                     (json_int_t)pattern->call_bytes, "calls", (json_int_t)result->calls, "bytes",
                     (json_int_t)(result->calls * pattern->call_bytes * subject->processes), "ended_by",
                     ending_names[result->ending], "scheduled_seconds", scheduled_seconds, "elapsed_seconds", result->elapsed,
                     "position_seconds", result->position, "access_seconds", result->access, "access_fastest_seconds",
                     result->access_fastest, "sync_seconds", result->sync, "agreement_seconds", result->agreement,
                     "agreement_fastest_seconds", result->agreement_fastest, "agreements", result->agreements,
                     "first_done_seconds", result->first_done, "last_done_seconds", result->last_done, "hints", hints);
}

json_t *pattern_type_json(const struct subject *subject, const struct type_result *result, json_t *hints)
{
    return json_pack("{s:i, s:s, s:s, s:i, s:I, s:I, s:o, s:f, s:f, s:f, s:o}", "partition", subject->processes, "method",
                     methods[subject->method].name, "type", subject->type->name, "files",
                     subject->type->separate ? subject->processes : 1, "bytes", (json_int_t)result->bytes, "file_bytes",
                     (json_int_t)result->file_bytes, "segment_bytes",
                     subject->type->segmented ? json_integer(result->segment_bytes) : json_null(), "open_seconds",
                     result->open_seconds, "close_seconds", result->close_seconds, "elapsed_seconds", type_seconds(result),
                     "hints", hints);
}
