#include "json.hpp"

#include <ostream>

namespace weft::test {

nlohmann::json parse_json(const std::string& text) { return nlohmann::json::parse(text); }

}  // namespace weft::test

NLOHMANN_JSON_NAMESPACE_BEGIN
void PrintTo(const json& value, std::ostream* out) { *out << value.dump(); }
NLOHMANN_JSON_NAMESPACE_END
