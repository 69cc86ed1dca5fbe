/* RMA2: puts, gets, locks and notifications of an EXTOLL interface, for programs that were written for one.
 *
 * Names, values and layouts are those that clients know. Posting returns at once; what became of an operation
 * is told by notifications. docs/native.md says what is decided here because it is not publicly known. */
#ifndef RMA2_H
#define RMA2_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef uint16_t RMA2_Nodeid;
typedef uint16_t RMA2_VPID;
typedef uint64_t RMA2_NLA; /* network logical address */
typedef uint8_t RMA2_Class;
typedef struct RMA2_Endpoint* RMA2_Port;
typedef struct RMA2_Connection* RMA2_Handle;

typedef enum RMA2_ERROR {
  RMA2_SUCCESS = 0,
  RMA2_ERR_ERROR = -1,
  RMA2_ERR_INV_HANDLE = -2,
  RMA2_ERR_INV_PORT = -3,
  RMA2_ERR_INV_VALUE = -4,
  RMA2_ERR_NO_ROUTE = -5,
  RMA2_ERR_PORTS_USED = -6,
  RMA2_ERR_NO_MEM = -7,
  RMA2_NO_NOTI = -9,
  RMA2_ERR_POLL_EXCEEDED = -10,
  RMA2_ERR_WRONG_ARG = -11,
  RMA2_ERR_NOT_YET = -12,
  RMA2_ERR_NO_DESC_MEM = -13,
  RMA2_ERR_NO_MATCH = -15,
  RMA2_ERR_WRONG_CMD = -16,
  RMA2_ERR_NO_DEVICE = -17,
  RMA2_ERR_NO_CONNECT = -18,
  RMA2_ERR_INVALID_VERSION = -22,
  RMA2_ERR_IOCTL = -23,
  RMA2_ERR_MMAP = -24,
  RMA2_ERR_FD = -25,
  RMA2_ERR_MAP = -26,
  RMA2_ERR_DOUBLE_MAP = 27,
  RMA2_ERR_NO_TABLE = 28,
  RMA2_ERR_NOT_FREE = 29,
  RMA2_ERR_PART = 30,
  RMA2_ERR_ATU = 31,
  RMA2_ERR_MLOCKLIMIT = 32
} RMA2_ERROR;

typedef enum RMA2_Notification_Spec {
  RMA2_NO_NOTIFICATION = 0,
  RMA2_REQUESTER_NOTIFICATION = 1,
  RMA2_RESPONDER_NOTIFICATION = 2,
  RMA2_COMPLETER_NOTIFICATION = 4,
  RMA2_REQCOMPL_NOTIFICATION = 5,
  RMA2_RESPCOMPL_NOTIFICATION = 6,
  RMA2_ALL_NOTIFICATIONS = 7
} RMA2_Notification_Spec;

typedef enum RMA2_Connection_Options {
  RMA2_CONN_TC0 = 0,
  RMA2_CONN_TC1 = 1,
  RMA2_CONN_TC2 = 2,
  RMA2_CONN_TC3 = 3,
  RMA2_CONN_RRA = 4,
  RMA2_CONN_IRQ = 8,
  RMA2_CONN_TE = 16,
  RMA2_CONN_DEFAULT = 16,
  RMA2_CONN_PHYSICAL = 0
} RMA2_Connection_Options;

typedef enum RMA2_Command {
  RMA2_BT_GET = 0,
  RMA2_QW_GET = 1,
  RMA2_BT_PUT = 2,
  RMA2_QW_PUT = 3,
  RMA2_NOTIFICATION_PUT = 5,
  RMA2_IMMEDIATE_PUT = 6,
  RMA2_PUTS = 7, /* when matching: any put */
  RMA2_GET_BT_RSP = 10,
  RMA2_GET_QW_RSP = 11,
  RMA2_LOCK_REQ = 12,
  RMA2_LOCK_RSP = 13,
  RMA2_GETS = 14, /* when matching: any get */
  RMA2_ANY = 15   /* when matching: anything */
} RMA2_Command;

typedef enum RMA2_Command_Modifier {
  RMA2_CMD_DEFAULT = 0,
  RMA2_CMD_MC = 1,
  RMA2_CMD_NTR = 2,
  RMA2_CMD_ERA = 4,
  RMA2_CMD_EWA = 8
} RMA2_Command_Modifier;

typedef enum RMA2_Notification_Modifier {
  RMA2_NOTI_RRA = 1,
  RMA2_NOTI_IRQ = 2,
  RMA2_NOTI_TE = 4,
  RMA2_NOTI_EWA = 8,
  RMA2_NOTI_NTR = 16,
  RMA2_NOTI_ERA = 32
} RMA2_Notification_Modifier;

