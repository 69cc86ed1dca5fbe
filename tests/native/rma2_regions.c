/* Registered memory: whole pages, addresses that can be computed, and fields clients read and write. */
#include "rma2_pair.h"

int main(void) {
  set_up(16384);
  size_t size;
  void* address;
  RMA2_NLA nla;
  RMA2_Region odd;
  CHECK(rma2_register_nomalloc(port, buffer + 5000, 100, &odd) == RMA2_SUCCESS);
  CHECK(rma2_get_size(&odd, &size) == RMA2_SUCCESS && size == 4096);
  CHECK(rma2_get_page_count(&odd, &size) == RMA2_SUCCESS && size == 1);
  CHECK(rma2_get_va(&odd, 3, &address) == RMA2_SUCCESS && address == buffer + 5003);
  CHECK(rma2_get_nla(&odd, 3, &nla) == RMA2_SUCCESS);
  CHECK(nla == odd.nla + (RMA2_NLA)(buffer + 5003 - (char*)odd.start));
  CHECK(rma2_get_region_contained(&odd, buffer + 5000, 100) == 1);
  CHECK(rma2_get_region_contained(&odd, buffer + 8000, 1000) == 0);
  CHECK(rma2_get_region_overlap(&odd, buffer + 8000, 1000) == 1);
  CHECK(rma2_get_region_overlap(&odd, buffer + 8192, 1000) == 0);
  CHECK(rma2_get_region_equal(&odd, buffer + 4096, 4096) == 1);
  CHECK(rma2_get_region_equal(&odd, buffer + 4096, 4097) == 0);
  /* One memory twice, under two addresses; a client moves the address in its own record. */
  if (me() == 0) {
    memset(buffer, 3, 4096);
    RMA2_Region* again;
    CHECK(rma2_register_cached(port, buffer, 4096, &again) == RMA2_SUCCESS);
    again->nla += 16;
    CHECK(rma2_get_nla(again, 0, &nla) == RMA2_SUCCESS && nla == again->nla);
    buffer[16] = 77;
    CHECK(rma2_post_put_bt(port, other, again, 0, 8, there, RMA2_REQCOMPL_NOTIFICATION, RMA2_CMD_DEFAULT) ==
          RMA2_SUCCESS);
    expect(RMA2_REQUESTER_NOTIFICATION, RMA2_BT_PUT); /* its memory is needed until then */
    CHECK(rma2_unregister_cached(port, again) == RMA2_SUCCESS);
  } else {
    expect(RMA2_COMPLETER_NOTIFICATION, RMA2_BT_PUT);
    CHECK(buffer[0] == 77 && buffer[1] == 3);
  }
  meet();
  CHECK(rma2_unregister_nofree(port, &odd) == RMA2_SUCCESS);
  CHECK(rma2_unregister_nofree(port, &odd) == RMA2_ERR_INV_VALUE);
  return tear_down("rma2_regions");
}
