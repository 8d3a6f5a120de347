// The questions that engineers ask of a memory tracker (pytorch#125323), each with the command that
// answers it.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "core/io/json/json.h"

namespace trainyard {

struct Question {
  std::string_view words;
  std::string_view command;  // without the program's name; {} = words of the scenario
  int interactions = 1;      // commands that a user types until it is answered
};
/// Fourteen questions are about tuning, three about debugging.
std::span<const Question> questions();

/// The words of a scenario with fully sharded training.
inline constexpr std::string_view kQuestionScenario =
    "--model llama-3-8b --cluster h100-sxm:64 --set zero=3 --set global-batch=512 --set seq=8192";

/// The question's command for that scenario.
std::string command_of(const Question&, std::string_view scenario);
std::string questions_text(std::string_view scenario);
Json questions_schema();
std::string questions_document(std::string_view scenario);  // trainyard/questions@1

}  // namespace trainyard
