#include "base/json.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <nlohmann/json.hpp>

#include "base/check.hpp"

namespace weft {

Json::Json() : unsigned_(0) {}
Json::Json(std::nullptr_t) : Json() {}
Json::Json(const char* text) : Json(std::string(text)) {}
Json::Json(std::string_view text) : Json(std::string(text)) {}
Json::Json(std::string text) : kind_(Kind::Text), unsigned_(0), text_(std::move(text)) {}
Json::Json(Flag v) : kind_(Kind::Flag), flag_(v.value) {}
Json::Json(Signed v) : kind_(Kind::Signed), signed_(v.value) {}
Json::Json(Unsigned v) : kind_(Kind::Unsigned), unsigned_(v.value) {}
Json::Json(Real v) : kind_(Kind::Real), real_(v.value) {}
Json::~Json() = default;
Json::Json(const Json&) = default;
Json::Json(Json&&) noexcept = default;
Json& Json::operator=(const Json&) = default;
Json& Json::operator=(Json&&) noexcept = default;

Json::Json(std::initializer_list<Json> parts) : Json() {
  bool pairs = std::all_of(parts.begin(), parts.end(), [](const Json& part) {
    return part.kind_ == Kind::Array && part.elements_.size() == 2 && part.elements_[0].is_string();
  });
  kind_ = pairs ? Kind::Object : Kind::Array;
  if (!pairs) elements_ = parts;
  for (const Json& part : parts)
    if (pairs) (*this)[part.elements_[0].text_] = part.elements_[1];
}

Json Json::array() {
  Json out;
  out.kind_ = Kind::Array;
  return out;
}

Json Json::object() {
  Json out;
  out.kind_ = Kind::Object;
  return out;
}

struct Json::Elements {
  std::size_t count;
  std::function<Json(std::size_t)> at;
};

Json Json::array_of(std::size_t count, std::function<Json(std::size_t)> element) {
  Json out;
  out.kind_ = Kind::Made;
  out.made_ = std::make_shared<const Elements>(Elements{count, std::move(element)});
  return out;
}

std::size_t Json::size() const {
  if (kind_ == Kind::Made) return made_->count;
  if (kind_ == Kind::Array) return elements_.size();
  if (kind_ == Kind::Object) return members_.size();
  return kind_ == Kind::Null ? 0 : 1;
}

const Json* Json::find(std::string_view key) const {
  for (const JsonMember& member : members_)
    if (member.key == key) return &member.value;
  return nullptr;
}

bool Json::contains(std::string_view key) const { return find(key) != nullptr; }

Json& Json::operator[](std::string_view key) {
  WEFT_CHECK(kind_ == Kind::Null || kind_ == Kind::Object, "a key of what is no object");
  kind_ = Kind::Object;
  if (const Json* found = find(key)) return const_cast<Json&>(*found);
  if (members_.empty()) members_.reserve(4);
  return members_.emplace_back(JsonMember{std::string(key), {}}).value;
}

const Json& Json::operator[](std::string_view key) const {
  const Json* found = find(key);
  WEFT_CHECK(found, "no key " + std::string(key));
  return *found;
}

const Json& Json::operator[](std::size_t place) const {
  WEFT_CHECK(place < elements_.size(), "beyond the end of an array");
  return elements_[place];
}

void Json::push_back(Json element) {
  WEFT_CHECK(kind_ == Kind::Null || kind_ == Kind::Array, "an element of what is no array");
  kind_ = Kind::Array;
  elements_.push_back(std::move(element));
}

void Json::update(const Json& other) {
  for (const JsonMember& member : other.members_) (*this)[member.key] = member.value;
}

void Json::erase(std::string_view key) {
  std::erase_if(members_, [&](const JsonMember& member) { return member.key == key; });
}

double Json::number() const {
  switch (kind_) {
    case Kind::Signed:
      return static_cast<double>(signed_);
    case Kind::Unsigned:
      return static_cast<double>(unsigned_);
    case Kind::Real:
      return real_;
    default:
      fail_check("is a number", dump());
  }
}

std::int64_t Json::whole() const {
  return kind_ == Kind::Signed     ? signed_
         : kind_ == Kind::Unsigned ? static_cast<std::int64_t>(unsigned_)
                                   : static_cast<std::int64_t>(number());
}

template <>
bool Json::get<bool>() const {
  WEFT_CHECK(kind_ == Kind::Flag, dump());
  return flag_;
}
template <>
int Json::get<int>() const {
  return static_cast<int>(whole());
}
template <>
unsigned Json::get<unsigned>() const {
  return static_cast<unsigned>(whole());
}
template <>
std::int64_t Json::get<std::int64_t>() const {
  return whole();
}
template <>
std::uint64_t Json::get<std::uint64_t>() const {
  return static_cast<std::uint64_t>(whole());
}
template <>
double Json::get<double>() const {
  return number();
}
template <>
std::string Json::get<std::string>() const {
  WEFT_CHECK(is_string(), dump());
  return text_;
}

std::string Json::value(std::string_view key, const char* otherwise) const {
  const Json* found = find(key);
  return found ? found->get<std::string>() : otherwise;
}
double Json::value(std::string_view key, double otherwise) const {
  const Json* found = find(key);
  return found ? found->get<double>() : otherwise;
}
bool Json::value(std::string_view key, bool otherwise) const {
  const Json* found = find(key);
  return found ? found->get<bool>() : otherwise;
}

/// To and from the library's own value.
struct JsonLibrary {
  using Value = nlohmann::ordered_json;

