/* VELO: small messages of an EXTOLL interface, into the mailbox of a port, for programs that were written for
 * one. docs/native.md says what is decided here because it is not publicly known. */
#ifndef VELO2_H
#define VELO2_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef uint16_t velo2_nodeid_t;
typedef uint16_t velo2_vpid_t;

typedef enum velo2_ret {
  VELO2_RET_SUCCESS = 0,
  VELO2_RET_ERROR,
  VELO2_RET_NO_MSG,
  VELO2_RET_NO_MATCH,
  VELO2_RET_ERR_FDOPEN,
  VELO2_RET_ERR_MMAP,
  VELO2_RET_INVALID_MBOX,
  VELO2_RET_INVALID_NODE,
  VELO2_RET_INV_MSG,
  VELO2_RET_TRY_AGAIN,
  VELO2_RET_INV_MTT
} velo2_ret_t;

enum { VELO2_MAX_MESSAGE = 120, VELO2_MAX_MTT = 3 };

typedef struct velo2_port {
  void* map; /* NULL: closed */
  velo2_nodeid_t nodeid;
  velo2_vpid_t vpid;
} velo2_port_t;

typedef struct velo2_connection {
  union {
    uint64_t raw; /* vpid << 16 | node */
    struct {
      uint16_t node, vpid;
    } address;
  } dest;
  void* state_map; /* of its port; NULL: not connected */
} velo2_connection_t;

velo2_ret_t velo2_open(velo2_port_t* port);
velo2_ret_t velo2_close(velo2_port_t* port);
velo2_nodeid_t velo2_get_nodeid(velo2_port_t* port);
velo2_vpid_t velo2_get_vpid(velo2_port_t* port);
velo2_ret_t velo2_connect(velo2_port_t* port, velo2_connection_t* connection, velo2_nodeid_t node,
                          velo2_vpid_t vpid);
velo2_ret_t velo2_disconnect(velo2_port_t* port, velo2_connection_t* connection);

/* At most 120 bytes, or what the interface takes. Waits while there is no room; the buffer may be used again
 * then. `mtt`: one of four kinds of messages, which are received apart. */
velo2_ret_t velo2_send(velo2_connection_t* connection, const void* data, uint32_t length, uint8_t tag,
                       uint8_t mtt);
/* Waits for the next message of that kind. INV_MSG where it is longer than `most`: it stays there. */
velo2_ret_t velo2_recv(velo2_port_t* port, void* buffer, uint32_t most, uint32_t* length, uint32_t* source,
                       uint8_t* tag, uint8_t mtt);
/* The next message of any kind, or NO_MSG. */
velo2_ret_t velo2_probe_recv(velo2_port_t* port, void* buffer, uint32_t most, uint32_t* length,
                             uint32_t* source, uint8_t* tag, uint8_t* mtt);

#ifdef __cplusplus
}
#endif

#endif
