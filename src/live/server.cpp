#include "live/server.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <httplib.h>
#include <pthread.h>
#include <sys/random.h>

#include <array>
#include <csignal>
#include <cstring>
#include <thread>

#include "base/check.hpp"
#include "base/diagnostics.hpp"
#include "live/metrics.hpp"

namespace weft::live {

namespace {

constexpr const char* kAddress = "127.0.0.1";
constexpr std::size_t kThreads = 4, kMostBytes = 1024;  // of a request's body
constexpr time_t kSeconds = 5;                          // for a request to come and an answer to go

std::string make_token() {
  std::array<unsigned char, 16> bytes{};
  WEFT_CHECK(getrandom(bytes.data(), bytes.size(), 0) == static_cast<ssize_t>(bytes.size()),
             "the system has random bytes");
  std::string out;
  for (unsigned char b : bytes) out += fmt::format("{:02x}", b);
  return out;
}

/// Takes as long whatever is wrong.
bool same(const std::string& a, const std::string& b) {
  unsigned differ = a.size() != b.size();
  for (std::size_t i = 0; i < b.size(); ++i)
    differ |= static_cast<unsigned char>(i < a.size() ? a[i] : 0) ^ static_cast<unsigned char>(b[i]);
  return differ == 0;
}

/// The library ignores SIGPIPE for the whole process, and every rank would inherit that. Its own threads have
/// all signals blocked, which does as well.
class KeepPipeSignal {
 public:
  KeepPipeSignal() { sigaction(SIGPIPE, nullptr, &before_); }
  ~KeepPipeSignal() { sigaction(SIGPIPE, &before_, nullptr); }
  KeepPipeSignal(const KeepPipeSignal&) = delete;
  KeepPipeSignal& operator=(const KeepPipeSignal&) = delete;

 private:
  struct sigaction before_ {};
};

}  // namespace

struct Server::Parts {
  Board& board;
  std::string page, token = make_token();
  int port = 0;
  httplib::Server http;
  std::thread thread;

  Parts(Board& run, std::string text) : board(run), page(std::move(text)) {}

  void answer(const std::string& path, void (*act)(Board&)) {
    // Its body, if any, is not read.
    http.Post(path, [this, act](const httplib::Request& request, httplib::Response& response,
                                const httplib::ContentReader&) {
      if (!same(request.get_header_value("X-Weft-Token"), token)) {
        response.status = 403;
        response.set_content("the token that the terminal shows is needed\n", "text/plain");
        return;
      }
      act(board);
      response.status = 204;
    });
  }

  void set_up() {
    http.new_task_queue = [] { return new httplib::ThreadPool(kThreads); };
    http.set_payload_max_length(kMostBytes);
    http.set_read_timeout(kSeconds, 0);
    http.set_write_timeout(kSeconds, 0);
    http.set_keep_alive_max_count(1);  // an idle page holds no thread
    http.set_socket_options([](int socket) {
      const int yes = 1;
      setsockopt(socket, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
      fcntl(socket, F_SETFD, FD_CLOEXEC);
    });
    // The page takes nothing from elsewhere, and nobody frames it or learns its type by guessing.
    http.set_default_headers(
        {{"Content-Security-Policy",
          "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; connect-src 'self'; "
          "frame-ancestors 'none'"},
         {"X-Content-Type-Options", "nosniff"},
         {"Cache-Control", "no-store"},
         {"Referrer-Policy", "no-referrer"}});
    // A name of somebody else's that leads here makes a page of his one of ours: only our own names do.
    http.set_pre_routing_handler([this](const httplib::Request& request, httplib::Response& response) {
      const std::string host = request.get_header_value("Host");
      if (host == fmt::format("{}:{}", kAddress, port) || host == fmt::format("localhost:{}", port))
        return httplib::Server::HandlerResponse::Unhandled;
      response.status = 403;
      return httplib::Server::HandlerResponse::Handled;
    });
    http.Get("/", [this](const httplib::Request&, httplib::Response& response) {
      response.set_content(page, "text/html; charset=utf-8");
    });
    http.Get("/state", [this](const httplib::Request&, httplib::Response& response) {
      response.set_content(board.state(), "application/json");
    });
    http.Get("/metrics", [this](const httplib::Request&, httplib::Response& response) {
      response.set_content(metrics(board.state()), kMetricsType);
    });
    answer("/pause", [](Board& b) { b.pause(true); });
    answer("/resume", [](Board& b) { b.pause(false); });
    answer("/stop", [](Board& b) { b.stop(); });
  }
};

Server::Server(Board& board, std::string page, unsigned port) {
  const KeepPipeSignal keep;
  parts_ = std::make_unique<Parts>(board, std::move(page));
  parts_->set_up();
  const int wanted = static_cast<int>(port);
  if (port == 0)
    parts_->port = parts_->http.bind_to_any_port(kAddress);
  else
    parts_->port = parts_->http.bind_to_port(kAddress, wanted) ? wanted : -1;
  if (parts_->port <= 0)
    throw UserError(
        port ? fmt::format("--watch-port {}: nothing can listen there: the port is taken, or needs "
                           "more rights; leave it out, and any free one is taken",
                           port)
             : "--watch: no port of this computer is free");
}

Server::~Server() {
  if (!parts_->thread.joinable()) return;
  while (!parts_->http.is_running()) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  parts_->http.stop();
  parts_->thread.join();
}

void Server::start() {
  // Signals are for the run's own thread, which may be asleep until one wakes it.
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  parts_->thread = std::thread([this] { parts_->http.listen_after_bind(); });
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

unsigned Server::port() const { return static_cast<unsigned>(parts_->port); }
const std::string& Server::token() const { return parts_->token; }

}  // namespace weft::live
