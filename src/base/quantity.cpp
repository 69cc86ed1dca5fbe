#include "base/quantity.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.hpp"

namespace weft {

template <>
const QuantityKind& quantity_kind<Time>() {
  static const QuantityKind kind{
      "a time",
      "98.6ns",
      {{"ps", 1}, {"ns", 1000}, {"us", 1000'000}, {"ms", 1000'000'000}, {"s", 1000'000'000'000}}};
  return kind;
}

template <>
const QuantityKind& quantity_kind<Length>() {
  static const QuantityKind kind{"a length", "20m", {{"mm", 1}, {"cm", 10}, {"m", 1000}, {"km", 1000'000}}};
  return kind;
}

template <>
const QuantityKind& quantity_kind<DataRate>() {
  static const QuantityKind kind{
      "a data rate",
      "14Gbps",
      {{"bps", 1}, {"kbps", 1000}, {"Mbps", 1000'000}, {"Gbps", 1000'000'000}, {"Tbps", 1000'000'000'000}}};
  return kind;
}

template <>
const QuantityKind& quantity_kind<DataSize>() {
  static const QuantityKind kind{"a size",
                                 "1MiB",
                                 {{"B", 1},
                                  {"kB", 1000},
                                  {"KiB", 1024},
                                  {"MB", 1000'000},
                                  {"MiB", 1 << 20},
                                  {"GB", 1000'000'000},
                                  {"GiB", 1 << 30},
                                  {"TB", 1000'000'000'000},
                                  {"TiB", 1LL << 40}}};
  return kind;
}

template <>
const QuantityKind& quantity_kind<Frequency>() {
  static const QuantityKind kind{
      "a frequency", "156MHz", {{"Hz", 1}, {"kHz", 1000}, {"MHz", 1000'000}, {"GHz", 1000'000'000}}};
  return kind;
}

namespace {

std::string unit_names(const QuantityKind& kind) {
  std::vector<std::string> names;
  for (const Unit& unit : kind.units) names.emplace_back(unit.name);
  return join(names, ", ");
}

// Digits with an optional fraction, as mantissa / 10^decimals, exactly.
struct Decimal {
  __int128 mantissa = 0;
  int decimals = 0;
};

std::optional<Decimal> parse_decimal(std::string_view text) {
  Decimal number;
  bool point = false, digits = false;
  for (char c : text) {
    if (c == '.' && !point) {
      point = true;
    } else if (c >= '0' && c <= '9') {
      digits = true;
      number.mantissa = number.mantissa * 10 + (c - '0');
      number.decimals += point;
      if (number.mantissa > __int128{1} << 90 || number.decimals > 18) return std::nullopt;
    } else if (c != '_') {
      return std::nullopt;
    }
  }
  return digits ? std::optional(number) : std::nullopt;
}

}  // namespace

std::optional<std::int64_t> parse_quantity(const QuantityKind& kind, std::string_view text,
                                           std::string& error) {
  std::string_view rest = trim(text);
  bool negative = rest.starts_with('-');
  if (negative) rest.remove_prefix(1);
  std::size_t split = rest.find_first_not_of("0123456789._");
  std::string_view digits = rest.substr(0, split);
  std::string_view name = split == std::string_view::npos ? "" : trim(rest.substr(split));

  auto number = parse_decimal(digits);
  if (!number) {
    error = fmt::format("expected {} such as \"{}\"", kind.noun, kind.example);
    return std::nullopt;
  }
  if (name.empty() && number->mantissa == 0) return 0;
  if (name.empty()) {
    error = fmt::format("expected {} with its unit ({}), such as \"{}\"", kind.noun, unit_names(kind),
                        kind.example);
    return std::nullopt;
  }
  auto unit =
      std::find_if(kind.units.begin(), kind.units.end(), [&](const Unit& u) { return u.name == name; });
  if (unit == kind.units.end()) {
    std::vector<std::string> names;
    for (const Unit& u : kind.units) names.emplace_back(u.name);
    error = fmt::format("'{}' is not a unit of {}; expected one of {}{}", name, kind.noun, unit_names(kind),
                        did_you_mean(name, names));
    return std::nullopt;
  }
  __int128 scaled = number->mantissa * unit->factor;
  for (int i = 0; i < number->decimals; ++i) {
    if (scaled % 10 != 0) {
      error = fmt::format("is finer than the smallest step, 1{}", kind.units.front().name);
      return std::nullopt;
    }
    scaled /= 10;
  }
  if (scaled > INT64_MAX) {
    error = fmt::format("is larger than {} can be here", kind.noun);
    return std::nullopt;
  }
  auto value = static_cast<std::int64_t>(scaled);
  return negative ? -value : value;
}

std::string format_quantity(const QuantityKind& kind, std::int64_t value) {
  const Unit* best = &kind.units.front();
  if (value == 0) return fmt::format("0{}", best->name);
  // The largest unit that still leaves at least 1, unless a smaller one prints exactly and shorter.
  std::string best_text;
  for (const Unit& unit : kind.units) {
    if (std::abs(value) < unit.factor && &unit != &kind.units.front()) break;
    __int128 whole = value / unit.factor, rest = std::abs(value % unit.factor);
    std::string text =
        fmt::format("{}{}", value < 0 && whole == 0 ? "-" : "", static_cast<std::int64_t>(whole));
    if (rest != 0) {
      std::string fraction;
      while (rest != 0 && fraction.size() < 18) {
        rest *= 10;
        fraction += static_cast<char>('0' + static_cast<int>(rest / unit.factor));
        rest %= unit.factor;
      }
      if (rest != 0) continue;  // not exact in this unit
      text += "." + fraction;
    }
    text += unit.name;
    if (best_text.empty() || text.size() <= best_text.size()) best_text = text;
  }
  return best_text;
}

}  // namespace weft
