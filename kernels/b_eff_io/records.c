/* SPDX-License-Identifier: Apache-2.0 */
/* See records.h. */
#include "records.h"

json_t *pattern_json(int number, const struct pattern *pattern)
{
    return OBJECT(field_int("pattern", number), field_text("type", pattern_types[pattern->type].name),
                  field_int_or_null("chunk_bytes", pattern->chunk_bytes, pattern->chunk_bytes),
                  field_int_or_null("call_bytes", pattern->call_bytes, pattern->call_bytes),
                  field_int("units", pattern->units));
}

json_t *step_json(const struct step *now, json_t *fields)
{
    json_t *record = OBJECT(field_int("partition", now->processes), field_text("method", methods[now->method].name),
                            field_text("type", now->row->name));
    json_object_update_new(record, fields);
    return record;
}

json_t *measurement_json(const struct step *now, const struct pattern *pattern, const struct result *result,
                         double scheduled_seconds, json_t *hints)
{
    return OBJECT(
        field_int("pattern", now->number), field_int("chunk_bytes", pattern->chunk_bytes),
        field_int("call_bytes", pattern->call_bytes), field_int("calls_min", result->calls_min),
        field_int("calls_max", result->calls_max), field_int("calls_sum", result->calls_sum),
        field_int("bytes", result->calls_sum * pattern->call_bytes),
        field_text("ended_by", ending_names[result->ending]), field_real("scheduled_seconds", scheduled_seconds),
        field_real("elapsed_seconds", result->elapsed), field_real("position_seconds", result->position),
        field_real("access_seconds", result->access), field_real("access_fastest_seconds", result->access_fastest),
        field_real("sync_seconds", result->sync), field_real("agreement_seconds", result->agreement),
        field_real("agreement_fastest_seconds", result->agreement_fastest),
        field_real("first_done_seconds", result->first_done), field_real("last_done_seconds", result->last_done),
        field_int("agreements", result->agreements), field_json("hints", hints));
}

double type_seconds(const struct step *now, const struct files *files)
{
    return files->open_seconds + now->pattern_seconds + files->close_seconds;
}

json_t *pattern_type_json(const struct step *now, const struct files *files, json_t *striping, json_t *hints)
{
    return OBJECT(field_int("files", now->row->separate ? now->processes : 1), field_int("bytes", now->bytes),
                  field_int("file_bytes", files->bytes),
                  field_int_or_null("segment_bytes", now->row->segmented, now->stream.segment_bytes),
                  field_int_or_null("cached_bytes", files->cached_bytes >= 0, files->cached_bytes),
                  field_json("striping", striping), field_real("open_seconds", files->open_seconds),
                  field_real("close_seconds", files->close_seconds),
                  field_real("elapsed_seconds", type_seconds(now, files)), field_json("hints", hints));
}
