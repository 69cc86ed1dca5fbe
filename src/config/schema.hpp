// One declaration per parameter: name, default, range, help and check. Reading a description, the messages
// about errors in it, `weft help` and the reference page all come from these declarations.
#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <functional>
#include <initializer_list>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "base/quantity.hpp"
#include "base/text.hpp"
#include "config/node.hpp"

namespace weft::config {

/// The name of something declared elsewhere in the description, checked while reading: `cable` types.
struct CableName {
  std::string name = "default";
  friend bool operator==(const CableName&, const CableName&) = default;
};

/// A file named in a description; relative paths start at the description's folder.
struct FilePath {
  std::string path;
};

/// A value that is given, or left to be worked out from the rest of the description: "auto".
template <class T>
struct Auto {
  std::optional<T> given;
  Auto() = default;
  Auto(T value) : given(value) {}
  friend bool operator==(const Auto&, const Auto&) = default;
};

/// One parameter as read: for `weft show` and for every result file.
struct Setting {
  std::string key;    // dotted path
  std::string value;  // as it would be written
  Origin origin;      // empty source: the default
};

/// What reading a section needs to know beyond the section itself.
struct Reader {
  Diagnostics& problems;
  std::vector<Setting>& settings;
  std::map<std::string, std::vector<std::string>> names = {};  // declared names, by kind ("cable")
};

/// How a C++ type is written in a description. Those of single types are in schema.cpp: what is written out
/// here, every file that includes this compiles.
template <class T>
struct Codec;

namespace detail {
std::optional<std::int64_t> whole_number(const Node& node, std::string& error);
}  // namespace detail

template <class T>
struct Range {
  T low, high;
};

template <>
struct Codec<bool> {
  static std::string noun();
  static std::string print(bool v);
  static std::optional<bool> parse(const Node& node, Reader& reader, std::string& error);
};

template <class T>
requires(std::is_integral_v<T> && !std::is_same_v<T, bool>) struct Codec<T> {
  static std::string noun() { return "a whole number"; }
  static std::string print(T v) { return std::to_string(v); }
  static std::optional<T> parse(const Node& node, Reader&, std::string& error) {
    auto v = detail::whole_number(node, error);
    if (!v) return std::nullopt;
    if (!std::in_range<T>(*v)) {
      error = fmt::format("{} is outside {}..{}", *v, std::numeric_limits<T>::min(),
                          std::numeric_limits<T>::max());
      return std::nullopt;
    }
    return static_cast<T>(*v);
  }
};

template <>
struct Codec<double> {
  static std::string noun();
  static std::string print(double v);
  static std::optional<double> parse(const Node& node, Reader& reader, std::string& error);
};

template <>
struct Codec<std::string> {
  static std::string noun();
  static std::string print(const std::string& v);
  static std::optional<std::string> parse(const Node& node, Reader& reader, std::string& error);
};

template <>
struct Codec<CableName> {
  static std::string noun();
  static std::string print(const CableName& v);
  static std::optional<CableName> parse(const Node& node, Reader& reader, std::string& error);
};

template <>
struct Codec<FilePath> {
  static std::string noun();
  static std::string print(const FilePath& v);
  static std::optional<FilePath> parse(const Node& node, Reader& reader, std::string& error);
};

template <class Tag>
struct Codec<Quantity<Tag>> {
  using Q = Quantity<Tag>;
  static std::string noun() { return std::string(quantity_kind<Q>().noun); }
  static std::string print(Q v) { return quote(to_text(v)); }
  static std::optional<Q> parse(const Node& node, Reader&, std::string& error) {
    std::string text = node.string() ? *node.string() : node.text();
    auto v = parse_quantity(quantity_kind<Q>(), text, error);
    if (!v) {
      error += fmt::format(", got {}", node.text());
      return std::nullopt;
    }
    return Q{*v};
  }
};

template <class T>
struct Codec<std::vector<T>> {
  static std::string noun() { return fmt::format("a list, each {}", Codec<T>::noun()); }
  static std::string print(const std::vector<T>& v) {
    std::vector<std::string> parts;
    for (const T& element : v) parts.push_back(Codec<T>::print(element));
    return "[" + join(parts, ", ") + "]";
  }
  static std::optional<std::vector<T>> parse(const Node& node, Reader& reader, std::string& error) {
    auto* list = std::get_if<std::vector<Node>>(&node.value);
    if (!list) {
      error = fmt::format("expected {} in brackets, got {}", noun(), node.text());
      return std::nullopt;
    }
    std::vector<T> out;
    for (const Node& element : *list) {
      auto v = Codec<T>::parse(element, reader, error);
      if (!v) return std::nullopt;
      out.push_back(*v);
    }
    return out;
  }
};

template <class T>
struct Codec<Auto<T>> {
  static std::string noun() { return "\"auto\" or " + Codec<T>::noun(); }
  static std::string print(const Auto<T>& v) { return v.given ? Codec<T>::print(*v.given) : quote("auto"); }
  static std::optional<Auto<T>> parse(const Node& node, Reader& reader, std::string& error) {
    if (node.string() && *node.string() == "auto") return Auto<T>();
    auto v = Codec<T>::parse(node, reader, error);
    if (!v) {
      error = fmt::format("expected {}, got {}", noun(), node.text());
      return std::nullopt;
    }
    return Auto<T>(*v);
  }
};

/// A parameter of some struct, with the struct's type erased. What copies and destroys it is in schema.cpp,
/// as it would be compiled in every file that declares a parameter otherwise.
struct Field {
  Field();
  Field(const Field&);
  Field(Field&&) noexcept;
  Field& operator=(const Field&);
  Field& operator=(Field&&) noexcept;
  ~Field();

