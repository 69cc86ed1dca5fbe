/* GLEX: endpoints, mini packets and RDMA of a TH Express-2 interface, for programs that were written for one.
 *
 * Names, values and layouts are those that clients know. docs/native.md says what is decided here because it
 * is not publicly known. */
#ifndef GLEX_H
#define GLEX_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef enum glex_ret {
  GLEX_SUCCESS = 0,
  GLEX_SYS_ERR = 1,
  GLEX_INVALID_PARAM = 2,
  GLEX_NO_EP_RESOURCE = 3,
  GLEX_NO_MEM_RESOURCE = 4,
  GLEX_BUSY = 5,
  GLEX_NO_MP = 6,
  GLEX_NO_EVENT = 7,
  GLEX_INTR = 8,
  GLEX_ACCESS_ERR = 9,
  GLEX_NOT_IMPLEMENTED = 10
} glex_ret_t;

enum glex_ep_type {
  GLEX_EP_TYPE_FAST = 0,
  GLEX_EP_TYPE_NORMAL = 1,
  GLEX_EP_TYPE_EMULATE = 2,
  GLEX_EP_TYPE_MANAGEMENT = 3
};
enum glex_mpq_type { GLEX_MPQ_TYPE_NORMAL = 0, GLEX_MPQ_TYPE_HIGH_CAPACITY = 1, GLEX_MPQ_TYPE_IOMMU = 2 };
enum glex_eq_type { GLEX_EQ_TYPE_NORMAL = 0, GLEX_EQ_TYPE_HIGH_CAPACITY = 1, GLEX_EQ_TYPE_IOMMU = 2 };

#define GLEX_ANY_EP_NUM 0xffffffffu
#define GLEX_EP_DQ_CAPACITY_DEFAULT 0
#define GLEX_EP_MPQ_CAPACITY_DEFAULT 0
#define GLEX_EP_EQ_CAPACITY_DEFAULT 0
#define GLEX_EP_MAKE_KEY(x) ((uint32_t)(x))
#define GLEX_EP_MAKE_HC_UMMT_KEY(k) ((uint32_t)(k))

enum { GLEX_MEM_READ = 1, GLEX_MEM_WRITE = 2, GLEX_MEM_IOMMU = 4 };
enum glex_rdma_type { GLEX_RDMA_TYPE_PUT = 0, GLEX_RDMA_TYPE_GET = 1 };

enum {
  GLEX_FLAG_LOCAL_INTR = 1 << 0,
  GLEX_FLAG_REMOTE_INTR = 1 << 1,
  GLEX_FLAG_FENCE = 1 << 2,
  GLEX_FLAG_LOCAL_EVT = 1 << 3,
  GLEX_FLAG_REMOTE_EVT = 1 << 4,
  GLEX_FLAG_NO_CONNECTION = 1 << 5,
  GLEX_FLAG_ROUTE_ADAPTIVE = 1 << 6,
  GLEX_FLAG_COLL = 1 << 7,
  GLEX_FLAG_COLL_SEQ_START = 1 << 8,
  GLEX_FLAG_COLL_SEQ_TAIL = 1 << 9,
  GLEX_FLAG_COLL_COUNTER = 1 << 10,
  GLEX_FLAG_COLL_CP_DATA = 1 << 11,
  GLEX_FLAG_COLL_CP_SWAP_DATA = 1 << 12,
  GLEX_FLAG_COLL_CP_SWAP_ADDR = 1 << 13,
  GLEX_FLAG_COLL_SWAP = 1 << 14,
  GLEX_FLAG_COLL_SWAP_EP = 1 << 15,
  GLEX_FLAG_COLL_SWAP_SET = 1 << 16,
  GLEX_FLAG_COLL_REDUCE = 1 << 17,
  GLEX_FLAG_COLL_REDUCE_RESULT = 1 << 18
};

typedef union glex_ep_addr {
  struct {
    uint16_t ep_num, resv;
    uint32_t nic_id;
  };
  struct {
    uint16_t ep_num, resv;
    uint32_t nic_id;
  } s;
  uint64_t v;
} glex_ep_addr_t;

typedef union glex_mem_handle {
  struct {
    uint16_t mmt_index, att_base_off;
    uint32_t att_index;
  };
  struct {
    uint16_t mmt_index, att_base_off;
    uint32_t att_index;
  } s;
  uint64_t v;
} glex_mem_handle_t;

typedef struct glex_device* glex_device_handle_t;
typedef struct glex_ep* glex_ep_handle_t;

struct glex_ep_attr {
  enum glex_ep_type type;
  enum glex_mpq_type mpq_type;
  enum glex_eq_type eq_type;
  uint32_t num;
  uint32_t key;
  uint32_t dq_capacity, mpq_capacity, eq_capacity;
};
typedef struct glex_ep_attr glex_ep_attr_t;

struct glex_event {
  volatile uint64_t cookie_0, cookie_1; /* cookie_1 is not 0 */
};
typedef struct glex_event glex_event_t;

