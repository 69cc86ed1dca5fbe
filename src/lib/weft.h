/* libweft: a program's way to its simulated network interface. See weft(3).
 *
 * Nothing here blocks except weft_wait, weft_lookup, opening, closing and registering; nothing makes a system
 * call on the way of data. Functions return 0 or more, or a negative errno. All times are virtual. */
#ifndef WEFT_H
#define WEFT_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define WEFT_API_VERSION 1

typedef struct weft_port weft_port;

typedef struct {
  uint32_t node, port;
} weft_address;

/* What another process needs to reach memory: hand it over in a message. */
typedef struct {
  weft_address owner;
  uint64_t key;
} weft_memory;

typedef struct {
  uint32_t queue_slots, message_slots, event_slots;
  uint32_t message_limit, immediate_limit; /* bytes */
  uint64_t rdma_limit;
} weft_limits;

enum { WEFT_REMOTE_READ = 1, WEFT_REMOTE_WRITE = 2, WEFT_REMOTE_ATOMIC = 4 };

/* Flags of operations. */
enum {
  WEFT_NOTIFY_LOCAL = 1,  /* an event once the local buffer may be used again */
  WEFT_NOTIFY_REMOTE = 2, /* an event at the target */
  WEFT_NOTIFY_DONE = 4,   /* an event here once it is done at the target */
  WEFT_FENCE = 8,         /* start only after all earlier work of this port is done */
  WEFT_RELIABLE = 16,     /* check sums and repetition end to end */
  WEFT_MORE = 32,         /* fragment of a message: others follow */
  WEFT_INTERRUPT = 64,    /* interrupt the target's processor when it has arrived */
  WEFT_GLOBAL = 128,      /* the remote memory comes from weft_register_global */
  WEFT_PHYSICAL = 256     /* of a kernel's port: offsets are physical addresses, keys mean nothing */
};

enum {
  WEFT_EVENT_LOCAL = 1,
  WEFT_EVENT_DONE = 2,
  WEFT_EVENT_ARRIVED = 3,
  WEFT_EVENT_RESPONDED = 4,
  WEFT_EVENT_FAILED = 5,
  WEFT_EVENT_STALLED = 6,
  WEFT_EVENT_OVERFLOW = 7,
  WEFT_EVENT_INTERRUPT = 8,
  WEFT_EVENT_TRIGGERED = 9,
  WEFT_EVENT_ARMED = 10
};

enum {
  WEFT_OK = 0,
  WEFT_BAD_OPERATION,
  WEFT_BAD_NODE,
  WEFT_NO_PORT,
  WEFT_BAD_KEY,
  WEFT_NO_RIGHT,
  WEFT_BAD_RANGE,
  WEFT_BAD_LENGTH,
  WEFT_BAD_MEMORY,
  WEFT_UNREACHABLE,
  WEFT_TIMED_OUT,
  WEFT_CLOSED,
  WEFT_NO_ROOM,
  WEFT_BUSY,
  WEFT_DAMAGED,
  WEFT_MISMATCH
};

typedef struct {
  uint32_t kind;      /* WEFT_EVENT_... */
  uint32_t operation; /* 1 message, 2 put, 3 get, 4 immediate put, 5.. atomics */
  uint32_t status;    /* WEFT_OK, or why it failed */
  uint32_t tag;
  weft_address peer;
  uint64_t length;
  uint64_t context; /* as given when it was posted; 0 at the target */
  uint64_t data; /* old value of an atomic; at the target of a put, its `data`; for WEFT_BAD_MEMORY, where */
  int64_t time_ps; /* when it was there to be seen */
  uint32_t cause;  /* of an interrupt: one of WEFT_CAUSE_... */
} weft_event;

/* Why an interface interrupts the processor. */
enum {
  WEFT_CAUSE_ASKED = 1, /* what has arrived was sent with WEFT_INTERRUPT */
  WEFT_CAUSE_QUEUE = 2, /* a message is in a ring that was empty */
  WEFT_CAUSE_ERROR = 4  /* something for this port was refused; the event's status says why */
};

