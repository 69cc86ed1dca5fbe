// What somebody who scrapes the metrics of a run every second adds to it, in processor time of everything in
// it.
#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <string>
#include <thread>

#include "app/bench.hpp"
#include "base/own_files.hpp"
#include "run_cost.hpp"

namespace weft::bench {

namespace {

/// A port of loopback that nobody has; the run takes it.
int free_port() {
  const int s = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in at{};
  at.sin_family = AF_INET;
  at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof at;
  const bool bound = bind(s, reinterpret_cast<sockaddr*>(&at), size) == 0 &&
                     getsockname(s, reinterpret_cast<sockaddr*>(&at), &size) == 0;
  close(s);
  return bound ? ntohs(at.sin_port) : 0;
}

/// One request, read to its end; true where metrics came.
bool scrape(int port) {
  const int s = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in at{};
  at.sin_family = AF_INET;
  at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  at.sin_port = htons(static_cast<std::uint16_t>(port));
  std::string text;
  if (connect(s, reinterpret_cast<sockaddr*>(&at), sizeof at) == 0) {
    const std::string ask =
        "GET /metrics HTTP/1.1\r\nHost: 127.0.0.1:" + std::to_string(port) + "\r\nConnection: close\r\n\r\n";
    if (send(s, ask.data(), ask.size(), MSG_NOSIGNAL) == static_cast<ssize_t>(ask.size())) {
      char buffer[4096];
      for (ssize_t got; (got = recv(s, buffer, sizeof buffer, 0)) > 0;)
        text.append(buffer, static_cast<std::size_t>(got));
    }
  }
  close(s);
  return text.find("weft_virtual_time_seconds") != std::string::npos;
}

/// Scrapes every second, from another thread, until it is destroyed.
class Scraper {
 public:
  explicit Scraper(int port) {
    thread_ = std::thread([this, port] {
      for (int tenths = 0; !over_; ++tenths) {
        if (tenths % 10 == 5) scrapes_ += scrape(port);
        std::this_thread::sleep_for(std::chrono::milliseconds(100));
      }
    });
  }
  ~Scraper() {
    over_ = true;
    thread_.join();
  }
  Scraper(const Scraper&) = delete;
  Scraper& operator=(const Scraper&) = delete;
  unsigned scrapes() const { return scrapes_; }

 private:
  std::atomic<bool> over_{false};
  std::atomic<unsigned> scrapes_{0};
  std::thread thread_;
};

void compare(const std::string& name, const std::vector<std::string>& machine,
             const std::vector<std::string>& program, app::BenchResults& results) {
  if (!results.wants(name)) return;
  constexpr int kRepeats = 5;
  constexpr double kMostShare = 0.02;
  std::vector<double> shares, seconds;
  bool fine = true;
  unsigned scrapes = 0;
  for (int i = 0; i < kRepeats; ++i) {
    const int port = free_port();
    std::vector<std::string> plain = machine, watched = machine;
    watched.insert(watched.end(), {"--watch", "--watch-port", std::to_string(port)});
    for (std::vector<std::string>* words : {&plain, &watched}) {
      words->push_back("--");
      words->insert(words->end(), program.begin(), program.end());
    }
    const Cost without = run_weft(plain, false);
    Scraper scraper(port);
    const Cost measured = run_weft(watched, false);
    fine = fine && without.fine && measured.fine;
    scrapes += scraper.scrapes();
    seconds.push_back(without.cpu);
    shares.push_back(measured.cpu / std::max(without.cpu, 1e-9) - 1);
  }
  std::sort(shares.begin(), shares.end());
  std::sort(seconds.begin(), seconds.end());
  Json figures{{"cpu_seconds", seconds[kRepeats / 2]},
               {"scrapes", scrapes},
               {"added_percent", 100 * shares[kRepeats / 2]},
               {"limit_percent", 100 * kMostShare}};
  if (!fine) figures["error"] = "a run failed";
  if (scrapes < kRepeats) figures["error"] = "nobody answered";
  results.add({name, figures, fine && scrapes >= kRepeats && shares[kRepeats / 2] <= kMostShare});
}

void run(app::BenchResults& results) {
  compare("barriers of 64 ranks on all of tianhe2, flit engine", {"run", "tianhe2", "-n", "64"},
          {own_file("validation/barrier").string(), "400"}, results);
  compare("messages of two ranks on tianhe2, ideal engine",
          {"run", "tianhe2", "--engine", "ideal", "-n", "2"},
          {own_file("validation/pairs").string(), "latency", "200000", "64"}, results);
}

WEFT_REGISTER(app::Bench,
              {"watch", "what scraping a run's metrics every second adds to it, in processor time", run,
               "added_percent"});

}  // namespace

}  // namespace weft::bench
