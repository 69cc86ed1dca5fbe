#include "mpi/request_table.hpp"

#include <algorithm>
#include <utility>

namespace weft::mpi {

namespace {

// A request's id: its place, from 1, and how often the place was used before.
constexpr std::uint32_t kPlaceBits = 24, kPlaces = 1u << kPlaceBits;

}  // namespace

Request& RequestTable::begin(Request::Kind kind, std::uint32_t peer) {
  if (free_.empty()) {
    requests_.push_back(std::make_unique<Request>());
    requests_.back()->id = static_cast<std::uint32_t>(requests_.size());
    free_.push_back(static_cast<std::uint32_t>(requests_.size() - 1));
  }
  Request& r = *requests_[free_.back()];
  free_.pop_back();
  Request fresh;  // but for the memory it holds
  fresh.bounce.swap(r.bounce);
  fresh.id = r.id;
  fresh.kind = kind;
  fresh.peer = peer;
  fresh.order = ++ever_;
  r = std::move(fresh);
  ++open_;
  if (kind >= Request::Kind::Put) ++one_sided_;
  return r;
}

Request* RequestTable::find(std::uint64_t id) {
  const auto word = static_cast<std::uint32_t>(id);
  const std::uint32_t place = word % kPlaces;
  if (place == 0 || place > requests_.size()) return nullptr;
  Request& r = *requests_[place - 1];
  return r.order && r.id == word ? &r : nullptr;
}

void RequestTable::end(Request& r) {
  if (r.kind >= Request::Kind::Put) --one_sided_;
  --open_;
  r.order = 0;
  free_.push_back(r.id % kPlaces - 1);
  r.id += kPlaces;
}

const std::vector<Request*>& RequestTable::waiting_sends_to(std::uint32_t peer) {
  found_.clear();
  for (auto& request : requests_)
    if (request->order && request->peer == peer && request->kind == Request::Kind::Send && !request->pieces)
      found_.push_back(request.get());
  std::sort(found_.begin(), found_.end(),
            [](const Request* a, const Request* b) { return a->order < b->order; });
  return found_;
}

}  // namespace weft::mpi