struct glex_imm_mp_req {
  glex_ep_addr_t rmt_ep_addr;
  void* data;
  uint32_t len;
  uint32_t coll_counter;
  int32_t flag;
  struct glex_imm_mp_req* next;
};
typedef struct glex_imm_mp_req glex_imm_mp_req_t;

struct glex_imm_rdma_req {
  glex_ep_addr_t rmt_ep_addr;
  void* data;
  uint32_t len;
  glex_mem_handle_t rmt_mh;
  uint32_t rmt_offset;
  glex_event_t rmt_evt;
  uint32_t rmt_key;
  uint32_t coll_counter;
  int32_t flag;
  struct glex_imm_rdma_req* next;
};
typedef struct glex_imm_rdma_req glex_imm_rdma_req_t;

struct glex_rdma_req {
  glex_ep_addr_t rmt_ep_addr;
  glex_mem_handle_t local_mh;
  uint32_t local_offset;
  uint32_t len;
  glex_mem_handle_t rmt_mh;
  uint32_t rmt_offset;
  enum glex_rdma_type type;
  glex_event_t local_evt;
  glex_event_t rmt_evt;
  uint32_t rmt_key;
  uint32_t coll_counter;
  uint32_t coll_set_num;
  int32_t flag;
  struct glex_rdma_req* next;
};
typedef struct glex_rdma_req glex_rdma_req_t;

/* What collective requests combine: an array of numbers, each with the place it comes from. */
union glex_coll_data_loc {
  struct {
    int32_t data;
    uint32_t location;
  } int32_s;
  struct {
    uint32_t data;
    uint32_t location;
  } uint32_s;
  struct {
    int64_t data;
    uint32_t location;
  } int64_s;
  struct {
    uint64_t data;
    uint32_t location;
  } uint64_s;
  struct {
    float data;
    uint32_t location;
  } float_s;
  struct {
    double data;
    uint32_t location;
  } double_s;
};
typedef union glex_coll_data_loc glex_coll_data_loc_t;

enum glex_coll_reduce_op {
  GLEX_COLL_REDUCE_SUM_FLOAT = 0,
  GLEX_COLL_REDUCE_MAXLOC_FLOAT,
  GLEX_COLL_REDUCE_MINLOC_FLOAT,
  GLEX_COLL_REDUCE_SUM_SIGNED,
  GLEX_COLL_REDUCE_MAXLOC_SIGNED,
  GLEX_COLL_REDUCE_MINLOC_SIGNED,
  GLEX_COLL_REDUCE_SUM_UNSIGNED,
  GLEX_COLL_REDUCE_MAXLOC_UNSIGNED,
  GLEX_COLL_REDUCE_MINLOC_UNSIGNED,
  GLEX_COLL_REDUCE_LAND,
  GLEX_COLL_REDUCE_LOR,
  GLEX_COLL_REDUCE_LXOR,
  GLEX_COLL_REDUCE_BAND,
  GLEX_COLL_REDUCE_BOR,
  GLEX_COLL_REDUCE_BXOR
};
enum glex_coll_reduce_data_bits { GLEX_COLL_REDUCE_DATA_BITS_32 = 0, GLEX_COLL_REDUCE_DATA_BITS_64 = 1 };
#define GLEX_COLL_MAX_BRANCH_DEGREE 32
#define GLEX_COLL_REDUCE_MAX_DATA_UNITS 6
#define GLEX_COLL_SET_MAX_NUM 14

struct glex_device_attr {
  uint32_t nic_id;
  uint32_t max_fast_ep_num, max_ep_num, max_emulate_ep_num;
  uint32_t mmt_units, att_units;
  uint32_t max_imm_mp_data_len, max_mp_data_len, max_imm_rdma_data_len, max_rdma_data_len;
  uint32_t def_ep_dq_capacity, def_ep_eq_capacity, def_ep_mpq_capacity;
  uint32_t max_ep_dq_capacity, max_ep_eq_capacity, max_ep_mpq_capacity;
  uint32_t max_ep_hc_eq_capacity, max_ep_hc_mpq_capacity;
};
typedef struct glex_device_attr glex_device_attr_t;

enum glex_err_op {
  GLEX_ERR_OP_IMM_MP = 0,
  GLEX_ERR_OP_MP,
  GLEX_ERR_OP_IMM_RDMA_PUT,
  GLEX_ERR_OP_RDMA_PUT,
  GLEX_ERR_OP_RDMA_GET
};
enum glex_err_status {
  GLEX_ERR_STATUS_FORMAT = 0,
  GLEX_ERR_STATUS_SRC_HOST_DEAD,
  GLEX_ERR_STATUS_DEST_HOST_DEAD,
  GLEX_ERR_STATUS_PCIE_READ,
  GLEX_ERR_STATUS_ATT,
  GLEX_ERR_STATUS_MMT,
  GLEX_ERR_STATUS_SRC_VP_STOP,
  GLEX_ERR_STATUS_DEST_VP_STOP,
  GLEX_ERR_STATUS_DEST_MPQ_FULL,
  GLEX_ERR_STATUS_DEST_EQ_FULL,
  GLEX_ERR_STATUS_CONNECTION_MAX_RETRY,
  GLEX_ERR_STATUS_CONNECTION_RDMA_GET,
  GLEX_ERR_STATUS_CONNECTION_NACK,
  GLEX_ERR_STATUS_CONNECTION_ECC
};
struct glex_err_req {
  enum glex_err_op op;
  enum glex_err_status status;
  uint32_t rmt_nic_id, rmt_ep_num;
  uint64_t data0, data1, data2;
};
typedef struct glex_err_req glex_err_req_t;

