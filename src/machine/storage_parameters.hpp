// Storage of a machine ([storage], [storage.device]): a parallel file system, with servers on nodes of the
// machine and a device behind each of them.
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
  DataRate channel_rate{9'600'000'000};
  // Disks.
  Time seek{8'000'000'000};
  Time rotation{8'333'333'333};
  DataRate disk_rate{1'600'000'000};
};

struct StorageParameters {
  unsigned targets = 4;
  std::vector<std::uint32_t> nodes;
  DataSize stripe_unit{1 << 20};
  unsigned stripe_count = 4;
  unsigned replicas = 1;
  DataSize transfer{1 << 20};
  unsigned in_flight = 8;
  DataSize cache{64 << 20};
  DataRate copy_rate{80'000'000'000};
  Time request_time{3'000'000};
  Time metadata_time{5'000'000};
  Time retry{1'000'000'000};
  unsigned retries = 8;
  StorageDeviceParameters device;
};

const config::Section& storage_section();
const config::Section& storage_device_section();

}  // namespace weft::machine
