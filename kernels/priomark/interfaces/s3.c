/* SPDX-License-Identifier: Apache-2.0 */
/* Objects of an S3 server, written as multipart uploads: a block is a part, and the sync completes them. A block is
 * read by its range. libcurl signs requests. A process beside each one that writes removes what that one leaves. */
#include <curl/curl.h>
#include <fcntl.h>
#include <inttypes.h>
#include <mpi.h>
#include <priomark_interface.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { MOST_PARTS = 10000, LEAST_PART_BYTES = 5 << 20 }; /* of an object, all but the last one */
enum { TAG_BYTES = 72, TEXT_BYTES = 4096, KEY_BYTES = 512, UPLOAD_BYTES = 1024, ATTEMPTS = 5, MOST_WATCHED = 16 };

/* A file that is open. Each process knows the tags of the parts that it wrote; the others are zeros. */
struct object {
    char key[KEY_BYTES], upload[UPLOAD_BYTES];
    int parts;
    char (*tag)[TAG_BYTES];
};

/* A request, and its answer: a status of HTTP, or 0 and why there was none. */
struct request {
    const char *method, *key, *query; /* key "": the bucket */
    const char *out;                  /* what is sent */
    char *in;                         /* where the content of the answer goes, which may be longer */
    const char *wanted;               /* the name of a text in the answer */
    int64_t out_bytes, in_bytes, received;
    char range[64], text[UPLOAD_BYTES], why[CURL_ERROR_SIZE];
    long status;
};

static CURL *connection;
static int retries;    /* of requests since the last close: any other error ends the run */
static int watch = -1; /* the pipe to the process that removes what is left */

/* --- the environment ---------------------------------------------------------------------------------------------- */

static const char *from_environment(const char *name, const char *other)
{
    const char *value = getenv(name);
    return value && *value ? value : other;
}

static const char *why_not(void)
{
    static const char *const required[] = {"AWS_ENDPOINT_URL", "AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY",
                                           "COFFEECUP_S3_BUCKET"};
    static char reason[128];
    for (size_t i = 0; i < sizeof required / sizeof *required; i++)
        if (!from_environment(required[i], NULL)) {
            snprintf(reason, sizeof reason, "the environment has no %s; set it for all processes", required[i]);
            return reason;
        }
    if (strchr(getenv("AWS_ENDPOINT_URL"), '@')) /* the log has it */
        return "AWS_ENDPOINT_URL contains a user; credentials belong to AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY";
    if (strcmp(strrchr(getenv("AWS_ENDPOINT_URL"), '\0') - 1, "/") == 0) /* requests would be for '//BUCKET/KEY' */
        return "AWS_ENDPOINT_URL ends with '/'; remove it";
    return curl_global_init(CURL_GLOBAL_DEFAULT) == CURLE_OK ? NULL : "libcurl cannot be initialised";
}

static const char *properties(void)
{
    static char text[512];
    snprintf(text, sizeof text, "libcurl %s, %s/%s", curl_version_info(CURLVERSION_NOW)->version,
             getenv("AWS_ENDPOINT_URL"), getenv("COFFEECUP_S3_BUCKET"));
    return text;
}

/* --- requests ----------------------------------------------------------------------------------------------------- */

static size_t take_some(char *data, size_t size, size_t count, void *of)
{
    struct request *request = of;
    const int64_t room = request->in_bytes - request->received, bytes = (int64_t)(size * count);
    if (room > 0)
        memcpy(request->in + request->received, data, (size_t)(bytes < room ? bytes : room));
    request->received += bytes;
    return size * count;
}

static struct curl_slist *headers(void)
{
    char token[TEXT_BYTES];
    struct curl_slist *list = curl_slist_append(NULL, "x-amz-content-sha256:UNSIGNED-PAYLOAD");
    list = curl_slist_append(list, "content-type:application/octet-stream");
    snprintf(token, sizeof token, "x-amz-security-token:%s", from_environment("AWS_SESSION_TOKEN", ""));
    return from_environment("AWS_SESSION_TOKEN", NULL) ? curl_slist_append(list, token) : list;
}

