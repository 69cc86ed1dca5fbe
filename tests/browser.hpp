// A browser without a screen, where there is one: pages are opened in it as people open them.
#pragma once

#include <unistd.h>

#include <string>

#include "run_program.hpp"

namespace weft::test {

/// Its path; empty where there is none, and tests that need one are skipped.
inline std::string browser() {
  for (const char* name : {"/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome"})
    if (access(name, X_OK) == 0) return name;
  return "";
}

/// What a page has become once its scripts have run for so long, as HTML; errors of scripts are on `err`.
inline ProgramResult open_page(const std::string& url, unsigned milliseconds = 2500) {
  ScratchFolder folder;
  return run_command(browser(),
                     {"--headless", "--no-sandbox", "--disable-gpu", "--enable-logging=stderr",
                      "--log-level=0", "--user-data-dir=" + folder.file("profile"),
                      "--virtual-time-budget=" + std::to_string(milliseconds), "--dump-dom", url},
                     240);
}

}  // namespace weft::test
