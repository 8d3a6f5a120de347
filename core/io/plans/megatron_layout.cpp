#include "core/io/plans/megatron_layout.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "core/base/error.h"
#include "core/methods/catalogue.h"
#include "core/plan/stages.h"

namespace trainyard {
namespace {

constexpr std::size_t kMostLetters = 1'000'000;

// LayoutReader expands repetitions and remembers the column of each letter.
class LayoutReader {
 public:
  LayoutReader(std::string_view text, const std::string& source) : text_(text), source_(source) {}

  std::vector<LayoutStage> run() {
    while (at_ < text_.size()) item();
    std::vector<LayoutStage> stages(1);
    bool seen = false;
    for (std::size_t i = 0; i < letters_.size(); ++i) {
      const auto [letter, column] = letters_[i];
      if (letter == '|') {
        stages.emplace_back();
        continue;
      }
      if ((letter == 'E') == seen)
        refuse(column, seen ? "expected E once and first, found another"
                            : fmt::format("expected E first, found \"{}\"", letter));
      if (lost_) refuse(column, "expected L last, found more behind it");
      seen = true;
      hold(stages.back(), letter);
    }
    if (!lost_) refuse(text_.size(), "expected L at the end, found the end");
    return stages;
  }

 private:
  struct Letter {
    char letter;
    std::size_t column;
  };

  [[noreturn]] void refuse(std::size_t column, const std::string& message) const {
    throw Error(Error::Kind::InvalidInput, message, {fmt::format("{}:1:{}", source_, column + 1)});
  }

  void hold(LayoutStage& stage, char letter) {
    if (letter == 'E') stage.embedding = true;
    if (letter == 't') ++stage.layers;
    if (letter == 'm') ++stage.predictions;
    if (letter == 'L') stage.loss = lost_ = true;
  }

  void item() {
    if (text_[at_] == ',') {
      ++at_;
      return;
    }
    std::vector<Letter> once;
    const std::size_t from = at_;
    if (text_[at_] == '(')
      once = group();
    else
      once = {letter()};
    const bool many = at_ < text_.size() && text_[at_] == '*';
    // Megatron keeps the brackets of a group that is not repeated, and then refuses them.
    if (!many && text_[from] == '(') refuse(at_, "expected \"*\" and a number after a group");
    repeat(once, many ? times() : 1, from);
  }

  // Reads "(...)" of letters and "x*3".
  std::vector<Letter> group() {
    const std::size_t open = at_++;
    std::vector<Letter> kept;
    std::swap(kept, letters_);
    while (at_ < text_.size() && text_[at_] != ')') {
      if (text_[at_] == '(') refuse(at_, "expected no group within a group");
      item();
    }
    if (at_ == text_.size()) refuse(open, "expected \")\" after the group, found the end");
    if (letters_.empty()) refuse(open, "expected something in the group, found nothing");
    ++at_;
    std::swap(kept, letters_);
    return kept;
  }

  Letter letter() {
    const char c = text_[at_];
    if (std::string_view("EtmL|").find(c) == std::string_view::npos)
      refuse(at_, fmt::format("expected E, t, m, L, | or a group, found \"{}\"",
                              c >= ' ' && c <= '~' ? std::string(1, c) : std::string("?")));
    return {c, at_++};
  }

  std::size_t times() {
    ++at_;
    std::size_t count = 0;
    const char *first = text_.data() + at_, *last = text_.data() + text_.size();
    const auto [stop, failure] = std::from_chars(first, last, count);
    if (failure != std::errc() || count > kMostLetters)
      refuse(at_, "expected how often after \"*\", at most a million times");
    at_ += static_cast<std::size_t>(stop - first);
    return count;
  }

  void repeat(const std::vector<Letter>& once, std::size_t count, std::size_t from) {
    if (once.size() * count > kMostLetters - letters_.size())
      refuse(from, "expected at most a million layers");
    for (std::size_t i = 0; i < count; ++i)
      letters_.insert(letters_.end(), once.begin(), once.end());
  }

