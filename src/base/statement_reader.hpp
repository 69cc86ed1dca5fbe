// What every reader of a script does: take one word of a statement after the other, say what belongs where
// something else stands, and keep to the order of times. The first error of a statement is told, and the rest
// of it passed over; other statements are read all the same.
#pragma once

#include <string>
#include <string_view>

#include "base/diagnostics.hpp"
#include "base/quantity.hpp"
#include "base/statements.hpp"

namespace weft {

/// A script and how messages name it.
struct Script {
  std::string text, source;
};
/// What an option was given: a script, or a file with one. Throws UserError where that file is not there;
/// `example` is a whole statement.
Script script_of(const std::string& given, std::string_view option, std::string_view example);

class StatementReader {
 public:
  /// `source` names the script in messages.
  StatementReader(std::string source, Diagnostics& problems)
      : source_(std::move(source)), problems_(problems) {}

 protected:
  void begin(const Statement& words);
  /// Nothing is left of the statement; false where it has an error, in that or before.
  bool complete();
  bool failed() const { return failed_; }
  void fail(const Word& at, std::string message);

  /// The next word, or nothing with a message that says what belongs there.
  const Word* take(std::string_view expected);
  /// Takes the next word if it is this one.
  bool take_if(std::string_view word);
  const Word& last() const { return (*words_)[next_ - 1]; }
  void keyword(std::string_view word);
  /// Words from here to the end, as written.
  std::vector<std::string> rest() const;
  void take_rest() { next_ = words_->size(); }

  template <class Q>
  Q quantity(std::string_view what) {
    return {value_of(quantity_kind<Q>(), what)};
  }
  /// "at TIME", no earlier than the statement before; `example` is a whole statement.
  Time time(std::string_view example);

 private:
  std::int64_t value_of(const QuantityKind& kind, std::string_view what);

  std::string source_;
  Diagnostics& problems_;
  const Statement* words_ = nullptr;
  std::size_t next_ = 0;
  bool failed_ = false;
  Time now_{0};
};

}  // namespace weft