  std::string name, help;
  std::string expected;      // "a whole number, 1 to 64"
  std::string default_text;  // as it would be written; empty where the parameter is required
  bool required = false;
  std::vector<std::string> words;  // all there are, where it is one of a few
  std::function<void(void* object, const Node& node, const std::string& path, Reader& reader)> read;
  std::function<std::string(const void* object)> print;
};

/// Problems a check over several parameters finds: each is reported at the key it names.
using Complain = std::function<void(std::string_view key, std::string message)>;

/// A section of a description: its parameters and the checks over them.
struct Section {
  Section();
  Section(const Section&);
  Section(Section&&) noexcept;
  Section& operator=(const Section&);
  Section& operator=(Section&&) noexcept;
  ~Section();

  std::vector<Field> fields;
  std::vector<std::function<void(const void* object, const Complain&)>> checks;
  std::function<std::shared_ptr<void>()> make;  // a struct holding the defaults

  const Field* find(std::string_view name) const;
  std::vector<std::string> names() const;
  /// Fills `object` from `table` (null: all defaults), noting every error. `ignored` keys are read
  /// elsewhere.
  void read(void* object, const Node* table, const std::string& path, Reader& reader,
            const std::vector<std::string>& ignored = {}) const;
};

/// How a type's values are checked against bounds; for a list, each of its elements.
template <class V, class B>
bool within(const V& v, const Range<B>& range, std::string& error) {
  if constexpr (requires { v.begin(); }) {
    for (const auto& element : v)
      if (!within(element, range, error)) return false;
    return true;
  } else if constexpr (requires { v.given; }) {
    return !v.given || within(*v.given, range, error);
  } else {
    V low = static_cast<V>(range.low), high = static_cast<V>(range.high);
    if (v >= low && v <= high) return true;
    error = Codec<V>::print(v) + " is outside " + Codec<V>::print(low) + " to " + Codec<V>::print(high);
    return false;
  }
}

namespace detail {

/// A declaration without what depends on the type of the value. `offset` is where the value lies in the
/// struct, whose defaults are given: what is made of a declaration depends on the value's type alone, not on
/// the struct's.
struct Declared {
  std::string_view name, help;
  const void* defaults;
  std::size_t offset;
};

using Print = std::string (*)(const void* value);

void add_field(Section& section, Declared declared, std::string expected, Print print,
               std::function<void(void*, const Node&, const std::string&, Reader&)> read);
void add_choice(Section& section, Declared declared, std::size_t size, const std::vector<std::string>& words);
void add_choice(Section& section, Declared declared, std::size_t size,
                std::initializer_list<std::string_view> words);
void add_check(Section& section, std::function<void(const void* object, const Complain&)> check);
void require_last(Section& section);

template <class V>
std::string print_value(const void* value) {
  return Codec<V>::print(*static_cast<const V*>(value));
}

template <class V, class B>
std::string range_noun(const Range<B>& range) {
  auto bound = [](B value) {
    if constexpr (requires(V v) { v.begin(); })
      return fmt::format("{}", value);
    else
      return Codec<V>::print(static_cast<V>(value));
  };
  return ", " + bound(range.low) + " to " + bound(range.high);
}

template <class V>
void add(Section& section, Declared declared) {
  std::size_t offset = declared.offset;
  add_field(section, declared, Codec<V>::noun(), print_value<V>,
            [offset](void* object, const Node& node, const std::string& path, Reader& reader) {
              std::string error;
              if (auto v = Codec<V>::parse(node, reader, error))
                *reinterpret_cast<V*>(static_cast<char*>(object) + offset) = std::move(*v);
              else
                reader.problems.add(node.origin, path, error);
            });
}

template <class V, class B>
void add_bounded(Section& section, Declared declared, Range<B> range) {
  std::size_t offset = declared.offset;
  add_field(section, declared, Codec<V>::noun() + range_noun<V>(range), print_value<V>,
            [offset, range](void* object, const Node& node, const std::string& path, Reader& reader) {
              std::string error;
              auto v = Codec<V>::parse(node, reader, error);
              if (v && within(*v, range, error))
                *reinterpret_cast<V*>(static_cast<char*>(object) + offset) = std::move(*v);
              else
                reader.problems.add(node.origin, path, error);
            });
}

// Compiled once, in schema.cpp, and not in every file that declares a parameter.
// clang-format off
#define WEFT_CONFIG_VALUES(X) \
  X(bool) X(unsigned) X(int) X(std::int64_t) X(std::uint64_t) X(double) X(std::string) X(CableName) X(FilePath) \
  X(Time) X(Length) X(DataRate) X(DataSize) X(Frequency) X(std::vector<std::string>) X(std::vector<unsigned>) \
  X(std::vector<CableName>) X(std::vector<DataRate>)
#define WEFT_CONFIG_RANGES(X) \
  X(unsigned, unsigned) X(std::uint64_t, std::uint64_t) X(double, double) X(std::int64_t, std::int64_t) \
  X(Time, Time) X(Length, Length) X(DataRate, DataRate) X(DataSize, DataSize) X(Frequency, Frequency) \
  X(std::vector<unsigned>, unsigned)
// clang-format on
#define WEFT_CONFIG_VALUE(V) extern template void add<V>(Section&, Declared);
#define WEFT_CONFIG_RANGE(V, B) extern template void add_bounded<V, B>(Section&, Declared, Range<B>);
WEFT_CONFIG_VALUES(WEFT_CONFIG_VALUE)
WEFT_CONFIG_RANGES(WEFT_CONFIG_RANGE)
#undef WEFT_CONFIG_VALUE
#undef WEFT_CONFIG_RANGE

}  // namespace detail

/// Builds a Section for the struct T.
template <class T>
class Schema {
 public:
  Schema() {
    section_.make = [] { return std::make_shared<T>(); };
  }

