// `weft list`: the profiles there are.
#include <fmt/format.h>

#include "app/verb.hpp"
#include "base/json.hpp"

namespace weft::app {

namespace {

std::function<int()> declare_list(CommandLine& app) {
  auto json = std::make_shared<bool>(false);
  app.add_flag("--json", *json, "Machine-readable");
  return [json] {
    auto all = machine::profiles();
    if (*json) {
      Json out = Json::array();
      for (const auto& profile : all) out.push_back({{"name", profile.name}, {"about", profile.about}});
      fmt::print("{}\n", out.dump(2));
      return 0;
    }
    for (const auto& profile : all) fmt::print("{:<16} {}\n", profile.name, wrap(profile.about, 100, 17));
    return 0;
  };
}

WEFT_REGISTER(Verb, {"list", "the machines that come with Weft", 2, declare_list});

}  // namespace

}  // namespace weft::app
