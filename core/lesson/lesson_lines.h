// This file splits a lesson's text into lines before their meaning is known: directives with their
// attributes, and paragraphs of prose.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/error.h"

namespace trainyard {

/// LessonWords are the words of a text, separated by spaces. An index past the end gives an empty
/// word.
class LessonWords {
 public:
  explicit LessonWords(std::string_view text);
  std::size_t size() const { return words_.size(); }
  const std::string& operator[](std::size_t i) const;

 private:
  std::vector<std::string> words_;
};

/// A LessonLine is a directive, an attribute or a paragraph (whose word is empty). Its functions
/// throw Error{InvalidInput} at its place.
struct LessonLine {
  int number = 0;  // number of its first line, from 1
  Place place;
  std::string word, rest;
  std::vector<LessonLine> attributes = {};

  /// Returns the rest of the line and, where the text goes on in indented lines, those too; it is
  /// for directives that hold text.
  std::string all_text() const;
  std::string some_text() const;  // the same, not empty
  std::string some_head() const;  // the rest of the first line alone, not empty
  /// Returns the first word and the text after it; both must be there.
  std::pair<std::string, std::string> named() const;
  std::pair<std::string, std::string> named_or_empty() const;
  std::pair<std::string, std::string> named_in(std::string_view) const;
  void expect_word(std::initializer_list<std::string_view>) const;
  std::int64_t integer(std::string_view, std::int64_t low, std::int64_t high) const;
  double number_of(std::string_view) const;
};

class LessonLines {
 public:
  /// Throws Error{InvalidInput} for bytes that are no UTF-8 and for an attribute without a
  /// directive.
  LessonLines(std::string_view text, std::string source);
  const std::vector<LessonLine>& lines() const { return lines_; }
  const std::string& source() const { return source_; }
  LessonLine end() const;

 private:
  std::string source_;
  std::vector<LessonLine> lines_;
  int count_ = 0;
};

}  // namespace trainyard
