// A rank that writes whatever it likes into everything it shares with the simulator, beside two honest ones,
// under the whole simulator. Whatever it writes: the honest ones finish, nobody's memory is read or written
// that was not given, the simulator ends in good order.
#include <csignal>
#include <memory>

#include "abi/counted.hpp"
#include "config/registry.hpp"
#include "honest.hpp"
#include "host/simulation.hpp"
#include "input.hpp"
#include "nic/test_host.hpp"

namespace weft::fuzz {

namespace {

using abi::Call;
using abi::ThreadState;
using nic::Descriptor;

constexpr std::int64_t kBegin = 100'000'000;  // the honest ones are ready then

class Spoiler : public Rank {
 public:
  Spoiler(Input input, const Known* known) : input_(input), known_(known) {}

  void run() override {
    // A port and memory of its own come first: without them little can go wrong.
    switch (stage_++) {
      case 0:
        return block(Call::Sleep, abi::kNoPort, kBegin);
      case 1:
        std::fill_n(thread().argument, 4, std::uint64_t{0});
        return block(Call::Open, abi::kNoPort, abi::kNoDeadline);
      case 2:
        thread().argument[0] = kBase + 4096;
        thread().argument[1] = 8192;
        thread().argument[2] = nic::kAllRights;
        return block(Call::Register, 0, abi::kNoDeadline);
      case 3:
        keys_[3] = thread().answer[0];
        break;
    }
    bool blocked = false;
    for (unsigned i = 1; i < abi::kThreads; ++i)
      if (thread(i).state.load() == std::uint32_t(ThreadState::Running) && input_.below(2))
        thread(i).state.store(std::uint32_t(ThreadState::Left));
    if (thread().state.load() != std::uint32_t(ThreadState::Running)) return;
    if (thread().result == 0 && thread().answer[0]) keys_[next_key_++ % 3] = thread().answer[0];
    while (!blocked) {
      if (input_.empty()) return exit({});
      blocked = act();
    }
  }

 private:
  /// One thing; true where it waits now.
  bool act() {
    switch (input_.below(16)) {
      case 0: {  // anywhere
        auto place = input_.take<std::uint32_t>() % (layout().bytes - 16);
        input_.fill(reinterpret_cast<char*>(&header()) + place, 1 + input_.below(16));
        return false;
      }
      case 1: {
        abi::Thread& l = thread(input_.below(abi::kThreads));
        unsigned place = input_.below(sizeof l - 8);
        input_.fill(reinterpret_cast<char*>(&l) + place, 1 + input_.below(8));
        return false;
      }
      case 2:
        input_.fill(
            reinterpret_cast<char*>(&header()) + input_.take<std::uint16_t>() % (sizeof(abi::Header) - 8),
            1 + input_.below(8));
        return false;
      case 3:
      case 4:
      case 5:
      case 6:
        post();
        return false;
      case 7: {
        abi::PortArea& area = port(input_.below(4));
        std::atomic<std::uint32_t>* words[] = {&area.posted,   &area.messages_taken, &area.events_taken,
                                               &area.accepted, &area.messages,       &area.events};
        words[input_.below(6)]->store(input_.below(2) ? input_.take<std::uint32_t>() : input_.below(256));
        return false;
      }
      case 8:
      case 9:
      case 10:
        lay_out_call(0);
        return wait();
      case 11:
        block(Call::Wait, abi::kAnyPort, thread().clock.load() + input_.take<std::uint16_t>() * 1000);
        return true;
      case 12: {
        abi::PortArea& area = port(input_.below(4));
        area.messages_taken.store(area.messages.load());
        area.events_taken.store(area.events.load());
        return false;
      }
      case 13: {  // another thread
        unsigned i = input_.below(abi::kThreads);
        lay_out_call(i);
        thread(i).state.store(input_.below(6));
        header().joins.fetch_add(input_.below(3));
        return false;
      }
      case 14:
        bell().running.store(input_.below(4) ? input_.below(8) : input_.take<std::uint32_t>());
        return false;
      default:
        if (input_.below(4)) return wait();
        ending = input_.below(2) ? host::Ending{input_.take<std::uint8_t>(), 0} : host::Ending{0, SIGSEGV};
        return true;
    }
  }

  bool wait() {
    thread().state.store(input_.below(8) ? std::uint32_t(ThreadState::Blocked) : input_.below(6));
    bell().running.fetch_sub(1);
    return true;
  }

  void lay_out_call(unsigned i) {
    abi::Thread& l = thread(i);
    l.call = static_cast<Call>(input_.below(std::uint32_t(Call::Last) + 2));
    l.port = input_.below(8) ? input_.below(4) : input_.take<std::uint32_t>();
    l.for_rank = input_.below(5);
    l.deadline =
        input_.below(4) ? l.clock.load() + input_.take<std::uint32_t>() : input_.take<std::int64_t>();
    for (std::uint64_t& argument : l.argument) argument = value();
  }

