// The page of `--watch`: what it shows, what it takes, and that it changes nothing.
#include <fcntl.h>
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <regex>
#include <sstream>

#include "browser.hpp"
#include "json.hpp"
#include "mpi_programs.hpp"

namespace weft::test {
namespace {

using nlohmann::json;
using testing::AnyOf;
using testing::HasSubstr;

/// `weft` in the background, with --watch.
class Watched {
 public:
  explicit Watched(Words arguments, const Words& more = {}) {
    arguments.insert(arguments.begin() + 1, {"--watch"});
    arguments.insert(arguments.end(), more.begin(), more.end());
    arguments.insert(arguments.begin(), WEFT_PROGRAM);
    std::vector<char*> words;
    for (std::string& word : arguments) words.push_back(word.data());
    words.push_back(nullptr);
    pid_ = fork();
    if (pid_ == 0) {
      dup2(open(folder_.file("out").c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600), STDOUT_FILENO);
      dup2(open(folder_.file("err").c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600), STDERR_FILENO);
      if (chdir(folder_.file("").c_str()) == 0) execv(WEFT_PROGRAM, words.data());
      _exit(127);
    }
    std::smatch found;
    std::string said;
    const std::regex line("http://127\\.0\\.0\\.1:([0-9]+)/.*token ([0-9a-f]{32})");
    comes_true([&] {
      said = err();
      return std::regex_search(said, found, line) || ended();
    });
    if (found.size() == 3) port_ = found[1], token_ = found[2];
    EXPECT_FALSE(port_.empty()) << said;
  }
  ~Watched() {
    if (!ended()) kill(pid_, SIGKILL);
    wait_for_end();
  }
  Watched(const Watched&) = delete;
  Watched& operator=(const Watched&) = delete;

  std::string url(const std::string& path) const { return "http://127.0.0.1:" + port_ + path; }
  const std::string& port() const { return port_; }
  const std::string& token() const { return token_; }
  pid_t pid() const { return pid_; }
  std::string out() const { return read_file(folder_.file("out")); }
  std::string err() const { return read_file(folder_.file("err")); }
  std::string file(const std::string& name) const { return folder_.file(name); }

  /// What curl has of it: body, and the code of the answer behind it.
  ProgramResult ask(const std::string& path, Words options = {}) const {
    options.insert(options.begin(), {"-s", "-m", "20", "-w", " %{http_code}"});
    options.push_back(url(path));
    return run_command("curl", options, 30);
  }
  json state() const {
    const ProgramResult r = run_command("curl", {"-s", "-m", "20", url("/state")}, 30);
    return json::parse(r.out, nullptr, false);
  }
  std::string order(const std::string& what, const std::string& token) const {
    return ask(what, {"-X", "POST", "-H", "X-Weft-Token: " + token}).out;
  }

  bool ended() {
    if (!ended_ && waitpid(pid_, &status_, WNOHANG) == pid_) ended_ = true;
    return ended_;
  }
  int wait_for_end() {
    if (!ended_) waitpid(pid_, &status_, 0);
    ended_ = true;
    return WIFEXITED(status_) ? WEXITSTATUS(status_) : 128 + WTERMSIG(status_);
  }

