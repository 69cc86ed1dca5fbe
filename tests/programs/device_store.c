/* Work that an accelerator posts by storing it: rank 0's copies descriptors out of its memory into the pages that
 * its interface has for a port of it, a message and a put, and rank 1 gets both. Arguments: where the pages of
 * messages and of RDMA are. */
#include "must.h"

enum { kSlot = 256, kPage = 4096, kBytes = 4096 };

static weft_device* device;
static unsigned char* memory;

struct hello {
  weft_memory memory;
  weft_address port;
};

/* Copies a slot out to an address of the bus; the status. */
static unsigned store(uint64_t space, uint64_t address) {
  uint64_t from = 0, value = 0;
  must(weft_device_offset(memory, &from), "offset");
  const uint64_t arguments[] = {from, space, address, kSlot};
  must(weft_command(device, WEFT_COMPUTE_COPY_OUT, arguments, 4, 1), "command");
  must(weft_wait_device(device, -1), "interrupt");
  must(weft_read_register(device, WEFT_COMPUTE_STATUS, &value), "status");
  return (unsigned)value;
}

static void take(void* to, size_t bytes, weft_message* message) {
  while (weft_receive(port, to, bytes, message) != 1) weft_wait(port, -1);
}

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  const uint64_t messages = strtoull(argv[1], NULL, 0), rdma = strtoull(argv[2], NULL, 0);
  rank = weft_rank();
  must(weft_open(&port), "open");
  static unsigned char room[kBytes];
  struct hello mine = {0}, other;
  must(weft_self(port, &mine.port), "self");
  must(weft_register(port, room, kBytes, WEFT_REMOTE_WRITE, &mine.memory), "register");
  weft_address peer;
  weft_message message;
  must(weft_lookup(port, 1 - rank, 0, &peer), "look up");
  must(weft_send(port, peer, &mine, sizeof mine, 0, 0, 0), "send");
  take(&other, sizeof other, &message);
  if (rank == 1) {
    unsigned char data[64];
    take(data, sizeof data, &message);
    printf("a message of %u bytes from port %u, tag %u: %.*s\n", message.length, message.from.port, message.tag,
           (int)message.length, (char*)data);
    weft_event event;
    while (weft_poll(port, &event) != 1) weft_wait(port, -1);
    printf("a put of %u bytes: %s\n", (unsigned)event.length, (char*)room + 100);
    must(weft_send(port, peer, NULL, 0, 0, 0, 0), "send");
    return 0;
  }
  uint32_t number = 0;
  weft_port* devices;
  weft_memory local;
  must(weft_open_device("acc", &device), "device");
  must(weft_device_memory(device, kBytes, (void**)&memory), "memory");
  must(weft_open(&devices), "open");
  must(weft_register(devices, memory, kBytes, WEFT_REMOTE_READ, &local), "register");
  must(weft_give_port(devices, device, &number), "give");
  /* Of a message: node, port, tag, length and flags, data. */
  const uint32_t head[] = {other.port.node, other.port.port, 9, 13};
  memcpy(memory, head, sizeof head);
  memcpy(memory + sizeof head, "by its stores", 13);
  printf("into its page: %u\n", store(WEFT_BUS_SPACE, messages + number * kPage));
  printf("into that of the processor: %u\n", store(WEFT_BUS_SPACE, messages + mine.port.port * kPage));
  printf("where nothing is: %u\n", store(WEFT_BUS_SPACE, 4096));
  /* Of RDMA: operation, flags, node, port, tag, length, context, keys and offsets, as docs/design.md has it. */
  memset(memory, 0, kSlot);
  memory[0] = 2; /* a put */
  memory[2] = WEFT_NOTIFY_REMOTE;
  memcpy(memory + 4, head, 8);
  const uint64_t length = 32, from = 1024, to = 100;
  memcpy(memory + 16, &length, 8);
  memcpy(memory + 32, &local.key, 8);
  memcpy(memory + 40, &from, 8);
  memcpy(memory + 48, &other.memory.key, 8);
  memcpy(memory + 56, &to, 8);
  strcpy((char*)memory + from, "out of its memory");
  printf("a put: %u\n", store(WEFT_BUS_SPACE, rdma + number * kPage));
  take(NULL, 0, &message);
  must(weft_device_free(memory), "free");
  must(weft_close(devices), "close");
  must(weft_close(port), "close");
  return 0;
}
