// Packets of PCI Express as bytes: what is no packet is refused, what is one means the same after it has been
// written and read again, and a tree or chain that gets it answers from its own memory or not at all.
#include <cstdlib>
#include <vector>

#include "pcie/requester.hpp"
#include "pcie/tree.hpp"

namespace weft::fuzz {

namespace {

using namespace pcie;

void expect(bool holds) {
  if (!holds) std::abort();
}

class Registers final : public Function {
 public:
  static constexpr std::uint64_t kSize = 0x1000;
  Registers()
      : Function([] {
          ConfigSpace space = ConfigSpace::device({0x1234, 1, 0x120000}, {{kSize, true, false}});
          add_msix(space, 4, 0, 0x800, 0xc00);
          return space;
        }()) {}
  std::string about() const override { return ""; }
  void bar_read(unsigned bar, std::uint64_t offset, std::span<std::uint8_t> to) override {
    expect(bar == 0 && offset + to.size() <= kSize);
  }
  void bar_write(unsigned bar, std::uint64_t offset, std::span<const std::uint8_t> from) override {
    expect(bar == 0 && offset + from.size() <= kSize);
  }
  void completed(const Tlp&, std::span<const std::uint8_t>) override {}
  void reset() override {}
};

void deliver(Tree& tree, const Tlp& tlp, std::span<const std::uint8_t> data) {
  if (tlp.is_config()) {
    std::uint32_t value = 0;
    for (std::size_t i = 0; i < data.size(); ++i) value |= std::uint32_t{data[i]} << 8 * i;
    if (tlp.is_write()) tree.config_write(tlp.target, tlp.register_, tlp.bytes, value);
    tree.config_read(tlp.target, tlp.register_, tlp.bytes);
  } else if (!tlp.is_completion()) {
    const Tree::Target target = tree.find_memory(tlp.address, tlp.bytes);
    if (target.place == Tree::kNone) return;
    Function& function = *tree.places()[target.place].function;
    std::vector<std::uint8_t> room(tlp.bytes);
    if (tlp.is_write()) {
      function.bar_write(target.bar, target.offset, data);
    } else {
      function.bar_read(target.bar, target.offset, room);
    }
  }
}

}  // namespace

}  // namespace weft::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace weft;
  fuzz::Registers registers, unit, behind;
  pcie::Tree tree, chain;
  tree.add_function("a", tree.add_switch("s", tree.add_root_port("r", {}), 1, {}) + 1, registers, {});
  const std::size_t host = chain.add_root_port("h", {.width = 8, .clock = 200});
  chain.add_function("u", host, unit, {});
  chain.add_function("b", chain.add_bridge("p", host, {}), behind, {});
  std::string error;
  for (pcie::Tree* one : {&tree, &chain}) {
    pcie::enumerate(pcie::access_to(*one), 0xe0000000, 0x1000000, error);
    fuzz::expect(error.empty());
  }
  // Packets one after the other, each behind its length.
  std::span<const std::uint8_t> left(data, size);
  while (left.size() >= 2) {
    const std::size_t length = std::min<std::size_t>(left.size() - 2, left[0] | left[1] << 8);
    const pcie::Decoded decoded = pcie::decode(left.subspan(2, length));
    if (!decoded.error) {
      fuzz::expect(!decoded.tlp.has_data() || decoded.data.size() == decoded.tlp.bytes);
      std::vector<std::uint8_t> bytes;
      pcie::encode(decoded.tlp, decoded.data, bytes);
      fuzz::expect(bytes.size() == decoded.tlp.wire_bytes());
      const pcie::Decoded again = pcie::decode(bytes);
      fuzz::expect(!again.error && again.tlp == decoded.tlp);
      fuzz::expect(
          std::equal(again.data.begin(), again.data.end(), decoded.data.begin(), decoded.data.end()));
      fuzz::deliver(tree, decoded.tlp, decoded.data);
      fuzz::deliver(chain, decoded.tlp, decoded.data);
      // Whatever is written into a chain, its links carry every packet.
      for (const unsigned clock : {200u, 2600u}) {
        const pcie::LinkParameters link{.width = 8, .clock = clock};
        const pcie::Direction line(link, {}, Time{0}, pcie::credits_of(link));
        fuzz::expect(line.has_credits(decoded.tlp) &&
                     pcie::wire_bytes(link, decoded.tlp) >= decoded.data.size());
      }
    }
    left = left.subspan(2 + length);
  }
  return 0;
}
