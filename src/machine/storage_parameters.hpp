// Storage of a machine ([storage], [storage.device]): a parallel file system, with servers on nodes of the
// machine and a device behind each of them; and what is in front of it ([storage.burst_buffer],
// [storage.nvm]): non-volatile memory in every node.
#pragma once

#include <vector>

#include "base/quantity.hpp"
#include "config/schema.hpp"

namespace weft::machine {

enum class Medium { Flash, Disk };

/// What a server keeps its data on.
struct StorageDeviceParameters {
  Medium medium = Medium::Flash;
  DataSize capacity{std::int64_t{1} << 40};
  DataSize buffer{64 << 20};
  bool durable_buffer = false;
  Time command_time{2'000'000};
  // Flash.
  unsigned channels = 8, dies = 8;
  DataSize page{16'384};
  Time read_time{50'000'000}, program_time{600'000'000};
  DataRate channel_rate{3'000'000'000};
  // Disks.
  Time seek{5'800'000'000};
  Time rotation{8'333'333'333};
  DataRate disk_rate{1'200'000'000};
};

/// How a job uses the memory of its nodes in front of the file system (`--burst-buffer`).
enum class BufferPlacement { Local, Spread };
enum class BufferWrites { Back, Through };
enum class BufferSync { Buffer, Files };

struct BurstBufferParameters {
  DataSize block{1 << 20};
  BufferPlacement placement = BufferPlacement::Local;
  BufferWrites write = BufferWrites::Back;
  double flush_at = 0.25;
  unsigned flushes = 4;
  unsigned prefetch = 2;
  BufferSync sync = BufferSync::Buffer;
  Time request_time{1'000'000};
};

/// What nodes keep of files in their memory (`--mount-options`).
enum class CacheWrites { Through, Back };
enum class CacheVisible { AtOnce, AtClose };

struct StorageCacheParameters {
  DataSize size{0};
  CacheWrites write = CacheWrites::Through;
  CacheVisible visible = CacheVisible::AtOnce;
};

struct StorageParameters {
  unsigned targets = 4;
  std::vector<std::uint32_t> nodes;
  DataSize stripe_unit{1 << 20};
  unsigned stripe_count = 4;
  unsigned replicas = 1;
  DataSize transfer{1 << 20};
  unsigned in_flight = 8;
  Time request_time{3'000'000};
  Time metadata_time{5'000'000};
  Time retry{1'000'000'000};
  unsigned retries = 8;
  unsigned traffic_class = 0;
  StorageDeviceParameters device;
  BurstBufferParameters burst_buffer;
  StorageDeviceParameters nvm;  // of every node
  StorageCacheParameters cache;
};

const config::Section& storage_section();
const config::Section& storage_device_section();
const config::Section& burst_buffer_section();
const config::Section& storage_cache_section();
/// What does not go together; nullptr: all of it does.
const char* refuse_cache(const StorageCacheParameters& cache);

}  // namespace weft::machine
