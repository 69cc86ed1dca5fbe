#include "report/run_answer.hpp"

#include <fmt/format.h>

#include "abi/mpi_calls.hpp"
#include "base/text.hpp"
#include "report/figures.hpp"
#include "report/html_page.hpp"
#include "report/plot_axis.hpp"
#include "report/run_sections.hpp"
#include "report/svg.hpp"

namespace weft::report {

using measure::RunAnswer;
using measure::RunCause;
using Kind = RunCause::Kind;

namespace {

constexpr double kWorthTelling = 0.02;  // beside a cause that is worse
constexpr std::size_t kMostTold = 2;

std::string in_call(std::uint16_t call, const char* preposition = "in") {
  return call ? fmt::format(" {} {}", preposition, abi::call_facts(call).name) : "";
}

std::string times_text(std::uint64_t times) {
  return times > 1 ? fmt::format(" in each of {} steps", times) : "";
}

/// Why who sends waits, where it is by the protocol of long messages.
std::string not_taken(const RunCause& c, const machine::Machine& machine) {
  const auto limit = static_cast<std::uint64_t>(machine.description.mpi.eager_limit.value);
  if (!c.to_send || c.bytes <= limit) return "";
  return fmt::format(
      ", since messages of {} are longer than mpi.eager_limit ({}) and are not taken before they are asked "
      "for",
      bytes_text(c.bytes), bytes_text(limit));
}

std::string late_text(const RunCause& c, const machine::Machine& machine) {
  const std::string extra = rounded<Time>(c.extra_ps);
  const std::string who =
      c.waiting == 1 ? "another rank waits" : fmt::format("{} wait", count_of(c.waiting, "rank"));
  return fmt::format("Rank {} computes {} longer than the others{}; {} for it{}{}", c.rank, extra,
                     times_text(c.times), who, in_call(c.call), not_taken(c, machine));
}

std::string link_text(const RunCause& c) {
  if (c.link.empty()) return "in the network";
  return fmt::format("on the link {}{}, which {} of nodes share", c.link,
                     c.between_routers ? "" : " of a node itself", count_of(c.pairs, "pair"));
}

std::string cause_text(const RunCause& c, const machine::Machine& machine) {
  std::string out;
  switch (c.kind) {
    case Kind::LateRank:
      out = late_text(c, machine);
      break;
    case Kind::Noise:
      out = fmt::format(
          "Another rank is late each time, {} of them, rank {} by {} at the worst, and the others wait{}: "
          "noise",
          c.waiting, c.rank, rounded<Time>(c.extra_ps), in_call(c.call));
      break;
    case Kind::Chain:
      out = fmt::format(
          "{} work one after the other, from rank {} to rank {}: each waits{} for the one before it{}",
          count_of(c.waiting, "rank"), c.rank, c.last_rank, in_call(c.call), not_taken(c, machine));
      break;
    case Kind::Contention:
      out = fmt::format("Messages wait for each other {}, while ranks wait{}", link_text(c), in_call(c.call));
      break;
    case Kind::Serialised:
      out = fmt::format(
          "Rank {} talks to {} one after the other{}; {} for their turn", c.rank, count_of(c.times, "rank"),
          in_call(c.call),
          c.waiting == 1 ? "another rank waits" : fmt::format("{} wait", count_of(c.waiting, "rank")));
      break;
    case Kind::FullQueues:
      out = "Processors stand before full queues of their interfaces (nic.queue_slots)";
      break;
    case Kind::Translation:
      out = fmt::format(
          "Interfaces look up addresses that are not in their tables, {} times (nic.translation_entries)",
          with_commas(c.times));
      break;
    case Kind::SlowRank:
      out = fmt::format(
          "Rank {} takes {:.2g} times as long as the others for the same calls of MPI; {} for it{}", c.rank,
          c.factor,
          c.waiting == 1 ? "another rank waits" : fmt::format("{} wait", count_of(c.waiting, "rank")),
          in_call(c.call));
      break;
    case Kind::Credits:
      out = fmt::format(
          "Messages of {}, most of them of rank {}, wait for credit (mpi.credits is {}), while ranks wait{}",
          count_of(c.waiting, "rank"), c.rank, machine.description.mpi.credits, in_call(c.call));
      break;
  }
  return fmt::format("{}: {} of the run.", out, percent(c.share));
}

const char* kind_name(Kind kind) {
  switch (kind) {
    case Kind::LateRank:
      return "late rank";
    case Kind::Noise:
      return "noise";
    case Kind::Chain:
      return "chain";
    case Kind::Contention:
      return "contention";
    case Kind::Serialised:
      return "serialised";
    case Kind::FullQueues:
      return "full queues";
    case Kind::Translation:
      return "translation misses";
    case Kind::SlowRank:
      return "slow rank";
    case Kind::Credits:
      return "credits";
  }
  return "";
}

}  // namespace

std::string answer_text(const RunAnswer& answer, const machine::Machine& machine) {
  if (!answer.known) return "";
  std::string out;
  std::size_t told = 0;
  for (const RunCause& cause : answer.causes)
    if (told < kMostTold && cause.share >= kWorthTelling) {
      out += (told ? " " : "") + cause_text(cause, machine);
      ++told;
    }
  if (told == 0)
    out = fmt::format(
        "No rank holds up the others: {} of the longest way through the run is computing and {} work in MPI.",
        percent(answer.computing), percent(answer.in_mpi));
  out += fmt::format(" On the network's account: {}.", percent(answer.network));
  if (answer.partial) out += " The run was too long to keep all of it: this is said of its beginning.";
  return out;
}

Json answer_json(const RunAnswer& answer, const machine::Machine& machine) {
  Json out{{"text", answer_text(answer, machine)},
           {"critical_path",
            {{"computing", answer.computing},
             {"in_mpi", answer.in_mpi},
             {"network", answer.network},
             {"meeting", answer.meeting}}},
           {"waiting", answer.waiting},
           {"partial", answer.partial},
           {"causes", Json::array()},
           {"waits_ps", Json::object()}};
  for (const RunCause& c : answer.causes) {
    Json one{{"kind", kind_name(c.kind)},  {"share", c.share}, {"rank", c.rank},
             {"waiting_ranks", c.waiting}, {"times", c.times}, {"extra_ps", c.extra_ps}};
    if (c.call) one["call"] = abi::call_facts(c.call).name;
    if (!c.link.empty()) one["link"] = c.link;
    out["causes"].push_back(one);
  }
  for (std::size_t i = 0; i < measure::kWaitKinds; ++i)
    out["waits_ps"][measure::wait_kind_name(static_cast<measure::WaitKind>(i))] =
        answer.waits[i].picoseconds();
  return out;
}

std::string waits_section(const RunAnswer& answer) {
  double all = 0;
  for (const TimeSum& sum : answer.waits) all += sum.picoseconds();
  if (!answer.known || all <= 0) return "";
  std::vector<std::vector<std::string>> rows;
  for (std::size_t i = 0; i < measure::kWaitKinds; ++i) {
    const double time = answer.waits[i].picoseconds();
    if (time > 0)
      rows.push_back({measure::wait_kind_name(static_cast<measure::WaitKind>(i)), rounded<Time>(time),
                      html_bar(time / all, "#e69f00")});
  }
  return html_section("waits", "Why they waited",
                      fmt::format("The time of all ranks' waits, by what ended each of them. Of the longest "
                                  "way through the run, {} is computing, {} "
                                  "work in MPI, and {} messages under way.",
                                  percent(answer.computing), percent(answer.in_mpi), percent(answer.network)),
                      html_table({{"Because of"}, {"Time", true}, {"Of all waits"}}, rows));
}

}  // namespace weft::report
