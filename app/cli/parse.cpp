#include <fmt/format.h>
#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>

#include <algorithm>
#include <iterator>

#include "app/cli/verb.h"
#include "app/workspace/scenario/refuse_flag.h"
#include "app/workspace/scenario/setting_words.h"
#include "core/base/error.h"
#include "core/base/nearest.h"
#include "core/io/bytes/file_writer.h"

namespace trainyard {
namespace {

[[noreturn]] void refuse_words(const Verb& verb, const std::string& message) {
  throw Error(Error::Kind::InvalidInput, message, {"trainyard " + std::string(verb.name)});
}

std::vector<std::string> dashed(const Verb& verb) {
  std::vector<std::string> names;
  for (const Flag& flag : verb.flags) names.push_back("--" + std::string(flag.name));
  return names;
}

// A flag of one of these names says where a file goes, whatever the verb, and so does one whose
// last word is such a name, as network-svg.
constexpr std::string_view kWritten[] = {"all",       "csv",     "fitted",   "html",
                                         "out",       "picture", "png",      "report",
                                         "residuals", "svg",     "timeline", "trace"};

bool is_written(std::string_view flag) {
  return std::any_of(std::begin(kWritten), std::end(kWritten), [&](std::string_view name) {
    return flag == name || flag.ends_with("-" + std::string(name));
  });
}

// Refuses a path that cannot be written before the work begins, so that its results are not lost.
void expect_path(const Flag& flag, const std::string& value) {
  if (!flag.value.starts_with("FILE")) return;
  if (value.empty()) refuse_flag(flag.name, "expected the path of a file, found an empty one");
  if (is_written(flag.name)) expect_writable(value, FileWriter::Takes::StreamsToo);
}

void refuse_extra(const Verb& verb, const std::string& word) {
  if (word.size() > 1 && word[0] == '-') {
    const std::string name = word.substr(0, word.find('='));
    refuse_words(verb,
                 fmt::format("no flag is called \"{}\"{}", name, did_you_mean(name, dashed(verb))));
  }
  refuse_words(verb,
               verb.positional.empty()
                   ? fmt::format("expected flags only, found \"{}\"", word)
                   : fmt::format("expected one {}, found \"{}\" beside it", verb.positional, word));
}

}  // namespace

Words parse(const Verb& verb, const std::vector<std::string>& arguments) {
  CLI::App app;
  app.set_help_flag();
  app.allow_extras();
  std::vector<std::vector<std::string>> values(verb.flags.size());
  std::vector<CLI::Option*> options;
  for (std::size_t i = 0; i < verb.flags.size(); ++i) {
    const std::string name = "--" + std::string(verb.flags[i].name);
    options.push_back(verb.flags[i].value.empty()
                          ? app.add_flag(name)
                          : app.add_option(name, values[i])->allow_extra_args(false));
    if (!verb.flags[i].value.empty()) options.back()->take_all();
    if (verb.flags[i].value.starts_with('[')) options.back()->expected(0, 1);
  }
  std::vector<std::string> reversed(arguments.rbegin(), arguments.rend());
  try {
    app.parse(reversed);
  } catch (const CLI::ArgumentMismatch&) {
    const std::string last = arguments.empty() ? "" : arguments.back();
    refuse_words(verb, fmt::format("expected a value behind {}", last));
  } catch (const CLI::ParseError& error) {
    refuse_words(verb, error.what());
  }
  Words words;
  for (std::size_t i = 0; i < verb.flags.size(); ++i) {
    const Flag& flag = verb.flags[i];
    if (flag.value.empty() && options[i]->count() > 0) words.add(flag.name, "on");
    if (values[i].size() > 1 && !flag.repeated)
      refuse_words(
          verb, fmt::format("expected --{} once, found it {} times", flag.name, values[i].size()));
    if (flag.value == "KEY=VALUE") refuse_repeated_keys(values[i], {"--" + std::string(flag.name)});
    for (const std::string& value : values[i]) expect_path(flag, value);
    for (std::string& value : values[i]) words.add(flag.name, std::move(value));
  }
  for (const std::string& word : app.remaining()) {
    if (verb.positional.empty() || words.texts("").size() >= verb.positionals ||
        (word.size() > 1 && word[0] == '-'))
      refuse_extra(verb, word);
    words.add("", word);
  }
  const std::size_t least = verb.fewer ? 1 : verb.positionals;
  if (verb.positional_required && words.texts("").size() < least)
    refuse_words(verb, fmt::format("expected {}: {}", verb.positional, verb.positional_doc));
  return words;
}

}  // namespace trainyard
