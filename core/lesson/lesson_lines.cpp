#include "core/lesson/lesson_lines.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/base/nearest.h"
#include "core/base/trimmed.h"
#include "core/base/units_text.h"
#include "core/base/utf8.h"

namespace trainyard {
namespace {

std::pair<std::string, std::string> split(std::string_view text) {
  const std::size_t space = text.find(' ');
  if (space == std::string_view::npos) return {std::string(text), ""};
  return {std::string(text.substr(0, space)), std::string(trimmed(text.substr(space + 1)))};
}

bool printable(std::string_view line) {
  return std::all_of(line.begin(), line.end(), [](char c) {
    return static_cast<unsigned char>(c) >= 0x20 || c == '\t' || c == '\r';
  });
}

}  // namespace

LessonWords::LessonWords(std::string_view text) {
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(' '), text.size());
    if (end > 0) words_.emplace_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
}

const std::string& LessonWords::operator[](std::size_t i) const {
  static const std::string none;
  return i < words_.size() ? words_[i] : none;
}

std::string LessonLine::all_text() const {
  std::string text = rest;
  for (const LessonLine& more : attributes) {
    if (!text.empty()) text += ' ';
    text += more.word;
    if (!more.rest.empty()) text += ' ' + more.rest;
  }
  return text;
}

std::string LessonLine::some_text() const {
  std::string text = all_text();
  if (text.empty())
    throw Error(Error::Kind::InvalidInput, "expected text after \"" + word + "\", found none",
                place);
  return text;
}

std::string LessonLine::some_head() const {
  if (rest.empty())
    throw Error(Error::Kind::InvalidInput, "expected text after \"" + word + "\", found none",
                place);
  return rest;
}

std::pair<std::string, std::string> LessonLine::named() const {
  auto both = split(rest);
  if (both.second.empty())
    throw Error(Error::Kind::InvalidInput,
                fmt::format("expected a name and text after \"{}\", found \"{}\"", word, rest),
                place);
  return both;
}
std::pair<std::string, std::string> LessonLine::named_or_empty() const { return split(rest); }
std::pair<std::string, std::string> LessonLine::named_in(std::string_view text) const {
  return split(trimmed(text));
}

void LessonLine::expect_word(std::initializer_list<std::string_view> words) const {
  if (std::find(words.begin(), words.end(), word) != words.end()) return;
  std::string list;
  for (const std::string_view each : words) list += (list.empty() ? "" : ", ") + std::string(each);
  throw Error(Error::Kind::InvalidInput,
              fmt::format("expected one of {}, found \"{}\"{}", list, word,
                          did_you_mean(word, std::vector<std::string_view>(words))),
              place);
}

std::int64_t LessonLine::integer(std::string_view text, std::int64_t low, std::int64_t high) const {
  const std::int64_t value = parse_integer(text, place);
  if (value < low || value > high)
    throw Error(Error::Kind::InvalidInput,
                fmt::format("expected a whole number from {} to {}, found {}", low, high, value),
                place);
  return value;
}

double LessonLine::number_of(std::string_view text) const { return parse_number(text, place); }

LessonLines::LessonLines(std::string_view text, std::string source) : source_(std::move(source)) {
  bool paragraph = false;  // the previous line was prose
  bool open = false;       // the current directive can take attributes
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    const std::string_view raw = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    const Place place{source_ + ":" + std::to_string(++count_)};
    if (!printable(raw) || !is_utf8(raw))
      throw Error(Error::Kind::InvalidInput, "expected UTF-8 text, found something else", place);
    const std::string_view line = trimmed(raw);
    if (line.empty()) {
      paragraph = open = false;
      continue;
    }
    if (line[0] == '#') continue;
    if (raw[0] == '@') {
      auto [word, rest] = split(line.substr(1));
      lines_.push_back({count_, place, std::move(word), std::move(rest)});
      paragraph = false;
      open = true;
      continue;
    }
    if (open && (raw[0] == ' ' || raw[0] == '\t')) {
      auto [word, rest] = split(line);
      lines_.back().attributes.push_back({count_, place, std::move(word), std::move(rest)});
      continue;
    }
    if (raw[0] == ' ' || raw[0] == '\t')
      throw Error(Error::Kind::InvalidInput,
                  "expected an indented line right below a directive, found \"" +
                      std::string(line.substr(0, 40)) + "\" below prose or an empty line",
                  place);
    if (paragraph)
      lines_.back().rest += ' ' + std::string(line);
    else
      lines_.push_back({count_, place, "", std::string(line)});
    paragraph = true;
    open = false;
  }
}

LessonLine LessonLines::end() const {
  return {count_, {source_ + ":" + std::to_string(std::max(1, count_))}, "end", ""};
}

}  // namespace trainyard
