/* Endpoints: what they are asked for, what they get, and when there are no more. */
#include "glex_pair.h"

int main(void) {
  set_up();
  struct glex_ep_attr got, wanted;
  CHECK(glex_query_ep(ep, &got) == GLEX_SUCCESS);
  CHECK(got.num == here.ep_num && got.key == kKey && got.eq_capacity == limits.def_ep_eq_capacity);
  glex_ep_addr_t composed;
  uint32_t nic, num;
  CHECK(glex_compose_ep_addr(limits.nic_id, got.num, got.type, &composed) == GLEX_SUCCESS &&
        composed.v == here.v);
  CHECK(glex_decompose_ep_addr(there, GLEX_EP_TYPE_FAST, &nic, &num) == GLEX_SUCCESS);
  CHECK(nic == there.s.nic_id && num == there.s.ep_num);
  CHECK(glex_compose_ep_addr(0, 70000, GLEX_EP_TYPE_FAST, &composed) == GLEX_INVALID_PARAM);
  glex_ep_handle_t more[64];
  wanted = got;
  wanted.num = GLEX_ANY_EP_NUM;
  wanted.eq_capacity = limits.max_ep_eq_capacity + 1;
  CHECK(glex_create_ep(device, &wanted, &more[0]) == GLEX_INVALID_PARAM);
  wanted.eq_capacity = 16;
  wanted.mpq_capacity = 8;
  CHECK(glex_create_ep(device, &wanted, &more[0]) == GLEX_SUCCESS);
  CHECK(glex_query_ep(more[0], &got) == GLEX_SUCCESS && got.mpq_capacity == 8 && got.eq_capacity == 16);
  CHECK(glex_destroy_ep(more[0]) == GLEX_SUCCESS);
  wanted.num = 60000;
  CHECK(glex_create_ep(device, &wanted, &more[0]) == GLEX_NO_EP_RESOURCE);
  wanted.num = GLEX_ANY_EP_NUM;
  wanted.eq_capacity = wanted.mpq_capacity = 0;
  int opened = 0;
  glex_ret_t last = GLEX_SUCCESS;
  while (opened < 64 && (last = glex_create_ep(device, &wanted, &more[opened])) == GLEX_SUCCESS) ++opened;
  CHECK(opened < 64 && last == GLEX_NO_EP_RESOURCE);
  while (opened) CHECK(glex_destroy_ep(more[--opened]) == GLEX_SUCCESS);
  return tear_down("glex_endpoints");
}
