// Where a network of the GPU engine lives and runs: in the host's memory, or on a device.
#pragma once

#include <cstddef>
#include <cstring>
#include <memory>
#include <vector>

#include "network/gpu/network.hpp"
#include "network/gpu/window.hpp"

namespace weft::network::gpu {

class Backend {
 public:
  virtual ~Backend() = default;

  /// Throws UserError where there is not so much memory.
  virtual void* allocate(std::size_t bytes) = 0;
  virtual void release(void* memory) = 0;
  virtual void write(void* to, const void* from, std::size_t bytes) = 0;
  virtual void read(void* to, const void* from, std::size_t bytes) = 0;
  virtual void copy(void* to, const void* from, std::size_t bytes) = 0;

  /// The host's own memory that is written from and read into while the network runs.
  virtual void* allocate_here(std::size_t bytes) = 0;
  virtual void release_here(void* memory) = 0;
  /// As write and read, between memory of allocate_here and what the network that runs does not use. They
  /// have happened when settle() returns.
  virtual void write_beside(void* to, const void* from, std::size_t bytes) = 0;
  virtual void read_beside(void* to, const void* from, std::size_t bytes) = 0;
  virtual void settle() = 0;

  /// Has it processors of its own, so that the host can do something else meanwhile?
  virtual bool runs_elsewhere() const = 0;
  /// Runs windows of cycles until the host must be asked. From any thread, one at a time.
  virtual void run(const Network& network, const Span& span) = 0;
  /// Flits in the queues of each input, by the network's order of ports.
  virtual void occupancy(const Network& network, std::vector<u32>& by_port) = 0;
};

std::unique_ptr<Backend> host_backend();
/// Throws UserError where there is no device, or no driver, or this build has no code for one.
std::unique_ptr<Backend> device_backend();

/// An array of the host for write_beside and read_beside. What is in it is lost where it grows.
template <class T>
class HostArray {
 public:
  explicit HostArray(Backend& backend) : backend_(backend) {}
  ~HostArray() {
    if (at_) backend_.release_here(at_);
  }
  HostArray(const HostArray&) = delete;
  HostArray& operator=(const HostArray&) = delete;

  void resize(std::size_t size) {
    size_ = size;
    if (size <= room_) return;
    if (at_) backend_.release_here(at_);
    at_ = nullptr;
    room_ = size + size / 2;
    at_ = static_cast<T*>(backend_.allocate_here(room_ * sizeof(T)));
  }
  std::size_t size() const { return size_; }
  std::size_t bytes() const { return size_ * sizeof(T); }
  T* data() const { return at_; }
  T& operator[](std::size_t i) const { return at_[i]; }

 private:
  Backend& backend_;
  T* at_ = nullptr;
  std::size_t size_ = 0, room_ = 0;
};

/// Memory of a backend, given back with it.
class Arena {
 public:
  explicit Arena(Backend& backend) : backend_(backend) {}
  ~Arena() {
    for (void* memory : all_) backend_.release(memory);
  }
  Arena(const Arena&) = delete;
  Arena& operator=(const Arena&) = delete;

  template <class T>
  T* take(std::size_t count) {
    return static_cast<T*>(take_bytes(count * sizeof(T)));
  }
  template <class T>
  T* put(const std::vector<T>& values) {
    T* at = take<T>(values.size());
    backend_.write(at, values.data(), values.size() * sizeof(T));
    return at;
  }
  template <class T>
  T* fill(std::size_t count, const T& value) {
    return put(std::vector<T>(count, value));
  }
  /// More room for what is there already.
  template <class T>
  void grow(T*& at, std::size_t before, std::size_t count) {
    T* larger = take<T>(count);
    if (before) backend_.copy(larger, at, before * sizeof(T));
    if (at) give_back(at);
    at = larger;
  }
  std::uint64_t bytes() const { return bytes_; }

 private:
  void* take_bytes(std::size_t bytes) {
    all_.push_back(nullptr);
    all_.back() = backend_.allocate(bytes ? bytes : 1);
    bytes_ += bytes;
    return all_.back();
  }
  void give_back(void* memory) {
    std::erase(all_, memory);
    backend_.release(memory);
  }

  Backend& backend_;
  std::vector<void*> all_;
  std::uint64_t bytes_ = 0;
};

}  // namespace weft::network::gpu
