/* How VELO packs addresses and the status of a message. */
#ifndef VELO2_MOD_H
#define VELO2_MOD_H

#include <stdint.h>

#define VELO2_ADDR_PACK(node, vpid) ((uint32_t)(((uint32_t)(vpid) << 16) | ((uint32_t)(node)&0xffffu)))
#define VELO2_ADDR_UNPACK(address, node, vpid)      \
  do {                                              \
    (node) = (uint16_t)((address)&0xffffu);         \
    (vpid) = (uint16_t)(((address) >> 16) & 0xffu); \
  } while (0)
#define VELO2_MCADDR_PACK(node, vpid) (VELO2_ADDR_PACK(node, vpid) | 0x10000000u)

#define VELO2_STATUS_WORD(pointer) (*(const volatile uint64_t*)(pointer))
#define VELO2_STATUS_NODEID(pointer) ((uint16_t)(VELO2_STATUS_WORD(pointer) & 0xffffu))
#define VELO2_STATUS_VPID(pointer) ((uint8_t)((VELO2_STATUS_WORD(pointer) >> 16) & 0xffu))
#define VELO2_STATUS_MTT(pointer) ((uint8_t)((VELO2_STATUS_WORD(pointer) >> 32) & 3u))
#define VELO2_STATUS_EOM(pointer) ((uint8_t)((VELO2_STATUS_WORD(pointer) >> 36) & 1u))
#define VELO2_STATUS_ERR(pointer) ((uint8_t)((VELO2_STATUS_WORD(pointer) >> 37) & 1u))
#define VELO2_STATUS_TAG(pointer) ((uint8_t)((VELO2_STATUS_WORD(pointer) >> 40) & 0xffu))
#define VELO2_STATUS_LENGTH(pointer) ((uint8_t)((VELO2_STATUS_WORD(pointer) >> 48) & 0x7fu))

#endif
