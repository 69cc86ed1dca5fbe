// JSON as a value: written by reports, read back by `weft compare`. A thin front of a library whose header
// takes longer to read than most files that would include it; keys keep the order in which they were given.
#pragma once

#include <compare>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace weft {

struct JsonMember;

class Json {
 public:
  Json();
  Json(std::nullptr_t);
  Json(const char* text);
  Json(std::string text);
  Json(std::string_view text);
  template <class T>
  requires std::same_as<T, bool> Json(T value) : Json(Flag{value}) {}
  template <std::integral T>
  requires(!std::same_as<T, bool> && std::signed_integral<T>) Json(T value) : Json(Signed{value}) {}
  template <std::integral T>
  requires(!std::same_as<T, bool> && std::unsigned_integral<T>) Json(T value) : Json(Unsigned{value}) {}
  template <std::floating_point T>
  Json(T value) : Json(Real{static_cast<double>(value)}) {}
  /// {{"key", value}, ...} is an object, everything else in braces an array.
  Json(std::initializer_list<Json> parts);
  template <class T>
  Json(const std::vector<T>& elements) : Json(array()) {
    for (const T& element : elements) push_back(Json(element));
  }
  ~Json();
  Json(const Json&);
  Json(Json&&) noexcept;
  Json& operator=(const Json&);
  Json& operator=(Json&&) noexcept;

  static Json array();
  static Json object();
  /// An array whose elements are made one at a time when it is written, for those with millions of them. What
  /// `element` refers to must live until then.
  static Json array_of(std::size_t count, std::function<Json(std::size_t)> element);
  /// Nothing where the text is not JSON.
  static std::optional<Json> parse(std::string_view text);

  bool is_string() const { return kind_ == Kind::Text; }
  bool is_object() const { return kind_ == Kind::Object; }
  bool is_unsigned() const { return kind_ == Kind::Unsigned; }
  bool is_real() const { return kind_ == Kind::Real; }

  /// Of an array or object; a null value has none.
  std::size_t size() const;
  bool empty() const { return size() == 0; }
  bool contains(std::string_view key) const;
  /// The value of a key, made null where there is none: a null value becomes an object by it.
  Json& operator[](std::string_view key);
  const Json& operator[](std::string_view key) const;
  Json& operator[](const char* key) { return (*this)[std::string_view(key)]; }
  const Json& operator[](const char* key) const { return (*this)[std::string_view(key)]; }
  const Json& operator[](std::size_t place) const;
  /// Appends; a null value becomes an array by it.
  void push_back(Json element);
  /// Takes all keys of another object.
  void update(const Json& other);
  void erase(std::string_view key);
  const std::vector<JsonMember>& items() const { return members_; }

  /// The elements of an array.
  auto begin() const { return elements_.begin(); }
  auto end() const { return elements_.end(); }

  /// bool, int, unsigned, std::int64_t, std::uint64_t, double or std::string.
  template <class T>
  T get() const;
  /// The value of a key, or this where there is no such key.
  std::string value(std::string_view key, const char* otherwise) const;
  double value(std::string_view key, double otherwise) const;
  bool value(std::string_view key, bool otherwise) const;

  /// Text, on one line or indented.
  std::string dump(int indent = -1) const;
  /// The same text in pieces, for values whose text is too large to be kept.
  void dump_to(const std::function<void(std::string_view)>& take, int indent = -1) const;

  friend bool operator==(const Json& a, const Json& b) { return a.same(b); }
  /// Of numbers.
  friend std::partial_ordering operator<=>(const Json& a, const Json& b) { return a.number() <=> b.number(); }

 private:
  friend struct JsonLibrary;
  friend class JsonWriter;
  enum class Kind : std::uint8_t { Null, Flag, Signed, Unsigned, Real, Text, Array, Made, Object };
  struct Flag {
    bool value;
  };
  struct Signed {
    std::int64_t value;
  };
  struct Unsigned {
    std::uint64_t value;
  };
  struct Real {
    double value;
  };
  Json(Flag);
  Json(Signed);
  Json(Unsigned);
  Json(Real);
  bool same(const Json& other) const;
  const Json* find(std::string_view key) const;
  double number() const;
  std::int64_t whole() const;

  Kind kind_ = Kind::Null;
  union {
    bool flag_;
    std::int64_t signed_;
    std::uint64_t unsigned_;
    double real_;
  };
  std::string text_;
  std::vector<Json> elements_;
  std::vector<JsonMember> members_;
  struct Elements;
  std::shared_ptr<const Elements> made_;
};

struct JsonMember {
  std::string key;
  Json value;
};

template <>
bool Json::get<bool>() const;
template <>
int Json::get<int>() const;
template <>
unsigned Json::get<unsigned>() const;
template <>
std::int64_t Json::get<std::int64_t>() const;
template <>
std::uint64_t Json::get<std::uint64_t>() const;
template <>
double Json::get<double>() const;
template <>
std::string Json::get<std::string>() const;

}  // namespace weft
