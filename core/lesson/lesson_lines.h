// The lines of a lesson's text, before anybody knows what they mean: directives with their
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

/// Words between spaces. Beyond the last there are empty ones.
class LessonWords {
 public:
  explicit LessonWords(std::string_view text);
  std::size_t size() const { return words_.size(); }
  const std::string& operator[](std::size_t i) const;

 private:
  std::vector<std::string> words_;
};

/// A directive, an attribute or a paragraph (whose word is empty). All that it throws is
/// Error{InvalidInput} at its place.
struct LessonLine {
  int number = 0;  // of its first line, counting from 1
  Place place;
  std::string word, rest;
  std::vector<LessonLine> attributes = {};

  /// The rest and, where the text goes on in indented lines, those: for directives that are text.
  std::string all_text() const;
  std::string some_text() const;  // the same, not empty
  std::string some_head() const;  // the rest alone, not empty
  /// The first word and what follows; both must be there.
  std::pair<std::string, std::string> named() const;
  std::pair<std::string, std::string> named_or_empty() const;
  std::pair<std::string, std::string> named_in(std::string_view) const;
  void expect_word(std::initializer_list<std::string_view>) const;
  std::int64_t integer(std::string_view, std::int64_t low, std::int64_t high) const;
  double number_of(std::string_view) const;
};

class LessonLines {
 public:
  /// Throws Error{InvalidInput}: bytes that are no UTF-8, an attribute without a directive.
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
