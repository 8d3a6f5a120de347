// A Verb is one word of the command line: what it does, the flags it takes, and an example that
// runs as it stands. The list of verbs feeds the parser, every help text and the tests that run the
// examples.
#pragma once

#include <cstdint>
#include <iosfwd>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace trainyard {

struct Flag {
  std::string_view name;   // "model", without dashes
  std::string_view value;  // placeholder of its value in help: "M"; empty = a switch; "[M]" = may
                           // be left out, and is then empty
  std::string_view doc;
  bool repeated = false;
};

/// The typed words, checked against the verb's flags. The positional word is under "".
class Words {
 public:
  bool has(std::string_view flag) const { return values_.find(flag) != values_.end(); }
  /// The last value; `fallback` if it was not given.
  std::string text(std::string_view flag, std::string_view fallback = "") const;
  std::vector<std::string> texts(std::string_view flag) const;
  /// Throws Error{InvalidInput} if it is not a whole number in [low, high].
  std::int64_t integer(std::string_view flag, std::int64_t low, std::int64_t high,
                       std::int64_t fallback) const;
  /// Throws Error{InvalidInput} if it is not a number in [low, high].
  double number(std::string_view flag, double low, double high, double fallback) const;
  /// One of the choices; throws Error{InvalidInput} that names the nearest.
  std::string choice(std::string_view flag, const std::vector<std::string_view>& choices,
                     std::string_view fallback) const;
  void add(std::string_view flag, std::string value) {
    values_[std::string(flag)].push_back(std::move(value));
  }

 private:
  std::map<std::string, std::vector<std::string>, std::less<>> values_;
};

/// Results go to out, diagnostics to err, and lines that write over themselves to the terminal.
struct Streams {
  std::ostream& out;
  std::ostream& err;
  std::ostream* terminal = nullptr;  // null where nobody watches
};

/// The exit codes of the process.
enum Exit : int {
  kDone = 0,
  kFailed = 1,
  kWrongInput = 2,
  kNotMet = 3,
  kOutside = 4,
  kSignalled = 128,  // and the number of the signal that stopped it
};

struct Verb {
  std::string_view name, summary;
  std::string_view positional = {};  // "NAME"; empty = takes none
  std::string_view positional_doc = {};
  bool positional_required = false;
  std::size_t positionals = 1;  // number of words, if it takes any
  bool fewer = false;           // whether a single one is enough
  std::vector<Flag> flags = {};
  std::vector<std::string_view> examples = {};  // without the program's name
  // Says whether it runs on all processes that mpirun or srun started; otherwise only the first
  // works.
  bool splits = false;
  int (*run)(const Words&, Streams&) = nullptr;
};

/// Every verb, in the order of help.
std::span<const Verb> verbs();

// One declaration per verb; each is defined in the file of its group.
Verb estimate_verb();
Verb simulate_verb();
Verb plan_verb();
Verb run_verb();
Verb runs_verb();
Verb calibrate_verb();
Verb probe_verb();
Verb profile_verb();
Verb branches_verb();
Verb validate_verb();
Verb compare_verb();
Verb lint_verb();
Verb knobs_verb();
Verb fit_verb();
Verb tables_verb();
Verb scaling_verb();
Verb sweep_verb();
Verb goodput_verb();
Verb waves_verb();
Verb stragglers_verb();
Verb network_verb();
Verb place_verb();
Verb hogwild_verb();
Verb halp_verb();
Verb sharpness_verb();
Verb gate_verb();
Verb tune_verb();
Verb schedule_verb();
Verb schedules_verb();
Verb solve_verb();
Verb trace_verb();
Verb import_verb();
Verb export_verb();
Verb render_verb();
Verb report_verb();
Verb models_verb();
Verb hardware_verb();
Verb methods_verb();
Verb schema_verb();
Verb doctor_verb();
Verb bench_verb();
Verb lesson_verb();
Verb help_verb();

/// Parses the words after a verb. Throws Error{InvalidInput} for an unknown flag (naming the
/// nearest), a missing value, or too many words, and what expect_writable() throws for a file that
/// is to be written.
Words parse(const Verb&, const std::vector<std::string>& arguments);

/// What the program as a whole is for: its verbs, its topics, and the words that verbs share.
std::string help();
/// What "trainyard VERB --help" prints: flags, examples, and the topics that have recipes with it.
std::string help(const Verb&);

/// Runs the whole program: takes the words without the program's name and returns the exit code.
/// Catches every Error. What is written to out and err is printable, whatever it came from.
int run_cli(const std::vector<std::string>& arguments, Streams);

}  // namespace trainyard
