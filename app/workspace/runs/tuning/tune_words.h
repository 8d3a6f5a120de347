// Tells a tuning in words: the settings of its trials, the command that repeats it, and what came
// of training trials together.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "app/workspace/runs/tuning/tuning.h"

namespace trainyard {

/// Reads "schedule=1f1b,zb-h1" as one family per word. Throws Error{InvalidInput} at --arms for
/// text without a key or with an empty word.
std::vector<std::string> parse_families(std::string_view text);

/// Returns the settings of the plan that make the trial: those of its family, then what is varied.
std::vector<std::string> plan_settings(const TuneReport&, const TuneTrial&);
/// Returns these, and what is varied of training, as words of a command line: "--set micro-batch=8
/// --train rate=0.1".
std::string flag_words(const TuneReport&, const TuneTrial&);
/// Returns the settings of training that make the trial, as --train takes them, without those that
/// are as usual and without the number of updates.
std::vector<std::string> training_words(const TuneRequest&, const TuneTrial&);
/// Returns the command line that asks the same, such as "trainyard tune --model gpt2 ...", with
/// words quoted as a shell needs it. A model or cluster that is a whole document stands in it as
/// that.
std::string tune_command(const TuneRequest&);
/// Returns in sentences how many trials were trained together, and how many fit and pay; empty
/// where none were to be.
std::vector<std::string> fusion_sentences(const TuneReport&);

}  // namespace trainyard
