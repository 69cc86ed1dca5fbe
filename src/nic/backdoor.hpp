// A backdoor to PCI Express: every packet between interfaces can be written to a file, and any packet sent
// from any node. It takes the way of all others, through the unit, the network and whoever is there.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/diagnostics.hpp"
#include "base/output_file.hpp"
#include "nic/fabric.hpp"
#include "nic/smfu.hpp"

namespace weft::nic {

/// Which packets are kept: of these kinds ("Memory" for both of memory) that go from or to one of these
/// nodes; empty: all.
struct TlpFilter {
  std::vector<std::string> kinds;
  std::vector<network::EndpointId> nodes;
  bool keeps(const std::string& kind, network::EndpointId from, network::EndpointId to) const;
};
/// "MemoryWrite,Config,22".
TlpFilter parse_tlp_filter(const std::string& text, const std::string& source, Diagnostics& problems);

/// A packet to put in: "ConfigRead1 01:00.0 0x0 4", "ConfigWrite1 01:00.0 0x4 0600", "MemoryRead 0xf0000000
/// 4", "MemoryWrite 0xf0000000 01020304", or "bytes" and all of its bytes. Empty where it is none; `error`
/// says why.
std::vector<std::uint8_t> parse_tlp(const std::vector<std::string>& words, std::string& error);

class Backdoor final : private TlpWatch, private event::EventHandler {
 public:
  using Answer = std::function<void(const std::string& text)>;

  Backdoor(Fabric& fabric, event::EventQueue& queue);
  ~Backdoor() override;

  /// From now on, one line for each packet that leaves an interface and one where it has come. Throws
  /// UserError where the file cannot be written.
  void dump(const std::string& path, TlpFilter filter);
  void close();
  /// Sends a packet. From the host's side it is for the other node's root port; from the side of a port, for
  /// the other node's host. `answer` hears of the completion, or that there is none.
  void inject(NicId from, Side side, NicId to, std::vector<std::uint8_t> bytes, Answer answer);

 private:
  static constexpr std::size_t kMostOpen = 256;  // by tag
  void passed(NicId from, NicId to, bool sent, std::span<const std::uint8_t> bytes) override;
  void answered(const pcie::Tlp& tlp, std::span<const std::uint8_t> data) override;
  void handle(const event::Event& event) override;

  Fabric& fabric_;
  event::EventQueue& queue_;
  event::ComponentId component_;
  std::optional<OutputFile> file_;
  TlpFilter filter_;
  struct Open {
    Answer answer;
    std::uint32_t turn = 0;
    std::vector<std::uint8_t> data;
  };
  std::vector<Open> open_ = std::vector<Open>(kMostOpen);
  std::uint32_t turns_ = 0;
};

}  // namespace weft::nic