/* Bits of rma2_noti_get_error: the unit that found the error. */
enum { RMA2_ERROR_REQ = 1, RMA2_ERROR_RESP = 2, RMA2_ERROR_CMPL = 4 };

typedef enum RMA2_Replay_Buffer_Mode {
  RMA2_REPLAY_MANUAL = 0,
  RMA2_REPLAY_POST = 1,
  RMA2_REPLAY_NOTI = 2,
  RMA2_REPLAY_CLOSE = 4,
  RMA2_REPLAY_ALL = 7
} RMA2_Replay_Buffer_Mode;

extern const RMA2_Class RMA2_CLASS_ANY;
extern const RMA2_Nodeid RMA2_NODEID_ANY;
extern const RMA2_VPID RMA2_VPID_ANY;
extern const uint32_t RMA2_LOCK_ANY;
extern const RMA2_NLA RMA2_ANY_NLA;
extern const int RMA2_DEFAULT_FLAG;
extern const int RMA2_BLOCK_FLAG;
extern const int RMA2_MATCH_LAST_NLA_FLAG;

typedef union {
  volatile uint64_t value;
} RMA2_Notification_Word;

/* word0: local address, or payload, or lock {63:32 value, 31:24 result, 23:0 number}.
 * word1: 22:0 size-1 or 7:0 class, 30:23 remote vpid, 47:32 remote node, 50:48 type, 54:51 command,
 *        60:55 mode, 63:61 error. 0: there is none. */
typedef struct RMA2_Notification {
  RMA2_Notification_Word word0, word1;
} RMA2_Notification;

typedef struct RMA2_List {
  struct RMA2_List *next, *prev;
} RMA2_List;

/* Registered memory. Its pages begin at `start`, whose address in the network is `nla`; what was registered
 * begins `offset` bytes later. */
typedef struct RMA2_Region {
  RMA2_List list;
  void* start;
  RMA2_NLA nla;
  uint32_t count; /* pages */
  uint32_t offset;
  void* end;
  size_t size; /* of whole pages */
  uint64_t refcount;
  RMA2_Port endpoint;
  void* parent;
} RMA2_Region;

/* value[0]: 1:0 = 3, 5:2 command, 15:8 vpid, 31:16 node, 34:32 notifications, 38:35 modifier, 62:40 count-1
 * (notification put: class; lock: bit 40 target). value[1], value[2]: read and write address; immediate put:
 * address and value; notification put: value and 0; lock: compare << 32 | number and add << 32. */
typedef struct RMA2_Descriptor {
  RMA2_List list;
  RMA2_Handle handle;
  uint64_t reserved0;
  uint64_t value[3];
  uint64_t reserved1;
} __attribute__((aligned(16))) RMA2_Descriptor;

RMA2_ERROR rma2_open(RMA2_Port* port);
RMA2_ERROR rma2_close(RMA2_Port port);
RMA2_ERROR rma2_connect(RMA2_Port port, RMA2_Nodeid node, RMA2_VPID vpid, RMA2_Connection_Options options,
                        RMA2_Handle* handle);
RMA2_ERROR rma2_disconnect(RMA2_Port port, RMA2_Handle handle);
RMA2_Nodeid rma2_handle_get_node(RMA2_Handle handle);
RMA2_VPID rma2_handle_get_vpid(RMA2_Handle handle);

RMA2_Nodeid rma2_get_nodeid(RMA2_Port port);
RMA2_VPID rma2_get_vpid(RMA2_Port port);
uint32_t rma2_get_node_num(RMA2_Port port);
uint32_t rma2_get_proc_num(RMA2_Port port);

RMA2_ERROR rma2_register(RMA2_Port port, void* address, size_t size, RMA2_Region** region);
RMA2_ERROR rma2_unregister(RMA2_Port port, RMA2_Region* region);
RMA2_ERROR rma2_register_nomalloc(RMA2_Port port, void* address, size_t size, RMA2_Region* region);
RMA2_ERROR rma2_unregister_nofree(RMA2_Port port, RMA2_Region* region);
RMA2_ERROR rma2_register_cached(RMA2_Port port, void* address, size_t size, RMA2_Region** region);
RMA2_ERROR rma2_unregister_cached(RMA2_Port port, RMA2_Region* region);
RMA2_ERROR rma2_get_nla(RMA2_Region* region, size_t offset, RMA2_NLA* nla);
RMA2_ERROR rma2_get_va(RMA2_Region* region, size_t offset, void** address);
RMA2_ERROR rma2_get_size(RMA2_Region* region, size_t* size);
RMA2_ERROR rma2_get_page_count(RMA2_Region* region, size_t* pages);
int rma2_get_region_contained(RMA2_Region* region, void* address, size_t size);
int rma2_get_region_overlap(RMA2_Region* region, void* address, size_t size);
int rma2_get_region_equal(RMA2_Region* region, void* address, size_t size);

