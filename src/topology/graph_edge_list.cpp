#include <fmt/format.h>

#include "base/text.hpp"
#include "topology/graph_draft.hpp"

namespace weft::topology {

namespace {

struct Word {
  std::string_view text;
  GraphDraft::Place place;
};

std::vector<Word> words_of(std::string_view line, std::size_t number) {
  constexpr std::string_view blank = " \t\r";
  std::vector<Word> words;
  std::size_t at = line.find_first_not_of(blank);
  while (at != line.npos && line[at] != '#') {
    std::size_t end = std::min(line.find_first_of(blank, at), line.size());
    words.push_back({line.substr(at, end - at), {number, at + 1}});
    at = line.find_first_not_of(blank, end);
  }
  return words;
}

void read_router(const std::vector<Word>& words, GraphDraft& draft) {
  constexpr std::string_view key = "endpoints=";
  bool counts = words.size() == 3 && words[2].text.starts_with(key);
  if (words.size() != 2 && !counts)
    return draft.problem(words[0].place, "expected 'router NAME' or 'router NAME endpoints=N'");
  RouterId r = draft.find_or_add(words[1].text);
  if (draft.declare(r, words[0].place) && counts)
    draft.set_endpoints(r, words[2].text.substr(key.size()), words[2].place);
}

bool looks_like_length(std::string_view word) { return word.find_first_of("0123456789.-") == 0; }

void read_cable(const std::vector<Word>& words, GraphDraft& draft) {
  if (words.size() < 2 || words.size() > 4)
    return draft.problem(words[0].place,
                         fmt::format("expected a cable, 'router-a router-b [length] [cable-type]', got {}",
                                     count_of(words.size(), "word")));
  GraphDraft::Cable cable{draft.find_or_add(words[0].text), draft.find_or_add(words[1].text), {}, {}};
  std::size_t next = 2;
  if (next < words.size() && looks_like_length(words[next].text)) {
    cable.length = draft.parse_length(words[next].text, words[next].place);
    ++next;
  }
  if (next < words.size()) {
    cable.type = draft.parse_type(words[next].text, words[next].place);
    ++next;
  }
  if (next < words.size())
    return draft.problem(
        words[next].place,
        fmt::format("did not expect '{}' here: a cable has one length, then one type", words[next].text));
  draft.add(cable, words[0].place);
}

}  // namespace

void read_edge_list(std::string_view text, GraphDraft& draft) {
  for (std::size_t number = 1; !text.empty(); ++number) {
    std::size_t end = std::min(text.find('\n'), text.size());
    auto words = words_of(text.substr(0, end), number);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (words.empty()) continue;
    words[0].text == "router" ? read_router(words, draft) : read_cable(words, draft);
  }
}

}  // namespace weft::topology
