#include "machine/side_sections.hpp"

namespace weft::machine {

using config::Range;

namespace {

/// The section's settings as they were read, laid over its defaults once more.
void read_again(const Description& d, const std::string& name, const config::Section& section, void* out) {
  Diagnostics problems;
  config::Node tree{config::Table{}, {}};
  for (const config::Setting& setting : d.settings) {
    if (!setting.key.starts_with(name + ".") || setting.origin.source.empty()) continue;
    config::Node one = config::parse_override(setting.key + "=" + setting.value, problems);
    config::merge(*tree.table(), *one.table());
  }
  std::vector<config::Setting> ignored;
  config::Reader reader{problems, ignored};
  section.read(out, tree.table()->find(name), name, reader);
  WEFT_CHECK(problems.empty(), "settings that were read once can be read again");
}

}  // namespace

double ProcessorParameters::peak_gflops() const {
  return sockets * cores * static_cast<double>(clock.value) * 1e-9 * flops_per_cycle +
         accelerators * accelerator_gflops;
}

const config::Section& software_section() {
  using S = SoftwareParameters;
  auto time = Range<Time>{{0}, {1'000'000'000'000}};
  static const config::Section section =
      config::Schema<S>()
          .field(&S::header, "header", "Bytes a library puts before the data of each message",
                 Range<DataSize>{{0}, {128}})
          .field(&S::eager_limit, "eager_limit",
                 "Longest message sent without asking; longer ones are fetched by the receiver",
                 Range<DataSize>{{0}, {std::int64_t{1} << 30}})
          .choice(&S::eager, "eager",
                  "How such a message travels: in one or more small messages, or as a put into a buffer the "
                  "receiver has set aside",
                  {"messages", "puts"})
          .field(&S::send_cost, "send_cost", "The library's own time for each message it sends", time)
          .field(&S::receive_cost, "receive_cost",
                 "The same for each message it receives: matching, completion", time)
          .field(&S::test_cost, "test_cost", "The library's time for a test that finds nothing", time)
          .field(&S::copy_rate, "copy_rate", "Rate at which the processor copies messages out of buffers",
                 Range<DataRate>{{1'000'000}, {10'000'000'000'000}})
          .field(&S::get_size, "get_size", "Long messages are fetched in pieces of this size",
                 Range<DataSize>{{64}, {std::int64_t{1} << 30}})
          .field(&S::gets, "gets", "Such pieces under way at a time", Range<unsigned>{1, 1024})
          .field(&S::register_each, "register_each",
                 "Memory of long messages is registered for each of them and not remembered")
          .field(&S::send_delay, "send_delay",
                 "A pause put after each send, to see what a lower message rate does", time)
          .field(&S::send_delay_per_kib, "send_delay_per_kib", "Further pause for each KiB of the message",
                 time)
          .section();
  return section;
}

const config::Section& processor_section() {
  using P = ProcessorParameters;
  static const config::Section section =
      config::Schema<P>()
          .field(&P::model, "model", "What the processor is called")
          .field(&P::sockets, "sockets", "Processors of a node", Range<unsigned>{0, 64})
          .field(&P::cores, "cores", "Cores of a processor", Range<unsigned>{1, 4096})
          .field(&P::threads_per_core, "threads_per_core", "Hardware threads of a core",
                 Range<unsigned>{1, 64})
          .field(&P::clock, "clock", "Clock of a core; 0: not given",
                 Range<Frequency>{{0}, {100'000'000'000}})
          .field(&P::flops_per_cycle, "flops_per_cycle",
                 "Double-precision operations of a core in a cycle; 0: not given", Range<double>{0, 1024})
          .field(&P::accelerator, "accelerator", "What a node's accelerators are called")
          .field(&P::accelerators, "accelerators", "Accelerators of a node", Range<unsigned>{0, 64})
          .field(&P::accelerator_gflops, "accelerator_gflops", "Peak of an accelerator, GFLOP/s",
                 Range<double>{0, 1e6})
          .section();
  return section;
}

SoftwareParameters software_of(const Description& description) {
  SoftwareParameters out;
  read_again(description, "software", software_section(), &out);
  return out;
}

ProcessorParameters processor_of(const Description& description) {
  ProcessorParameters out;
  read_again(description, "processor", processor_section(), &out);
  return out;
}

}  // namespace weft::machine
