#include "app/cli/text/plans/knob_questions.h"

#include <fmt/format.h>

#include <array>

#include "core/io/json/fields.h"

namespace trainyard {
namespace {

constexpr std::array<Question, 17> kQuestions = {{
    {"How much memory does it take at its peak?", "estimate {}"},
    {"What would another wrapping do?", "knobs {} --knob wrap"},
    {"Which batch is the largest that fits?", "knobs {} --largest micro-batch"},
    {"How long may a sequence be?", "knobs {} --largest seq"},
    {"What do more or fewer data-parallel ranks do?", "knobs {} --knob dp --knob devices"},
    {"What is saved by moving the optimizer to the host?", "knobs {} --knob offload"},
    {"Which checkpointing policy should I take?", "knobs {} --knob recompute"},
    {"How do two policies compare?", "compare \"recompute=none\" \"recompute=full\" {}"},
    {"What if some layers are checkpointed and others are not?",
     "knobs {} --set recompute=blocks=8 --knob recompute"},
    {"What does it cost to reduce gradients in fp32?", "knobs {} --knob gradient-dtype"},
    {"What would another precision do?", "knobs {} --knob precision --knob gradient-dtype"},
    {"When is hybrid sharding better?", "knobs {} --knob hybrid"},
    {"Can weights be resharded to a smaller mesh after forward?", "knobs {} --knob reshard-mesh"},
    {"Can resharding after forward be left out?", "knobs {} --knob reshard-after-forward"},
    {"Which module owns most activations?", "knobs {} --owners"},
    {"Which unit holds memory that is not sharded?", "knobs {} --owners"},
    {"Why does recomputation free nothing?", "knobs {} --set recompute=selective --owners"},
}};

}  // namespace

std::span<const Question> questions() { return kQuestions; }

std::string command_of(const Question& question, std::string_view scenario) {
  std::string text(question.command);
  text.replace(text.find("{}"), 2, scenario);
  return text;
}

std::string questions_text(std::string_view scenario) {
  std::string text;
  for (const Question& q : questions())
    text +=
        fmt::format("{}  ({})\n  trainyard {}\n", q.words,
                    q.interactions == 1 ? "one command" : "two commands", command_of(q, scenario));
  return text;
}

namespace {

// The questions with the words of a scenario.
Fields<std::string_view> questions_fields() {
  using Asked = std::pair<const Question*, std::string>;
  const auto asked = [](std::string_view scenario) {
    std::vector<Asked> list;
    for (const Question& q : questions()) list.emplace_back(&q, command_of(q, scenario));
    return list;
  };
  return document_fields<std::string_view>(
      "trainyard/questions",
      {{"questions", asked,
        list_of(object(Fields<Asked>{
            {"question", in(&Asked::first, &Question::words)},
            {"command", &Asked::second},
            {"interactions", in(&Asked::first, &Question::interactions), whole(1)}}))}});
}

}  // namespace

Json questions_schema() { return questions_fields().schema(); }

std::string questions_document(std::string_view scenario) {
  return write_json(questions_fields().write(scenario));
}

}  // namespace trainyard