static void send_once(struct request *request)
{
    char url[TEXT_BYTES], signature[128];
    struct curl_slist *list = headers();
    snprintf(url, sizeof url, "%s/%s/%s%s%s", getenv("AWS_ENDPOINT_URL"), getenv("COFFEECUP_S3_BUCKET"), request->key,
             request->query ? "?" : "", request->query ? request->query : "");
    snprintf(signature, sizeof signature, "aws:amz:%s:s3", from_environment("AWS_REGION", "us-east-1"));
    if (!connection)
        connection = curl_easy_init();
    curl_easy_reset(connection); /* which keeps the connection */
    request->received = request->status = 0;
    if (request->out) {
        curl_easy_setopt(connection, CURLOPT_POSTFIELDS, request->out);
        curl_easy_setopt(connection, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)request->out_bytes);
        curl_easy_setopt(connection, CURLOPT_EXPECT_100_TIMEOUT_MS, 1L);
    }
    if (request->range[0])
        curl_easy_setopt(connection, CURLOPT_RANGE, request->range);
    if (strcmp(request->method, "HEAD") == 0)
        curl_easy_setopt(connection, CURLOPT_NOBODY, 1L);
    curl_easy_setopt(connection, CURLOPT_WRITEFUNCTION, take_some);
    curl_easy_setopt(connection, CURLOPT_WRITEDATA, request);
    curl_easy_setopt(connection, CURLOPT_URL, url);
    curl_easy_setopt(connection, CURLOPT_CUSTOMREQUEST, request->method);
    curl_easy_setopt(connection, CURLOPT_AWS_SIGV4, signature);
    curl_easy_setopt(connection, CURLOPT_USERNAME, getenv("AWS_ACCESS_KEY_ID"));
    curl_easy_setopt(connection, CURLOPT_PASSWORD, getenv("AWS_SECRET_ACCESS_KEY"));
    curl_easy_setopt(connection, CURLOPT_HTTPHEADER, list);
    curl_easy_setopt(connection, CURLOPT_BUFFERSIZE, 512L << 10); /* the most of libcurl 7.87, not 16 KiB */
    curl_easy_setopt(connection, CURLOPT_NOSIGNAL, 1L);
    curl_easy_setopt(connection, CURLOPT_ERRORBUFFER, request->why);
    curl_easy_setopt(connection, CURLOPT_CONNECTTIMEOUT, 10L);
    if (curl_easy_perform(connection) == CURLE_OK)
        curl_easy_getinfo(connection, CURLINFO_RESPONSE_CODE, &request->status);
    curl_slist_free_all(list);
}

/* Errors of the connection and of the server are tried again, after 0.1, 0.2, 0.4 and 0.8 s. */
static bool answered(struct request *request)
{
    for (int attempt = 1;; attempt++) {
        send_once(request);
        const bool may_pass = request->status == 0 || request->status == 429 || request->status >= 500;
        if (request->status >= 200 && request->status < 300)
            return true;
        if (!may_pass || attempt == ATTEMPTS)
            return false;
        retries++;
        if (request->in)
            memset(request->in, 0, (size_t)request->in_bytes); /* what the next answer may not replace */
        nanosleep(&(struct timespec){.tv_nsec = 50000000L << attempt}, NULL);
    }
}

/* The text between <name> and the next tag, of an answer in XML. */
static const char *find_text(const char *xml, const char *name, char *text, size_t bytes)
{
    char tag[64];
    snprintf(tag, sizeof tag, "<%s>", name);
    const char *at = strstr(xml, tag);
    snprintf(text, bytes, "%.*s", at ? (int)strcspn(at + strlen(tag), "<") : 0, at ? at + strlen(tag) : "");
    return at ? at + strlen(tag) : NULL;
}

/* An error may also come with a status of success. */
static void request_or_stop(const struct priomark_file *file, struct request *request, const char *what)
{
    char answer[TEXT_BYTES] = "", code[128];
    if (!request->in) {
        request->in = answer;
        request->in_bytes = sizeof answer - 1;
    }
    const bool is_answered = answered(request);
    find_text(answer, "Code", code, sizeof code);
    if (request->wanted)
        find_text(answer, request->wanted, request->text, sizeof request->text);
    if (is_answered && !code[0])
        return;
    if (request->status)
        priomark_stop(file, what, "the server answered %ld %s; check the bucket, the credentials and the server",
                      request->status, code);
    priomark_stop(file, what, "%s; check AWS_ENDPOINT_URL and the server", request->why);
}

/* --- what is left behind ------------------------------------------------------------------------------------------ */

/* Sent to the process beside this one, in one piece: an object that is being written, or that is removed. */
struct message {
    bool exists;
    char key[KEY_BYTES];
};

