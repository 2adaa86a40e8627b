/* SPDX-License-Identifier: Apache-2.0 */
/* See records.h. */
#include "records.h"

struct value {
    const char *name;
    double seconds;
};

static void add_seconds(json_t *record, const struct value values[], size_t count)
{
    for (size_t i = 0; i < count; i++)
        json_object_set_new(record, values[i].name, json_real(values[i].seconds));
}

static void add_count(json_t *record, const char *name, int64_t count)
{
    json_object_set_new(record, name, json_integer((json_int_t)count));
}

static json_t *subject_json(const struct subject *subject)
{
    return OBJECT(field_int("partition", subject->processes), field_text("method", methods[subject->method].name),
                  field_text("type", subject->type->name));
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
    const struct value times[] = {
        {"scheduled_seconds", scheduled_seconds},
        {"elapsed_seconds", result->elapsed},
        {"position_seconds", result->position},
        {"access_seconds", result->access},
        {"access_fastest_seconds", result->access_fastest},
        {"sync_seconds", result->sync},
        {"agreement_seconds", result->agreement},
        {"agreement_fastest_seconds", result->agreement_fastest},
        {"first_done_seconds", result->first_done},
        {"last_done_seconds", result->last_done},
    };
    json_t *record = subject_json(subject);
    add_count(record, "pattern", number);
    add_count(record, "chunk_bytes", pattern->chunk_bytes);
    add_count(record, "call_bytes", pattern->call_bytes);
    add_count(record, "calls_min", result->calls_min);
    add_count(record, "calls_max", result->calls_max);
    add_count(record, "calls_sum", result->calls_sum);
    add_count(record, "bytes", result->calls_sum * pattern->call_bytes);
    json_object_set_new(record, "ended_by", json_string(ending_names[result->ending]));
    add_seconds(record, times, sizeof times / sizeof times[0]);
    add_count(record, "agreements", result->agreements);
    json_object_set_new(record, "hints", hints);
    return record;
}

json_t *process_times_json(const struct subject *subject, int number, json_t *calls, json_t *access_seconds,
                           json_t *sync_seconds)
{
    json_t *record = subject_json(subject);
    add_count(record, "pattern", number);
    json_object_set_new(record, "calls", calls);
    json_object_set_new(record, "access_seconds", access_seconds);
    json_object_set_new(record, "sync_seconds", sync_seconds);
    return record;
}

json_t *pattern_type_json(const struct subject *subject, const struct type_result *result, json_t *striping,
                          json_t *hints)
{
    const struct value times[] = {
        {"open_seconds", result->files.open_seconds},
        {"close_seconds", result->files.close_seconds},
        {"elapsed_seconds", type_seconds(result)},
    };
    json_t *record = subject_json(subject);
    add_count(record, "files", subject->type->separate ? subject->processes : 1);
    add_count(record, "bytes", result->bytes);
    add_count(record, "file_bytes", result->files.bytes);
    json_object_set_new(record, "segment_bytes",
                        subject->type->segmented ? json_integer(result->segment_bytes) : json_null());
    json_object_set_new(record, "cached_bytes",
                        result->files.cached_bytes < 0 ? json_null() : json_integer(result->files.cached_bytes));
    json_object_set_new(record, "striping", striping);
    add_seconds(record, times, sizeof times / sizeof times[0]);
    json_object_set_new(record, "hints", hints);
    return record;
}

json_t *layout_record_json(const struct subject *subject, json_t *servers)
{
    json_t *record = subject_json(subject);
    json_object_update_missing(record, servers);
    json_decref(servers);
    return record;
}
