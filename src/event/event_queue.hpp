// The clock of a simulation and all that is going to happen in it. Interfaces, devices, programs and replays
// get one handed and put their events into it; none keeps a clock of its own.
//
// Order: by time; at one time by the component (in the order in which they joined), and of one component in
// the order in which it asked. So the order follows from what components do, and never from addresses,
// threads or the shape of a heap.
//
// An event is a plain value: a kind and a number that mean something to the component alone (an index into
// its own tables). Nothing is allocated for it once the queue has been as full as it gets. An event cannot be
// taken back: a component that changes its mind looks, when the event comes, whether it still holds.
//
//   EventQueue queue;
//   ComponentId me = queue.join(*this);         // *this is an EventHandler
//   queue.at(queue.now() + latency, me, kDone, index);
//   while (queue.next() <= until) queue.step();  // calls handle() of whose event it is
#pragma once

#include <cstdint>
#include <limits>
#include <vector>

#include "base/check.hpp"
#include "base/quantity.hpp"

namespace weft::event {

using ComponentId = std::uint32_t;

/// Later than anything that happens.
inline constexpr Time kNever{std::numeric_limits<std::int64_t>::max()};

struct Event {
  Time at;
  std::uint64_t count;    // of all events ever asked for: breaks ties
  std::uint64_t data;     // whatever its component wants to know
  ComponentId component;  // whose it is
  std::uint32_t kind;     // one of its component's kinds
};
static_assert(sizeof(Event) == 32);

class EventHandler {
 public:
  virtual ~EventHandler() = default;
  virtual void handle(const Event& event) = 0;
};

/// Events in order of (time, component, count): a heap of four children a node, which is half as deep as one
/// of two and whose children share two cache lines.
class EventHeap {
 public:
  bool empty() const { return heap_.empty(); }
  std::size_t size() const { return heap_.size(); }
  const Event& top() const { return heap_.front(); }

  void push(Time at, ComponentId component, std::uint32_t kind, std::uint64_t data) {
    heap_.push_back({at, count_++, data, component, kind});
    rise(heap_.size() - 1);
  }

  Event pop() {
    Event first = heap_.front();
    Event last = heap_.back();
    heap_.pop_back();
    if (!heap_.empty()) sink(last);
    return first;
  }

 private:
  static constexpr std::size_t kChildren = 4;

  static bool before(const Event& a, const Event& b) {
    if (a.at != b.at) return a.at < b.at;
    if (a.component != b.component) return a.component < b.component;
    return a.count < b.count;
  }

  void rise(std::size_t place) {
    Event event = heap_[place];
    while (place > 0) {
      std::size_t parent = (place - 1) / kChildren;
      if (!before(event, heap_[parent])) break;
      heap_[place] = heap_[parent];
      place = parent;
    }
    heap_[place] = event;
  }

  /// Puts an event in the place of the first.
  void sink(const Event& event) {
    const std::size_t size = heap_.size();
    std::size_t place = 0;
    for (;;) {
      std::size_t child = place * kChildren + 1;
      if (child >= size) break;
      std::size_t end = child + kChildren < size ? child + kChildren : size, least = child;
      for (std::size_t other = child + 1; other < end; ++other)
        if (before(heap_[other], heap_[least])) least = other;
      if (!before(heap_[least], event)) break;
      heap_[place] = heap_[least];
      place = least;
    }
    heap_[place] = event;
  }

  std::vector<Event> heap_;
  std::uint64_t count_ = 0;
};

class EventQueue {
 public:
  /// Components are asked in the order in which they joined where their events are at one time.
  ComponentId join(EventHandler& handler) {
    handlers_.push_back(&handler);
    return static_cast<ComponentId>(handlers_.size() - 1);
  }

  Time now() const { return now_; }
  bool empty() const { return events_.empty(); }
  std::size_t size() const { return events_.size(); }
  /// Time of the next event; kNever where there is none.
  Time next() const { return events_.empty() ? kNever : events_.top().at; }

  void at(Time when, ComponentId component, std::uint32_t kind, std::uint64_t data) {
    WEFT_CHECK(when >= now_, "nothing happens in the past");
    events_.push(when, component, kind, data);
  }

  /// Moves the clock to a time at or before the next event's: something outside the queue happens then.
  void advance_to(Time when) {
    WEFT_CHECK(when >= now_ && when <= next(), "the clock passes no event");
    now_ = when;
  }

  /// Somebody outside has been told something and may want to act: whoever runs the queue stops after the
  /// events of this time.
  void stop() { stopped_ = true; }
  bool stopped() const { return stopped_; }
  void go_on() { stopped_ = false; }

  /// Moves the clock to the next event and lets its component handle it.
  void step() {
    Event event = events_.pop();
    now_ = event.at;
    handlers_[event.component]->handle(event);
  }

 private:
  EventHeap events_;
  std::vector<EventHandler*> handlers_;
  Time now_{0};
  bool stopped_ = false;
};

}  // namespace weft::event
