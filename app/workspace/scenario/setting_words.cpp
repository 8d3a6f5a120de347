#include "app/workspace/scenario/setting_words.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "core/base/error.h"
#include "core/methods/settings/settings.h"

namespace trainyard {

std::vector<std::string_view> each_word(std::string_view words) {
  std::vector<std::string_view> found;
  while (!words.empty()) {
    const bool order = words.starts_with("order=");
    const std::size_t end = order ? words.size() : std::min(words.find(' '), words.size());
    if (end > 0) found.push_back(words.substr(0, end));
    words.remove_prefix(std::min(end + 1, words.size()));
  }
  return found;
}

void refuse_repeated_keys(std::span<const std::string> assignments, const Place& place) {
  std::map<std::string_view, std::string_view> given;  // the assignment of each key
  for (const std::string& words : assignments)
    for (const std::string_view word : each_word(words)) {
      const std::string_view typed = word.substr(0, word.find('='));
      const Setting* known = find_setting(typed);
      const std::string_view key = known == nullptr ? typed : known->key;
      const auto [first, is_new] = given.emplace(key, word);
      if (!is_new)
        throw Error(Error::Kind::InvalidInput,
                    fmt::format("expected {} once, found \"{}\" and \"{}\"", key,
                                first->second.substr(0, 80), word.substr(0, 80)),
                    place);
    }
}

void apply_words(Plan& plan, std::string_view words, const Place& place) {
  const std::vector<std::string_view> each = each_word(words);
  for (const std::string_view word : each) apply_setting(plan, word, place);
  if (each.empty()) apply_setting(plan, words, place);  // throws for an empty assignment
}

std::string shell_word(const std::string& word) {
  constexpr std::string_view kPlain =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_@%+=:,./-";
  if (!word.empty() && word.find_first_not_of(kPlain) == std::string::npos) return word;
  std::string quoted = "'";
  for (const char c : word) quoted += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return quoted + "'";
}

std::string scenario_flags(const Request& request) {
  std::string flags =
      " --model " + shell_word(request.model) + " --cluster " + shell_word(request.cluster);
  if (!request.plan.empty()) flags += " --plan " + shell_word(request.plan);
  for (const std::string& word : request.settings) flags += " --set " + shell_word(word);
  return flags;
}

}  // namespace trainyard
