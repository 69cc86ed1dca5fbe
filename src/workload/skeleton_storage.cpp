// Work with data on storage: a checkpoint that all ranks write at once, and queries over what lies there.
#include <algorithm>

#include "base/virtual_time.hpp"
#include "workload/skeleton.hpp"

namespace weft::workload {

namespace {

using config::Range;
using config::Schema;

constexpr std::uint64_t kAnswer = 64;  // bytes of an answer, or of a request, without data

std::uint64_t count(DataSize bytes) { return static_cast<std::uint64_t>(bytes.value); }

struct CheckpointParameters {
  unsigned servers = 4, checkpoints = 1, in_flight = 4;
  DataSize per_rank{16 << 20}, transfer{1 << 20};
  Time compute{0}, request_time{3'000'000};
  DataRate device{24'000'000'000};
};

/// Transfer k of writer w goes to server (w + k) mod servers, which answers when its device has it; a device
/// takes one after the other. So many of a writer are under way at a time.
void write_checkpoint(const CheckpointParameters& p, const SkeletonContext& context, ProgramBuilder& b) {
  const unsigned servers = std::min(p.servers, context.ranks - 1);
  if (servers == 0) return;
  const Rank writers = context.ranks - servers;
  const std::uint64_t bytes = count(p.per_rank);
  const std::uint64_t most = count(p.transfer);
  const std::uint64_t transfers = (bytes + most - 1) / most;
  const std::uint32_t data = b.new_tag(), answer = b.new_tag();
  std::vector<std::vector<Step>> free(servers);  // by server: its device, after what it has taken
  for (unsigned c = 0; c < p.checkpoints; ++c) {
    for (Rank w = 0; w < writers; ++w) b.compute(w, p.compute);
    for (std::uint64_t k = 0; k < transfers; ++k) {
      const std::uint64_t size = std::min(most, bytes - k * most);
      for (Rank w = 0; w < writers; ++w) {
        const auto server = static_cast<Rank>((w + k) % servers);
        const Rank to = writers + server;
        b.send(w, to, size, data);
        b.receive(w, to, kAnswer, answer);
        if ((k + 1) % p.in_flight == 0 || k + 1 == transfers) b.wait(w);
        std::vector<Step> after = free[server];
        after.push_back(b.interface_receive(to, w, size, data));
        const Time taken = later(p.request_time, transfer_time(size, p.device.value));
        const Step written = b.interface_delay(to, after, taken);
        free[server] = {written};
        b.await(to, b.interface_send(to, written, w, kAnswer, answer));
      }
    }
  }
  for (Rank r = writers; r < context.ranks; ++r) b.wait(r);
}

using C = CheckpointParameters;
WEFT_REGISTER(
    SkeletonKind,
    skeleton_kind<C>(
        "checkpoint", "a storm of writes: all ranks write at once, the last of them are storage servers",
        Schema<C>()
            .field(&C::servers, "servers",
                   "Ranks that are servers, each with a device, at most all but one; the others write",
                   Range<unsigned>{1, 4096})
            .field(&C::checkpoints, "checkpoints", "Checkpoints, one after the other", kRounds)
            .field(&C::per_rank, "per_rank", "Bytes each rank writes", kBytes)
            .field(&C::transfer, "transfer", "Most data of one request", Range<DataSize>{{4096}, {1 << 26}})
            .field(&C::in_flight, "in_flight", "Requests of a rank that are under way at a time",
                   Range<unsigned>{1, 1024})
            .field(&C::compute, "compute", "Computing before each checkpoint", kTimes)
            .field(&C::request_time, "request_time", "A server's time for a request, beside its device",
                   Range<Time>{{1}, {1'000'000'000'000}})
            .field(&C::device, "device", "Rate at which a server's device takes data",
                   Range<DataRate>{{1'000'000}, {1'000'000'000'000'000}})
            .section(),
        write_checkpoint));

enum class Cache { None, Nvm };

struct QueryParameters {
  unsigned queries = 10;
  DataSize question{256}, answer{65'536};
  Time compute{50'000'000};
  DataSize scan{0}, transient{0}, transfer{1 << 20};
  Cache cache = Cache::None;
  unsigned servers = 0;
  Time request_time{3'000'000}, access{10'000'000'000}, nvm_access{100'000'000};
  DataRate device{1'200'000'000}, nvm{16'000'000'000};
};

/// What a worker reads and writes: from servers, over the network, or from its node's own NVM.
class QueryStorage {
 public:
  QueryStorage(const QueryParameters& p, unsigned servers, Rank workers, ProgramBuilder& b)
      : p_(p),
        b_(b),
        servers_(servers),
        workers_(workers),
        ask_(b.new_tag()),
        back_(b.new_tag()),
        free_(std::max(1u, servers)) {}

  /// Base data always lies on the servers; what a query makes for itself may stay in NVM.
  void scan(Rank worker) { remote(worker, count(p_.scan), false); }
  void keep(Rank worker, bool write) {
    const std::uint64_t bytes = count(p_.transient);
    if (bytes == 0) return;
    if (p_.cache == Cache::None) return remote(worker, bytes, write);
    b_.compute(worker, later(p_.nvm_access, transfer_time(bytes, p_.nvm.value)));
  }

 private:
  /// One request after the other; a server's device does one after the other, too.
  void remote(Rank worker, std::uint64_t bytes, bool write) {
    const std::uint64_t most = count(p_.transfer);
    for (std::uint64_t at = 0; at < bytes; at += most) {
      const std::uint64_t size = std::min(most, bytes - at);
      const std::uint64_t there = write ? size : kAnswer, home = write ? kAnswer : size;
      const auto device = static_cast<Rank>((worker + at / most) % free_.size());
      const Rank server = servers_ == 0 ? 0 : workers_ + 1 + device;
      b_.send(worker, server, there, ask_);
      b_.receive(worker, server, home, back_);
      b_.wait(worker);
      std::vector<Step> after = free_[device];
      after.push_back(b_.interface_receive(server, worker, there, ask_));
      const Time taken = later(later(p_.request_time, p_.access), transfer_time(size, p_.device.value));
      const Step done = b_.interface_delay(server, after, taken);
      free_[device] = {done};
      b_.interface_send(server, done, worker, home, back_);
    }
  }

  const QueryParameters& p_;
  ProgramBuilder& b_;
  const unsigned servers_;
  const Rank workers_;
  const std::uint32_t ask_, back_;
  std::vector<std::vector<Step>> free_;  // by device: after what it has done
};

/// The master, rank 0, scatters sub-queries; workers read their part of the data, write and read again what
/// is only of this query, and answer; the master gathers. The last ranks are servers.
void write_query(const QueryParameters& p, const SkeletonContext& context, ProgramBuilder& b) {
  const unsigned servers = std::min(p.servers, context.ranks - 1);
  const Rank workers = context.ranks - servers - 1;
  std::uint32_t tag = b.new_tag(), back = b.new_tag();
  QueryStorage storage(p, servers, workers, b);
  for (unsigned q = 0; q < p.queries; ++q) {
    for (Rank r = 1; r <= workers; ++r) {
      b.send(0, r, count(p.question), tag);
      b.receive(0, r, count(p.answer), back);
      b.receive(r, 0, count(p.question), tag);
      b.wait(r);
      storage.scan(r);
      b.compute(r, p.compute);
      storage.keep(r, true);
      storage.keep(r, false);
      b.send(r, 0, count(p.answer), back);
    }
    b.wait(0);
  }
  for (Rank r = 1; r <= workers; ++r) b.wait(r);
}

using A = QueryParameters;
WEFT_REGISTER(
    SkeletonKind,
    skeleton_kind<A>(
        "query", "a master asks all workers, they look through their data, and all answer at once",
        Schema<A>()
            .field(&A::queries, "queries", "Queries, one after the other", kRounds)
            .field(&A::question, "question", "Bytes to each worker", kBytes)
            .field(&A::answer, "answer", "Bytes back from each", kBytes)
            .field(&A::compute, "compute", "Computing of a worker", kTimes)
            .field(&A::scan, "scan", "Bytes of data each worker reads from the servers for a query", kBytes)
            .field(&A::transient, "transient",
                   "Bytes each worker writes and reads again for a query alone, its intermediate results",
                   kBytes)
            .choice(&A::cache, "cache", "Where those lie: on the servers, or in NVM of the worker's node",
                    {"none", "nvm"})
            .field(&A::servers, "servers",
                   "Ranks that are servers of the file system, the last ones; 0: the master's node is one",
                   Range<unsigned>{0, 4096})
            .field(&A::transfer, "transfer", "Most data of one request", Range<DataSize>{{4096}, {1 << 26}})
            .field(&A::request_time, "request_time", "A server's time for a request, beside its device",
                   Range<Time>{{1}, {1'000'000'000'000}})
            .field(&A::access, "access", "A server's device: before each request's data", kTimes)
            .field(&A::device, "device", "A server's device: its rate",
                   Range<DataRate>{{1'000'000}, {1'000'000'000'000'000}})
            .field(&A::nvm_access, "nvm_access", "NVM of a node: before data", kTimes)
            .field(&A::nvm, "nvm", "NVM of a node: its rate",
                   Range<DataRate>{{1'000'000}, {1'000'000'000'000'000}})
            .section(),
        write_query));

}  // namespace

}  // namespace weft::workload
