// Containers of the protocol that take no memory once they have grown to what is used at a time.
#pragma once

#include <cstddef>
#include <memory>
#include <utility>
#include <vector>

namespace weft::mpi {

/// First in, first out. What is taken out stays where it is, with the memory it holds, until its place is
/// needed again.
template <class T>
class Fifo {
 public:
  bool empty() const { return count_ == 0; }
  std::size_t size() const { return count_; }
  T& front() { return slots_[first_]; }
  const T& front() const { return slots_[first_]; }
  T& back() { return slots_[place(count_ - 1)]; }
  T& operator[](std::size_t i) { return slots_[place(i)]; }

  /// A place at the end, as whoever had it left it.
  T& push() {
    if (count_ == slots_.size()) grow();
    return slots_[place(count_++)];
  }
  void push_back(T value) { push() = std::move(value); }
  void pop_front() {
    first_ = place(1);
    --count_;
  }
  void clear() { first_ = count_ = 0; }

 private:
  std::size_t place(std::size_t i) const { return (first_ + i) & (slots_.size() - 1); }
  void grow() {
    std::vector<T> more(slots_.empty() ? 8 : slots_.size() * 2);
    for (std::size_t i = 0; i < count_; ++i) more[i] = std::move(slots_[place(i)]);
    slots_ = std::move(more);
    first_ = 0;
  }

  std::vector<T> slots_;  // a power of two
  std::size_t first_ = 0, count_ = 0;
};

/// Objects that are used again. They are what their last user made of them.
template <class T>
class Pool {
 public:
  T* take() {
    if (free_.empty()) {
      all_.push_back(std::make_unique<T>());
      free_.reserve(all_.size());
      return all_.back().get();
    }
    T* out = free_.back();
    free_.pop_back();
    return out;
  }
  void give(T* object) { free_.push_back(object); }

 private:
  std::vector<std::unique_ptr<T>> all_;
  std::vector<T*> free_;
};

/// A list of objects that have `next` and `before`; each is in one at most.
template <class T>
class Queue {
 public:
  bool empty() const { return !first_; }
  std::size_t size() const { return size_; }
  T* first() const { return first_; }

  void push_back(T* object) {
    object->before = last_;
    object->next = nullptr;
    (last_ ? last_->next : first_) = object;
    last_ = object;
    ++size_;
  }
  void erase(T* object) {
    (object->before ? object->before->next : first_) = object->next;
    (object->next ? object->next->before : last_) = object->before;
    object->next = object->before = nullptr;
    --size_;
  }

 private:
  T *first_ = nullptr, *last_ = nullptr;
  std::size_t size_ = 0;
};

}  // namespace weft::mpi
