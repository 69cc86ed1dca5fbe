#include "measure/lab/messenger.hpp"

#include <algorithm>

#include "base/check.hpp"
#include "host/mpi_model.hpp"

namespace weft::measure::lab {

namespace {

mpi::Transport::Limits limits_of(const Process& process) {
  const machine::NicParameters& nic = process.lab().fabric().parameters();
  return {static_cast<std::size_t>(nic.message_limit.value),
          static_cast<std::uint64_t>(nic.rdma_limit.value)};
}

}  // namespace

Messenger::Messenger(Process& process)
    : Transport(model_of_machine_, sums_of_process_, limits_of(process),
                static_cast<std::uint16_t>(process.number())),
      p_(process),
      model_of_machine_(host::mpi_model_of(process.lab().machine().description)) {
  registrations_.make_room(process.lab().fabric().parameters().registration_cache);
}

Messenger::~Messenger() { registrations_.give_room(); }

// --- What the protocol wants of its port.

void Messenger::work(std::int64_t picoseconds) {
  work_after_ = work_after_ + Time{picoseconds};
  noted_work_ = noted_work_ + Time{picoseconds};
}

void Messenger::post(nic::Descriptor& descriptor) {
  if (model_of_machine_.reliable) descriptor.flags |= nic::kReliable;
  actions_.push_back({std::exchange(work_after_, Time{0}), descriptor});
}

/// As the library that MPI programs are linked with: what is remembered costs a look, the rest a system call.
int Messenger::register_memory(void* base, std::size_t bytes, unsigned rights, std::uint64_t& key) {
  const machine::Description& d = p_.lab().machine().description;
  const mpi::Place place = p_.place_of(base, bytes);
  if (registrations_.on()) {
    work(d.nic.registration_hit.value);
    if (mpi::Registration* r = registrations_.take(place, bytes, rights, false)) {
      key = r->key;
      return 0;
    }
  }
  work(d.host.system_call.value);
  work(p_.register_memory(base, bytes, rights, place.simulated, Time{now()}, key).value);
  if (!registrations_.on()) return 0;
  if (std::uint64_t dropped = registrations_.add(place, bytes, rights, key)) unregister(dropped);
  return 0;
}

void Messenger::release_memory(std::uint64_t key) {
  mpi::Registration* r = registrations_.find(key);
  if (!r) return unregister(key);
  work(p_.lab().machine().description.nic.registration_hit.value);
  --r->users;
}

void Messenger::unregister(std::uint64_t key) {
  work(p_.lab().machine().description.host.system_call.value);
  work(p_.unregister_memory(key, Time{now()}).value);
}

// --- What it tells.

void Messenger::request_ended(mpi::Port&, const mpi::Request& request) {
  if (request.kind == mpi::Request::Kind::Send) --sends_open_;
}

void Messenger::received(mpi::Port&, const mpi::Incoming& in, std::size_t, int error, bool) {
  WEFT_CHECK(error == 0, "operations of an experiment do not fail");
  --receives_open_;
  ++complete_;
  last_length_ = in.length;
}

void Messenger::other_message(mpi::Port&, std::uint32_t, const nic::Message&) {
  WEFT_CHECK(false, "experiments send messages alone");
}
void Messenger::operation_here(mpi::Port&, const nic::Event&) {
  WEFT_CHECK(false, "experiments send messages alone");
}
void Messenger::one_sided_done(mpi::Port&, mpi::Request&) {
  WEFT_CHECK(false, "experiments send messages alone");
}
void Messenger::operation_failed(const mpi::Request&, const nic::Event&) {
  WEFT_CHECK(false, "operations of an experiment do not fail");
}
void Messenger::registration_failed(const mpi::Request&, const void*, int) {
  WEFT_CHECK(false, "an experiment's memory can be registered");
}

// --- What programs do.

Task Messenger::perform() {
  for (std::size_t i = 0; i < actions_.size(); ++i) {
    p_.compute(actions_[i].work);
    co_await p_.post(actions_[i].descriptor);
  }
  p_.compute(work_after_);
  actions_.clear();
  work_after_ = noted_work_ = Time{0};
}

Task Messenger::send(Process& to, std::uint64_t bytes) {
  mpi::Outgoing out;
  out.buffer = mpi::Buffer(p_.memory().data(), bytes);
  std::uint32_t request = 0;
  ++sends_open_;
  const int result = Transport::send(*this, peer_of_address({to.node(), to.port().port}), out, request);
  WEFT_CHECK(result == 0, "messages of an experiment can be sent");
  if (request == 0) --sends_open_;
  co_await perform();
}

Task Messenger::sent() {
  while (sends_open_ > 0) co_await progress();
}

Task Messenger::expect(unsigned messages) {
  while (complete_ + receives_open_ < messages) {
    mpi::Receive wanted;
    wanted.buffer = mpi::Buffer(p_.memory().data(), p_.memory().size());
    ++receives_open_;
    Transport::receive(*this, wanted);
    co_await perform();
  }
}

Task Messenger::receive(unsigned messages) {
  co_await expect(messages);
  while (complete_ < messages) co_await progress();
  complete_ -= messages;
}

Task Messenger::test(bool& received) {
  p_.compute(p_.lab().machine().description.mpi.test_cost);
  co_await p_.in_step();
  co_await expect(1);
  received = false;
  if (complete_ == 0 && p_.waiting()) co_await progress();
  if (complete_ == 0) co_return;
  --complete_;
  received = true;
}

/// Takes the next thing that arrives.
Task Messenger::progress() {
  co_await p_.next();
  if (p_.item.is_message) {
    take(*this, p_.item.message);
  } else {
    take(*this, p_.item.event);
  }
  co_await perform();
}

}  // namespace weft::measure::lab
