// The `weft` command: verbs register themselves, the command line and `weft help` come from the same
// declarations.
#pragma once

namespace weft::app {

/// Exit codes: 0 fine, 1 the answer is no, 2 the user's input is wrong, 3 a defect in Weft.
int run(int argc, char** argv);

}  // namespace weft::app
