// Components register themselves: one file holds a component's parameters, help, checks and code.
#pragma once

#include <initializer_list>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/check.hpp"
#include "base/text.hpp"
#include "config/schema.hpp"

namespace weft::config {

/// All components of one sort (topologies, routings, ...), by name. `Kind` has `name` and `section`.
template <class Kind>
class Registry {
 public:
  static const std::map<std::string, Kind, std::less<>>& all() { return storage(); }

  static const Kind* find(std::string_view name) {
    auto at = storage().find(name);
    return at == storage().end() ? nullptr : &at->second;
  }

  static std::vector<std::string> names() {
    std::vector<std::string> out;
    for (const auto& [name, kind] : storage()) out.push_back(name);
    return out;
  }

  static bool add(Kind&& kind) {
    std::string name = kind.name;
    bool fresh = storage().emplace(name, std::move(kind)).second;
    WEFT_CHECK(fresh, "two components are called " + name);
    return true;
  }

 private:
  static std::map<std::string, Kind, std::less<>>& storage() {
    static std::map<std::string, Kind, std::less<>> kinds;
    return kinds;
  }
};

/// Settings worth trying, as `key=value` words, a list for each example.
using Examples = std::initializer_list<std::initializer_list<std::string_view>>;
std::vector<std::vector<std::string>> example_lists(Examples examples);

}  // namespace weft::config

// Beside a kind, outside of namespaces: its registry is compiled in the one file that has WEFT_REGISTRY, and
// not in every file that registers something of that kind.
#define WEFT_DECLARE_REGISTRY(KindType) extern template class ::weft::config::Registry<KindType>
#define WEFT_REGISTRY(KindType) template class ::weft::config::Registry<KindType>

// Registers at start-up; the name carries the line so that one file may register several.
#define WEFT_REGISTER_JOIN(a, b) a##b
#define WEFT_REGISTER_NAME(line) WEFT_REGISTER_JOIN(weft_registered_, line)
#define WEFT_REGISTER(KindType, ...)                                \
  [[maybe_unused]] static const bool WEFT_REGISTER_NAME(__LINE__) = \
      ::weft::config::Registry<KindType>::add(__VA_ARGS__)
