// JSON as tests read it. What reads and prints it is compiled once, in json.cpp: it takes longer than most
// tests.
#pragma once

#include <iosfwd>
#include <nlohmann/json.hpp>
#include <string>

namespace weft::test {

/// Throws where the text is not JSON.
nlohmann::json parse_json(const std::string& text);

}  // namespace weft::test

NLOHMANN_JSON_NAMESPACE_BEGIN
/// How a failed expectation shows a value.
void PrintTo(const json& value, std::ostream* out);
NLOHMANN_JSON_NAMESPACE_END
