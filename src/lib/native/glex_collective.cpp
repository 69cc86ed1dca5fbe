// Collective requests of glex.h: their flags as the interface knows them (abi/counted.hpp), and the payloads
// that clients compose for them.
#include <string.h>

#include "abi/counted.hpp"
#include "lib/native/glex_state.hpp"

namespace nic = weft::nic;
using weft::lib::glex::disguise;

namespace weft::lib::glex {

namespace {

struct Flag {
  int of_client;
  std::uint32_t of_interface;
};
constexpr Flag kFlags[] = {
    {GLEX_FLAG_COLL_SEQ_START, nic::kSequenceStart},
    {GLEX_FLAG_COLL_SEQ_TAIL, nic::kSequenceTail},
    {GLEX_FLAG_COLL_COUNTER, nic::kCounts},
    {GLEX_FLAG_COLL_CP_DATA, nic::kToRing},
    {GLEX_FLAG_COLL_CP_SWAP_DATA, nic::kCarriesData},
    {GLEX_FLAG_COLL_CP_SWAP_ADDR, nic::kCarriesAddress},
    {GLEX_FLAG_COLL_SWAP, nic::kSwap},
    {GLEX_FLAG_COLL_SWAP_EP, nic::kSwapTarget},
    {GLEX_FLAG_COLL_SWAP_SET, nic::kSet},
    {GLEX_FLAG_COLL_REDUCE, nic::kReduce},
    {GLEX_FLAG_COLL_REDUCE_RESULT, nic::kResult},
};
constexpr int kOfMessages = GLEX_FLAG_COLL_CP_DATA | GLEX_FLAG_COLL_CP_SWAP_DATA |
                            GLEX_FLAG_COLL_CP_SWAP_ADDR | GLEX_FLAG_COLL_REDUCE |
                            GLEX_FLAG_COLL_REDUCE_RESULT;
// What takes the place of what a request has comes with the packets it waits for.
constexpr int kOfSequences = GLEX_FLAG_COLL_SEQ_TAIL | GLEX_FLAG_COLL_SWAP | GLEX_FLAG_COLL_SWAP_EP |
                             GLEX_FLAG_COLL_SWAP_SET | GLEX_FLAG_COLL_REDUCE_RESULT;

bool is_reduction(const nic::Descriptor& d) {
  nic::ReduceData data;
  if (d.length < offsetof(nic::ReduceData, unit) || d.length > sizeof data) return false;
  memcpy(static_cast<void*>(&data), d.data, d.length);
  return data.mark == nic::kReduceMark && data.bytes() == d.length;
}

/// Do the flags fit the operation and each other?
bool fits(const nic::Descriptor& d, const Collective& r) {
  if (d.operation != nic::Operation::Message)
    return !(r.flag & kOfMessages) &&
           !((r.flag & GLEX_FLAG_COLL_COUNTER) && d.operation == nic::Operation::Get) &&
           (!(r.flag & GLEX_FLAG_COLL_SWAP_SET) ||
            (d.operation == nic::Operation::Put && r.set_num >= 1 && r.set_num <= GLEX_COLL_SET_MAX_NUM));
  if ((r.flag & GLEX_FLAG_COLL_CP_SWAP_ADDR) && d.length != sizeof(nic::SwapAddress)) return false;
  if ((r.flag & GLEX_FLAG_COLL_REDUCE) && (!is_reduction(d) || (r.flag & GLEX_FLAG_COLL_SWAP_SET)))
    return false;
  return !(r.flag & GLEX_FLAG_COLL_SWAP_SET) || d.length % sizeof(nic::SetTarget) == 0;
}

}  // namespace

glex_ret_t make_collective(glex_ep_handle_t ep, const Collective& r, nic::Descriptor& d) {
  if (!(r.flag & GLEX_FLAG_COLL)) return r.flag & kCollectiveFlags ? GLEX_INVALID_PARAM : GLEX_SUCCESS;
  const abi::Limits& limits = ep->port->header->limits;
  const bool numbers = r.flag & (GLEX_FLAG_COLL_REDUCE | GLEX_FLAG_COLL_REDUCE_RESULT);
  if (!limits.control_packets || (numbers && !limits.operation_units)) return GLEX_NOT_IMPLEMENTED;
  const bool starts = r.flag & GLEX_FLAG_COLL_SEQ_START;
  if (starts ? ep->sequence_open : !ep->sequence_open && (r.flag & kOfSequences)) return GLEX_INVALID_PARAM;
  if (starts && r.counter > limits.control_packets) return GLEX_INVALID_PARAM;
  if (!fits(d, r)) return GLEX_INVALID_PARAM;
  std::uint32_t flags = 0;
  for (const Flag& f : kFlags)
    if (r.flag & f.of_client) flags |= f.of_interface;
  d.flags |= nic::kCounted;
  d.spare[1] = nic::counted_word(flags, starts ? r.counter : 0);
  d.spare[2] = r.set_num;
  return GLEX_SUCCESS;
}

void collective_posted(glex_ep_handle_t ep, int flag) {
  if (!(flag & GLEX_FLAG_COLL)) return;
  if (flag & GLEX_FLAG_COLL_SEQ_START) ep->sequence_open = true;
  if (flag & GLEX_FLAG_COLL_SEQ_TAIL) ep->sequence_open = false;
}

}  // namespace weft::lib::glex

