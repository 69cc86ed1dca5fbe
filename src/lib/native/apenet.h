/* The RDMA calls of APEnet+: puts, gets and sends between registered buffers, and events.
 *
 * The calls are those that its paper names; their arguments are not public, and docs/native.md says how they
 * were chosen. Functions return 0 or a negative errno. One interface a process, opened by rdma_open. */
#ifndef APENET_H
#define APENET_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A process on a node, as others name it. */
typedef struct {
  uint32_t node, process;
} rdma_peer_t;

/* A byte of a registered buffer, for others: add to it to name a later one. */
typedef uint64_t rdma_address_t;

enum rdma_event_kind {
  RDMA_EVENT_SENT = 1, /* the buffer of a put or a send may be used again */
  RDMA_EVENT_PUT,      /* somebody's put is in a buffer here */
  RDMA_EVENT_GOT,      /* the data of a get is here */
  RDMA_EVENT_READ,     /* somebody's get has read a buffer here */
  RDMA_EVENT_MESSAGE,  /* somebody's send; its data is in the event */
  RDMA_EVENT_FAILED
};

enum { RDMA_MESSAGE_MOST = 128 };

typedef struct {
  enum rdma_event_kind kind;
  rdma_peer_t peer;
  uint64_t size;
  uint64_t cookie;        /* as given with the call; 0 where another made it */
  rdma_address_t address; /* of the buffer here that a put or get of another was about */
  int error;              /* of FAILED: a negative errno */
  uint32_t tag;           /* of a message */
  uint8_t data[RDMA_MESSAGE_MOST];
} rdma_event_t;

/* -ENODEV where the program was not started by `weft run`; -EALREADY where it is open. */
int rdma_open(void);
int rdma_close(void);
int rdma_self(rdma_peer_t* self);

/* Others may read and write it afterwards. -ENOSPC: the interface knows too many. */
int register_buffer(void* buffer, size_t size, rdma_address_t* address);
/* -ENOENT where none begins there. */
int unregister_buffer(void* buffer);

/* `local` lies in a registered buffer, else -EFAULT. They wait while the queue is full. The other side hears
 * of a put and a get by an event. */
int rdma_put(rdma_peer_t to, const void* local, rdma_address_t remote, size_t size, uint64_t cookie);
int rdma_get(rdma_peer_t from, void* local, rdma_address_t remote, size_t size, uint64_t cookie);
/* A message without a buffer at the other side. -EMSGSIZE beyond what the interface takes. */
int rdma_send(rdma_peer_t to, const void* data, size_t size, uint32_t tag, uint64_t cookie);

/* The next event, in the order of time. Milliseconds of virtual time, -1: no limit; -ETIMEDOUT. */
int wait_event(rdma_event_t* event, int timeout);

#ifdef __cplusplus
}
#endif

#endif