static void remove_left(const char *key)
{
    char xml[1 << 16] = "", query[2 * UPLOAD_BYTES], upload[UPLOAD_BYTES];
    const char *name = strchr(key, '/') + 1;
    snprintf(query, sizeof query, "prefix=%.*s%%2F%s&uploads=", (int)(name - key - 1), key, name);
    struct request list = {.method = "GET", .key = "", .query = query, .in = xml, .in_bytes = sizeof xml - 1};
    answered(&list);
    for (const char *at = xml; (at = find_text(at, "UploadId", upload, sizeof upload));) {
        snprintf(query, sizeof query, "uploadId=%s", upload);
        answered(&(struct request){.method = "DELETE", .key = key, .query = query});
    }
    answered(&(struct request){.method = "DELETE", .key = key});
}

/* Until the other end of the pipe is closed, by whatever ended the process. No other file stays open: the launcher
 * waits for the end of the output, and other processes for the end of connections. */
static _Noreturn void watch_over(int pipe_end)
{
    static struct message known[MOST_WATCHED], message;
    connection = NULL;
    setsid(); /* a signal for the job does not reach it */
    dup2(pipe_end, 0);
    for (int file = (int)sysconf(_SC_OPEN_MAX) < 65536 ? (int)sysconf(_SC_OPEN_MAX) : 65536; file > 0; file--)
        close(file);
    if (open("/dev/null", O_RDWR) == 1)
        dup2(1, 2);
    while (read(0, &message, sizeof message) == sizeof message) {
        int place = MOST_WATCHED - 1;
        for (int i = place; i >= 0; i--)
            if (strcmp(known[i].key, message.key) == 0 ||
                (!known[i].key[0] && strcmp(known[place].key, message.key) != 0))
                place = i;
        known[place] = message.exists ? message : (struct message){0};
    }
    for (int i = 0; i < MOST_WATCHED; i++)
        if (known[i].key[0])
            remove_left(known[i].key);
    _exit(0);
}

static void start_watch(const struct priomark_file *file)
{
    int ends[2];
    const pid_t child = pipe(ends) == 0 && fcntl(ends[1], F_SETFD, FD_CLOEXEC) == 0 ? fork() : -1;
    if (child < 0)
        priomark_stop(file, "open", "cannot start a process; use fewer processes on the node");
    if (child == 0)
        watch_over(ends[0]);
    close(ends[0]);
    watch = ends[1];
}

static void tell_watch(const struct priomark_file *file, const char *key, bool exists)
{
    struct message message = {.exists = exists};
    snprintf(message.key, sizeof message.key, "%s", key);
    if (watch >= 0 && write(watch, &message, sizeof message) != sizeof message)
        priomark_stop(file, "open", "the process that removes what is left was ended; rerun the benchmark");
}

/* --- the interface ------------------------------------------------------------------------------------------------ */

/* The last two parts of the path: the run's directory, whose name is its own, and the file. */
static const char *key_of(const struct priomark_file *file)
{
    const char *at = strrchr(file->path, '/');
    while (at > file->path && at[-1] != '/')
        at--;
    return at;
}

static void *memory(const struct priomark_file *file, size_t count, size_t bytes)
{
    void *memory = calloc(count, bytes);
    if (!memory)
        priomark_stop(file, "open", "no memory; use fewer processes on a node");
    return memory;
}

static bool is_first(const struct priomark_file *file)
{
    return !file->shared || file->owner == 0;
}

static void begin_upload(struct priomark_file *file, struct object *object)
{
    if (object->parts > MOST_PARTS || (object->parts > 1 && file->block_bytes < LEAST_PART_BYTES))
        priomark_stop(file, "create",
                      "an object has at most %d parts of at least 5 MiB, not %d of %" PRId64
                      " bytes; choose another block_size",
                      MOST_PARTS, object->parts, file->block_bytes);
    if (is_first(file)) {
        struct request request = {
            .method = "POST", .key = object->key, .query = "uploads=", .out = "", .wanted = "UploadId"};
        if (watch < 0)
            start_watch(file);
        tell_watch(file, object->key, true);
        request_or_stop(file, &request, "create");
        snprintf(object->upload, sizeof object->upload, "%s", request.text);
    }
    MPI_Bcast(object->upload, sizeof object->upload, MPI_CHAR, 0, *(const MPI_Comm *)file->communicator);
}

