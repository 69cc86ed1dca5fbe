// Any text as a machine's description: it is refused with a message, or a machine stands.
#include <string>

#include "base/diagnostics.hpp"
#include "machine/machine.hpp"

namespace weft::fuzz {

namespace {

constexpr double kMostPorts = 2000;  // of a machine that is also built: larger ones take too long

void run(std::string_view text) {
  // What follows a line of its own is laid over the text, as --set does.
  std::vector<std::string> settings;
  std::size_t end = text.find("\n%%\n");
  if (end != std::string_view::npos) {
    settings.emplace_back(text.substr(end + 4));
    text = text.substr(0, end);
  }
  try {
    machine::Description description = machine::describe_text(text, "fuzz", settings);
    topology::Size size = description.topology->size(description.topology_parameters.get());
    if (size.ports < kMostPorts) machine::build_graph(std::move(description));
  } catch (const UserError&) {
  }
}

}  // namespace

}  // namespace weft::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  weft::fuzz::run({reinterpret_cast<const char*>(data), size});
  return 0;
}
