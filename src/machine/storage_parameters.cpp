#include "machine/storage_parameters.hpp"

namespace weft::machine {

using config::Range;

namespace {

constexpr Range<Time> kAnyTime{{0}, {1'000'000'000'000}};
constexpr Range<DataRate> kAnyRate{{1'000}, {1'000'000'000'000'000}};

}  // namespace

const config::Section& storage_section() {
  using P = StorageParameters;
  static const config::Section section =
      config::Schema<P>()
          .field(&P::targets, "targets", "Servers that hold data, each with a device of its own",
                 Range<unsigned>{1, 4096})
          .field(&P::nodes, "nodes",
                 "Where the servers are: first the one for metadata, then those for data, again from the "
                 "front where there are fewer nodes than servers; empty: spread over the machine")
          .field(&P::stripe_unit, "stripe_unit", "Bytes of a file that lie together on one target",
                 Range<DataSize>{{4096}, {std::int64_t{1} << 30}})
          .field(&P::stripe_count, "stripe_count", "Targets a file lies on; 0: all", Range<unsigned>{0, 4096})
          .field(&P::replicas, "replicas",
                 "Targets each stripe unit lies on: what is acknowledged survives the loss of all but one",
                 Range<unsigned>{1, 16})
          .field(&P::transfer, "transfer", "Most data of one request", Range<DataSize>{{4096}, {1 << 26}})
          .field(&P::in_flight, "in_flight", "Requests of a node to one server that are under way at a time",
                 Range<unsigned>{1, 1024})
          .field(&P::request_time, "request_time", "A server's processor for one request for data", kAnyTime)
          .field(&P::metadata_time, "metadata_time", "A server's processor for one request for metadata",
                 kAnyTime)
          .field(&P::retry, "retry",
                 "When a request is repeated that was lost, damaged or met a server that is down", kAnyTime)
          .field(&P::retries, "retries", "How often; then the program sees an input/output error",
                 Range<unsigned>{0, 1000})
          .field(&P::traffic_class, "traffic_class",
                 "Class of its packets, of those in router.class_weights; all others are of class 0",
                 Range<unsigned>{0, 7})
          .section();
  return section;
}

const config::Section& storage_device_section() {
  using P = StorageDeviceParameters;
  static const config::Section section =
      config::Schema<P>()
          .choice(&P::medium, "medium", "Flash behind channels and dies, or a disk that turns",
                  {"flash", "disk"})
          .field(&P::capacity, "capacity", "Bytes it holds",
                 Range<DataSize>{{1 << 20}, {std::int64_t{1} << 60}})
          .field(&P::buffer, "buffer", "Memory of its controller for data on its way to the medium",
                 Range<DataSize>{{1 << 16}, {std::int64_t{1} << 40}})
          .field(&P::durable_buffer, "durable_buffer",
                 "Data in that memory outlives a power cut, so that a flush need not wait")
          .field(&P::command_time, "command_time", "Of its controller, for each command", kAnyTime)
          .field(&P::channels, "channels", "Flash: ways between controller and dies", Range<unsigned>{1, 256})
          .field(&P::dies, "dies", "Flash: dies of a channel", Range<unsigned>{1, 256})
          .field(&P::page, "page", "Flash: what a die reads or programs at a time",
                 Range<DataSize>{{512}, {1 << 20}})
          .field(&P::read_time, "read_time", "Flash: a die's time to read a page", kAnyTime)
          .field(&P::program_time, "program_time", "Flash: a die's time to program a page", kAnyTime)
          .field(&P::channel_rate, "channel_rate", "Flash: rate of a channel", kAnyRate)
          .field(&P::seek, "seek", "Disk: to another track, on average", kAnyTime)
          .field(&P::rotation, "rotation", "Disk: one turn", kAnyTime)
          .field(&P::disk_rate, "disk_rate", "Disk: under the head", kAnyRate)
          .section();
  return section;
}

const config::Section& burst_buffer_section() {
  using P = BurstBufferParameters;
  static const config::Section section =
      config::Schema<P>()
          .field(&P::block, "block",
                 "Bytes of a file that come, go and lie together; a part of a stripe unit",
                 Range<DataSize>{{4096}, {1 << 26}})
          .choice(&P::placement, "placement",
                  "Where a block of a file lies: on the node that used it first, or on a node that follows "
                  "from its number",
                  {"local", "spread"})
          .choice(&P::write, "write",
                  "Back: a write is done when the node's memory has it, and goes to the servers later; "
                  "through: when the servers have it as well",
                  {"back", "through"})
          .field(&P::flush_at, "flush_at",
                 "Share of a node's part that may be newer than the servers' data before blocks are written "
                 "to them; whole blocks are at 0",
                 Range<double>{0, 1})
          .field(&P::flushes, "flushes", "Blocks a node writes to the servers at a time",
                 Range<unsigned>{1, 1024})
          .field(&P::prefetch, "prefetch",
                 "Blocks fetched ahead of a node that reads a file from front to back",
                 Range<unsigned>{0, 1024})
          .choice(&P::sync, "sync", "What fsync waits for: the nodes' memory, or the servers",
                  {"buffer", "files"})
          .field(&P::request_time, "request_time", "A node's processor for one request for its part",
                 kAnyTime)
          .section();
  return section;
}

const char* refuse_cache(const StorageCacheParameters& cache) {
  const bool back = cache.write == CacheWrites::Back, at_close = cache.visible == CacheVisible::AtClose;
  if (back && !at_close)
    return "what others see at once cannot be written later: write=back needs visible=at-close";
  if ((back || at_close) && cache.size.value == 0)
    return "there is no memory to keep data in without cache=SIZE (storage.cache.size)";
  return nullptr;
}

const config::Section& storage_cache_section() {
  using P = StorageCacheParameters;
  static const config::Section section =
      config::Schema<P>()
          .field(&P::size, "size",
                 "Bytes of each node's memory for data of files; 0: none is kept (`--mount-options cache=`)",
                 Range<DataSize>{{0}, {std::int64_t{1} << 40}})
          .choice(&P::write, "write", "What is written there goes to the servers at once, or later",
                  {"through", "back"})
          .choice(&P::visible, "visible",
                  "When other nodes see it: at once, or when it is closed and they open it",
                  {"at-once", "at-close"})
          .section();
  return section;
}

}  // namespace weft::machine
