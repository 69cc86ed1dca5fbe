#include "base/version.hpp"

#include <version_facts.hpp>

namespace weft {

const char* version() { return WEFT_VERSION_TEXT; }

const char* built_with() { return WEFT_BUILT_WITH; }

}  // namespace weft