  std::string_view text_;
  const std::string& source_;
  std::size_t at_ = 0;
  bool lost_ = false;
  std::vector<Letter> letters_;
};

std::string_view without_line_end(std::string_view text) {
  while (!text.empty() && (text.back() == '\n' || text.back() == '\r' || text.back() == ' '))
    text.remove_suffix(1);
  return text;
}

// Returns "ttt", or "t*4" for more than three.
std::string letters(char letter, int count) {
  return count <= 3 ? std::string(static_cast<std::size_t>(count), letter)
                    : fmt::format("{}*{}", letter, count);
}

void expect_language_model(const Model& model, Error::Kind kind, const std::string& place) {
  const bool ends = !model.blocks.empty() && !model.blocks.front().layer &&
                    !model.blocks.back().layer && layer_count(model) > 0;
  if (model.tokens && ends) return;
  throw Error(
      kind,
      fmt::format("Megatron's layouts are of an embedding, decoder layers and a head, which "
                  "{} is not",
                  model.name),
      {place});
}

}  // namespace

std::vector<LayoutStage> parse_megatron_layout(std::string_view text, const std::string& source) {
  return LayoutReader(without_line_end(text), source).run();
}

std::string to_text(const std::vector<LayoutStage>& stages) {
  std::string text;
  for (std::size_t i = 0; i < stages.size();) {
    const LayoutStage& s = stages[i];
    const std::string held = std::string(s.embedding ? "E" : "") + letters('t', s.layers) +
                             letters('m', s.predictions) + (s.loss ? "L" : "");
    std::size_t same = 1;  // number of consecutive equal stages that each end with "|"
    while (i + same < stages.size() && stages[i + same] == s) ++same;
    if (i + same == stages.size()) --same;
    if (same >= 3) {
      text += fmt::format("({}|)*{}", held, same);
      i += same;
      continue;
    }
    text += held;
    if (++i < stages.size()) text += '|';
  }
  return text;
}

StageSplit split_of(const std::vector<LayoutStage>& stages, const Model& model,
                    const std::string& source) {
  const auto refuse = [&](const std::string& message) {
    throw Error(Error::Kind::InvalidInput, message, {source});
  };
  expect_language_model(model, Error::Kind::InvalidInput, source);
  StageSplit split;
  std::int64_t layers = 0;
  for (std::size_t i = 0; i < stages.size(); ++i) {
    const LayoutStage& s = stages[i];
    if (s.predictions > 0)
      refuse(fmt::format("stage {} holds m, and {} has no multi-token prediction", i, model.name));
    if (s.loss && i + 1 < stages.size())
      refuse(fmt::format("stage {} behind the loss holds nothing", i + 1));
    if (s.layers == 0 && !s.embedding && !s.loss)
      refuse(fmt::format("stage {} holds nothing; each needs at least one layer", i));
    layers += s.layers;
    split.layers.push_back(s.layers);
  }
  if (layers != layer_count(model))
    refuse(fmt::format("the layout has {} layers (t), but {} has {}", layers, model.name,
                       layer_count(model)));
  return split;
}

std::string megatron_layout(const Scenario& s) {
  const auto refuse = [](const std::string& message) {
    throw Error(Error::Kind::Unsupported, "Megatron's layout cannot say it: " + message);
  };
  expect_language_model(s.model, Error::Kind::Unsupported, "model#/blocks");
  if (!s.plan.order.empty()) refuse("it runs 1F1B, and the plan has an edited order");
  const Method& schedule = schedule_of(s.plan);
  const bool implied = schedule.name == (s.plan.virtual_stages > 1 ? "interleaved" : "1f1b");
  if (s.plan.mesh.pp > 1 && !implied)
    refuse(
        fmt::format("it runs 1F1B, interleaved where a device has several chunks, and the plan "
                    "runs {}",
                    schedule.name));
  std::vector<LayoutStage> stages;
  for (const Stage& stage : trainyard::stages(s.model, s.plan, schedule.placement)) {
    LayoutStage held;
    for (const LayerRun& run : stage.runs)
      if (s.model.blocks[static_cast<std::size_t>(run.block)].layer) held.layers += run.count;
    stages.push_back(held);
  }
  stages.front().embedding = stages.back().loss = true;
  return to_text(stages) + "\n";
}

}  // namespace trainyard
