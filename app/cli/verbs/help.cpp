// help: the program as a whole, one of its verbs, or recipes for a question.
#include <fmt/format.h>

#include <ostream>

#include "app/cli/text/literature.h"
#include "app/cli/topics.h"
#include "app/cli/verb.h"
#include "core/base/error.h"
#include "core/base/nearest.h"

namespace trainyard {
namespace {

std::string help_about(const std::string& name) {
  std::vector<std::string_view> names;
  for (const Verb& verb : verbs()) {
    if (verb.name == name) return help(verb);
    names.push_back(verb.name);
  }
  if (const Topic* topic = find_topic(name))
    return topic->question + "\n\n" + topic->text +
           (name == "train" ? "\n" + training_settings() : "");
  if (const std::string leads = where_it_leads(name); !leads.empty()) return leads;
  for (const Topic& topic : topics()) names.push_back(topic.name);
  throw Error(Error::Kind::InvalidInput,
              fmt::format("no verb or topic is called \"{}\"{}; \"trainyard help\" lists them",
                          name, did_you_mean(name, names)),
              {"trainyard help"});
}

int run_help(const Words& words, Streams& streams) {
  streams.out << (words.has("") ? help_about(words.text("")) : help());
  return kDone;
}

}  // namespace

Verb help_verb() {
  return {.name = "help",
          .summary = "This list, the flags of a verb, or recipes that answer a question.",
          .positional = "NAME",
          .positional_doc =
              "a verb, as simulate, a topic, as train, a setting, or what papers call something",
          .examples = {"help", "help verdict", "help simulate", "help vdnn"},
          .run = run_help};
}

}  // namespace trainyard
