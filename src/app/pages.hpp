// What an installation has beside the command: manual pages and completions for shells, from the same
// declarations as `weft help`.
#pragma once

#include <string>

#include "app/verb.hpp"

namespace weft::app {

/// weft(1), which names the others.
std::string overview_man_page();
/// weft-VERB(1).
std::string man_page(const Verb& verb);

enum class Shell { Bash, Zsh, Fish };
/// A script that completes verbs, options and the names of machines.
std::string completion(Shell shell);

/// All of them, under their usual names below share/ of an installation.
void write_pages(const std::string& folder);

}  // namespace weft::app
