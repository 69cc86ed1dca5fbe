// Which Weft this is.
#pragma once

namespace weft {

/// "1.2.3", or "1.2.3+4.gabcdef0" four commits later: results carry it.
const char* version();

/// Compiler, options and libraries: what may make one build differ from another of the same version.
const char* built_with();

}  // namespace weft