  template <class V>
  Schema&& field(V T::*member, std::string_view name, std::string_view help) && {
    detail::add<V>(section_, declared(member, name, help));
    return std::move(*this);
  }

  /// A value between two bounds, both included; for a list, each of its elements.
  template <class V, class B>
  Schema&& field(V T::*member, std::string_view name, std::string_view help, Range<B> range) && {
    detail::add_bounded<V, B>(section_, declared(member, name, help), range);
    return std::move(*this);
  }

  /// One of a few words; `V` is an enum whose values are positions in `words`.
  template <class V>
  requires std::is_enum_v<V> Schema && choice(V T::*member, std::string_view name, std::string_view help,
                                              std::initializer_list<std::string_view> words) && {
    detail::add_choice(section_, declared(member, name, help), sizeof(V), words);
    return std::move(*this);
  }

  template <class V>
  requires std::is_enum_v<V> Schema && choice(V T::*member, std::string_view name, std::string_view help,
                                              const std::vector<std::string>& words) && {
    detail::add_choice(section_, declared(member, name, help), sizeof(V), words);
    return std::move(*this);
  }

  /// Makes the field declared last one that every description must give.
  Schema&& required() && {
    detail::require_last(section_);
    return std::move(*this);
  }

  /// A check over the whole struct, run when every parameter of it was read without an error.
  template <class Rule>
  Schema&& check(Rule rule) && {
    detail::add_check(section_, [rule](const void* object, const Complain& complain) {
      rule(*static_cast<const T*>(object), complain);
    });
    return std::move(*this);
  }

  Section section() && { return std::move(section_); }

 private:
  static const T* defaults() {
    static const T object{};
    return &object;
  }

  template <class V>
  static detail::Declared declared(V T::*member, std::string_view name, std::string_view help) {
    const T* object = defaults();
    auto offset = reinterpret_cast<const char*>(&(object->*member)) - reinterpret_cast<const char*>(object);
    return {name, help, object, static_cast<std::size_t>(offset)};
  }

  Section section_;
};

}  // namespace weft::config
