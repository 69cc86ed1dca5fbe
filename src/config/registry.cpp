#include "config/registry.hpp"

namespace weft::config {

std::vector<std::vector<std::string>> example_lists(Examples examples) {
  std::vector<std::vector<std::string>> out;
  for (const auto& words : examples) out.emplace_back(words.begin(), words.end());
  return out;
}

}  // namespace weft::config
