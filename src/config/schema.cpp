#include "config/schema.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <filesystem>

namespace weft::config {

Field::Field() = default;
Field::Field(const Field&) = default;
Field::Field(Field&&) noexcept = default;
Field& Field::operator=(const Field&) = default;
Field& Field::operator=(Field&&) noexcept = default;
Field::~Field() = default;

Section::Section() = default;
Section::Section(const Section&) = default;
Section::Section(Section&&) noexcept = default;
Section& Section::operator=(const Section&) = default;
Section& Section::operator=(Section&&) noexcept = default;
Section::~Section() = default;

namespace detail {

std::optional<std::int64_t> whole_number(const Node& node, std::string& error) {
  if (auto* v = std::get_if<std::int64_t>(&node.value)) return *v;
  error = fmt::format("expected a whole number, got {}", node.text());
  return std::nullopt;
}

}  // namespace detail

std::string Codec<bool>::noun() { return "true or false"; }
std::string Codec<bool>::print(bool v) { return v ? "true" : "false"; }
std::optional<bool> Codec<bool>::parse(const Node& node, Reader&, std::string& error) {
  if (auto* v = std::get_if<bool>(&node.value)) return *v;
  error = fmt::format("expected true or false, got {}", node.text());
  return std::nullopt;
}

std::string Codec<double>::noun() { return "a number"; }
std::string Codec<double>::print(double v) { return fmt::format("{}", v); }
std::optional<double> Codec<double>::parse(const Node& node, Reader&, std::string& error) {
  if (auto* v = std::get_if<double>(&node.value); v && std::isfinite(*v)) return *v;
  if (auto* v = std::get_if<std::int64_t>(&node.value)) return static_cast<double>(*v);
  error = fmt::format("expected a number, got {}", node.text());
  return std::nullopt;
}

std::string Codec<std::string>::noun() { return "a text"; }
std::string Codec<std::string>::print(const std::string& v) { return quote(v); }
std::optional<std::string> Codec<std::string>::parse(const Node& node, Reader&, std::string& error) {
  if (auto* v = node.string()) return *v;
  error = fmt::format("expected a text in quotes, got {}", node.text());
  return std::nullopt;
}

std::string Codec<CableName>::noun() { return "a cable type"; }
std::string Codec<CableName>::print(const CableName& v) { return quote(v.name); }
std::optional<CableName> Codec<CableName>::parse(const Node& node, Reader& reader, std::string& error) {
  const std::vector<std::string>& known = reader.names["cable"];
  const std::string* name = node.string();
  if (name && std::find(known.begin(), known.end(), *name) != known.end()) return CableName{*name};
  error = fmt::format("expected one of the cable types of this machine ({}), got {}{}", join(known, ", "),
                      node.text(), name ? did_you_mean(*name, known) : "");
  return std::nullopt;
}

std::string Codec<FilePath>::noun() { return "a file"; }
std::string Codec<FilePath>::print(const FilePath& v) { return quote(v.path); }
std::optional<FilePath> Codec<FilePath>::parse(const Node& node, Reader&, std::string& error) {
  namespace fs = std::filesystem;
  const std::string* name = node.string();
  if (!name) {
    error = fmt::format("expected a file's path in quotes, got {}", node.text());
    return std::nullopt;
  }
  fs::path path = *name;
  bool in_file = node.origin.line != 0;
  if (path.is_relative() && in_file) path = fs::path(node.origin.source).parent_path() / path;
  std::error_code ignored;
  if (!fs::is_regular_file(path, ignored)) {
    error = fmt::format("there is no file {}", path.string());
    return std::nullopt;
  }
  return FilePath{path.string()};
}

const Field* Section::find(std::string_view name) const {
  auto at =
      std::find_if(fields.begin(), fields.end(), [&](const Field& field) { return field.name == name; });
  return at == fields.end() ? nullptr : &*at;
}

std::vector<std::string> Section::names() const {
  std::vector<std::string> out;
  for (const Field& field : fields) out.push_back(field.name);
  return out;
}

void Section::read(void* object, const Node* table, const std::string& path, Reader& reader,
                   const std::vector<std::string>& ignored) const {
  std::size_t problems_before = reader.problems.size();
  if (table && !table->table()) {
    reader.problems.add(table->origin, path,
                        fmt::format("expected a section, [{}], got {}", path, table->text()));
    return;
  }
  constexpr std::size_t kMostUnknown = 50;  // that are worth telling
  std::map<std::string, const Node*> given;
  std::size_t unknown = 0;
  if (table) {
    for (const auto& [key, node] : table->table()->entries) {
      if (std::find(ignored.begin(), ignored.end(), key) != ignored.end()) continue;
      if (const Field* field = find(key)) {
        given[key] = &node;
        field->read(object, node, path + "." + key, reader);
        continue;
      }
      if (++unknown > kMostUnknown) continue;
      auto known = names();
      known.insert(known.end(), ignored.begin(), ignored.end());
      std::string hint = did_you_mean(key, known);
      if (hint.empty())
        hint = known.empty() ? fmt::format("; [{}] takes no keys", path)
                             : fmt::format("; [{}] takes {}", path, join(known, ", "));
      reader.problems.add(node.origin, path + "." + key, "unknown key" + hint);
    }
  }
  if (unknown > kMostUnknown)
    reader.problems.add(table->origin, path,
                        fmt::format("and {} more unknown keys", with_commas(unknown - kMostUnknown)));
  for (const Field& field : fields) {
    auto at = given.find(field.name);
    if (at == given.end() && field.required)
      reader.problems.add(table ? table->origin : Origin{}, path + "." + field.name,
                          fmt::format("is missing; expected {}: {}", field.expected, field.help));
    reader.settings.push_back(
        {path + "." + field.name, field.print(object), at == given.end() ? Origin{} : at->second->origin});
  }
  if (reader.problems.size() != problems_before) return;
  for (const auto& check : checks)
    check(object, [&](std::string_view key, std::string message) {
      auto at = given.find(std::string(key));
      Origin origin = at != given.end() ? at->second->origin : table ? table->origin : Origin{};
      reader.problems.add(origin, fmt::format("{}.{}", path, key), std::move(message));
    });
}

namespace detail {

void add_field(Section& section, Declared declared, std::string expected, Print print,
               std::function<void(void*, const Node&, const std::string&, Reader&)> read) {
  Field field;
  field.name = declared.name;
  field.help = declared.help;
  field.expected = std::move(expected);
  field.print = [print, offset = declared.offset](const void* object) {
    return print(static_cast<const char*>(object) + offset);
  };
  field.default_text = field.print(declared.defaults);
  field.read = std::move(read);
  section.fields.push_back(std::move(field));
}

/// An enum of any width, as its position in the list of words.
static std::uint64_t position(const void* value, std::size_t size) {
  std::uint64_t out = 0;
  std::memcpy(&out, value, size);  // the low bytes, on a machine that has them first
  return out;
}

static_assert(std::endian::native == std::endian::little);

void add_choice(Section& section, Declared declared, std::size_t size,
                std::initializer_list<std::string_view> words) {
  add_choice(section, declared, size, std::vector<std::string>(words.begin(), words.end()));
}

void add_choice(Section& section, Declared declared, std::size_t size,
                const std::vector<std::string>& words) {
  Field field;
  field.name = declared.name;
  field.help = declared.help;
  field.expected = "one of " + join(words, ", ");
  field.words = words;
  field.print = [offset = declared.offset, size, words](const void* object) {
    return quote(words[position(static_cast<const char*>(object) + offset, size)]);
  };
  field.default_text = field.print(declared.defaults);
  field.read = [offset = declared.offset, size, words](void* object, const Node& node,
                                                       const std::string& path, Reader& reader) {
    for (std::uint64_t i = 0; node.string() && i < words.size(); ++i)
      if (words[i] == *node.string()) {
        std::memcpy(static_cast<char*>(object) + offset, &i, size);
        return;
      }
    reader.problems.add(node.origin, path,
                        fmt::format("expected one of {}, got {}{}", join(words, ", "), node.text(),
                                    node.string() ? did_you_mean(*node.string(), words) : ""));
  };
  section.fields.push_back(std::move(field));
}

void add_check(Section& section, std::function<void(const void* object, const Complain&)> check) {
  section.checks.push_back(std::move(check));
}

void require_last(Section& section) {
  section.fields.back().required = true;
  section.fields.back().default_text.clear();
}

#define WEFT_CONFIG_VALUE(V) template void add<V>(Section&, Declared);
#define WEFT_CONFIG_RANGE(V, B) template void add_bounded<V, B>(Section&, Declared, Range<B>);
WEFT_CONFIG_VALUES(WEFT_CONFIG_VALUE)
WEFT_CONFIG_RANGES(WEFT_CONFIG_RANGE)
#undef WEFT_CONFIG_VALUE
#undef WEFT_CONFIG_RANGE

}  // namespace detail

}  // namespace weft::config
