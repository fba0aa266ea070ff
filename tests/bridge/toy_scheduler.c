/* A toy scheduler in C: first come, first served, on the cores that the bridge chooses; by PROTOCOL.md, without a library. */

#include <arpa/inet.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

/* ---- MessagePack: reading ---- */

struct value {
    char kind; /* i: an integer or a truth value, s: a text, n: nil, o: something else, which is skipped */
    int64_t number;
    const char *text;
    size_t size;
};

static const unsigned char *at; /* what is read next */

static uint64_t big_endian(int bytes) {
    uint64_t found = 0;
    while (bytes-- > 0) found = found << 8 | *at++;
    return found;
}

static struct value read_value(void) {
    struct value found = {'o', 0, NULL, 0};
    unsigned char kind = *at++;
    uint64_t inside = 0; /* values that it holds, to be skipped */
    if (kind < 0x80 || kind >= 0xe0) found = (struct value){'i', (int8_t)kind, NULL, 0};
    else if (kind < 0x90) inside = 2 * (kind & 15);
    else if (kind < 0xa0) inside = kind & 15;
    else if (kind < 0xc0) found = (struct value){'s', 0, NULL, kind & 31};
    else if (kind == 0xc0) found.kind = 'n';
    else if (kind == 0xc2 || kind == 0xc3) found = (struct value){'i', kind == 0xc3, NULL, 0};
    else if (kind >= 0xc4 && kind <= 0xc6) { uint64_t size = big_endian(1 << (kind - 0xc4)); at += size; }
    else if (kind == 0xca || kind == 0xcb) at += kind == 0xca ? 4 : 8;
    else if (kind >= 0xcc && kind <= 0xcf) found = (struct value){'i', (int64_t)big_endian(1 << (kind - 0xcc)), NULL, 0};
    else if (kind >= 0xd0 && kind <= 0xd3) {
        int bits = 8 << (kind - 0xd0);
        uint64_t raw = big_endian(bits / 8) << (64 - bits);
        found = (struct value){'i', (int64_t)raw >> (64 - bits), NULL, 0};
    }
    else if (kind >= 0xd9 && kind <= 0xdb) found = (struct value){'s', 0, NULL, big_endian(1 << (kind - 0xd9))};
    else if (kind == 0xdc || kind == 0xdd) inside = big_endian(kind == 0xdc ? 2 : 4);
    else if (kind == 0xde || kind == 0xdf) inside = 2 * big_endian(kind == 0xde ? 2 : 4);
    else { fprintf(stderr, "toy: a value of an unknown kind\n"); exit(1); }
    if (found.kind == 's') { found.text = (const char *)at; at += found.size; }
    while (inside-- > 0) read_value();
    return found;
}

static int is(struct value one, const char *text) {
    return one.kind == 's' && one.size == strlen(text) && memcmp(one.text, text, one.size) == 0;
}

/* ---- MessagePack: writing; a frame of its own for each message ---- */

static unsigned char *out;
static size_t used, room;

static void put(const void *data, size_t size) {
    if (used + size > room && !(out = realloc(out, room = 2 * (used + size)))) exit(1);
    memcpy(out + used, data, size);
    used += size;
}

static void put_sized(int kind, uint64_t size, int bytes) {
    unsigned char head = (unsigned char)kind;
    put(&head, 1);
    while (bytes-- > 0) { unsigned char one = (unsigned char)(size >> 8 * bytes); put(&one, 1); }
}

static void put_map(int entries) { put_sized(0x80 | entries, 0, 0); }
static void put_number(int64_t number) { put_sized(0xd3, (uint64_t)number, 8); }
static void put_array(size_t size) { put_sized(0xdd, size, 4); }
static void put_nil(void) { put_sized(0xc0, 0, 0); }
static void put_text(const char *text) { put_sized(0xdb, strlen(text), 4); put(text, strlen(text)); }

static void begin(const char *type, int entries) {
    used = 0;
    put("\0\0\0\0", 4);
    put_map(1 + entries);
    put_text("type");
    put_text(type);
}

static void finish(int plug) {
    uint32_t length = htonl((uint32_t)(used - 4));
    memcpy(out, &length, 4);
    for (size_t done = 0; done < used;) {
        ssize_t now = write(plug, out + done, used - done);
        if (now <= 0) exit(1);
        done += (size_t)now;
    }
}

/* ---- the connection ---- */

