#include "lib/fi/outcomes.hpp"

namespace weft::fi {

void Outcomes::entry(std::int64_t now, Cq* cq, Completion c) {
  c.time = now;
  cq->entries.push_back(c);
  now_ready(*cq);
}

void Outcomes::sent(std::int64_t now, const mpi::Outgoing& out) {
  if (out.completion)
    entry(now, endpoint_.send_cq, {out.context, out.completion, 0, nullptr, 0, 0, FI_ADDR_NOTAVAIL, 0, 0, 0});
  if (endpoint_.send_counter) ++endpoint_.send_counter->value;
}

void Outcomes::ended(std::int64_t now, const mpi::Request& r) {
  if (r.queue && (r.completion || r.error))
    entry(now, static_cast<Cq*>(r.queue),
          {r.context, r.completion, r.length, nullptr, 0, 0, FI_ADDR_NOTAVAIL, r.error, 0, 0});
  if (auto* counter = static_cast<Cntr*>(r.counter)) ++(r.error ? counter->errors : counter->value);
}

void Outcomes::received(std::int64_t now, const mpi::Incoming& in, std::uint64_t source, std::size_t stored,
                        int error, bool last) {
  const mpi::Receive& receive = *in.receive;
  const std::size_t lost = in.length - stored;
  if (!error && lost && !receive.discard) error = FI_ETRUNC;
  std::uint64_t flags = FI_RECV | (in.tagged ? FI_TAGGED : FI_MSG) | (in.has_data ? FI_REMOTE_CQ_DATA : 0);
  if (last) flags |= FI_MULTI_RECV;
  if (endpoint_.receive_cq && ((receive.flags & FI_COMPLETION) || error || last)) {
    void* buffer = in.target.parts ? in.target.part[0].iov_base : nullptr;
    entry(now, endpoint_.receive_cq,
          {receive.context, flags, error == FI_ETRUNC ? stored : in.length, buffer, in.data, in.tag, source,
           error, lost, 0});
  }
  if (endpoint_.receive_counter)
    ++(error ? endpoint_.receive_counter->errors : endpoint_.receive_counter->value);
}

void Outcomes::cancelled(const mpi::Receive& receive) {
  std::uint64_t flags = FI_RECV | (receive.tagged ? FI_TAGGED : FI_MSG);
  if (receive.multi) flags |= FI_MULTI_RECV;
  if (endpoint_.receive_cq)
    entry(0, endpoint_.receive_cq,
          {receive.context, flags, 0, nullptr, 0, receive.tag, FI_ADDR_NOTAVAIL, FI_ECANCELED, 0, 0});
  if (endpoint_.receive_counter) ++endpoint_.receive_counter->errors;
}

void Outcomes::operation_here(std::int64_t now, bool read, bool atomic, std::size_t length) {
  if (!(endpoint_.caps & FI_RMA_EVENT)) return;
  Cntr* counter = read ? endpoint_.remote_read_counter : endpoint_.remote_write_counter;
  if (counter) {
    ++counter->value;
  } else if (endpoint_.receive_cq && !endpoint_.selective_receive) {
    std::uint64_t flags = (atomic ? FI_ATOMIC : FI_RMA) | (read ? FI_REMOTE_READ : FI_REMOTE_WRITE);
    entry(now, endpoint_.receive_cq, {nullptr, flags, length, nullptr, 0, 0, FI_ADDR_NOTAVAIL, 0, 0, 0});
  }
}

void Outcomes::data_here(std::int64_t now, const mpi::RemoteDataHead& head) {
  if ((endpoint_.caps & FI_RMA_EVENT) && endpoint_.remote_write_counter)
    ++endpoint_.remote_write_counter->value;
  if (!endpoint_.receive_cq) return;
  entry(now, endpoint_.receive_cq,
        {nullptr, FI_RMA | FI_REMOTE_WRITE | FI_REMOTE_CQ_DATA, head.length, nullptr, head.data, 0,
         FI_ADDR_NOTAVAIL, 0, 0, 0});
}

}  // namespace weft::fi
