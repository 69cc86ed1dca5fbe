#include "base/statement_reader.hpp"

#include <fmt/format.h>

#include <filesystem>

#include "base/input_file.hpp"
#include "base/text.hpp"

namespace weft {

Script script_of(const std::string& given, std::string_view option, std::string_view example) {
  std::error_code ignored;
  // A script has spaces in it; a single word can only be a file.
  if (trim(given).find_first_of(" \n;") != std::string_view::npos &&
      !std::filesystem::is_regular_file(given, ignored))
    return {given, std::string(option)};
  if (!std::filesystem::exists(given, ignored))
    throw UserError(
        fmt::format("{}: expected a script such as \"{}\" or a file with one; there is no file '{}'", option,
                    example, given));
  return {read_file(given, kMostDescriptionBytes), given};
}

void StatementReader::begin(const Statement& words) {
  words_ = &words;
  next_ = 0;
  failed_ = false;
}

bool StatementReader::complete() {
  if (!failed_ && next_ < words_->size()) {
    const Word& extra = (*words_)[next_];
    fail(extra, fmt::format("'{}' is too much: the statement is complete before it", extra.text));
  }
  return !failed_;
}

void StatementReader::fail(const Word& at, std::string message) {
  if (failed_) return;  // one error of a statement is enough
  failed_ = true;
  problems_.add({source_, at.line, at.column}, "", std::move(message));
}

const Word* StatementReader::take(std::string_view expected) {
  if (failed_) return nullptr;
  if (next_ < words_->size()) return &(*words_)[next_++];
  const Word& end = words_->back();
  fail({"", end.line, static_cast<std::uint32_t>(end.column + end.text.size())},
       fmt::format("expected {} after '{}'", expected, end.text));
  return nullptr;
}

bool StatementReader::take_if(std::string_view word) {
  if (failed_ || next_ == words_->size() || (*words_)[next_].text != word) return false;
  ++next_;
  return true;
}

void StatementReader::keyword(std::string_view word) {
  const Word* w = take(fmt::format("'{}'", word));
  if (w && w->text != word) fail(*w, fmt::format("expected '{}', got '{}'", word, w->text));
}

std::vector<std::string> StatementReader::rest() const {
  std::vector<std::string> out;
  for (std::size_t i = next_; i < words_->size(); ++i) out.push_back((*words_)[i].text);
  return out;
}

std::int64_t StatementReader::value_of(const QuantityKind& kind, std::string_view what) {
  const Word* w = take(what);
  if (!w) return 0;
  std::string error;
  const auto value = parse_quantity(kind, w->text, error);
  if (!value) fail(*w, fmt::format("expected {}: {}, got '{}'", what, error, w->text));
  return value.value_or(0);
}

Time StatementReader::time(std::string_view example) {
  const Word* w = take("'at'");
  if (w && w->text != "at")
    fail(*w, fmt::format("expected a statement such as '{}', got '{}'", example, w->text));
  const auto at = quantity<Time>("a time");
  if (failed_) return {};
  if (at.value < 0) fail(last(), fmt::format("{} is in the past: a run starts at 0", last().text));
  if (at < now_)
    fail(last(),
         fmt::format("{} is in the past: the statement before it is at {}", last().text, to_text(now_)));
  if (!failed_) now_ = at;
  return at;
}

}  // namespace weft