typedef struct {
  weft_address from;
  uint32_t tag;
  uint32_t length;
  uint32_t flags; /* WEFT_MORE; 0x8000: damaged on the way */
  uint64_t sequence;
  int64_t time_ps;
} weft_message;

/* Who and where. -ENODEV where the program was not started by `weft run`. */
int weft_rank(void);
int weft_size(void);
int weft_node(void);

int weft_open(weft_port** port);
/* Work is fetched from a queue in memory after a doorbell, where the interface has such ports. */
int weft_open_memory_queue(weft_port** port);
/* The same as weft_open, before virtual time begins: for those who start MPI. */
int weft_open_for_mpi(weft_port** port);
/* With a ring of its own size, in bytes of message_limit each: a mailbox. -EINVAL beyond message_slots. */
int weft_open_mailbox(weft_port** port, size_t bytes);
/* For one who stands for the kernel of his node and may use physical addresses; -EPERM where the interface
 * keeps no such ports (nic.kernel_ports). */
int weft_open_kernel(weft_port** port);
int weft_close(weft_port* port);
int weft_self(const weft_port* port, weft_address* address);
int weft_get_limits(const weft_port* port, weft_limits* limits);
/* The address of port number `index` (from 0, as opened) of another rank; waits until it is open. */
int weft_lookup(weft_port* port, int rank, int index, weft_address* address);

int weft_register(weft_port* port, void* base, size_t length, unsigned rights, weft_memory* memory);
/* The same, at times that do not depend on where the system put it: as if it began with a page. */
int weft_register_anywhere(weft_port* port, void* base, size_t length, unsigned rights, weft_memory* memory);
int weft_unregister(weft_port* port, uint64_t key);
/* Done with it, but it may be registered again: stays known while there is room (nic.registration_cache). */
int weft_release(weft_port* port, uint64_t key);

/* Protection domains: 16 bits, of one process at most on each node (else -EBUSY). Memory registered in one is
 * reached with WEFT_GLOBAL, and only from ports in the same domain. Domain (owner.port) and key together are
 * the 80 bits of a global address. */
int weft_join_domain(weft_port* port, uint32_t domain);
int weft_register_global(weft_port* port, void* base, size_t length, unsigned rights, weft_memory* memory);
int weft_unregister_global(weft_port* port, uint64_t key);
/* Other memory behind the same global address, as long and with the same offset in its page. -EPERM where the
 * machine's map is static (nic.global_map). */
int weft_move_global(weft_port* port, uint64_t key, void* base);
/* The physical address of registered memory, for operations with WEFT_PHYSICAL; a kernel's port alone. */
int weft_physical(weft_port* port, uint64_t key, uint64_t offset, uint64_t* address);

/* Posting: 0, or -EAGAIN where the queue is full. With nic.full_queue = "stall" the processor stands there
 * instead, and -ETIMEDOUT says that the watchdog let it go: nothing was posted. */
int weft_send(weft_port* port, weft_address to, const void* data, size_t length, uint32_t tag, unsigned flags,
              uint64_t context);
/* A message of any length, in fragments of at most message_limit bytes; all but the last carry WEFT_MORE, and
 * they come in order. Posts as many as fit and counts their bytes in *posted, which starts at 0. 1: all of
 * it, 0: call again. */
int weft_send_fragments(weft_port* port, weft_address to, const void* data, size_t length, size_t* posted,
                        uint32_t tag);
int weft_put(weft_port* port, uint64_t local_key, uint64_t local_offset, weft_memory to,
             uint64_t remote_offset, uint64_t length, uint64_t data, unsigned flags, uint64_t context);
int weft_put_immediate(weft_port* port, const void* data, size_t length, weft_memory to,
                       uint64_t remote_offset, uint64_t event_data, unsigned flags, uint64_t context);