static void open_object(struct priomark_file *file, bool create)
{
    struct object *object = memory(file, 1, sizeof *object);
    MPI_Comm_size(*(const MPI_Comm *)file->communicator, &object->parts);
    object->parts *= (int)file->blocks;
    object->tag = memory(file, (size_t)object->parts, TAG_BYTES);
    snprintf(object->key, sizeof object->key, "%s", key_of(file));
    file->own = object;
    if (create)
        begin_upload(file, object);
}

static void read_block(struct priomark_file *file, char *data, int64_t bytes, int64_t offset)
{
    struct request request = {.method = "GET", .key = key_of(file), .in = data, .in_bytes = bytes};
    snprintf(request.range, sizeof request.range, "%" PRId64 "-%" PRId64, offset, offset + bytes - 1);
    request_or_stop(file, &request, "read");
    if (request.received != bytes)
        priomark_stop(file, "read", "the server sent %" PRId64 " of %" PRId64 " bytes; did another program change it?",
                      request.received, bytes);
}

static void write_block(struct priomark_file *file, const char *data, int64_t bytes, int64_t offset)
{
    struct object *object = file->own;
    struct curl_header *tag;
    const int place = (int)(offset / bytes);
    char query[2 * UPLOAD_BYTES];
    snprintf(query, sizeof query, "partNumber=%d&uploadId=%s", place + 1, object->upload);
    struct request request = {.method = "PUT", .key = object->key, .query = query, .out = data, .out_bytes = bytes};
    request_or_stop(file, &request, "write");
    if (curl_easy_header(connection, "ETag", 0, CURLH_HEADER, -1, &tag) != CURLHE_OK)
        priomark_stop(file, "write", "the server sent no tag of a part; check that it is an S3 server");
    snprintf(object->tag[place], TAG_BYTES, "%s", tag->value);
}

static void complete(struct priomark_file *file)
{
    const struct object *object = file->own;
    char query[2 * UPLOAD_BYTES], *xml = memory(file, (size_t)object->parts + 1, TAG_BYTES + 64);
    size_t length = (size_t)sprintf(xml, "<CompleteMultipartUpload>");
    for (int i = 0; i < object->parts; i++)
        length += (size_t)sprintf(xml + length, "<Part><PartNumber>%d</PartNumber><ETag>%s</ETag></Part>", i + 1,
                                  object->tag[i]);
    length += (size_t)sprintf(xml + length, "</CompleteMultipartUpload>");
    snprintf(query, sizeof query, "uploadId=%s", object->upload);
    struct request request = {
        .method = "POST", .key = object->key, .query = query, .out = xml, .out_bytes = (int64_t)length};
    request_or_stop(file, &request, "synchronise");
    free(xml);
}

/* The object exists when the first process has the tags of all parts and has sent them. */
static void sync_object(struct priomark_file *file)
{
    const MPI_Comm comm = *(const MPI_Comm *)file->communicator;
    const struct object *object = file->own;
    MPI_Reduce(is_first(file) ? MPI_IN_PLACE : object->tag, object->tag, object->parts * TAG_BYTES, MPI_BYTE, MPI_BOR,
               0, comm);
    if (is_first(file))
        complete(file);
    MPI_Barrier(comm);
}

static void close_object(struct priomark_file *file)
{
    struct object *object = file->own;
    priomark_value(file->run, "s3_retries", retries);
    retries = 0;
    free(object->tag);
    free(object);
}

static void remove_object(const struct priomark_file *file)
{
    struct request request = {.method = "DELETE", .key = key_of(file)};
    request_or_stop(file, &request, "remove");
    tell_watch(file, key_of(file), false);
}

static const char *evict(const struct priomark_file *file)
{
    (void)file;
    return NULL; /* there is no cache of this node */
}

static int64_t stored_bytes(const struct priomark_file *file)
{
    curl_off_t bytes = 0;
    struct request request = {.method = "HEAD", .key = key_of(file)};
    request_or_stop(file, &request, "find");
    curl_easy_getinfo(connection, CURLINFO_CONTENT_LENGTH_DOWNLOAD_T, &bytes);
    return bytes;
}

const struct priomark_interface priomark_interface = {
    .version = PRIOMARK_INTERFACE,
    .name = "s3",
    .summary = "objects of an S3 server, written as multipart uploads",
    .objects = true,
    .open = open_object,
    .read = read_block,
    .write = write_block,
    .sync = sync_object,
    .close = close_object,
    .remove = remove_object,
    .evict = evict,
    .stored_bytes = stored_bytes,
    .why_not = why_not,
    .properties = properties,
};