/* For a get, the local memory is where the data comes to. 1 byte to 8 MiB; `qw`: whole words of 8 bytes. */
RMA2_ERROR rma2_post_put_bt(RMA2_Port port, RMA2_Handle handle, RMA2_Region* region, uint32_t offset,
                            uint32_t size, RMA2_NLA remote, RMA2_Notification_Spec spec,
                            RMA2_Command_Modifier modifier);
RMA2_ERROR rma2_post_put_qw(RMA2_Port port, RMA2_Handle handle, RMA2_Region* region, uint32_t offset,
                            uint32_t size, RMA2_NLA remote, RMA2_Notification_Spec spec,
                            RMA2_Command_Modifier modifier);
RMA2_ERROR rma2_post_get_bt(RMA2_Port port, RMA2_Handle handle, RMA2_Region* region, uint32_t offset,
                            uint32_t size, RMA2_NLA remote, RMA2_Notification_Spec spec,
                            RMA2_Command_Modifier modifier);
RMA2_ERROR rma2_post_get_qw(RMA2_Port port, RMA2_Handle handle, RMA2_Region* region, uint32_t offset,
                            uint32_t size, RMA2_NLA remote, RMA2_Notification_Spec spec,
                            RMA2_Command_Modifier modifier);
RMA2_ERROR rma2_post_put_bt_direct(RMA2_Port port, RMA2_Handle handle, RMA2_NLA local, uint32_t size,
                                   RMA2_NLA remote, RMA2_Notification_Spec spec,
                                   RMA2_Command_Modifier modifier);
RMA2_ERROR rma2_post_put_qw_direct(RMA2_Port port, RMA2_Handle handle, RMA2_NLA local, uint32_t size,
                                   RMA2_NLA remote, RMA2_Notification_Spec spec,
                                   RMA2_Command_Modifier modifier);
RMA2_ERROR rma2_post_get_bt_direct(RMA2_Port port, RMA2_Handle handle, RMA2_NLA local, uint32_t size,
                                   RMA2_NLA remote, RMA2_Notification_Spec spec,
                                   RMA2_Command_Modifier modifier);
RMA2_ERROR rma2_post_get_qw_direct(RMA2_Port port, RMA2_Handle handle, RMA2_NLA local, uint32_t size,
                                   RMA2_NLA remote, RMA2_Notification_Spec spec,
                                   RMA2_Command_Modifier modifier);
/* The low `count` bytes of `value`, 1 to 8. */
RMA2_ERROR rma2_post_immediate_put(RMA2_Port port, RMA2_Handle handle, uint32_t count, uint64_t value,
                                   RMA2_NLA remote, RMA2_Notification_Spec spec,
                                   RMA2_Command_Modifier modifier);
RMA2_ERROR rma2_post_notification(RMA2_Port port, RMA2_Handle handle, RMA2_Class class_number, uint64_t value,
                                  RMA2_Notification_Spec spec, RMA2_Command_Modifier modifier);
/* Where the lock is at most `compare`, `add` is added to it, in one step. */
RMA2_ERROR rma2_post_lock(RMA2_Port port, RMA2_Handle handle, uint32_t target, uint32_t number,
                          int32_t compare, int32_t add, RMA2_Notification_Spec spec,
                          RMA2_Command_Modifier modifier);

RMA2_ERROR rma2_desc_alloc(RMA2_Port port, RMA2_Descriptor** descriptor);
RMA2_ERROR rma2_desc_free(RMA2_Port port, RMA2_Descriptor* descriptor);
RMA2_ERROR rma2_desc_query_free(RMA2_Port port, int* count);
RMA2_ERROR rma2_desc_set_put_get(RMA2_Descriptor* descriptor, RMA2_Handle handle, RMA2_Command command,
                                 uint32_t count, RMA2_Notification_Spec spec, RMA2_Command_Modifier modifier,
                                 uint64_t read_address, uint64_t write_address);
RMA2_ERROR rma2_desc_set_immediate_put(RMA2_Descriptor* descriptor, RMA2_Handle handle,
                                       RMA2_Notification_Spec spec, RMA2_Command_Modifier modifier,
                                       uint32_t count, uint64_t write_address, uint64_t value);
RMA2_ERROR rma2_desc_set_noti_put(RMA2_Descriptor* descriptor, RMA2_Handle handle,
                                  RMA2_Notification_Spec spec, RMA2_Command_Modifier modifier,
                                  RMA2_Class class_number, uint64_t value);