  static Value theirs(const Json& ours) {
    switch (ours.kind_) {
      case Json::Kind::Null:
        return nullptr;
      case Json::Kind::Flag:
        return ours.flag_;
      case Json::Kind::Signed:
        return ours.signed_;
      case Json::Kind::Unsigned:
        return ours.unsigned_;
      case Json::Kind::Real:
        return ours.real_;
      case Json::Kind::Text:
        return ours.text_;
      case Json::Kind::Made: {
        Value out = Value::array();
        for (std::size_t i = 0; i < ours.made_->count; ++i) out.push_back(theirs(ours.made_->at(i)));
        return out;
      }
      case Json::Kind::Array: {
        Value out = Value::array();
        for (const Json& element : ours.elements_) out.push_back(theirs(element));
        return out;
      }
      default:
        Value out = Value::object();
        for (const JsonMember& member : ours.members_) out[member.key] = theirs(member.value);
        return out;
    }
  }

  static Json ours(const Value& theirs) {
    switch (theirs.type()) {
      case Value::value_t::boolean:
        return theirs.get<bool>();
      case Value::value_t::number_integer:
        return theirs.get<std::int64_t>();
      case Value::value_t::number_unsigned:
        return theirs.get<std::uint64_t>();
      case Value::value_t::number_float:
        return theirs.get<double>();
      case Value::value_t::string:
        return theirs.get<std::string>();
      case Value::value_t::array: {
        Json out = Json::array();
        for (const Value& element : theirs) out.push_back(ours(element));
        return out;
      }
      case Value::value_t::object: {
        Json out = Json::object();
        for (const auto& [key, value] : theirs.items()) out[key] = ours(value);
        return out;
      }
      default:
        return nullptr;
    }
  }
};

bool Json::same(const Json& other) const { return JsonLibrary::theirs(*this) == JsonLibrary::theirs(other); }

/// Writes a value as the library would, without a copy of it in between: results have a million parts.
class JsonWriter {
 public:
  /// `take` gets the text in pieces; without it all of it is kept.
  explicit JsonWriter(int indent, std::function<void(std::string_view)> take_piece = nullptr)
      : indent_(indent), take_piece_(std::move(take_piece)) {}

  void write(const Json& value) {
    switch (value.kind_) {
      case Json::Kind::Null:
        out_ += "null";
        break;
      case Json::Kind::Flag:
        out_ += value.flag_ ? "true" : "false";
        break;
      case Json::Kind::Signed:
        number(value.signed_);
        break;
      case Json::Kind::Unsigned:
        number(value.unsigned_);
        break;
      case Json::Kind::Real:
        real(value.real_);
        break;
      case Json::Kind::Text:
        text(value.text_);
        break;
      case Json::Kind::Array:
        list('[', value.elements_.size(), ']', [&](std::size_t i) { write(value.elements_[i]); });
        break;
      case Json::Kind::Made:
        list('[', value.made_->count, ']', [&](std::size_t i) { write(value.made_->at(i)); });
        break;
      case Json::Kind::Object:
        list('{', value.members_.size(), '}', [&](std::size_t i) {
          text(value.members_[i].key);
          out_ += indent_ < 0 ? ":" : ": ";
          write(value.members_[i].value);
        });
        break;
    }
  }

  std::string take() { return std::move(out_); }
  void finish() { take_piece_(out_); }

 private:
  template <class Write>
  void list(char open, std::size_t parts, char close, Write write_part) {
    out_ += open;
    depth_ += indent_;
    for (std::size_t i = 0; i < parts; ++i) {
      if (i > 0) out_ += ',';
      new_line();
      write_part(i);
      if (take_piece_ && out_.size() >= kPiece) {
        take_piece_(out_);
        out_.clear();
      }
    }
    depth_ -= indent_;
    if (parts > 0) new_line();
    out_ += close;
  }

  void new_line() {
    if (indent_ < 0) return;
    out_ += '\n';
    out_.append(static_cast<std::size_t>(depth_), ' ');
  }

  template <class Whole>
  void number(Whole value) {
    char digits[24];
    out_.append(digits, std::to_chars(digits, digits + sizeof digits, value).ptr);
  }

  void real(double value) {
    if (!std::isfinite(value)) {
      out_ += "null";
      return;
    }
    char digits[64];
    out_.append(digits, nlohmann::detail::to_chars(digits, digits + sizeof digits, value));
  }

  void text(const std::string& text) {
    const bool plain = std::all_of(text.begin(), text.end(), [](char c) {
      return static_cast<unsigned char>(c) >= 0x20 && static_cast<unsigned char>(c) < 0x80 && c != '"' &&
             c != '\\';
    });
    if (!plain) {
      out_ += JsonLibrary::Value(text).dump();
      return;
    }
    out_ += '"';
    out_ += text;
    out_ += '"';
  }

  static constexpr std::size_t kPiece = 1 << 16;

  int indent_, depth_ = 0;  // indent: -1: all on one line
  std::function<void(std::string_view)> take_piece_;
  std::string out_;
};

std::string Json::dump(int indent) const {
  JsonWriter writer(indent);
  writer.write(*this);
  return writer.take();
}

void Json::dump_to(const std::function<void(std::string_view)>& take, int indent) const {
  JsonWriter writer(indent, take);
  writer.write(*this);
  writer.finish();
}

std::optional<Json> Json::parse(std::string_view text) {
  JsonLibrary::Value value = JsonLibrary::Value::parse(text, nullptr, false);
  if (value.is_discarded()) return std::nullopt;
  return JsonLibrary::ours(value);
}

}  // namespace weft
