// libfabric's calls for messages, plain and tagged, brought into the engine's form.
#include "lib/fi/caller.hpp"
#include "lib/fi/entry.hpp"

namespace weft::fi {

namespace {

struct Call {
  Endpoint& endpoint;
  abi::Thread* thread;
  explicit Call(fid_ep* ep) : endpoint(*reinterpret_cast<Endpoint*>(ep)), thread(fi::this_thread()) {}
  bool fine() const {
    if (!thread || !endpoint.engine) return false;
    endpoint.engine->use();
    return true;
  }
};

constexpr std::uint64_t kNoFlags = ~0ull;  // the endpoint's own

ssize_t send(fid_ep* ep, const Buffer& buffer, fi_addr_t to, bool tagged, std::uint64_t tag, bool has_data,
             std::uint64_t data, void* context, std::uint64_t flags, bool quiet) {
  Call call(ep);
  if (!call.fine()) return -FI_EOPBADSTATE;
  if (lib::outside()) weft_outside_end();  // an MPI that talks to its peers while it starts
  Endpoint& endpoint = call.endpoint;
  bool own = flags == kNoFlags;
  if (own) flags = endpoint.send_flags;
  // Without selective completion every operation has an entry.
  bool wanted = !quiet && endpoint.send_cq && (!endpoint.selective_send || (flags & FI_COMPLETION));
  Engine::Outgoing out;
  out.buffer = buffer;
  out.destination = to;
  out.tag = tag;
  out.data = static_cast<std::uint32_t>(data);
  out.tagged = tagged;
  out.has_data = has_data || (!own && (flags & FI_REMOTE_CQ_DATA));
  out.inject = quiet || (flags & FI_INJECT);
  out.delivery = !quiet && (flags & FI_DELIVERY_COMPLETE);
  out.completion = wanted ? FI_SEND | (tagged ? FI_TAGGED : FI_MSG) : 0;
  out.quiet = quiet;
  out.context = context;
  if (out.inject && buffer.length > endpoint.most_inject) return too_long_to_inject(endpoint, buffer.length);
  if (!is_waited_for(*call.thread, out)) {
    Entry entered(*endpoint.domain, *call.thread);
    std::uint32_t sent = 0;
    if (ssize_t result = endpoint.engine->send(*call.thread, out, sent); result != 0) return result;
    if (!will_be_waited_for(*call.thread, out, sent)) return 0;
  }
  return wait_for_caller(*endpoint.engine, *call.thread);
}

ssize_t receive(fid_ep* ep, const Buffer& buffer, fi_addr_t from, bool tagged, std::uint64_t tag,
                std::uint64_t ignore, void* context, std::uint64_t flags) {
  Call call(ep);
  if (!call.fine()) return -FI_EOPBADSTATE;
  Endpoint& endpoint = call.endpoint;
  if (flags == kNoFlags) flags = endpoint.receive_flags;
  Receive wanted;
  wanted.buffer = buffer;
  wanted.context = context;
  wanted.tag = tag;
  wanted.ignore = ignore;
  wanted.tagged = tagged;
  wanted.flags = flags & ~FI_COMPLETION;
  wanted.multi = flags & FI_MULTI_RECV;
  wanted.discard = flags & FI_DISCARD;
  if (endpoint.receive_cq && (!endpoint.selective_receive || (flags & FI_COMPLETION)))
    wanted.flags |= FI_COMPLETION;
  if (from != FI_ADDR_UNSPEC && (endpoint.caps & FI_DIRECTED_RECV)) {
    endpoint.domain->lock.take(*call.thread);
    wanted.peer = endpoint.engine->peer_of_handle(from);
    endpoint.domain->lock.give();
    if (wanted.peer == kAnyPeer) return -FI_EINVAL;
  }
  if (flags & FI_PEEK) return endpoint.engine->peek(*call.thread, wanted);  // takes its turn itself
  Entry entered(*endpoint.domain, *call.thread);
  if (flags & FI_CLAIM) return endpoint.engine->claim(*call.thread, wanted);
  return endpoint.engine->receive(*call.thread, wanted);
}

bool too_many(std::size_t parts) { return parts > kMostParts; }

// Plain messages.

ssize_t recv(fid_ep* ep, void* buf, std::size_t len, void*, fi_addr_t from, void* context) {
  return receive(ep, Buffer(buf, len), from, false, 0, 0, context, kNoFlags);
}
ssize_t recvv(fid_ep* ep, const iovec* v, void**, std::size_t count, fi_addr_t from, void* context) {
  return too_many(count) ? -FI_EINVAL : receive(ep, Buffer(v, count), from, false, 0, 0, context, kNoFlags);
}
ssize_t recvmsg(fid_ep* ep, const fi_msg* m, std::uint64_t flags) {
  return too_many(m->iov_count)
             ? -FI_EINVAL
             : receive(ep, Buffer(m->msg_iov, m->iov_count), m->addr, false, 0, 0, m->context, flags);
}
ssize_t send(fid_ep* ep, const void* buf, std::size_t len, void*, fi_addr_t to, void* context) {
  return send(ep, Buffer(buf, len), to, false, 0, false, 0, context, kNoFlags, false);
}
ssize_t sendv(fid_ep* ep, const iovec* v, void**, std::size_t count, fi_addr_t to, void* context) {
  return too_many(count) ? -FI_EINVAL
                         : send(ep, Buffer(v, count), to, false, 0, false, 0, context, kNoFlags, false);
}
ssize_t sendmsg(fid_ep* ep, const fi_msg* m, std::uint64_t flags) {
  return too_many(m->iov_count) ? -FI_EINVAL
                                : send(ep, Buffer(m->msg_iov, m->iov_count), m->addr, false, 0, false,
                                       m->data, m->context, flags, false);
}
ssize_t inject(fid_ep* ep, const void* buf, std::size_t len, fi_addr_t to) {
  return send(ep, Buffer(buf, len), to, false, 0, false, 0, nullptr, kNoFlags, true);
}
ssize_t senddata(fid_ep* ep, const void* buf, std::size_t len, void*, std::uint64_t data, fi_addr_t to,
                 void* context) {
  return send(ep, Buffer(buf, len), to, false, 0, true, data, context, kNoFlags, false);
}
ssize_t injectdata(fid_ep* ep, const void* buf, std::size_t len, std::uint64_t data, fi_addr_t to) {
  return send(ep, Buffer(buf, len), to, false, 0, true, data, nullptr, kNoFlags, true);
}

// Tagged ones.

ssize_t trecv(fid_ep* ep, void* buf, std::size_t len, void*, fi_addr_t from, std::uint64_t tag,
              std::uint64_t ignore, void* context) {
  return receive(ep, Buffer(buf, len), from, true, tag, ignore, context, kNoFlags);
}
ssize_t trecvv(fid_ep* ep, const iovec* v, void**, std::size_t count, fi_addr_t from, std::uint64_t tag,
               std::uint64_t ignore, void* context) {
  return too_many(count) ? -FI_EINVAL
                         : receive(ep, Buffer(v, count), from, true, tag, ignore, context, kNoFlags);
}
ssize_t trecvmsg(fid_ep* ep, const fi_msg_tagged* m, std::uint64_t flags) {
  return too_many(m->iov_count) ? -FI_EINVAL
                                : receive(ep, Buffer(m->msg_iov, m->iov_count), m->addr, true, m->tag,
                                          m->ignore, m->context, flags);
}
ssize_t tsend(fid_ep* ep, const void* buf, std::size_t len, void*, fi_addr_t to, std::uint64_t tag,
              void* context) {
  return send(ep, Buffer(buf, len), to, true, tag, false, 0, context, kNoFlags, false);
}
ssize_t tsendv(fid_ep* ep, const iovec* v, void**, std::size_t count, fi_addr_t to, std::uint64_t tag,
               void* context) {
  return too_many(count) ? -FI_EINVAL
                         : send(ep, Buffer(v, count), to, true, tag, false, 0, context, kNoFlags, false);
}
ssize_t tsendmsg(fid_ep* ep, const fi_msg_tagged* m, std::uint64_t flags) {
  return too_many(m->iov_count) ? -FI_EINVAL
                                : send(ep, Buffer(m->msg_iov, m->iov_count), m->addr, true, m->tag, false,
                                       m->data, m->context, flags, false);
}
ssize_t tinject(fid_ep* ep, const void* buf, std::size_t len, fi_addr_t to, std::uint64_t tag) {
  return send(ep, Buffer(buf, len), to, true, tag, false, 0, nullptr, kNoFlags, true);
}
ssize_t tsenddata(fid_ep* ep, const void* buf, std::size_t len, void*, std::uint64_t data, fi_addr_t to,
                  std::uint64_t tag, void* context) {
  return send(ep, Buffer(buf, len), to, true, tag, true, data, context, kNoFlags, false);
}
ssize_t tinjectdata(fid_ep* ep, const void* buf, std::size_t len, std::uint64_t data, fi_addr_t to,
                    std::uint64_t tag) {
  return send(ep, Buffer(buf, len), to, true, tag, true, data, nullptr, kNoFlags, true);
}

}  // namespace

fi_ops_msg message_operations = {sizeof(fi_ops_msg), recv,      recvv, recvmsg, send, sendv, sendmsg, inject,
                                 senddata,           injectdata};
fi_ops_tagged tagged_operations = {
    sizeof(fi_ops_tagged), trecv, trecvv, trecvmsg, tsend, tsendv, tsendmsg, tinject, tsenddata, tinjectdata};

}  // namespace weft::fi
