// `weft config`: what a compiler needs to be told for programs in the interfaces of libweft and its
// companions.
#include <fmt/format.h>

#include <algorithm>

#include "app/client_files.hpp"
#include "app/verb.hpp"
#include "base/text.hpp"

namespace weft::app {

namespace {

struct ConfigOptions {
  std::vector<std::string> libraries;
  bool cflags = false, libs = false, package_path = false;
};

int print_config(const ConfigOptions& o) {
  std::vector<std::string> wrong;
  for (const std::string& name : o.libraries)
    if (std::find(client_libraries().begin(), client_libraries().end(), name) == client_libraries().end())
      wrong.push_back(fmt::format("there is no library '{}'{}; there are {}", name,
                                  did_you_mean(name, client_libraries()), join(client_libraries(), ", ")));
  if (!o.cflags && !o.libs && !o.package_path)
    wrong.push_back("one of --cflags, --libs and --pkg-config-path is needed");
  if (o.libs && o.libraries.empty())
    wrong.push_back(fmt::format("--libs needs a library; there are {}", join(client_libraries(), ", ")));
  if (!wrong.empty()) throw UserError(join(wrong, "\n"));
  const ClientFiles files = client_files();
  std::vector<std::string> words;
  if (o.cflags) words.push_back("-I" + files.headers);
  if (o.libs) {
    words.push_back("-L" + files.libraries);
    words.push_back("-Wl,-rpath," + files.libraries);
    for (const std::string& name : o.libraries)
      if (name != "weft") words.push_back("-l" + name);
    words.push_back("-lweft");  // all others need it
  }
  if (o.package_path) words.push_back(files.package_files);
  fmt::print("{}\n", join(words, " "));
  return 0;
}

std::function<int()> declare_config(CommandLine& app) {
  auto o = std::make_shared<ConfigOptions>();
  app.add_option("library", o->libraries,
                 fmt::format("Libraries a program uses: {}", join(client_libraries(), ", ")))
      .option_text("LIBRARY...");
  app.add_flag("--cflags", o->cflags, "What to compile with");
  app.add_flag("--libs", o->libs, "What to link with");
  app.add_flag("--pkg-config-path", o->package_path, "The folder pkg-config finds them in (PKG_CONFIG_PATH)");
  app.footer("cc -o program program.c $(weft config --cflags --libs rma2)");
  return [o] { return print_config(*o); };
}

WEFT_REGISTER(Verb, {"config", "what to compile and link programs with", 11, declare_config});

}  // namespace

}  // namespace weft::app