int weft_get(weft_port* port, uint64_t local_key, uint64_t local_offset, weft_memory from,
             uint64_t remote_offset, uint64_t length, unsigned flags, uint64_t context);
int weft_fetch_add(weft_port* port, weft_memory at, uint64_t offset, uint64_t add, unsigned flags,
                   uint64_t context);
int weft_compare_swap(weft_port* port, weft_memory at, uint64_t offset, uint64_t expected, uint64_t desired,
                      unsigned flags, uint64_t context);
/* Adds where the value, signed, is at most `limit`. */
int weft_bounded_add(weft_port* port, weft_memory at, uint64_t offset, int64_t limit, int64_t add,
                     unsigned flags, uint64_t context);

/* 1 and one entry taken, or 0: there is none. */
int weft_poll(weft_port* port, weft_event* event);
int weft_receive(weft_port* port, void* buffer, size_t capacity, weft_message* message);
/* Waits for a message, an event or room in the queue; 0, or -ETIMEDOUT. Negative: no limit. */
int weft_wait(weft_port* port, int64_t timeout_ns);
/* The same by an interrupt instead of polling: the processor is free meanwhile, and waking up takes longer.
 */
int weft_wait_interrupt(weft_port* port, int64_t timeout_ns);
/* Which causes (a sum of WEFT_CAUSE_...) interrupt the processor for this port, with an event of kind
 * WEFT_EVENT_INTERRUPT each; at first WEFT_CAUSE_ASKED. Causes of all ports lie in one queue of the interface
 * (nic.interrupt_slots), and one interrupt serves all that its handler finds there. -EINVAL: no such cause. */
int weft_enable_interrupts(weft_port* port, unsigned causes);
/* The same, saying whom it is for: reports of a deadlock then know who waits for whom. */
int weft_wait_for(weft_port* port, int rank, int64_t timeout_ns);

/* For a loop that looks at memory others write to: the time of a look, and then until something has been
 * written to this process or has arrived. Without it, such a loop is found out, which takes real time. */
void weft_pause(void);

/* Devices of the node, by their names in the machine's description: [node.device.NAME]. -ENODEV where the
 * node has none of that name. A register has 64 bits and is named by its offset in bytes. */
typedef struct weft_device weft_device;
int weft_open_device(const char* name, weft_device** device);
int weft_close_device(weft_device* device);
/* Waits for the answer, over the bus and back. */
int weft_read_register(weft_device* device, uint64_t offset, uint64_t* value);
/* Goes on at once; writes reach the device in their order. */
int weft_write_register(weft_device* device, uint64_t offset, uint64_t value);
/* Waits for an interrupt of the device, one for each call; 0, or -ETIMEDOUT. Negative: no limit. */
int weft_wait_device(weft_device* device, int64_t timeout_ns);
/* The number of this process's memory, for devices that reach memory of several on their node. */
int64_t weft_space(void);

/* Memory of a device that has its own (kind "compute"): mapped into this process, so that it can be registered
 * and be a buffer of MPI. What the processor itself loads and stores there takes no virtual time; copies do.
 * -ENOMEM where the device has not so much left. */
int weft_device_memory(weft_device* device, size_t bytes, void** memory);
int weft_device_free(void* memory);
/* Copies between memory of a device and other memory of the process, by the device's own engine; returns when it
 * is done. Exactly one of the two is memory of a device (-EINVAL). */
int weft_device_copy(void* to, const void* from, size_t bytes);
/* Where mapped memory is in its device, for commands to it. -EINVAL where it is no memory of a device. */
int weft_device_offset(const void* memory, uint64_t* offset);
/* 1 where interfaces read and write this memory themselves, 0 where it has to be copied first (path = "staged"),
 * -EINVAL where it is no memory of a device. */
