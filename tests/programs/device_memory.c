/* Memory of accelerators on the network: rank 0 puts from its device's memory into that of rank 1's and gets
 * it back, rank 1 loads and stores words of rank 0's; then both devices exchange by themselves, by lists of
 * commands. */
#include "must.h"

enum { kCount = 4096, kBytes = kCount * 8 };

static weft_device* device;
static double* memory; /* of the device: what is sent, then what is received */

struct hello {
  weft_memory memory;
  weft_shared shared;
  weft_address port;   /* the device's own */
  weft_memory devices; /* the same memory, known to that port */
};

static uint64_t at(const void* where) {
  uint64_t offset = 0;
  must(weft_device_offset(where, &offset), "offset");
  return offset;
}

static uint64_t bits(double value) {
  uint64_t out;
  memcpy(&out, &value, sizeof out);
  return out;
}

static void command(uint64_t what, const uint64_t* arguments, unsigned count, int interrupt) {
  must(weft_command(device, what, arguments, count, interrupt), "command");
}

static uint64_t status(void) {
  uint64_t value = 0;
  must(weft_read_register(device, WEFT_COMPUTE_STATUS, &value), "status");
  return value;
}

static void wait_for(unsigned kind) {
  weft_event event;
  do {
    while (weft_poll(port, &event) != 1) weft_wait(port, -1);
    if (event.kind == WEFT_EVENT_FAILED) {
      printf("rank %d: failed: %s\n", rank, weft_status_text(event.status));
      exit(9);
    }
  } while (event.kind != kind);
}

static void wait_for_word(void* to, size_t bytes) {
  weft_message message;
  while (weft_receive(port, to, bytes, &message) != 1) weft_wait(port, -1);
}

static void fill(double* y, double value, int interrupt) {
  const uint64_t arguments[] = {at(y), kCount, bits(value)};
  command(WEFT_COMPUTE_FILL, arguments, 3, interrupt);
}

/* Memory of the device, the way processors use it: put, got, loaded, stored. */
static void by_processors(const struct hello* other, weft_memory mine) {
  if (rank == 0) {
    fill(memory, 1.5, 1);
    must(weft_wait_device(device, -1), "interrupt");
    int64_t begin = weft_now_ps();
    must(weft_put(port, mine.key, 0, other->memory, kBytes, kBytes, 0, WEFT_NOTIFY_DONE, 0), "put");
    wait_for(WEFT_EVENT_DONE);
    printf("put of %d bytes from device to device in %.3f us\n", kBytes,
           (double)(weft_now_ps() - begin) / 1e6);
    must(weft_get(port, mine.key, kBytes, other->memory, kBytes, kBytes, WEFT_NOTIFY_DONE, 0), "get");
    wait_for(WEFT_EVENT_DONE);
    double back[kCount];
    must(weft_device_copy(back, memory + kCount, kBytes), "copy");
    int wrong = 0;
    for (int i = 0; i < kCount; ++i) wrong += back[i] != 1.5;
    printf("got back: %s\n", wrong ? "wrong" : "right");
    weft_window* window;
    uint64_t word = 0;
    must(weft_map_remote(port, other->shared, &window), "map");
    must(weft_load(window, kBytes + 80, 8, &word), "load");
    must(weft_store(window, 16, 8, bits(7.25)), "store");
    must(weft_load(window, 16, 8, &word), "load");
    printf("loaded what was stored: %s\n", word == bits(7.25) ? "yes" : "no");
    weft_unmap_remote(window);
  }
}

/* The devices alone: one puts and waits, the other waits, adds and puts back. */
static void by_devices(const struct hello* other, uint32_t number, weft_memory mine) {
  const uint64_t to = (uint64_t)other->port.node << 32 | other->port.port;
  const uint64_t put[] = {number, mine.key, 0, to, other->devices.key, kBytes, kBytes, 0};
  const uint64_t come[] = {WEFT_EVENT_ARRIVED, 1}, done[] = {WEFT_EVENT_DONE, 1};
  const uint64_t add[] = {at(memory), at(memory + kCount), kCount, bits(2)};
  if (rank == 0) {
    fill(memory, 3, 0);
    command(WEFT_COMPUTE_PUT, put, 8, 0);
    command(WEFT_COMPUTE_WAIT, done, 2, 0);
    command(WEFT_COMPUTE_WAIT, come, 2, 1);
  } else {
    fill(memory, 0.5, 0);
    command(WEFT_COMPUTE_WAIT, come, 2, 0);
    command(WEFT_COMPUTE_AXPY, add, 4, 0); /* 0.5 + 2 * 3 */
    command(WEFT_COMPUTE_PUT, put, 8, 0);
    command(WEFT_COMPUTE_WAIT, done, 2, 1);
  }
  must(weft_wait_device(device, -1), "interrupt");
  if (status() != WEFT_COMPUTE_DONE_WELL) {
    printf("rank %d: status %llu\n", rank, (unsigned long long)status());
    exit(9);
  }
  if (rank == 0) {
    double word = 0;
    must(weft_device_copy(&word, memory + kCount + kCount - 1, 8), "copy");
    printf("the devices by themselves: %g at %.3f us\n", word, (double)weft_now_ps() / 1e6);
  }
}

