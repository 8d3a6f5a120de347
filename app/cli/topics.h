// The topics of "trainyard help": each is a question that a person comes with, and recipes, which
// are command lines that answer it. They are written in assets/recipes.md.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace trainyard {

struct Topic {
  std::string name;      // one word, which no verb has: "verdict"
  std::string question;  // "Will it fit, how fast will it be, and why?"
  std::string text;      // prose in lines, with a recipe on lines that begin with four spaces
};

/// Every topic, in the order of assets/recipes.md.
const std::vector<Topic>& topics();

/// The topic of that name, or nullptr.
const Topic* find_topic(std::string_view name);

/// The command lines in the topic's text, each as one line without the program's name.
std::vector<std::string> recipes(const Topic&);

/// Returns whether one of its recipes begins with that verb.
bool uses(const Topic&, std::string_view verb);

/// assets/recipes.md, embedded by the build.
const std::string& shipped_recipes();

}  // namespace trainyard