extern "C" {

glex_ret_t glex_coll_compose_mp_swap_addr_data(glex_ep_handle_t ep, glex_mem_handle_t handle, uint32_t offset,
                                               uint32_t key, void* data, uint32_t* len) {
  if (!ep || !data || !len) return GLEX_INVALID_PARAM;
  const nic::SwapAddress address{disguise(handle.v, key), offset, ep->port->self.node, ep->port->self.port};
  memcpy(data, &address, sizeof address);
  *len = sizeof address;
  return GLEX_SUCCESS;
}

glex_ret_t glex_coll_compose_mp_reduce_data(union glex_coll_data_loc values[], uint32_t count,
                                            enum glex_coll_reduce_data_bits bits, enum glex_coll_reduce_op op,
                                            uint32_t branch_degree, void* data, uint32_t* len) {
  if (!values || !data || !len || count < 1 || count > GLEX_COLL_REDUCE_MAX_DATA_UNITS ||
      bits > GLEX_COLL_REDUCE_DATA_BITS_64 || op > GLEX_COLL_REDUCE_BXOR ||
      branch_degree > GLEX_COLL_MAX_BRANCH_DEGREE)
    return GLEX_INVALID_PARAM;
  nic::ReduceData out;
  out.mark = nic::kReduceMark;
  out.operation = static_cast<nic::Reduction>(op);
  out.wide = bits == GLEX_COLL_REDUCE_DATA_BITS_64;
  out.count = static_cast<std::uint8_t>(count);
  out.degree = branch_degree;
  for (uint32_t i = 0; i < count; ++i)
    out.unit[i] = out.wide ? nic::ReduceUnit{values[i].uint64_s.data, values[i].uint64_s.location, 0}
                           : nic::ReduceUnit{values[i].uint32_s.data, values[i].uint32_s.location, 0};
  memcpy(data, &out, out.bytes());
  *len = static_cast<uint32_t>(out.bytes());
  return GLEX_SUCCESS;
}

glex_ret_t glex_coll_decompose_mp_reduce_data(union glex_coll_data_loc values[], uint32_t count,
                                              enum glex_coll_reduce_data_bits bits, void* data) {
  if (!values || !data || count < 1 || count > GLEX_COLL_REDUCE_MAX_DATA_UNITS) return GLEX_INVALID_PARAM;
  nic::ReduceData in;
  memcpy(static_cast<void*>(&in), data, offsetof(nic::ReduceData, unit));
  if (in.mark != nic::kReduceMark || in.count != count || in.wide != (bits == GLEX_COLL_REDUCE_DATA_BITS_64))
    return GLEX_INVALID_PARAM;
  memcpy(static_cast<void*>(&in), data, in.bytes());
  for (uint32_t i = 0; i < count; ++i) {
    memset(&values[i], 0, sizeof values[i]);
    if (in.wide) {
      values[i].uint64_s.data = in.unit[i].value;
      values[i].uint64_s.location = in.unit[i].location;
    } else {
      values[i].uint32_s.data = static_cast<uint32_t>(in.unit[i].value);
      values[i].uint32_s.location = in.unit[i].location;
    }
  }
  return GLEX_SUCCESS;
}

glex_ret_t glex_coll_compose_mp_set_data(glex_ep_addr_t addresses[], uint32_t count, void* data,
                                         uint32_t* len) {
  if (!data || !len || count > GLEX_COLL_SET_MAX_NUM || (count && !addresses)) return GLEX_INVALID_PARAM;
  for (uint32_t i = 0; i < count; ++i) {
    const nic::SetTarget target{addresses[i].s.nic_id, addresses[i].s.ep_num};
    memcpy(static_cast<char*>(data) + i * sizeof target, &target, sizeof target);
  }
  *len = count * static_cast<uint32_t>(sizeof(nic::SetTarget));
  return GLEX_SUCCESS;
}
}
