#include "app/cli/topics.h"

#include <algorithm>
#include <sstream>

namespace trainyard {
namespace {

constexpr std::string_view kRecipeStart = "    trainyard ";

// Without empty lines before the first line of prose and after the last.
std::string without_margins(const std::string& text) {
  const std::size_t first = text.find_first_not_of('\n');
  if (first == std::string::npos) return "";
  return text.substr(first, text.find_last_not_of('\n') + 1 - first) + "\n";
}

// A topic begins with "## NAME: QUESTION"; what precedes the first one is not about any topic.
std::vector<Topic> read_topics(const std::string& page) {
  std::vector<Topic> list;
  std::istringstream lines(page);
  for (std::string line; std::getline(lines, line);) {
    const std::size_t colon = line.find(": ");
    if (line.starts_with("## ") && colon != std::string::npos)
      list.push_back({line.substr(3, colon - 3), line.substr(colon + 2), ""});
    else if (!list.empty())
      list.back().text += line + "\n";
  }
  for (Topic& topic : list) topic.text = without_margins(topic.text);
  return list;
}

}  // namespace

const std::vector<Topic>& topics() {
  static const std::vector<Topic> list = read_topics(shipped_recipes());
  return list;
}

const Topic* find_topic(std::string_view name) {
  const auto found =
      std::ranges::find_if(topics(), [&](const Topic& topic) { return topic.name == name; });
  return found == topics().end() ? nullptr : &*found;
}

std::vector<std::string> recipes(const Topic& topic) {
  std::vector<std::string> list;
  bool continued = false;
  std::istringstream lines(topic.text);
  for (std::string line; std::getline(lines, line);) {
    if (continued)
      list.back() += line.substr(std::min(line.find_first_not_of(' '), line.size()));
    else if (line.starts_with(kRecipeStart))
      list.push_back(line.substr(kRecipeStart.size()));
    else
      continue;
    continued = list.back().ends_with('\\');
    if (continued) list.back().pop_back();
  }
  return list;
}

bool uses(const Topic& topic, std::string_view verb) {
  return std::ranges::any_of(recipes(topic), [&](const std::string& recipe) {
    return recipe.substr(0, recipe.find(' ')) == verb;
  });
}

}  // namespace trainyard