/* Small messages of the devices: one sends a number, the other adds to it and sends it back, to whoever it
 * came from; a third message is too long for what is there to take it. */
static void by_messages(const struct hello* other, uint32_t number) {
  const uint64_t to = (uint64_t)other->port.node << 32 | other->port.port;
  double *sent = memory, *received = memory + 1, *who = memory + 2;
  const uint64_t send[] = {number, at(sent), 8, to, 40 + (uint64_t)rank};
  const uint64_t receive[] = {number, at(received), 8, at(who)}, small[] = {number, at(received), 4, at(who)};
  const uint64_t value[] = {at(sent), 1, bits(rank == 0 ? 2.5 : 1)},
                 add[] = {at(sent), at(received), 1, bits(2)};
  const uint64_t beyond[] = {number, 2 * kBytes + (1ull << 40), 8, to, 0};
  command(WEFT_COMPUTE_FILL, value, 3, 0);
  if (rank == 0) {
    const int64_t begin = weft_now_ps();
    command(WEFT_COMPUTE_SEND, send, 5, 0);
    command(WEFT_COMPUTE_RECEIVE, receive, 4, 1);
    must(weft_wait_device(device, -1), "interrupt");
    if (status() != WEFT_COMPUTE_DONE_WELL) exit(9);
    double words[4];
    uint64_t from[2];
    must(weft_device_copy(words, memory, sizeof words), "copy");
    memcpy(from, words + 2, sizeof from);
    printf("a message there and back: %g from node %d with tag %d, %d bytes, in %.3f us\n", words[1],
           (int)(from[0] >> 32), (int)(from[1] >> 32), (int)(uint32_t)from[1],
           (double)(weft_now_ps() - begin) / 1e6);
    command(WEFT_COMPUTE_SEND, beyond, 5, 1);
    must(weft_wait_device(device, -1), "interrupt");
    printf("from beyond its memory: status %d\n", (int)status());
  } else {
    command(WEFT_COMPUTE_RECEIVE, small, 4, 1); /* there is no room, so it stays */
    must(weft_wait_device(device, -1), "interrupt");
    if (status() != WEFT_COMPUTE_BAD_MEMORY) exit(9);
    command(WEFT_COMPUTE_RECEIVE, receive, 4, 0);
    command(WEFT_COMPUTE_AXPY, add, 4, 0); /* 1 + 2 * 2.5 */
    command(WEFT_COMPUTE_SEND, send, 5, 1);
    must(weft_wait_device(device, -1), "interrupt");
    if (status() != WEFT_COMPUTE_DONE_WELL) exit(9);
  }
}

int main(void) {
  rank = weft_rank();
  must(weft_open(&port), "open");
  must(weft_open_device("acc", &device), "device");
  must(weft_device_memory(device, 2 * kBytes, (void**)&memory), "memory");
  struct hello mine, other;
  weft_port* devices_port;
  uint32_t number = 0;
  const unsigned all = WEFT_REMOTE_READ | WEFT_REMOTE_WRITE;
  int registered = weft_register(port, memory, 2 * kBytes, all, &mine.memory);
  if (registered < 0) {
    printf("rank %d: registered: %s\n", rank, strerror(-registered));
    return 3;
  }
  must(weft_share(port, mine.memory.key, 0, 2 * kBytes, &mine.shared), "share");
  must(weft_open(&devices_port), "open");
  must(weft_register(devices_port, memory, 2 * kBytes, all, &mine.devices), "register");
  must(weft_self(devices_port, &mine.port), "self");
  must(weft_give_port(devices_port, device, &number), "give");
  if (rank == 0) printf("given twice: %s\n", strerror(-weft_give_port(devices_port, device, &number)));
  weft_address peer;
  must(weft_lookup(port, 1 - rank, 0, &peer), "look up");
  must(weft_send(port, peer, &mine, sizeof mine, 0, 0, 0), "send");
  wait_for_word(&other, sizeof other);
  by_processors(&other, mine.memory);
  must(weft_send(port, peer, NULL, 0, 0, 0, 0), "send");
  wait_for_word(NULL, 0);
  by_devices(&other, number, mine.devices);
  must(weft_send(port, peer, NULL, 0, 0, 0, 0), "send");
  wait_for_word(NULL, 0);
  by_messages(&other, number);
  must(weft_send(port, peer, NULL, 0, 0, 0, 0), "send");
  wait_for_word(NULL, 0);
  must(weft_device_free(memory), "free");
  must(weft_close(devices_port), "close");
  must(weft_close(port), "close");
  return 0;
}
