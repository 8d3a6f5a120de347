#include "visualizers/viewmodel/span_query.h"

#include <algorithm>
#include <array>
#include <utility>

#include "core/base/error.h"
#include "core/base/nearest.h"
#include "core/base/units_text.h"
#include "visualizers/drawing/palette.h"

namespace trainyard {
namespace {

struct CategoryWord {
  std::string_view name;
  Ink ink;
};
// Recordings have more of them than plans: copies, and what runs on the host.
constexpr std::array<CategoryWord, 9> kCategoryWords = {{{"forward", Ink::Forward},
                                                         {"backward", Ink::Backward},
                                                         {"weight-gradient", Ink::WeightGradient},
                                                         {"communication", Ink::Communication},
                                                         {"optimizer", Ink::Optimizer},
                                                         {"swap", Ink::Swap},
                                                         {"recompute", Ink::Recompute},
                                                         {"transfer", Ink::Swap},
                                                         {"host", Ink::Raised}}};

constexpr std::array<std::string_view, 4> kKeys = {"cat", "dev", "mb", "name"};

std::vector<std::string_view> category_names() {
  std::vector<std::string_view> names;
  for (const CategoryWord& word : kCategoryWords) names.push_back(word.name);
  return names;
}

[[noreturn]] void refuse_word(std::string_view word, const std::string& sentence) {
  throw Error(Error::Kind::InvalidInput, sentence, {std::string(word)});
}

std::vector<std::string_view> parts_of(std::string_view list) {
  std::vector<std::string_view> parts;
  for (;;) {
    const std::size_t comma = list.find(',');
    parts.push_back(list.substr(0, comma));
    if (comma == std::string_view::npos) return parts;
    list.remove_prefix(comma + 1);
  }
}

std::uint32_t category_of(std::string_view word, std::string_view part) {
  std::uint32_t found = 0;
  for (const CategoryWord& category : kCategoryWords) {
    const std::uint32_t bit = std::uint32_t{1} << static_cast<unsigned>(category.ink);
    if (category.name == part) return bit;
    if (!part.empty() && category.name.substr(0, part.size()) == part) found |= bit;
  }
  if (found == 0)
    refuse_word(word, "expected a category such as forward or communication, found \"" +
                          std::string(part) + "\"" + did_you_mean(part, category_names()));
  return found;
}

std::int64_t index_of(std::string_view word, std::string_view digits) {
  constexpr std::size_t kMostDigits = 9;
  const bool number =
      !digits.empty() && digits.size() <= kMostDigits &&
      std::all_of(digits.begin(), digits.end(), [](char c) { return c >= '0' && c <= '9'; });
  if (!number)
    refuse_word(word,
                "expected numbers as in \"3\" or \"0-3,7\", found \"" + std::string(digits) + "\"");
  std::int64_t value = 0;
  for (const char digit : digits) value = 10 * value + (digit - '0');
  return value;
}

IndexRange range_of(std::string_view word, std::string_view part) {
  const std::size_t dash = part.find('-');
  const std::int64_t first = index_of(word, part.substr(0, dash));
  if (dash == std::string_view::npos) return {first, first};
  const std::int64_t last = index_of(word, part.substr(dash + 1));
  if (last < first)
    refuse_word(word, "expected a range that goes up, found \"" + std::string(part) +
                          "\"; did you mean \"" + std::to_string(last) + "-" +
                          std::to_string(first) + "\"?");
  return {first, last};
}

QueryWord name_word(std::string_view word, std::string_view text) {
  QueryWord made;
  made.name = folded_name(text);
  if (made.name.empty()) refuse_word(word, "expected part of a name, found none");
  return made;
}

QueryWord length_word(std::string_view word, std::string_view text) {
  QueryWord made;
  made.kind = text[0] == '>' ? QueryWord::Kind::Longer : QueryWord::Kind::Shorter;
  text.remove_prefix(1);
  made.or_equal = !text.empty() && text[0] == '=';
  if (made.or_equal) text.remove_prefix(1);
  made.length = parse_duration(text, {std::string(word)});
  return made;
}

QueryWord keyed_word(std::string_view word, std::string_view key, std::string_view value) {
  QueryWord made;
  if (key == "name") return name_word(word, value);
  if (key == "cat") {
    made.kind = QueryWord::Kind::Category;
    for (const std::string_view part : parts_of(value)) made.categories |= category_of(word, part);
  } else if (key == "dev" || key == "mb") {
    made.kind = key == "dev" ? QueryWord::Kind::Device : QueryWord::Kind::Microbatch;
    for (const std::string_view part : parts_of(value)) made.ranges.push_back(range_of(word, part));
  } else {
    refuse_word(word, "expected cat, dev, mb or name before the colon, found \"" +
                          std::string(key) + "\"" + did_you_mean(key, kKeys));
  }
  return made;
}

QueryWord word_of(std::string_view word) {
  std::string_view text = word;
  const bool negated = text.size() > 1 && text[0] == '-';
  if (negated) text.remove_prefix(1);
  const std::size_t colon = text.find(':');
  QueryWord made = text[0] == '"'                     ? name_word(word, text)
                   : text[0] == '>' || text[0] == '<' ? length_word(word, text)
                   : colon == std::string_view::npos
                       ? name_word(word, text)
                       : keyed_word(word, text.substr(0, colon), text.substr(colon + 1));
  made.negated = negated;
  return made;
}

bool is_space(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }

// Words end at spaces outside quotes.
std::vector<std::string_view> words_of(std::string_view text) {
  std::vector<std::string_view> words;
  for (std::size_t at = 0; at < text.size();) {
    if (is_space(text[at])) {
      ++at;
      continue;
    }
    const std::size_t first = at;
    for (bool quoted = false; at < text.size() && (quoted || !is_space(text[at])); ++at)
      if (text[at] == '"') quoted = !quoted;
    words.push_back(text.substr(first, at - first));
    if (std::count(words.back().begin(), words.back().end(), '"') % 2 != 0)
      refuse_word(words.back(), "expected a closing quote");
  }
  return words;
}

std::string text_of(const std::vector<IndexRange>& ranges) {
  std::string text;
  for (const IndexRange& range : ranges) {
    text += (text.empty() ? "" : ",") + std::to_string(range.first);
    if (range.last != range.first) text += "-" + std::to_string(range.last);
  }
  return text;
}

std::string text_of(const QueryWord& word) {
  const std::string sign = word.negated ? "-" : "";
  switch (word.kind) {
    case QueryWord::Kind::Name:
      return sign + "\"" + word.name + "\"";
    case QueryWord::Kind::Category: {
      std::string list;
      std::uint32_t left = word.categories;
      for (const CategoryWord& category : kCategoryWords) {
        const std::uint32_t bit = std::uint32_t{1} << static_cast<unsigned>(category.ink);
        if ((left & bit) == 0) continue;
        list += (list.empty() ? "" : ",") + std::string(category.name);
        left &= ~bit;  // two words may mean one category
      }
      return sign + "cat:" + list;
    }
    case QueryWord::Kind::Device:
      return sign + "dev:" + text_of(word.ranges);
    case QueryWord::Kind::Microbatch:
      return sign + "mb:" + text_of(word.ranges);
    case QueryWord::Kind::Longer:
    case QueryWord::Kind::Shorter:
      break;
  }
  std::string length = to_text(word.length);
  length.erase(std::remove(length.begin(), length.end(), ' '), length.end());
  return sign + (word.kind == QueryWord::Kind::Longer ? ">" : "<") + (word.or_equal ? "=" : "") +
         length;
}

bool within(const std::vector<IndexRange>& ranges, std::int64_t index) {
  return std::any_of(ranges.begin(), ranges.end(), [&](const IndexRange& range) {
    return range.first <= index && index <= range.last;
  });
}

bool holds(const QueryWord& word, const SpanFacts& span) {
  switch (word.kind) {
    case QueryWord::Kind::Name:
      return span.name.find(word.name) != std::string_view::npos;
    case QueryWord::Kind::Category:
      return word.categories >> span.category & 1;
    case QueryWord::Kind::Device:
      return within(word.ranges, span.device);
    case QueryWord::Kind::Microbatch:
      return within(word.ranges, span.microbatch);
    case QueryWord::Kind::Longer:
      return word.or_equal ? span.length >= word.length : span.length > word.length;
    case QueryWord::Kind::Shorter:
      return word.or_equal ? span.length <= word.length : span.length < word.length;
  }
  return false;
}

}  // namespace

std::string folded_name(std::string_view name) {
  std::string folded;
  for (const char c : name) {
    if (is_space(c) || c == '-' || c == '_' || c == '"') continue;
    folded += c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  }
  return folded;
}

SpanQuery parse_span_query(std::string_view text) {
  SpanQuery query;
  for (const std::string_view word : words_of(text)) query.words.push_back(word_of(word));
  return query;
}

std::string to_text(const SpanQuery& query) {
  std::string text;
  for (const QueryWord& word : query.words) text += (text.empty() ? "" : " ") + text_of(word);
  return text;
}

bool matches_folded(const SpanQuery& query, const SpanFacts& span) {
  return std::all_of(query.words.begin(), query.words.end(),
                     [&](const QueryWord& word) { return holds(word, span) != word.negated; });
}

bool matches(const SpanQuery& query, const SpanFacts& span) {
  const std::string name = folded_name(span.name);
  SpanFacts folded = span;
  folded.name = name;
  return matches_folded(query, folded);
}

}  // namespace trainyard
