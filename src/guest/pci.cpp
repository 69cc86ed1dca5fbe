#include "guest/pci.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "base/diagnostics.hpp"

namespace weft::guest {

namespace {

constexpr std::uint64_t kVersion1 = std::uint64_t{1} << 32;

// Names and numbers of the protocol of PCI over virtio.
enum Operation : std::uint8_t {
  kConfigRead = 1,
  kConfigWrite = 2,
  kRegisterRead = 3,
  kRegisterWrite = 4,
  kRegisterSet = 5,
  kInterrupt = 7,
};
/// Where User Mode Linux wants messages of interrupts written.
constexpr std::uint64_t kInterruptPage = 0xa0000, kInterruptBytes = 0x1000;
constexpr std::uint32_t kLoad = 64;           // what a processor reads at once, at most
constexpr std::uint32_t kMostBytes = 65'536;  // of an access
constexpr unsigned kMostUnheard = 64;         // of the 256 entries of the ring
constexpr pcie::FunctionId kProcessor{0, 0, 0};

}  // namespace

PciSlot::PciSlot(std::uint32_t number, nic::HostBridge& bridge, nic::Fabric& fabric, nic::NicId host)
    : number_(number), bridge_(bridge), fabric_(fabric), host_(host), vhost_(kVersion1, 2) {
  vhost_.on_kick = [this](unsigned queue) {
    if (queue == kCommandQueue) kicked();
  };
}

void PciSlot::plug(const RemoteFunction& function) {
  pcie::Tree& tree = fabric_.root_port(function.nic)->tree();
  function_ = function;
  shadow_ = *tree.places()[tree.find(function.id)].space;
}

void PciSlot::unplug() {
  function_.reset();
  shadow_.reset();
  mapped_.clear();  // the port that is given back closes them
}

/// The guest stands still until its kick is answered: what it asks for is taken now.
void PciSlot::kicked() {
  while (vhost_.queue(kCommandQueue).pop(vhost_.memory(), chain_)) take(chain_);
}

void PciSlot::take(const Chain& chain) {
  const std::uint32_t index = requests_.take();
  Request& request = requests_[index];
  request.at = guest_time();
  request.head = chain.head;
  request.generation = vhost_.generation();
  request.writable = chain.writable;
  request.pieces = 0;
  request.data.clear();
  for (const Chain::Piece& piece : chain.readable) {
    if (request.data.size() + piece.length > sizeof(Header) + kMostBytes) break;
    request.data.insert(request.data.end(), piece.bytes, piece.bytes + piece.length);
  }
  request.header = {};
  if (request.data.size() >= sizeof(Header)) {
    std::memcpy(&request.header, request.data.data(), sizeof(Header));
    request.data.erase(request.data.begin(), request.data.begin() + sizeof(Header));
  }
  kicks_.push_back(index);
}

void PciSlot::take_kicks() {
  kicked();  // what the guest stands still for, without a word
  for (std::uint32_t index : kicks_) carry_out(index);
  kicks_.clear();
  if (unheard_ < kMostUnheard || !vhost_.queue(kCommandQueue).wants_interrupt()) return;
  unheard_ = 0;
  interrupt_guest(kCommandQueue);
}

/// Is it an access to one of the function's BARs, all of it?
bool PciSlot::has_registers(const Header& h) const {
  if (!shadow_ || h.bar >= shadow_->bars().size() || h.size == 0 || h.size > kMostBytes ||
      !shadow_->memory_enabled())
    return false;
  const std::uint64_t size = shadow_->bars()[h.bar].size;
  return h.size <= size && h.address <= size - h.size;
}

bool PciSlot::is_config(const Header& h) const {
  return function_ && h.address < pcie::ConfigSpace::kSize && (h.size == 1 || h.size == 2 || h.size == 4) &&
         h.address % 4 + h.size <= 4;
}

void PciSlot::carry_out(std::uint32_t index) {
  Request& request = requests_[index];
  const Header& h = request.header;
  const bool config = is_config(h);
  if (h.operation == kConfigRead && config) return read(index, true);
  if (h.operation == kRegisterRead && has_registers(h)) return read(index, false);
  if (h.operation == kConfigWrite && config && request.data.size() >= h.size) write_config(request);
  if (h.operation == kRegisterSet && !request.data.empty() && has_registers(h))
    request.data.assign(h.size, request.data[0]);
  if ((h.operation == kRegisterWrite || h.operation == kRegisterSet) && has_registers(h) &&
      request.data.size() >= h.size)
    write_memory(request);
  // Writes are posted, and nobody is told of one that makes no sense; a read of what is not there is all
  // ones.
  const bool read = h.operation == kConfigRead || h.operation == kRegisterRead;
  request.data.assign(read ? std::min(h.size, kMostBytes) : 0, 0xff);
  end_read(index);
}

void PciSlot::read(std::uint32_t index, bool config) {
  Request& request = requests_[index];
  const Header& h = request.header;
  request.data.assign(h.size, 0xff);
  for (std::uint32_t done = 0; done < h.size;) {
    pcie::Tlp tlp;
    tlp.requester = kProcessor;
    if (config) {
      tlp.kind = pcie::TlpKind::ConfigRead1;
      tlp.target = function_->id;
      tlp.register_ = static_cast<std::uint16_t>(h.address);
      tlp.bytes = h.size;
    } else {
      tlp.kind = pcie::TlpKind::MemoryRead;
      tlp.address = address_of(h) + done;
      tlp.bytes = pcie::next_piece(tlp.address, h.size - done, kLoad);
    }
    const std::uint32_t piece = pieces_.take();
    pieces_[piece] = {index, done};
    ++request.pieces;
    done += tlp.bytes;
    bridge_.read(config ? function_->nic : nic::kNobody, tlp, request.at, number_ << 24 | piece);
  }
}

void PciSlot::answer(std::uint32_t number, bool well, std::span<const std::uint8_t> data) {
  const Piece piece = pieces_[number];
  pieces_.give(number);
  Request& request = requests_[piece.request];
  if (well) std::copy(data.begin(), data.end(), request.data.begin() + piece.offset);
  if (--request.pieces == 0) end_read(piece.request);
}

/// The guest has its buffers back, with what it has read in them.
void PciSlot::end_read(std::uint32_t index) {
  Request& request = requests_[index];
  std::uint32_t done = 0;
  if (vhost_.queue(kCommandQueue).ready() && request.generation == vhost_.generation()) {
    for (const Chain::Piece& piece : request.writable) {
      const auto part =
          std::min<std::uint32_t>(piece.length, static_cast<std::uint32_t>(request.data.size()) - done);
      std::memcpy(piece.bytes, request.data.data() + done, part);
      done += part;
    }
    vhost_.queue(kCommandQueue).push(request.head, done);
    if (request.writable.empty()) ++unheard_;
    if (request.header.waits) wake_guest();
  }
  requests_.give(index);
}

void PciSlot::send_config(pcie::FunctionId to, std::uint32_t at, std::uint32_t bytes, std::uint32_t value,
                          Time when) {
  pcie::Tlp tlp;
  tlp.kind = pcie::TlpKind::ConfigWrite1;
  tlp.requester = kProcessor;
  tlp.target = to;
  tlp.register_ = static_cast<std::uint16_t>(at);
  tlp.bytes = bytes;
  std::uint8_t data[4];
  std::memcpy(data, &value, sizeof data);
  bridge_.write(function_->nic, tlp, std::span(data).first(bytes), when);
}

void PciSlot::write_config(const Request& request) {
  const Header& h = request.header;
  std::uint32_t value = 0;
  std::memcpy(&value, request.data.data(), h.size);
  const bool was_on = shadow_->memory_enabled();
  shadow_->write(static_cast<std::uint32_t>(h.address), h.size, value);
  if (shadow_->memory_enabled() && !was_on) map(request.at);
  send_config(function_->id, static_cast<std::uint32_t>(h.address), h.size, value, request.at);
}

/// The kernel has decided where the function's memory is: intervals lead there, and the windows of the
/// bridges above it let it pass.
void PciSlot::map(Time when) {
  std::uint64_t first = ~std::uint64_t{0}, end = 0;
  for (std::uint64_t address : mapped_) fabric_.on_chip(host_).close_at(nic::kFromHost, address);
  mapped_.clear();
  for (unsigned bar = 0; bar < shadow_->bars().size(); ++bar) {
    const std::uint64_t size = shadow_->bars()[bar].size, address = shadow_->bar_address(bar);
    if (!size) continue;
    if (fabric_.on_chip(host_).open(
            {address, size, function_->nic, address, nic::Unit::Network, nic::kFromHost}))
      mapped_.push_back(address);
    first = std::min(first, address);
    end = std::max(end, address + size);
  }
  if (end == 0) return;
  const std::vector<pcie::Found>& found = fabric_.root_port(function_->nic)->found();
  auto own = std::find_if(found.begin(), found.end(),
                          [&](const pcie::Found& one) { return one.id == function_->id; });
  for (std::size_t at = own->parent; at != pcie::Tree::kNone; at = found[at].parent) {
    send_config(found[at].id, pcie::kMemoryBase, 2, static_cast<std::uint32_t>(first >> 16) & 0xfff0, when);
    send_config(found[at].id, pcie::kMemoryLimit, 2, static_cast<std::uint32_t>((end - 1) >> 16) & 0xfff0,
                when);
  }
}

void PciSlot::write_memory(const Request& request) {
  const Header& h = request.header;
  for (std::uint32_t done = 0; done < h.size;) {
    pcie::Tlp tlp;
    tlp.kind = pcie::TlpKind::MemoryWrite;
    tlp.requester = kProcessor;
    tlp.address = address_of(h) + done;
    tlp.bytes = pcie::next_piece(tlp.address, h.size - done, kLoad);
    bridge_.write(nic::kNobody, tlp, std::span(request.data).subspan(done, tlp.bytes), request.at);
    done += tlp.bytes;
  }
}

void PciSlot::interrupt(std::uint32_t data) {
  Virtqueue& ring = vhost_.queue(kInterruptQueue);
  Chain chain;
  // The driver keeps ten buffers here and gives each back when it has looked at it: one is always left.
  if (!ring.pop(vhost_.memory(), chain) || chain.writable_bytes() < sizeof(Header) + sizeof data) return;
  std::uint8_t message[sizeof(Header) + sizeof data];
  const Header header{kInterrupt, 0, 0, sizeof data, kInterruptPage};
  std::memcpy(message, &header, sizeof header);
  std::memcpy(message + sizeof header, &data, sizeof data);
  std::uint32_t done = 0;
  for (const Chain::Piece& piece : chain.writable) {
    const auto part =
        std::min<std::uint32_t>(piece.length, static_cast<std::uint32_t>(sizeof message) - done);
    std::memcpy(piece.bytes, message + done, part);
    done += part;
  }
  ring.push(chain.head, done);
  interrupt_guest(kInterruptQueue);
}

void PciSlot::stop() { vhost_.disconnect(); }

// --- All of a node.

Pci::Pci(nic::Fabric& fabric, nic::NicId host, event::EventQueue& queue,
         const machine::HostParameters& parameters)
    : bridge_(fabric, host, queue, parameters, *this) {
  for (std::uint32_t i = 0; i < kSlots; ++i)
    slots_.push_back(std::make_unique<PciSlot>(i, bridge_, fabric, host));
}

bool Pci::plug(const std::vector<RemoteFunction>& functions) {
  std::vector<PciSlot*> free;
  for (auto& slot : slots_)
    if (!slot->function()) free.push_back(slot.get());
  if (free.size() < functions.size()) return false;
  for (std::size_t i = 0; i < functions.size(); ++i) free[i]->plug(functions[i]);
  return true;
}

std::vector<std::uint32_t> Pci::slots_of(nic::NicId device) const {
  std::vector<std::uint32_t> out;
  for (const auto& slot : slots_)
    if (slot->function() && slot->function()->nic == device) out.push_back(slot->number());
  return out;
}

void Pci::unplug(nic::NicId device) {
  for (std::uint32_t number : slots_of(device)) slots_[number]->unplug();
}

void Pci::take_kicks() {
  for (auto& slot : slots_) slot->take_kicks();
}

void Pci::stop() {
  for (auto& slot : slots_) {
    slot->stop();
    slot->unplug();
  }
}

PciSlot* Pci::slot_of(nic::NicId device) {
  for (auto& slot : slots_)
    if (slot->function() && slot->function()->nic == device) return slot.get();
  return nullptr;
}

bool Pci::dma_read(nic::NicId device, std::uint64_t address, std::span<std::uint8_t> to) {
  PciSlot* slot = slot_of(device);
  const std::uint8_t* from = slot ? slot->vhost().memory().find(address, to.size()) : nullptr;
  if (from) std::memcpy(to.data(), from, to.size());
  return from;
}

bool Pci::dma_write(nic::NicId device, std::uint64_t address, std::span<const std::uint8_t> from) {
  PciSlot* slot = slot_of(device);
  std::uint8_t* to = slot ? slot->vhost().memory().find(address, from.size()) : nullptr;
  if (to) std::memcpy(to, from.data(), from.size());
  return to;
}

bool Pci::is_interrupt(std::uint64_t address) const {
  return address >= kInterruptPage && address < kInterruptPage + kInterruptBytes;
}

void Pci::interrupted(nic::NicId device, std::uint32_t data) {
  if (PciSlot* slot = slot_of(device)) slot->interrupt(data);
}

void Pci::read_done(std::uint32_t token, bool well, std::span<const std::uint8_t> data) {
  slots_[token >> 24]->answer(token & 0xffffff, well, data);
}

}  // namespace weft::guest
