// Makes plans from words, and parses the scripts and arguments that they are exported to.
#pragma once

#include <gtest/gtest.h>

#include <map>
#include <sstream>
#include <string>
#include <vector>

#include "core/lowering/lower.h"
#include "core/methods/settings/settings.h"
#include "core/model/zoo/zoo.h"

namespace trainyard::testing {

inline Scenario planned(const std::string& model, const std::string& cluster,
                        const std::vector<std::string>& settings) {
  Scenario s{zoo_model(model), parse_cluster(cluster), {}};
  for (const std::string& setting : settings) apply_setting(s.plan, setting);
  return prepare(s).scenario;
}

/// A plan that a format cannot express, and the sentence that says so.
struct Refused {
  std::string model;
  std::vector<std::string> settings;
  std::string sentence;
};

/// The sentence of the refusal; "" if nothing is refused.
template <class Write>
std::string refusal(Write write, const Scenario& s) {
  try {
    write(s);
    return "";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), Error::Kind::Unsupported);
    return describe(error);
  }
}

/// The arguments of every shell array of a script, as "--flag" -> "values"; each may occur once.
inline std::map<std::string, std::string> arguments_of(const std::string& script) {
  std::map<std::string, std::string> found;
  std::istringstream lines(script);
  for (std::string line; std::getline(lines, line);) {
    const std::size_t start = line.find_first_not_of(' ');
    if (start == std::string::npos || line.compare(start, 2, "--") != 0) continue;
    const std::size_t end = line.find(' ', start);
    const std::string flag = line.substr(start, end - start);
    const std::string value = end == std::string::npos ? "" : line.substr(end + 1);
    EXPECT_TRUE(found.emplace(flag, value).second) << flag << " is there twice";
  }
  return found;
}

inline std::int64_t number(const std::map<std::string, std::string>& arguments,
                           const std::string& flag, std::int64_t fallback = 1) {
  const auto at = arguments.find(flag);
  return at == arguments.end() ? fallback : std::stoll(at->second);
}

/// The entries of a TOML file, as "table.key" -> value; each may occur once, and every line must be
/// one.
inline std::map<std::string, std::string> toml_words(const std::string& toml) {
  std::map<std::string, std::string> words;
  std::istringstream lines(toml);
  std::string table, open;
  for (std::string line; std::getline(lines, line);) {
    if (!open.empty()) {
      words[open] += line;
      if (line == "]") open.clear();
    } else if (line.empty() || line[0] == '#') {
      continue;
    } else if (line[0] == '[') {
      EXPECT_EQ(line.back(), ']') << line;
      table = line.substr(1, line.size() - 2);
    } else {
      const std::size_t equals = line.find(" = ");
      EXPECT_NE(equals, std::string::npos) << line;
      const std::string key = table + "." + line.substr(0, equals);
      EXPECT_TRUE(words.emplace(key, line.substr(equals + 3)).second) << key << " is there twice";
      if (words[key] == "[") open = key;
    }
  }
  EXPECT_TRUE(open.empty());
  return words;
}

/// The sentences of warnings, one per line.
inline std::string sentences(const Diagnostics& warnings) {
  std::string text;
  for (const Diagnostic& d : warnings) text += d.message + "\n";
  return text;
}

}  // namespace trainyard::testing
