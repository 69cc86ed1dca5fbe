// A piece of a program that may wait: a coroutine that starts when it is awaited and goes on with whoever
// awaited it when it is done.
#pragma once

#include <coroutine>
#include <exception>
#include <utility>

namespace weft::measure::lab {

class [[nodiscard]] Task {
 public:
  struct promise_type;
  using Handle = std::coroutine_handle<promise_type>;

  struct Final {
    bool await_ready() const noexcept { return false; }
    std::coroutine_handle<> await_suspend(Handle done) const noexcept;
    void await_resume() const noexcept {}
  };

  struct promise_type {
    std::coroutine_handle<> continuation;
    std::exception_ptr error;
    Task get_return_object() { return Task(Handle::from_promise(*this)); }
    std::suspend_always initial_suspend() const noexcept { return {}; }
    Final final_suspend() const noexcept { return {}; }
    void return_void() const {}
    void unhandled_exception() { error = std::current_exception(); }
  };

  explicit Task(Handle handle) : handle_(handle) {}
  Task(Task&& other) noexcept : handle_(std::exchange(other.handle_, nullptr)) {}
  Task& operator=(Task&& other) noexcept {
    std::swap(handle_, other.handle_);
    return *this;
  }
  Task(const Task&) = delete;
  Task& operator=(const Task&) = delete;
  ~Task() {
    if (handle_) handle_.destroy();
  }

  bool await_ready() const { return false; }
  std::coroutine_handle<> await_suspend(std::coroutine_handle<> waiter) {
    handle_.promise().continuation = waiter;
    return handle_;
  }
  void await_resume() { rethrow(); }

  // For those who start the outermost one.
  std::coroutine_handle<> handle() const { return handle_; }
  bool done() const { return handle_.done(); }
  void rethrow() const {
    if (handle_.promise().error) std::rethrow_exception(handle_.promise().error);
  }

 private:
  Handle handle_;
};

inline std::coroutine_handle<> Task::Final::await_suspend(Handle done) const noexcept {
  std::coroutine_handle<> next = done.promise().continuation;
  return next ? next : std::noop_coroutine();
}

}  // namespace weft::measure::lab