glex_ret_t glex_num_of_device(uint32_t* count);
glex_ret_t glex_open_device(uint32_t id, glex_device_handle_t* device);
glex_ret_t glex_close_device(glex_device_handle_t device);
glex_ret_t glex_query_device(glex_device_handle_t device, struct glex_device_attr* attributes);

glex_ret_t glex_create_ep(glex_device_handle_t device, struct glex_ep_attr* attributes, glex_ep_handle_t* ep);
glex_ret_t glex_destroy_ep(glex_ep_handle_t ep);
glex_ret_t glex_query_ep(glex_ep_handle_t ep, struct glex_ep_attr* attributes);
glex_ret_t glex_get_ep_addr(glex_ep_handle_t ep, glex_ep_addr_t* address);
glex_ret_t glex_compose_ep_addr(uint32_t nic_id, uint32_t num, enum glex_ep_type type,
                                glex_ep_addr_t* address);
glex_ret_t glex_decompose_ep_addr(glex_ep_addr_t address, enum glex_ep_type type, uint32_t* nic_id,
                                  uint32_t* num);

/* Any alignment; offset 0 is the address given here. */
glex_ret_t glex_register_mem(glex_ep_handle_t ep, void* address, uint64_t len, int32_t flag,
                             glex_mem_handle_t* handle);
glex_ret_t glex_deregister_mem(glex_ep_handle_t ep, glex_mem_handle_t handle);

/* Requests are lists. Where one cannot be posted, those before it have been; *bad is that one, unless NULL.
 * BUSY: the queue is full. */
glex_ret_t glex_send_imm_mp(glex_ep_handle_t ep, struct glex_imm_mp_req* requests,
                            struct glex_imm_mp_req** bad);
glex_ret_t glex_imm_rdma(glex_ep_handle_t ep, struct glex_imm_rdma_req* requests,
                         struct glex_imm_rdma_req** bad);
glex_ret_t glex_rdma(glex_ep_handle_t ep, struct glex_rdma_req* requests, struct glex_rdma_req** bad);

/* Timeouts are milliseconds of virtual time; -1: none, 0: a look. */
glex_ret_t glex_receive_mp(glex_ep_handle_t ep, int32_t timeout, glex_ep_addr_t* source, void* data,
                           uint32_t* len);
/* Where MPs lie; pointers hold until what was probed is discarded, all at once. */
glex_ret_t glex_probe_first_mp(glex_ep_handle_t ep, int32_t timeout, glex_ep_addr_t* source, void** data,
                               uint32_t* len);
glex_ret_t glex_probe_next_mp(glex_ep_handle_t ep, glex_ep_addr_t* source, void** data, uint32_t* len);
glex_ret_t glex_discard_probed_mp(glex_ep_handle_t ep);
glex_ret_t glex_probe_first_event(glex_ep_handle_t ep, int32_t timeout, glex_event_t** event);
glex_ret_t glex_probe_next_event(glex_ep_handle_t ep, glex_event_t** event);
glex_ret_t glex_discard_probed_event(glex_ep_handle_t ep);

/* *num: how many `list` has room for, then how many are in it. */
glex_ret_t glex_poll_error_req(glex_ep_handle_t ep, uint32_t* num, struct glex_err_req* list);
const char* glex_error_str(glex_ret_t error);
const char* glex_error_req_status_str(enum glex_err_status status);
const char* glex_error_req_opcode_str(enum glex_err_op op);

/* Payloads of collective requests: `data` has room for an MP, *len is what of it was written. */
glex_ret_t glex_coll_compose_mp_swap_addr_data(glex_ep_handle_t ep, glex_mem_handle_t handle, uint32_t offset,
                                               uint32_t key, void* data, uint32_t* len);
glex_ret_t glex_coll_compose_mp_reduce_data(union glex_coll_data_loc values[], uint32_t count,
                                            enum glex_coll_reduce_data_bits bits, enum glex_coll_reduce_op op,
                                            uint32_t branch_degree, void* data, uint32_t* len);
glex_ret_t glex_coll_decompose_mp_reduce_data(union glex_coll_data_loc values[], uint32_t count,
                                              enum glex_coll_reduce_data_bits bits, void* data);
glex_ret_t glex_coll_compose_mp_set_data(glex_ep_addr_t addresses[], uint32_t count, void* data,
                                         uint32_t* len);

#ifdef __cplusplus
}
#endif

#endif
