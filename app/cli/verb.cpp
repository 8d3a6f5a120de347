#include "app/cli/verb.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <exception>
#include <ostream>

#include "app/cli/interrupt.h"
#include "app/cli/printable_stream.h"
#include "app/cli/topics.h"
#include "backends/launch.h"
#include "core/base/error.h"
#include "core/base/nearest.h"

namespace trainyard {
namespace {

[[noreturn]] void refuse_value_of(std::string_view flag, const std::string& expected,
                                  const std::string& found) {
  throw Error(Error::Kind::InvalidInput, fmt::format("expected {}, found \"{}\"", expected, found),
              {"--" + std::string(flag)});
}

std::vector<Verb> make_verbs() {
  return {estimate_verb(),  simulate_verb(), plan_verb(),     run_verb(),       runs_verb(),
          calibrate_verb(), probe_verb(),    profile_verb(),  branches_verb(),  validate_verb(),
          compare_verb(),   lint_verb(),     knobs_verb(),    fit_verb(),       tables_verb(),
          scaling_verb(),   sweep_verb(),    goodput_verb(),  waves_verb(),     stragglers_verb(),
          network_verb(),   place_verb(),    hogwild_verb(),  halp_verb(),      sharpness_verb(),
          gate_verb(),      tune_verb(),     schedule_verb(), schedules_verb(), solve_verb(),
          trace_verb(),     import_verb(),   export_verb(),   render_verb(),    report_verb(),
          models_verb(),    hardware_verb(), methods_verb(),  schema_verb(),    doctor_verb(),
          bench_verb(),     lesson_verb(),   help_verb()};
}

int exit_code(const Error& error) {
  switch (error.kind()) {
    case Error::Kind::InvalidInput:
    case Error::Kind::Unsupported:
      return kWrongInput;
    default:
      return kFailed;
  }
}

const Verb& find_verb(const std::string& name) {
  std::vector<std::string_view> names;
  for (const Verb& verb : verbs()) {
    if (verb.name == name) return verb;
    names.push_back(verb.name);
  }
  if (find_topic(name) != nullptr)
    throw Error(Error::Kind::InvalidInput,
                fmt::format("no verb is called \"{0}\", but a topic is: \"trainyard help {0}\" "
                            "prints its recipes",
                            name),
                {"trainyard"});
  throw Error(Error::Kind::InvalidInput,
              fmt::format("no verb is called \"{}\"{}; \"trainyard --help\" lists them", name,
                          did_you_mean(name, names)),
              {"trainyard"});
}

bool asks_for_help(const std::vector<std::string>& arguments) {
  return std::any_of(arguments.begin(), arguments.end(),
                     [](const std::string& word) { return word == "--help" || word == "-h"; });
}

// Returns whether this process leaves the work to the first of those that mpirun or srun started,
// because the verb does not split.
bool stands_aside(const Verb& verb, bool help_only, Streams& streams) {
  const Launch started = launch();
  if (started.count == 1 || (verb.splits && !help_only)) return false;
  if (started.rank == 0 && !help_only)
    streams.err << fmt::format(
        "{} does not split over ranks: of the {} that {} started, the first "
        "alone works\n",
        verb.name, started.count, started.launcher);
  return started.rank > 0;
}

// A check names the plan's fields as plan#/...: where all of the plan came from a file, that is the
// file's place.
[[noreturn]] void rethrow_at_origin(const Error& error, const Words& words) {
  constexpr std::string_view kPlan = "plan#/";
  const std::string& place = error.place().text;
  if (!words.has("plan") || words.has("set") || !place.starts_with(kPlan)) throw;
  Error moved(error.kind(), error.what(), {words.text("plan") + "#/" + place.substr(kPlan.size())});
  for (const std::string& doing : error.context()) moved.add_context(doing);
  throw moved;
}

int run_words(const std::vector<std::string>& arguments, Streams& streams) {
  if (arguments.empty()) {
    streams.err << help();
    return kWrongInput;
  }
  // "trainyard --help WORD" is another way to write "trainyard help WORD".
  const bool asks = arguments.front() == "--help" || arguments.front() == "-h";
  const std::string first = asks ? "help" : arguments.front();
  if (first == "--version") {
    streams.out << "trainyard " TRAINYARD_VERSION "\n";
    return kDone;
  }
  const Verb& verb = find_verb(first);
  const std::vector<std::string> rest(arguments.begin() + 1, arguments.end());
  const bool help_only = asks_for_help(rest);
  if (stands_aside(verb, help_only, streams)) return kDone;
  if (help_only) {
    streams.out << help(verb);
    return kDone;
  }
  const Words words = parse(verb, rest);
  try {
    return verb.run(words, streams);
  } catch (const Error& error) {
    rethrow_at_origin(error, words);
  }
}

std::string flag_text(const Flag& flag) {
  std::string text = "--" + std::string(flag.name);
  if (!flag.value.empty()) text += " " + std::string(flag.value);
  return text;
}

}  // namespace

std::string Words::text(std::string_view flag, std::string_view fallback) const {
  const auto found = values_.find(flag);
  return found == values_.end() ? std::string(fallback) : found->second.back();
}

std::vector<std::string> Words::texts(std::string_view flag) const {
  const auto found = values_.find(flag);
  return found == values_.end() ? std::vector<std::string>() : found->second;
}

std::int64_t Words::integer(std::string_view flag, std::int64_t low, std::int64_t high,
                            std::int64_t fallback) const {
  if (!has(flag)) return fallback;
  const std::string typed = text(flag);
  std::int64_t value = 0;
  const char* end = typed.data() + typed.size();
  const auto [rest, failure] = std::from_chars(typed.data(), end, value);
  if (failure != std::errc() || rest != end || value < low || value > high)
    refuse_value_of(flag, fmt::format("a whole number from {} to {}", low, high), typed);
  return value;
}

double Words::number(std::string_view flag, double low, double high, double fallback) const {
  if (!has(flag)) return fallback;
  const std::string typed = text(flag);
  double value = 0;
  const char* end = typed.data() + typed.size();
  const auto [rest, failure] = std::from_chars(typed.data(), end, value);
  if (failure != std::errc() || rest != end || !std::isfinite(value) || value < low || value > high)
    refuse_value_of(flag, fmt::format("a number from {} to {}", low, high), typed);
  return value;
}

std::string Words::choice(std::string_view flag, const std::vector<std::string_view>& choices,
                          std::string_view fallback) const {
  const std::string typed = text(flag, fallback);
  if (std::find(choices.begin(), choices.end(), typed) != choices.end()) return typed;
  std::string list;
  for (std::size_t i = 0; i < choices.size(); ++i)
    list += fmt::format("{}{}", i == 0 ? "" : i + 1 == choices.size() ? " or " : ", ", choices[i]);
  throw Error(Error::Kind::InvalidInput,
              fmt::format("expected {}, found \"{}\"{}", list, typed, did_you_mean(typed, choices)),
              {flag.empty() ? std::string("trainyard") : "--" + std::string(flag)});
}

std::span<const Verb> verbs() {
  static const std::vector<Verb> list = make_verbs();
  return list;
}

std::string help() {
  std::string text =
      "Trainyard designs the training of a neural network before it is paid for: will it fit, how "
      "fast, why.\n\n"
      "usage: trainyard VERB [--model M] [--cluster C] [--plan P] [--set key=value]... "
      "[--json]\n\n";
  for (const Verb& verb : verbs()) text += fmt::format("  {:<10} {}\n", verb.name, verb.summary);
  text += "\nrecipes, as \"trainyard help TOPIC\" prints them:\n\n";
  for (const Topic& topic : topics())
    text += fmt::format("  {:<10} {}\n", topic.name, topic.question);
  text +=
      "\nM  a name of \"trainyard models\", a preset as cnn:classes=10 or "
      "moe:layers=32,experts=16, "
      "a Hugging\n"
      "   Face config.json or its folder, or a safetensors, GGUF, ONNX or trainyard/model file\n"
      "C  device:count with options, as h100-sxm:64 or a100-sxm-80:512,per-node=8,inter=200GB/s, "
      "or a\n"
      "   trainyard/cluster file; devices are those of \"trainyard hardware\"\n"
      "P  a trainyard/plan file; --set changes single fields of it and alone may make a whole "
      "plan\n\n"
      "exit: 0 done, 1 failed while working, 2 wrong usage or input, 3 does not fit, 4 outside "
      "what was validated (--strict), 128 + N stopped by signal N (Ctrl-C: 130), with what was "
      "found "
      "until then\n\n"
      "  trainyard simulate --model llama-3-70b --cluster h100-sxm:64 --set tp=8 --set pp=4 --set "
      "global-batch=128\n\n"
      "\"trainyard VERB --help\" says more about a verb. In a clone of the sources, packaging/run "
      "does what trainyard does.\n";
  return text;
}

std::string help(const Verb& verb) {
  std::string positional(verb.positional);
  if (!positional.empty())
    positional = verb.positional_required ? " " + positional : " [" + positional + "]";
  std::string text = fmt::format("{}\n\nusage: trainyard {}{}{}\n\n", verb.summary, verb.name,
                                 positional, verb.flags.empty() ? "" : " [flags]");
  std::size_t width = verb.positional.size();
  for (const Flag& flag : verb.flags) width = std::max(width, flag_text(flag).size());
  if (!verb.positional.empty())
    text += fmt::format("  {:<{}}  {}\n", verb.positional, width, verb.positional_doc);
  for (const Flag& flag : verb.flags)
    text += fmt::format("  {:<{}}  {}{}\n", flag_text(flag), width, flag.doc,
                        flag.repeated ? " (may be repeated)" : "");
  if (!verb.examples.empty()) text += verb.examples.size() == 1 ? "\nexample:\n" : "\nexamples:\n";
  for (const std::string_view example : verb.examples)
    text += fmt::format("  trainyard {}\n", example);
  std::string named;
  for (const Topic& topic : topics())
    if (uses(topic, verb.name))
      named += fmt::format("{}trainyard help {}", named.empty() ? "" : ", ", topic.name);
  if (!named.empty()) text += fmt::format("\nrecipes: {}\n", named);
  return text;
}

namespace {

int run_reported(const std::vector<std::string>& arguments, Streams& streams) {
  try {
    return run_words(arguments, streams);
  } catch (const Error& error) {
    // All ranks come to the same error. Only the first reports it, because a rank that exits with a
    // failure makes the launcher kill those that are still printing.
    if (launch().rank > 0) return kDone;
    streams.err << describe(error) << "\n";
    return exit_code(error);
  } catch (const std::bad_alloc&) {
    streams.err << "trainyard: out of memory on this machine; a smaller scenario or --grain order "
                   "needs less\n";
    return kFailed;
  } catch (const std::exception& error) {
    streams.err << "trainyard: internal error: " << error.what() << "\n";
    return kFailed;
  }
}

}  // namespace

int run_cli(const std::vector<std::string>& arguments, Streams target) {
  forget_interrupt();
  PrintableStream out(target.out), err(target.err);
  Streams streams{out, err, target.terminal};
  const int code = run_reported(arguments, streams);
  return interrupt_signal() == 0 ? code : kSignalled + interrupt_signal();
}

}  // namespace trainyard
