#include "live/metrics.hpp"

#include <fmt/format.h>

#include <map>
#include <utility>

#include "base/json.hpp"
#include "host/rank_now.hpp"

namespace weft::live {

namespace {

/// A family of samples: all of them together, after what they are.
class Family {
 public:
  Family(const char* name, const char* type, const char* unit, const char* help) : name_(name) {
    text_ = fmt::format("# TYPE {} {}\n", name, type);
    if (*unit) text_ += fmt::format("# UNIT {} {}\n", name, unit);
    text_ += fmt::format("# HELP {} {}\n", name, help);
  }
  void add(const std::string& labels, double value) {
    text_ += fmt::format("{}{} {}\n", name_, labels.empty() ? "" : "{" + labels + "}", value);
    empty_ = false;
  }
  std::string text() const { return empty_ ? "" : text_; }

 private:
  std::string name_, text_;
  bool empty_ = true;
};

std::string label(const char* name, const std::string& value) {
  std::string escaped;
  for (char c : value)
    if (c == '\n')
      escaped += "\\n";
    else
      escaped += c == '"' || c == '\\' ? std::string{'\\', c} : std::string{c};
  return fmt::format("{}=\"{}\"", name, escaped);
}

const char* state_name(host::RankNow::State state) {
  switch (state) {
    case host::RankNow::Computes:
      return "computes";
    case host::RankNow::InMpi:
      return "in_mpi";
    case host::RankNow::Waits:
      return "waits";
    case host::RankNow::Sleeps:
      return "sleeps";
    case host::RankNow::Outside:
      return "outside";
    case host::RankNow::Ended:
      return "ended";
  }
  return "unknown";
}

}  // namespace

std::string metrics(const std::string& state) {
  const std::optional<Json> read = Json::parse(state);
  if (!read || !read->is_object()) return "# EOF\n";
  Family seconds("weft_run_seconds", "gauge", "seconds", "Real time since the run began, pauses apart.");
  Family share("weft_run_share_ratio", "gauge", "ratio", "How much of the run is done; 0: nobody knows.");
  Family time("weft_virtual_time_seconds", "gauge", "seconds",
              "Virtual time of the run, or of one load of a sweep.");
  Family accepted("weft_accepted_load", "gauge", "", "Flits per endpoint and cycle that arrive.");
  Family use("weft_links_use_ratio", "gauge", "ratio",
             "Use of a kind of links since the last look: mean and busiest.");
  Family busiest("weft_link_use_ratio", "gauge", "ratio", "Use of the busiest links since the last look.");
  Family ranks("weft_ranks", "gauge", "", "Ranks by what they do.");
  Family down("weft_links_down", "gauge", "",
              "Links that carry nothing: each end of a cable that is dead counts.");
  Family incidents("weft_incidents", "gauge", "", "What broke and was mended so far.");
  seconds.add("", read->value("seconds", 0.0));
  share.add("", read->value("share", 0.0));
  for (const Json& part : std::as_const(*read)["parts"]) {
    if (!part.is_object()) continue;
    const std::string load = part.contains("load") ? label("load", part["load"].dump()) : "";
    const auto with = [&](const std::string& more) { return load.empty() ? more : load + "," + more; };
    time.add(load, part.value("time_ps", 0.0) * 1e-12);
    if (part.contains("incidents")) incidents.add(load, part.value("incidents", 0.0));
    if (part.contains("links_down")) down.add(load, part.value("links_down", 0.0));
    if (part.contains("accepted")) accepted.add(load, part.value("accepted", 0.0));
    if (part.contains("ranks")) {
      std::map<std::string, unsigned> count;
      for (char c : part["ranks"].get<std::string>())
        ++count[state_name(static_cast<host::RankNow::State>(c))];
      for (const auto& [name, n] : count) ranks.add(with(label("state", name)), n);
    }
    if (!part.contains("links")) continue;
    const Json& links = part["links"];
    for (const Json& kind : links["kinds"]) {
      const std::string name = label("kind", kind["name"].get<std::string>());
      use.add(with(name + "," + label("of", "mean")), kind.value("mean", 0.0));
      use.add(with(name + "," + label("of", "busiest")), kind.value("busiest", 0.0));
    }
    for (const Json& link : links["busiest"]) {
      busiest.add(with(label("from", link["from"].get<std::string>()) + "," +
                       label("to", link["to"].get<std::string>())),
                  link.value("share", 0.0));
    }
  }
  return seconds.text() + share.text() + time.text() + accepted.text() + use.text() + busiest.text() +
         ranks.text() + down.text() + incidents.text() + "# EOF\n";
}

}  // namespace weft::live
