/* Devices, their limits, and texts. */
#include "glex_pair.h"

int main(void) {
  set_up();
  glex_device_handle_t none;
  CHECK(glex_open_device(1, &none) == GLEX_INVALID_PARAM && glex_num_of_device(NULL) == GLEX_INVALID_PARAM);
  CHECK(glex_close_device(device) == GLEX_BUSY); /* it has an endpoint */
  CHECK(limits.nic_id == here.nic_id && limits.max_imm_mp_data_len <= 112 &&
        limits.max_imm_rdma_data_len <= 96);
  CHECK(limits.max_rdma_data_len >= 65536 && limits.def_ep_eq_capacity > 0);
  CHECK(sizeof limits == 18 * 4 && sizeof here == 8 && sizeof mine == 8);
  CHECK(strcmp(glex_error_str(GLEX_SUCCESS), "successful") == 0);
  CHECK(strcmp(glex_error_str((glex_ret_t)77), "unknown error") == 0);
  CHECK(strcmp(glex_error_req_status_str(GLEX_ERR_STATUS_CONNECTION_ECC), "connection: data error") == 0);
  CHECK(strcmp(glex_error_req_opcode_str(GLEX_ERR_OP_RDMA_GET), "RDMA get") == 0);
  return tear_down("glex_device");
}
