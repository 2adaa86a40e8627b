/* SPDX-License-Identifier: Apache-2.0 */
/* See records.h. */
#include "records.h"

/* The fields behind those that name their subject. */
static json_t *about(const struct subject *subject, json_t *fields)
{
    json_t *record =
        OBJECT(field_int("partition", subject->processes), field_text("method", methods[subject->method].name),
               field_text("type", subject->type->name));
    json_object_update_new(record, fields);
    return record;
}

json_t *pattern_json(int number, const struct pattern *pattern)
{
    return OBJECT(field_int("pattern", number), field_text("type", pattern_types[pattern->type].name),
                  field_int_or_null("chunk_bytes", pattern->chunk_bytes, pattern->chunk_bytes),
                  field_int_or_null("call_bytes", pattern->call_bytes, pattern->call_bytes),
                  field_int("units", pattern->units));
}

double type_seconds(const struct type_result *result)
{
    return result->files.open_seconds + result->pattern_seconds + result->files.close_seconds;
}

json_t *measurement_json(const struct subject *subject, int number, const struct pattern *pattern,
                         const struct result *result, double scheduled_seconds, json_t *hints)
{
    return about(
        subject,
        OBJECT(field_int("pattern", number), field_int("chunk_bytes", pattern->chunk_bytes),
               field_int("call_bytes", pattern->call_bytes), field_int("calls_min", result->calls_min),
               field_int("calls_max", result->calls_max), field_int("calls_sum", result->calls_sum),
               field_int("bytes", result->calls_sum * pattern->call_bytes),
               field_text("ended_by", ending_names[result->ending]), field_real("scheduled_seconds", scheduled_seconds),
               field_real("elapsed_seconds", result->elapsed), field_real("position_seconds", result->position),
               field_real("access_seconds", result->access),
               field_real("access_fastest_seconds", result->access_fastest), field_real("sync_seconds", result->sync),
               field_real("agreement_seconds", result->agreement),
               field_real("agreement_fastest_seconds", result->agreement_fastest),
               field_real("first_done_seconds", result->first_done), field_real("last_done_seconds", result->last_done),
               field_int("agreements", result->agreements), field_json("hints", hints)));
}

json_t *process_times_json(const struct subject *subject, int number, json_t *calls, json_t *access_seconds,
                           json_t *sync_seconds)
{
    return about(subject,
                 OBJECT(field_int("pattern", number), field_json("calls", calls),
                        field_json("access_seconds", access_seconds), field_json("sync_seconds", sync_seconds)));
}

json_t *pattern_type_json(const struct subject *subject, const struct type_result *result, json_t *striping,
                          json_t *hints)
{
    const struct files *files = &result->files;
    return about(subject, OBJECT(field_int("files", subject->type->separate ? subject->processes : 1),
                                 field_int("bytes", result->bytes), field_int("file_bytes", files->bytes),
                                 field_int_or_null("segment_bytes", subject->type->segmented, result->segment_bytes),
                                 field_int_or_null("cached_bytes", files->cached_bytes >= 0, files->cached_bytes),
                                 field_json("striping", striping), field_real("open_seconds", files->open_seconds),
                                 field_real("close_seconds", files->close_seconds),
                                 field_real("elapsed_seconds", type_seconds(result)), field_json("hints", hints)));
}

json_t *layout_record_json(const struct subject *subject, json_t *servers)
{
    return about(subject, servers);
}