int weft_device_is_peer(const void* memory);
/* From now on the device posts on the port, hears of its events and gets its messages; the process only closes it. `number` is what
 * the device's commands name it by. */
int weft_give_port(weft_port* port, weft_device* device, uint32_t* number);
/* A command to a device of kind "compute": its registers and its doorbell. With `interrupt`, one follows when the
 * command has ended (weft_wait_device). Commands are carried out in their order. */
int weft_command(weft_device* device, uint64_t command, const uint64_t* arguments, unsigned count, int interrupt);

/* Memory of another node by loads and stores. Its owner shares a range of registered memory and hands over
 * what weft_share gives; another maps it and uses words of 1, 2, 4 or 8 bytes in their natural place. */
typedef struct {
  uint32_t node, number;
  uint64_t length;
} weft_shared;
typedef struct weft_window weft_window;
int weft_share(weft_port* port, uint64_t key, uint64_t offset, uint64_t length, weft_shared* shared);
int weft_unshare(weft_port* port, weft_shared shared);
int weft_map_remote(weft_port* port, weft_shared shared, weft_window** window);
/* One window for the ranges of this number of all nodes: offset `node * size` and on is that of a node.
 * `size` is a power of two. */
int weft_map_all(weft_port* port, uint32_t number, uint64_t size, weft_window** window);
/* Offsets are physical addresses of the node; a kernel's port alone (-EPERM). */
int weft_map_physical(weft_port* port, uint32_t node, uint64_t size, weft_window** window);
int weft_unmap_remote(weft_window* window);
/* Waits for the word, over the network and back. -EFAULT where the other node has no such memory, or not for
 * this; -EHOSTUNREACH where no answer came. */
int weft_load(weft_window* window, uint64_t offset, unsigned bytes, uint64_t* value);
/* Goes on at once. Stores to a node arrive in their order, and no load of this node passes them. One that is
 * refused there is an event of the port: WEFT_EVENT_FAILED, operation 15. */
int weft_store(weft_window* window, uint64_t offset, unsigned bytes, uint64_t value);

/* Registers of chips anywhere in the machine, over the network: interfaces and routers have a file of them
 * each, listed by `weft help registers`. Anybody reads; who may write is said there, and others are refused
 * (WEFT_NO_RIGHT). */
typedef struct {
  uint32_t node;   /* its interface, where `router` is 0 */
  uint64_t router; /* else one more than the number of a router */
} weft_chip;
/* Both wait for the answer: 0, a WEFT_ status that says why not, or a negative errno. They use a port of
 * their own, opened at the first call. One thread at a time (-EBUSY). Up to 64 registers one after the other,
 * and no more than fit into a packet. */
int weft_register_read(weft_chip chip, uint64_t offset, uint64_t* values, unsigned count);
int weft_register_write(weft_chip chip, uint64_t offset, uint64_t value);
/* Where "block.register" is in the block of that index (a port, say); -ENOENT where there is none. */
int64_t weft_register_offset(const char* name, uint64_t index);
/* Takes "block.register.field" out of the register's value. */
int weft_register_field(const char* name, uint64_t value, uint64_t* field);

/* Registers of a device of kind "dma", and what its status may be. */
enum {
  WEFT_DMA_SOURCE_SPACE = 0,
  WEFT_DMA_SOURCE_ADDRESS = 8,
  WEFT_DMA_TARGET_SPACE = 16,
  WEFT_DMA_TARGET_ADDRESS = 24,
  WEFT_DMA_LENGTH = 32,
  WEFT_DMA_DOORBELL = 40, /* written: the five above are a descriptor; they may be changed then */
  WEFT_DMA_STATUS = 48,
  WEFT_DMA_DONE = 56 /* descriptors that have ended; each raises an interrupt */
};
enum {
  WEFT_DMA_IDLE = 0,
  WEFT_DMA_BUSY,
  WEFT_DMA_DONE_WELL,
  WEFT_DMA_BAD_SPACE,
  WEFT_DMA_BAD_MEMORY,
  WEFT_DMA_QUEUE_FULL
};