RMA2_ERROR rma2_desc_set_lock(RMA2_Descriptor* descriptor, RMA2_Handle handle, RMA2_Notification_Spec spec,
                              RMA2_Command_Modifier modifier, uint8_t target, uint32_t number,
                              uint32_t compare, uint32_t add);
RMA2_ERROR rma2_post_descriptor(RMA2_Port port, RMA2_Handle handle, RMA2_Descriptor* descriptor);

/* The oldest notification, which stays where it is until it is freed. Only the oldest can be. */
RMA2_ERROR rma2_noti_probe(RMA2_Port port, RMA2_Notification** notification);
RMA2_ERROR rma2_noti_get_block(RMA2_Port port, RMA2_Notification** notification);
RMA2_ERROR rma2_noti_free(RMA2_Port port, RMA2_Notification* notification);
RMA2_ERROR rma2_noti_dup(RMA2_Notification* in, RMA2_Notification* out);
/* These look at the oldest alone: NO_MATCH where it is another. */
RMA2_ERROR rma2_noti_match(RMA2_Port port, RMA2_Command command, RMA2_Nodeid node, RMA2_VPID vpid,
                           RMA2_Notification_Spec spec, RMA2_NLA nla, int flags,
                           RMA2_Notification** notification);
RMA2_ERROR rma2_noti_match_block(RMA2_Port port, RMA2_Command command, RMA2_Nodeid node, RMA2_VPID vpid,
                                 RMA2_Notification_Spec spec, RMA2_NLA nla, int flags,
                                 RMA2_Notification** notification);
RMA2_ERROR rma2_noti_noti_match(RMA2_Port port, RMA2_Class class_number, RMA2_Nodeid node, RMA2_VPID vpid,
                                RMA2_Notification** notification);
RMA2_ERROR rma2_noti_noti_match_block(RMA2_Port port, RMA2_Class class_number, RMA2_Nodeid node,
                                      RMA2_VPID vpid, RMA2_Notification** notification);
RMA2_ERROR rma2_noti_lock_match(RMA2_Port port, uint32_t lock, RMA2_Nodeid node, RMA2_VPID vpid,
                                RMA2_Notification** notification);
RMA2_ERROR rma2_noti_lock_match_block(RMA2_Port port, uint32_t lock, RMA2_Nodeid node, RMA2_VPID vpid,
                                      RMA2_Notification** notification);

RMA2_Command rma2_noti_get_cmd(RMA2_Notification* notification);
RMA2_Notification_Spec rma2_noti_get_notification_type(RMA2_Notification* notification);
RMA2_Notification_Modifier rma2_noti_get_mode(RMA2_Notification* notification);
uint8_t rma2_noti_get_error(RMA2_Notification* notification);
RMA2_Nodeid rma2_noti_get_remote_nodeid(RMA2_Notification* notification);
RMA2_VPID rma2_noti_get_remote_vpid(RMA2_Notification* notification);
uint32_t rma2_noti_get_size(RMA2_Notification* notification);
uint64_t rma2_noti_get_local_address(RMA2_Notification* notification);
uint64_t rma2_noti_get_notiput_payload(RMA2_Notification* notification);
uint8_t rma2_noti_get_notiput_class(RMA2_Notification* notification);
uint32_t rma2_noti_get_lock_value(RMA2_Notification* notification);
uint32_t rma2_noti_get_lock_number(RMA2_Notification* notification);
uint8_t rma2_noti_get_lock_result(RMA2_Notification* notification);
uint64_t rma2_noti_get_total_size(RMA2_NLA start, RMA2_Notification* notification);
void rma2_noti_dump(RMA2_Notification* notification);
void rma2_noti_fdump(RMA2_Notification* notification, FILE* file);
void rma2_noti_sdump(RMA2_Notification* notification, char* text, int size);

/* Before there is traffic. The queue's size in bytes, 16 for each notification. */
uint32_t rma2_get_queue_size(RMA2_Port port);
RMA2_ERROR rma2_set_queue_size(RMA2_Port port, uint32_t bytes);
uint32_t rma2_get_queue_segment_size(RMA2_Port port);
RMA2_ERROR rma2_set_queue_segment_size(RMA2_Port port, uint32_t bytes);
RMA2_ERROR rma2_replay_buffer_drain(RMA2_Port port);
RMA2_ERROR rma2_set_replay_mode(RMA2_Port port, RMA2_Replay_Buffer_Mode mode);
RMA2_Replay_Buffer_Mode rma2_get_replay_buffer_mode(RMA2_Port port);

void rma2_serror(RMA2_ERROR error, char* text, int size);
void rma2_perror(RMA2_ERROR error, char* prefix);

#ifdef __cplusplus
}
#endif

#endif