  /// A number that may mean something.
  std::uint64_t value() {
    switch (input_.below(16)) {
      case 0:
      case 1:
        return input_.below(4);
      case 2:
        return kBase + input_.below(16) * 4096;
      case 3:
        return kBase + Honest::kInbox;
      case 4:
        return known_[0].given;
      case 5:
        return known_[1].given;
      case 6:
        if (input_.below(2)) return known_[input_.below(2)].kept;
        return known_[input_.below(2)].inbox ^ (std::uint64_t{1} << input_.below(64));  // not quite the key
      case 7:
      case 8:
        return keys_[input_.below(4)];
      case 9:
        return ~std::uint64_t{input_.below(8)};
      case 10:
        return std::uint64_t{1} << input_.below(64);
      case 11:
        return input_.below(256) * 16;
      case 12:
        return Honest::kRegion - input_.below(16);  // about the end of a region
      default:
        return input_.take<std::uint64_t>();
    }
  }

  /// Mostly what could work: one wrong thing at a time goes further than all at once.
  void post() {
    unsigned index = input_.below(4) ? 0 : input_.below(4);
    Descriptor d;
    d.operation = static_cast<nic::Operation>(1 + input_.below(7));
    d.flags = input_.below(4) ? input_.below(128) : input_.take<std::uint16_t>() & 8191;
    const Known& to = known_[input_.below(2)];
    d.node = input_.below(4) ? to.node : static_cast<std::uint32_t>(value());
    d.port = input_.below(4) ? to.port : static_cast<std::uint32_t>(value());
    d.length = input_.below(4) ? 1 + input_.below(255) : value();
    d.local_key = input_.below(4) ? keys_[3] : value();
    d.local_offset = input_.below(4) ? 0 : value();
    unsigned key = input_.below(4);
    d.remote_key = key == 0 ? value() : key == 1 ? to.kept : to.given;
    d.remote_offset = input_.below(4) ? 0 : value();
    d.operand = value();
    d.posted = input_.below(4) ? thread().clock.load() : input_.take<std::int64_t>();
    if (d.flags & nic::kCounted)
      d.spare[1] = nic::counted_word(input_.take<std::uint16_t>() & nic::kAllCounted, input_.below(4));
    if (input_.below(4) == 0) input_.fill(reinterpret_cast<char*>(&d) + input_.below(248), 8);
    abi::PortArea& area = port(index);
    std::uint32_t posted = area.posted.load();
    abi::submissions_of(&area)[posted % layout().limits.queue_slots] = d;
    area.posted.store(posted + 1);
  }

  Input input_;
  const Known* known_;
  unsigned stage_ = 0;
  std::uint64_t keys_[4] = {};
  unsigned next_key_ = 0;
};

/// Small everywhere, so that everything runs out; the second is of another make.
const machine::Machine& machine_of(bool second) {
  auto build = [](const std::string& more) {
    return machine::build(machine::describe_text(
        nic::test::torus(
            "ports = 6\nmemory_queues = 2\nqueue_buffers = 1\nbuffer_slots = 4\nqueue_slots = 8\n"
            "message_slots = 8\nevent_slots = 8\nsend_contexts = 2\nreceive_contexts = 2\n"
            "error_slots = 4\ninterrupt_slots = 4\ntranslation_entries = 16\n"
            "triggers = 2\ntrigger_inputs = 2\ntrigger_rounds = 2\noperation_units = 1\n" +
            more),
        "fuzz", {}));
  };
  static const machine::Machine machines[] = {
      build(""),
      build("global_map = \"static\"\nphysical_bits = 20\nmicrocontroller = true\n"
            "full_queue = \"stall\"\nwatchdog = \"5us\"\nsecond_stage = \"50ns\"\norder = \"none\"")};
  return machines[second];
}

void run(Input input) {
  const machine::Machine& machine = machine_of(input.below(2));
  auto network = config::Registry<network::EngineKind>::find("ideal")->make(machine, {1, 1, {}});
  Known known[2];
  Honest first(0, known[0], known[1]), second(1, known[1], known[0]);
  Spoiler spoiler(input, known);
  set_ranks({&first, &second, &spoiler});
  host::RunOptions options;
  options.ranks = 3;
  options.place = {0, 1, 0};  // the spoiler shares an interface with the first
  options.command = {"ranks of a fuzzer"};
  options.cores = host::Cores::All;
  host::RunResult result = host::Simulation(machine, *network, options).run();
  bool fell = spoiler.ending && !spoiler.ending->fine();
  if (!fell && (!first.done() || !second.done())) broken("an honest rank did not finish");
  first.check();
  second.check();
  if (memmem(spoiler.memory.data(), kMemory, Honest::secret, 8)) broken("a secret was read");
}

}  // namespace

}  // namespace weft::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  weft::fuzz::run({data, size});
  return 0;
}