/* As the space that an accelerator copies to: addresses of the node's bus, at which an interface leads to units
 * of its own ([node.device.NAME] messages, rdma and registers). */
#define WEFT_BUS_SPACE 0xfffffffeu

/* Registers of a device of kind "compute", its commands with their arguments, and what its status may be.
 * Addresses are offsets in the device's memory, of doubles where nothing else is said; a double that is an
 * argument is given by its bits. */
enum {
  WEFT_COMPUTE_COMMAND = 0,
  WEFT_COMPUTE_ARGUMENT = 8,  /* the first of eight */
  WEFT_COMPUTE_DOORBELL = 72, /* written: the nine above are a command; 1: with an interrupt when it has ended */
  WEFT_COMPUTE_STATUS = 80,   /* of the command that ended last, or why one was not taken */
  WEFT_COMPUTE_DONE = 88,     /* commands that have ended, well or not */
  WEFT_COMPUTE_TIME = 96,     /* picoseconds the last kernel has taken */
  WEFT_COMPUTE_MEMORY = 104,  /* bytes of its memory */
  WEFT_COMPUTE_SPACE = 112,
  WEFT_COMPUTE_BLOCKS = 120,
  WEFT_COMPUTE_USE = 128 /* blocks that the kernels that follow are spread over; may be written */
};
enum {
  WEFT_COMPUTE_COPY_IN = 1, /* to here, space, address there, bytes */
  WEFT_COMPUTE_COPY_OUT,    /* from here, space or WEFT_BUS_SPACE, address there, bytes */
  WEFT_COMPUTE_FILL,        /* y, count, value */
  WEFT_COMPUTE_STREAM,      /* y, x, count: y = x */
  WEFT_COMPUTE_AXPY,        /* y, x, count, a: y += a x */
  WEFT_COMPUTE_DOT,         /* result, x, y, count */
  WEFT_COMPUTE_MULTIPLY,    /* c, a, b, rows, columns, inner: c += a b, by rows */
  WEFT_COMPUTE_FORCES, /* f, x, lengths, lists, atoms, places, cutoff: of Lennard-Jones. x and f have three doubles
                          for each atom; lengths, and lists of `places` for each, are 32-bit words */
  WEFT_COMPUTE_PUT, /* port, key, offset, node << 32 | port there, key there, offset there, bytes, event data; an
                       event at both ends */
  WEFT_COMPUTE_GET, /* the same, without an event there */
  WEFT_COMPUTE_WAIT, /* kind of an event (WEFT_EVENT_...), how many of them: ends when there have been so many */
  WEFT_COMPUTE_SEND, /* port, from here, bytes, node << 32 | port there, tag: a small message */
  WEFT_COMPUTE_RECEIVE /* port, to here, bytes there is room for, where two 64-bit words go: node << 32 | port that
                          has sent it, tag << 32 | bytes. Ends when a message has come */
};
enum {
  WEFT_COMPUTE_IDLE = 0,
  WEFT_COMPUTE_BUSY,
  WEFT_COMPUTE_DONE_WELL,
  WEFT_COMPUTE_BAD_COMMAND,
  WEFT_COMPUTE_BAD_SPACE,
  WEFT_COMPUTE_BAD_MEMORY,
  WEFT_COMPUTE_QUEUE_FULL,
  WEFT_COMPUTE_NO_PORT,
  WEFT_COMPUTE_FAILED
};

int64_t weft_now_ps(void);
/* Computes for a time. */
void weft_compute(int64_t nanoseconds);
/* Between these two, virtual time does not wait for this thread: it is about to wait for the outside. */
void weft_outside_begin(void);
void weft_outside_end(void);

const char* weft_status_text(unsigned status);

#ifdef __cplusplus
}
#endif

#endif