static int connected(void) {
    const char *address = getenv("TWOLEVEL_ADDRESS");
    int plug;
    if (address && strncmp(address, "unix:", 5) == 0) {
        struct sockaddr_un place = {.sun_family = AF_UNIX};
        strncpy(place.sun_path, address + 5, sizeof place.sun_path - 1);
        plug = socket(AF_UNIX, SOCK_STREAM, 0);
        if (connect(plug, (struct sockaddr *)&place, sizeof place) == 0) return plug;
    } else if (address && strncmp(address, "tcp:127.0.0.1:", 14) == 0) {
        struct sockaddr_in place = {.sin_family = AF_INET, .sin_port = htons((uint16_t)atoi(address + 14))};
        place.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        plug = socket(AF_INET, SOCK_STREAM, 0);
        if (connect(plug, (struct sockaddr *)&place, sizeof place) == 0) return plug;
    }
    fprintf(stderr, "toy: no connection to %s\n", address ? address : "anybody");
    exit(1);
}

/* ---- first come, first served ---- */

static struct waits { int64_t job, first, cores; int held; } *queue; /* by first; held: until another job has ended */
static size_t n_waiting, queue_room;

static void join(int64_t job, int64_t first, int64_t cores, int held) {
    size_t k = n_waiting;
    if (n_waiting == queue_room && !(queue = realloc(queue, sizeof *queue * (queue_room = 2 * queue_room + 16)))) exit(1);
    for (; k > 0 && queue[k - 1].first > first; k--) queue[k] = queue[k - 1];
    queue[k] = (struct waits){job, first, cores, held};
    n_waiting++;
}

static void leave(int64_t job) {
    for (size_t k = 0; k < n_waiting; k++)
        if (queue[k].job == job) memmove(queue + k, queue + k + 1, sizeof *queue * (--n_waiting - k));
}

static void decide(int plug, int64_t decision, int64_t free_cores) {
    size_t n = 0, fits = 0;
    begin("decided", 8);
    put_text("decision"), put_number(decision);
    for (size_t k = 0, blocked = 0; k < n_waiting && !blocked; k++) {
        if (queue[k].held) continue;
        blocked = queue[k].cores > free_cores;
        if (!blocked) free_cores -= queue[k].cores, fits++;
    }
    put_text("start"), put_array(fits);
    for (size_t k = 0; k < n_waiting && n < fits; k++)
        if (!queue[k].held) {
            put_map(2), put_text("job"), put_number(queue[k].job), put_text("cores"), put_nil();
            n++;
        }
    put_text("reject"), put_array(0);
    put_text("wake_ns"), put_array(0);
    put_text("scale"), put_array(0);
    put_text("end"), put_array(0);
    put_text("resize"), put_array(0);
    put_text("hint"), put_array(0);
    finish(plug);
}

int main(void) {
    int plug = connected();
    FILE *stream = fdopen(dup(plug), "rb");
    unsigned char header[4], *payload = NULL;
    begin("hello", 5);
    put_text("version"), put_number(6);
    put_text("role"), put_text("scheduler");
    put_text("token"), put_text(getenv("TWOLEVEL_TOKEN"));
    put_text("name"), put_text("toy in C");
    put_text("directs"), put_array(0);
    finish(plug);
    while (fread(header, 1, 4, stream) == 4) {
        size_t length = (size_t)header[0] << 24 | header[1] << 16 | header[2] << 8 | header[3];
        if (!(payload = realloc(payload, length)) || fread(payload, 1, length, stream) != length) return 1;
        struct value type = {0}, job = {0}, first = {0}, cores = {0}, eligible = {0}, decision = {0}, free_cores = {0};
        at = payload;
        uint64_t entries = *at < 0x90 ? *at++ & 15 : (at++, big_endian(at[-1] == 0xde ? 2 : 4));
        while (entries-- > 0) {
            struct value key = read_value(), one = read_value();
            if (is(key, "type")) type = one;
            if (is(key, "job")) job = one;
            if (is(key, "first")) first = one;
            if (is(key, "cores")) cores = one;
            if (is(key, "eligible_ns")) eligible = one;
            if (is(key, "decision")) decision = one;
            if (is(key, "free_cores")) free_cores = one;
        }
        if (is(type, "submitted")) join(job.number, first.number, cores.number, eligible.kind == 'n');
        for (size_t k = 0; is(type, "eligible") && k < n_waiting; k++) queue[k].held &= queue[k].job != job.number;
        if (is(type, "started") || is(type, "ended")) leave(job.number);
        if (is(type, "decide")) decide(plug, decision.number, free_cores.number);
        if (is(type, "quit")) return 0;
        if (is(type, "refused")) return fprintf(stderr, "toy: the bridge has refused me\n"), 1;
    }
    return 1;
}
