// The GPU engine on a device, through the library that CUDA's compiler has made; without one, a reason.
#include <dlfcn.h>
#include <fmt/format.h>

#include <filesystem>

#include "base/check.hpp"
#include "base/diagnostics.hpp"
#include "base/memory_left.hpp"
#include "base/own_files.hpp"
#include "network/gpu/backend.hpp"
#include "network/gpu/device_interface.hpp"

namespace weft::network::gpu {

namespace {

constexpr const char* kInstead = "--engine gpu-host runs the same code here, --engine flit is faster there";

[[noreturn]] void refuse(const std::string& why) {
  throw UserError(fmt::format("--engine gpu: {}; {}", why, kInstead));
}

std::string library_path() {
  std::error_code ignored;
  if (const auto library = own_file(kDeviceLibrary); std::filesystem::exists(library, ignored))
    return library.string();
  refuse(fmt::format("this build has no {}: no CUDA compiler was found when it was made", kDeviceLibrary));
}

const DeviceInterface& load() {
  const std::string path = library_path();
  void* library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!library) refuse(fmt::format("{} cannot be loaded: {}", kDeviceLibrary, dlerror()));
  auto* of = reinterpret_cast<DeviceInterfaceOf*>(dlsym(library, kDeviceSymbol));
  const DeviceInterface* offered = of ? of() : nullptr;
  if (!offered || offered->network_bytes != sizeof(Network))
    refuse(fmt::format("{} is of another build", kDeviceLibrary));
  if (const char* wrong = offered->open()) refuse(fmt::format("no device can be used: {}", wrong));
  return *offered;
}

class Device final : public Backend {
 public:
  explicit Device(const DeviceInterface& device) : device_(device) {}

  void* allocate(std::size_t bytes) override {
    if (void* memory = device_.allocate(bytes)) return memory;
    refuse(fmt::format("an array takes {} of the device's memory, and {} are left",
                       memory_text(static_cast<double>(bytes)),
                       memory_text(static_cast<double>(device_.memory_left()))));
  }
  void release(void* memory) override { device_.release(memory); }
  void write(void* to, const void* from, std::size_t bytes) override {
    if (bytes) expect(device_.write(to, from, bytes));
  }
  void read(void* to, const void* from, std::size_t bytes) override {
    if (bytes) expect(device_.read(to, from, bytes));
  }
  void copy(void* to, const void* from, std::size_t bytes) override { expect(device_.copy(to, from, bytes)); }

  void* allocate_here(std::size_t bytes) override {
    if (void* memory = device_.allocate_here(bytes)) return memory;
    refuse(
        fmt::format("{} of the host's memory cannot be had for it", memory_text(static_cast<double>(bytes))));
  }
  void release_here(void* memory) override { device_.release_here(memory); }
  void write_beside(void* to, const void* from, std::size_t bytes) override {
    if (bytes) expect(device_.write_beside(to, from, bytes));
  }
  void read_beside(void* to, const void* from, std::size_t bytes) override {
    if (bytes) expect(device_.read_beside(to, from, bytes));
  }
  void settle() override { expect(device_.settle()); }

  bool runs_elsewhere() const override { return true; }
  void run(const Network& network, const Span& span) override { expect(device_.run(network, span)); }
  void occupancy(const Network& network, std::vector<u32>& by_port) override {
    by_port.resize(network.all_ports);
    auto* there = static_cast<u32*>(allocate(by_port.size() * sizeof(u32)));
    expect(device_.occupancy(network, there));
    read(by_port.data(), there, by_port.size() * sizeof(u32));
    release(there);
  }

 private:
  static void expect(const char* wrong) {
    if (wrong) throw UserError(fmt::format("--engine gpu: the device says: {}", wrong));
  }

  const DeviceInterface& device_;
};

}  // namespace

std::unique_ptr<Backend> device_backend() {
  static const DeviceInterface& device = load();
  return std::make_unique<Device>(device);
}

}  // namespace weft::network::gpu
