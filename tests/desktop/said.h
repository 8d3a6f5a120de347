// Extracts figures from texts, each with its name and the thing that it describes, in order to
// compare what several places say under one name.
#pragma once

#include <map>
#include <regex>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace trainyard {

struct Said {
  std::string of;      // "rank 3", "forward, microbatch 2|stage 1, compute"; empty: the whole step
  std::string name;    // "bubble"
  std::string figure;  // "25.2 %"
  std::string place;   // "status bar": where it is said
};

inline std::string replaced(std::string text, const std::string& from, const std::string& to) {
  for (std::size_t at = 0; (at = text.find(from, at)) != std::string::npos; at += to.size())
    text.replace(at, from.size(), to);
  return text;
}

/// The text without markup, in lower case, with the screen's symbols replaced by those of the
/// command line.
inline std::string plain(std::string text) {
  for (const auto& [from, to] :
       std::initializer_list<std::pair<const char*, const char*>>{{"<br>", "\n"},
                                                                  {"&nbsp;", " "},
                                                                  {"&lt;", "less than "},
                                                                  {"&gt;", "more than "},
                                                                  {"&amp;", "and"},
                                                                  {"\u2009", ""},
                                                                  {"\u2212", "-"},
                                                                  {"\u00B5", "u"},
                                                                  {"\u2248 ", ""},
                                                                  {"\u26A0 ", ""},
                                                                  {"\u00B7", ";"}})
    text = replaced(std::move(text), from, to);
  static const std::regex markup("<[^>]*>");
  text = std::regex_replace(text, markup, "");
  for (char& c : text)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  return text;
}

/// Maps the names of one thing, such as abbreviations, to a single name.
inline std::string one_name(const std::string& words) {
  static const std::map<std::string, std::string> names = {
      {"exposed comm", "exposed communication"},
      {"exposed", "exposed communication"},
      {"step time", "step"},
      {"peak memory", "peak"},
      {"worst device", "peak"},
      {"memory of the fullest device", "peak"},
      {"limited by bubble", "bubble"},
      {"lost bubble", "bubble"},
      {"mfu = hfu", "mfu"}};
  const auto found = names.find(words);
  return found == names.end() ? words : found->second;
}

/// "stage 3", "rank 3" and "critical device 3" are one thing: its devices do the same.
inline std::string one_thing(const std::string& words) {
  static const std::regex device("(?:critical device|stage|rank) (\\d+)");
  std::smatch found;
  return std::regex_match(words, found, device) ? "rank " + found.str(1) : words;
}

/// Names that come after their figure.
inline bool says_after(const std::string& words) {
  static const std::set<std::string> names = {"bubble", "spare", "over"};
  return names.count(words.substr(0, words.find(' '))) != 0;
}

/// Names of figures about other plans, which are changes.
inline bool of_changes(const std::string& name) {
  static const std::regex changes("^(saves|costs|frees|takes|still|off|network)\\b");
  return std::regex_search(name, changes);
}

/// Adds what a text says of a thing. Clauses end at commas, semicolons, full stops, new lines and
/// gaps of spaces; the name of a figure is what stands before it in its clause, else after it. What
/// has neither has no name. A clause that names a device is of that.
inline void add_said(std::vector<Said>& all, const std::string& raw, const std::string& of,
                     const std::string& place) {
  static const std::regex brackets("\\([^()]*\\)"), before_rate(" +(?=(tokens|samples)/s)"),
      gap("(\\S) {2,}(?=[-+]?\\d)"), ends("[,;.] |\\.$|\\n| {2,}"),
      figure(
          "(^|[^\\w.])([-+]?\\d+(?:\\.\\d+)?) "
          "?(%|ns|us|ms|s|b|kib|mib|gib|tib|[tgmk]?b/s|[pftgm]?flop/s|[pftgm]?flop|kwh|wh|mwh|w|"
          "\\$|(?:tokens|samples)/s(?:/gpu| a device)?)(?![\\w/])"),
      device("(?:critical device|stage|rank) \\d+"), what_follows("\\bof\\s*$|=\\s*$"),
      edge("^[\\s:=]+|(?:[\\s:=]|\\b(?:is|of|at|by|in|about|takes|take))+$");
  std::string text = plain(raw);
  text = std::regex_replace(text, brackets, "");
  text = std::regex_replace(text, before_rate, " ");
  text = std::regex_replace(text, gap, "$1 ");
  for (std::sregex_token_iterator clause(text.begin(), text.end(), ends, -1), none; clause != none;
       ++clause) {
    const std::string words = *clause;
    std::string thing = of;
    std::smatch named;
    if (std::regex_search(words, named, device)) thing = one_thing(named.str());
    std::string name;
    std::size_t from = 0;
    for (std::sregex_iterator f(words.begin(), words.end(), figure), last; f != last; ++f) {
      const auto at = static_cast<std::size_t>(f->position()) + f->length(1);
      const std::string between = words.substr(from, at - from);
      const std::string before = std::regex_replace(between, edge, "");
      from = static_cast<std::size_t>(f->position() + f->length());
      if (!before.empty()) name = before;
      if (std::regex_search(between, what_follows)) continue;
      std::string called = name;
      if (called.empty()) called = std::regex_replace(words.substr(from), edge, "");
      if (name.empty() && !says_after(called)) called.clear();
      // A rate's unit is its name.
      if (called.empty() && f->str(3).find("s/s") != std::string::npos) called = "rate";
      called = called.substr(0, called.find(" on "));
      if (called.empty() || of_changes(called) ||
          called.find_first_not_of("0123456789.") == std::string::npos)
        continue;
      all.push_back({thing, one_name(called),
                     f->str(2) + " " + replaced(f->str(3), "/gpu", " a device"), place});
    }
  }
}

/// The kind of a figure, such as "%", "time" or "memory": figures of one kind under one name are
/// the same figure.
inline std::string kind_of(const std::string& figure) {
  const std::string unit = figure.substr(figure.find(' ') + 1);
  static const std::set<std::string> times = {"ns", "us", "ms", "s"},
                                     sizes = {"b", "kib", "mib", "gib", "tib"};
  return times.count(unit) != 0 ? "time" : sizes.count(unit) != 0 ? "memory" : unit;
}

/// Everything that is said in two ways: one line per name, with every place.
inline std::vector<std::string> contradictions(const std::vector<Said>& all) {
  std::map<std::string, std::map<std::string, std::set<std::string>>> names;
  for (const Said& s : all)
    names[(s.of.empty() ? "" : s.of + ": ") + s.name + " (" + kind_of(s.figure) + ")"][s.figure]
        .insert(s.place);
  std::vector<std::string> lines;
  for (const auto& [name, figures] : names) {
    if (figures.size() < 2) continue;
    std::string line = name;
    for (const auto& [figure, places] : figures) {
      line += "\n  " + figure + ":";
      for (const std::string& place : places) line += " [" + place + "]";
    }
    lines.push_back(line);
  }
  return lines;
}

}  // namespace trainyard