 private:
  ScratchFolder folder_;
  pid_t pid_ = 0;
  int status_ = 0;
  bool ended_ = false;
  std::string port_, token_;
};

Words endless(const Words& options = {}) { return run_words(kTorus, 8, {kPrograms + "steps"}, options); }

/// The first part, once there is one in which virtual time has passed and links have carried something.
json busy_part(const Watched& run) {
  json part;
  EXPECT_TRUE(comes_true([&] {
    const json state = run.state();
    if (!state.is_object() || !state["parts"][0].is_object()) return false;
    part = state["parts"][0];
    return !part["links"]["busiest"].empty();
  }));
  return part;
}

class LiveRuns : public testing::TestWithParam<const char*> {};

TEST_P(LiveRuns, ShowRanksAndLinksOnEveryEngine) {
  Watched run(endless({"--engine", GetParam()}));
  const json part = busy_part(run);
  ASSERT_TRUE(part.is_object()) << run.err();
  EXPECT_THAT(part["ranks"].get<std::string>(), testing::MatchesRegex("[cmwso]{8}"));
  EXPECT_EQ(part["call_of"].size(), 8u);
  for (const json& call : part["call_of"]) EXPECT_LT(call.get<std::size_t>(), part["calls"].size());
  // A torus of 4 x 2 x 2 has a cable between neighbours that is counted once for each dimension of two.
  EXPECT_EQ(part["links"]["use"].get<std::string>().size() % 4, 0u);
  EXPECT_FALSE(part["links"]["use"].get<std::string>().empty());
  const json& busiest = part["links"]["busiest"][0];
  EXPECT_GT(busiest["share"].get<double>(), 0);
  EXPECT_LE(busiest["share"].get<double>(), 1);
  const auto before = part["time_ps"].get<std::int64_t>();
  EXPECT_GT(before, 0);
  EXPECT_TRUE(comes_true([&] { return run.state()["parts"][0]["time_ps"].get<std::int64_t>() > before; }));
}

INSTANTIATE_TEST_SUITE_P(On, LiveRuns, testing::Values("flit", "flow", "ideal"),
                         [](const auto& one) { return one.param; });

TEST(Live, MetricsAndAlarmsTellWhatBroke) {
  Watched run(endless({"--engine", "flit", "--fault", "at 5us cut r0.p0"}));
  ASSERT_TRUE(busy_part(run).is_object()) << run.err();
  EXPECT_TRUE(comes_true([&] { return run.state()["parts"][0]["incidents"].get<unsigned>() >= 2; }));
  const json part = run.state()["parts"][0];
  EXPECT_GE(part["links_down"].get<unsigned>(), 1u);
  bool named = false;
  for (const json& alarm : part["alarms"])
    named |= alarm["what"].get<std::string>().find("cut r0.p0") != std::string::npos;
  EXPECT_TRUE(named) << part["alarms"];
  const std::string text = run.ask("/metrics").out;
  EXPECT_THAT(text, HasSubstr("\nweft_virtual_time_seconds "));
  EXPECT_THAT(text, HasSubstr("\nweft_links_down "));
  EXPECT_THAT(text, HasSubstr("\nweft_ranks{state="));
  EXPECT_THAT(text, HasSubstr("# EOF\n 200"));
  EXPECT_THAT(run.ask("/metrics", {"-I"}).out, HasSubstr("application/openmetrics-text"));
}

TEST(Live, PauseAndStopNeedTheToken) {
  Watched run(endless());
  busy_part(run);
  for (const std::string& wrong : {std::string(), std::string(32, '0'), run.token().substr(1)})
    for (const char* what : {"/pause", "/stop", "/resume"})
      EXPECT_THAT(run.order(what, wrong), testing::EndsWith(" 403")) << what << " with " << wrong;
  EXPECT_THAT(run.ask("/stop?token=" + run.token()).out, testing::EndsWith(" 404"))
      << "a GET acts on nothing";
  EXPECT_EQ(run.state()["phase"], "running");

  EXPECT_THAT(run.order("/pause", run.token()), testing::EndsWith("204"));
  EXPECT_TRUE(comes_true([&] { return run.state()["phase"] == "paused"; }));
  const json first = run.state(), second = run.state();
  EXPECT_EQ(first["parts"][0]["time_ps"], second["parts"][0]["time_ps"]) << "virtual time stands still";

  EXPECT_THAT(run.order("/resume", run.token()), testing::EndsWith("204"));
  EXPECT_TRUE(comes_true([&] { return run.state()["parts"][0]["time_ps"] > first["parts"][0]["time_ps"]; }));

  EXPECT_THAT(run.order("/stop", run.token()), testing::EndsWith("204"));
  EXPECT_EQ(run.wait_for_end(), 1);
  EXPECT_THAT(run.err(), HasSubstr("the page has stopped the run"));
  EXPECT_THAT(run.err(), HasSubstr("interrupted"));
}

TEST(Live, APausedRunEndsByAnInterrupt) {
  Watched run(endless());
  busy_part(run);
  run.order("/pause", run.token());
  EXPECT_TRUE(comes_true([&] { return run.state()["phase"] == "paused"; }));
  kill(run.pid(), SIGINT);
  EXPECT_EQ(run.wait_for_end(), 1) << run.err();
}

TEST(Live, ListensOnLoopbackAlone) {
  Watched run(endless());
  busy_part(run);
  // local_address in the kernel's table, state 0A: listening.
  const std::string port = fmt::format(":{:04X}", std::stoi(run.port()));
  unsigned listeners = 0;
  for (const char* table : {"/proc/net/tcp", "/proc/net/tcp6"}) {
    std::ifstream lines(table);
    for (std::string line; std::getline(lines, line);) {
      std::istringstream words(line);
      std::string number, local, remote, state;
      words >> number >> local >> remote >> state;
      if (state != "0A" || !local.ends_with(port)) continue;
      ++listeners;
      EXPECT_EQ(local, "0100007F" + port);
    }
  }
  EXPECT_EQ(listeners, 1u);
  EXPECT_THAT(run.ask("/", {"-H", "Host: weft.example.org"}).out, testing::EndsWith(" 403"))
      << "a name of somebody else's that leads here";
  EXPECT_THAT(run.ask("/../../etc/passwd", {"--path-as-is"}).out, testing::EndsWith(" 404"));
  EXPECT_THAT(run.ask("/", {"-X", "DELETE"}).out,
              AnyOf(testing::EndsWith(" 404"), testing::EndsWith(" 400")));
  EXPECT_THAT(run.ask("/stop", {"-X", "POST", "-d", std::string(100'000, 'x')}).out,
              testing::Not(testing::EndsWith("204")));
  EXPECT_THAT(run.ask("/", {"-I"}).out, HasSubstr("default-src 'none'"));
  EXPECT_EQ(run.state()["phase"], "running");
}

TEST(Live, APortThatIsTakenIsRefused) {
  Watched first(endless());
  const ProgramResult second = run_program(
      run_words(kTorus, 2, {kPrograms + "steps", "1"}, {"--watch", "--watch-port", first.port()}));
  EXPECT_EQ(second.code, 2);
  EXPECT_THAT(second.err, HasSubstr("--watch-port " + first.port()));
}

TEST(Live, ARunHasTheSameFigures) {
  const Words words = run_words(kTorus, 8, {kPrograms + "steps", "60"}, {"--json"});
  const ProgramResult plain = run_program(words);
  ASSERT_EQ(plain.code, 0) << plain.err;
  Watched run(words);
  while (!run.ended()) run.state();
  EXPECT_EQ(run.wait_for_end(), 0) << run.err();
  EXPECT_EQ(run.out(), plain.out);
}

TEST(Live, ASweepHasTheSameFigures) {
  const Words words{"traffic", "torus",       "--set",    "topology.dims=[8,8]",
                    "--load",  "0.1:0.5:0.2", "--packet", "4"};
  ScratchFolder folder;
  Words plain = words;
  plain.insert(plain.end(), {"--out", folder.file("plain")});
  ASSERT_EQ(run_program(plain).code, 0);
  Watched run(words, {"--out", folder.file("watched")});
  bool paused = false;
  while (!run.ended()) {
    const json state = run.state();
    if (paused || !state.is_object()) continue;
    paused = run.order("/pause", run.token()).ends_with("204");
    if (paused) run.order("/resume", run.token());
  }
  EXPECT_EQ(run.wait_for_end(), 0) << run.err();
  for (const char* table : {"points.csv", "links.csv", "histogram.csv"})
    EXPECT_EQ(read_file(folder.file("watched/") + table), read_file(folder.file("plain/") + table)) << table;
}

TEST(Live, ASweepShowsEveryLoad) {
  Watched run({"traffic", "torus", "--set", "topology.dims=[16,16]", "--load", "0.1,0.2,0.3,0.35", "--packet",
               "16", "--threads", "2"});
  json part;
  EXPECT_TRUE(comes_true([&] {
    const json state = run.state();
    if (!state.is_object()) return run.ended();
    EXPECT_EQ(state["parts"].size(), 4u);
    part = state["parts"][0];
    return part.is_object() && part["cycle"].get<std::uint64_t>() > 0;
  }));
  ASSERT_TRUE(part.is_object()) << run.err();
  EXPECT_EQ(part["load"].get<double>(), 0.1);
  EXPECT_THAT(part["phase"].get<std::string>(), AnyOf("warms up", "is measured", "done"));
  EXPECT_GT(part["links"]["kinds"].size(), 0u);
  EXPECT_THAT(run.order("/stop", run.token()), testing::EndsWith("204"));
  run.wait_for_end();
  EXPECT_THAT(run.err(), HasSubstr("interrupted"));
}

TEST(Live, OpensInABrowser) {
  if (browser().empty()) GTEST_SKIP() << "no Chromium here";
  Watched run(endless());
  busy_part(run);
  const ProgramResult page = open_page(run.url("/#token=" + run.token()));
  ASSERT_EQ(page.code, 0) << page.err;
  EXPECT_THAT(page.err, testing::Not(HasSubstr("Uncaught"))) << "no error of a script";
  EXPECT_THAT(page.out, HasSubstr("data-phase=\"running\"")) << "its script runs, and has asked";
  EXPECT_THAT(page.out, testing::ContainsRegex("id=\"virtual\">[0-9.]+ (µs|ms|s)<"));
  EXPECT_THAT(page.out, testing::ContainsRegex("<i class=\"[cmwso]\" title=\"rank 7: [a-z ]+"));
  EXPECT_THAT(page.out, testing::ContainsRegex("<path class=\"h[1-9]\"")) << "some link carries something";
  EXPECT_FALSE(run.ended()) << "it goes on when the page is closed";
  EXPECT_EQ(run.state()["phase"], "running");
}

// What breaks while the page is open is in its list, the latest first, and was not there before.
TEST(Live, ABrowserListsAlarmsAsTheyCome) {
  if (browser().empty()) GTEST_SKIP() << "no Chromium here";
  Watched whole(endless());
  busy_part(whole);
  ProgramResult page = open_page(whole.url("/"));
  ASSERT_EQ(page.code, 0) << page.err;
  EXPECT_THAT(page.out, HasSubstr("nothing has broken"));
  Watched run(endless({"--engine", "flit", "--fault", "at 5us cut r0.p0"}));
  ASSERT_TRUE(busy_part(run).is_object()) << run.err();
  ASSERT_TRUE(comes_true([&] { return run.state()["parts"][0]["incidents"].get<unsigned>() >= 2; }));
  page = open_page(run.url("/"));
  ASSERT_EQ(page.code, 0) << page.err;
  EXPECT_THAT(page.err, testing::Not(HasSubstr("Uncaught"))) << "no error of a script";
  EXPECT_THAT(page.out, testing::ContainsRegex("[0-9.]+ (µs|ms|s)</td><td[^>]*>[^<]*cut r0.p0")) << page.out;
}

}  // namespace
}  // namespace weft::test
