// Small helpers for the words people read.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace weft {

std::string_view trim(std::string_view text);
std::string join(std::span<const std::string> parts, std::string_view separator);
std::vector<std::string> split(std::string_view text, char separator);

/// Insertions, deletions, replacements and swaps of neighbours needed to turn one word into the other.
std::size_t edit_distance(std::string_view a, std::string_view b);

/// The nearest of `known` to `word` when it is near enough to be a typing error, else empty.
std::string nearest(std::string_view word, std::span<const std::string> known);

/// " (did you mean 'x'?)" or an empty string.
std::string did_you_mean(std::string_view word, std::span<const std::string> known);

/// 18432 -> "18,432".
std::string with_commas(std::uint64_t number);

/// "1 router", "2 routers".
std::string count_of(std::uint64_t number, std::string_view singular, std::string_view plural = "");

/// Words wrapped at `width`, each line after the first indented.
std::string wrap(std::string_view text, std::size_t width, std::size_t indent);

}  // namespace weft
