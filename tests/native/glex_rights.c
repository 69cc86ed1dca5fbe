/* Memory that others may only read, or only write. */
#include "glex_pair.h"

int main(void) {
  set_up();
  glex_mem_handle_t readable, writable, other[2], own[2];
  char* more = calloc(1, 4096);
  CHECK(glex_register_mem(ep, more + 3, 1000, GLEX_MEM_READ, &readable) == GLEX_SUCCESS); /* any alignment */
  CHECK(glex_register_mem(ep, more + 1003, 1000, GLEX_MEM_WRITE, &writable) == GLEX_SUCCESS);
  CHECK(glex_register_mem(ep, more, 0, GLEX_MEM_READ, &readable) == GLEX_INVALID_PARAM);
  CHECK(glex_register_mem(ep, more, 10, 8, &readable) == GLEX_INVALID_PARAM);
  own[0] = readable;
  own[1] = writable;
  exchange(own, other, sizeof own);
  if (me() == 0) {
    memset(buffer, 'r', 100);
    for (int i = 0; i < 2; ++i)
      for (int get = 0; get < 2; ++get) {
        struct glex_rdma_req r = rdma(get ? GLEX_RDMA_TYPE_GET : GLEX_RDMA_TYPE_PUT, 0, 0, 100, 0, 0, 0);
        r.rmt_mh = other[i];
        post(&r);
        weft_compute(100000);
        struct glex_err_req e;
        uint32_t count = 1;
        CHECK(glex_poll_error_req(ep, &count, &e) == GLEX_SUCCESS);
        CHECK(count == (uint32_t)(i == get)); /* readable memory is not written, writable not read */
        if (count) CHECK(e.status == GLEX_ERR_STATUS_MMT);
      }
  }
  meet();
  if (me() == 1) CHECK(more[3] == 0 && more[102] == 0);
  CHECK(glex_deregister_mem(ep, readable) == GLEX_SUCCESS &&
        glex_deregister_mem(ep, writable) == GLEX_SUCCESS);
  CHECK(glex_deregister_mem(ep, readable) == GLEX_INVALID_PARAM);
  free(more);
  return tear_down("glex_rights");
}
