#include "app/workspace/lessons/lesson_panels.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "core/methods/catalogue.h"
#include "visualizers/chart/panel.h"

namespace trainyard {
namespace {

using Kind = LessonPicture::Kind;

Ink ink_named(std::string_view name) {
  static constexpr std::array<std::pair<std::string_view, Ink>, 12> kInks = {
      {{"forward", Ink::Forward},
       {"backward", Ink::Backward},
       {"wgrad", Ink::WeightGradient},
       {"recompute", Ink::Recompute},
       {"comm", Ink::Communication},
       {"optimizer", Ink::Optimizer},
       {"swap", Ink::Swap},
       {"weights", Ink::MemoryWeights},
       {"gradients", Ink::MemoryGradients},
       {"activations", Ink::MemoryActivations},
       {"ghost", Ink::Ghost},
       {"idle", Ink::Idle}}};
  for (const auto& [word, ink] : kInks)
    if (word == name) return ink;
  return Ink::Forward;
}

// In a memory panel "forward" has an ink of its own, to distinguish the optimizer's state from an
// update.
Ink part_ink(const std::string& name, const LessonUnit& unit) {
  const bool bytes = unit.name == "GB" || unit.name == "GiB" || unit.name == "MiB";
  return name == "optimizer" && bytes ? Ink::MemoryOptimizer : ink_named(name);
}

std::string box_letter(Phase phase) {
  switch (phase) {
    case Phase::Forward:
      return "F";
    case Phase::BackwardWeight:
      return "W";
    case Phase::Update:
      return "U";
    default:
      return "B";
  }
}
Ink phase_ink(Phase phase) {
  switch (phase) {
    case Phase::Forward:
      return Ink::Forward;
    case Phase::BackwardWeight:
      return Ink::WeightGradient;
    case Phase::Update:
      return Ink::Optimizer;
    default:
      return Ink::Backward;
  }
}

LessonLanes lanes_of(const ScheduleStudy& study, const std::string& title) {
  LessonLanes lanes;
  lanes.title = title;
  const double unit =
      static_cast<double>(std::max<std::int64_t>(1, study.request.forward.count())) *
      study.request.virtual_stages;
  lanes.end = 0;
  for (std::size_t l = 0; l < study.order.lanes.size(); ++l) {
    const Lane& lane = study.order.lanes[l];
    LessonLanes::Row row;
    row.name = "Stage " + std::to_string(lane.device.value);
    for (std::size_t a = 0; a < lane.actions.size() && a < study.spans[l].size(); ++a) {
      const Action& action = lane.actions[a];
      const Span& span = study.spans[l][a];
      if (span.end <= span.start) continue;
      LessonLanes::Box box;
      box.from = static_cast<double>(span.start.count()) / unit;
      box.to = static_cast<double>(span.end.count()) / unit;
      box.label = box_letter(action.phase) + std::to_string(action.microbatch);
      box.ink = phase_ink(action.phase);
      lanes.end = std::max(lanes.end, box.to);
      row.boxes.push_back(std::move(box));
    }
    lanes.rows.push_back(std::move(row));
  }
  lanes.words = study.request.name + ", " + std::to_string(study.request.devices) + " stages, " +
                std::to_string(study.request.microbatches) + " microbatches, " +
                panel_number(100 * study.bubble_fraction, "%") + " bubble";
  return lanes;
}

class Pictures {
 public:
  Pictures(const LessonEngine& engine, const LessonLook& look)
      : engine_(engine), look_(look), step_(engine.lesson().steps.at(look.step)) {}

  std::vector<LessonPicture> all() {
    std::vector<LessonPicture> list;
    for (const LessonPanel& panel : step_.panels) list.push_back(one(panel));
    if (look_.revealed && step_.question) mark(list);
    return list;
  }

 private:
  LessonPicture one(const LessonPanel& panel) const {
    LessonPicture picture;
    picture.title = panel.title;
    if (panel.hidden && !look_.revealed && step_.question) {
      picture.kind = Kind::Hidden;
      return picture;
    }
    try {
      fill(picture, panel);
    } catch (const Error& error) {
      picture.kind = Kind::Failed;
      picture.words = describe(error);
    }
    return picture;
  }

  void fill(LessonPicture& picture, const LessonPanel& panel) const {
    const LessonSettings settings = with_settings(look_.settings, panel.with);
    switch (panel.kind) {
      case LessonPanel::Kind::Bars:
        picture.kind = Kind::Bars;
        return bars(picture.bars, panel, settings);
      case LessonPanel::Kind::Curve:
        picture.kind = Kind::Curve;
        return curve(picture.curve, panel, settings);
      case LessonPanel::Kind::Lanes:
        picture.kind = Kind::Lanes;
        picture.lanes = lanes_of(*engine_.schedule(settings), panel.title);
        return;
      case LessonPanel::Kind::Ring:
        picture.kind = Kind::Ring;
        picture.ring.title = panel.title;
        picture.ring.ranks =
            static_cast<int>(std::clamp(engine_.quantity("n", settings), 2.0, 256.0));
        picture.ring.round = std::clamp(look_.round, 0, ring_rounds(picture.ring.ranks));
        return;
      case LessonPanel::Kind::Run:
        picture.kind = Kind::Run;
        picture.words = "nothing was trained here yet";
        return;
      case LessonPanel::Kind::View:
        break;
    }
    picture.kind = Kind::View;
    picture.view = view(panel.view).name;
    picture.data = engine_.plan(settings);
  }

  // The bar of the answer is hidden until the question is answered.
  bool hidden_row(const LessonPanel::Bar& bar) const {
    return step_.question && !look_.revealed && !step_.question->at.empty() &&
           step_.question->at == bar.label;
  }

  void bars(BarsModel& model, const LessonPanel& panel, const LessonSettings& settings) const {
    model.title = panel.title;
    model.unit = panel.unit.name;
    for (const LessonPanel::Part& part : panel.parts)
      model.parts.push_back({part.name, part_ink(part.ink, panel.unit), part.ink == "idle"});
    for (const LessonPanel::Bar& bar : panel.bars) {
      BarsModel::Row row{bar.label, {}, hidden_row(bar)};
      if (!row.hidden)
        for (const LessonPanel::Part& part : panel.parts)
          row.values.push_back(std::max(
              0.0,
              engine_.value(part.value, with_settings(settings, bar.with)) / panel.unit.factor));
      model.rows.push_back(std::move(row));
    }
  }

  void curve(CurveModel& model, const LessonPanel& panel, const LessonSettings& settings) const {
    model.title = panel.title;
    model.unit = panel.unit.name;
    model.x_label = panel.x_label;
    model.log_x = panel.log_x;
    model.log_y = panel.log_y;
    model.x_names = panel.values;
    for (const std::string& value : panel.values)
      model.x.push_back(parse_lesson_number(value, {panel.x}));
    for (const LessonPanel::Part& part : panel.parts) {
      CurveModel::Line line{part.name, ink_named(part.ink), {}, part.ink == "ghost"};
      for (const std::string& value : panel.values)
        line.values.push_back(at(panel, part, value, settings));
      model.lines.push_back(std::move(line));
    }
    const auto now = settings.find(panel.x);
    if (now != settings.end() && !step_.free.empty())
      model.now = parse_lesson_number(now->second, {panel.x});
  }
  // A value that the scenario cannot have leaves a gap.
  double at(const LessonPanel& panel, const LessonPanel::Part& part, const std::string& value,
            const LessonSettings& settings) const {
    try {
      return evaluate(part.value, engine_, with_settings(settings, {{panel.x, value}})) /
             panel.unit.factor;
    } catch (const Error&) {
      return std::numeric_limits<double>::quiet_NaN();
    }
  }

  void mark(std::vector<LessonPicture>& list) const {
    const LessonQuestion& question = *step_.question;
    if (question.at.empty() || !look_.answer) return;
    const double truth = engine_.truth(look_.step);
    for (std::size_t i = 0; i < list.size(); ++i) {
      if (!(step_.panels[i].unit == question.unit)) continue;
      if (list[i].kind == Kind::Bars && mark_bar(list[i].bars, truth)) return;
      if (list[i].kind == Kind::Curve && mark_curve(list[i].curve, truth)) return;
    }
  }
  bool mark_bar(BarsModel& model, double truth) const {
    const LessonQuestion& question = *step_.question;
    for (std::size_t row = 0; row < model.rows.size(); ++row) {
      if (model.rows[row].label != question.at) continue;
      model.marks.push_back(
          {row, std::max(0.0, *look_.answer), guess_words(*look_.answer, question.unit), false});
      model.marks.push_back({row, truth, truth_words(truth, question.unit), true});
      return true;
    }
    return false;
  }
  bool mark_curve(CurveModel& model, double truth) const {
    const LessonQuestion& question = *step_.question;
    const auto found = std::find(model.x_names.begin(), model.x_names.end(), question.at);
    if (found == model.x_names.end()) return false;
    const double x = model.x[static_cast<std::size_t>(found - model.x_names.begin())];
    model.marks.push_back({x, *look_.answer, guess_words(*look_.answer, question.unit), false});
    model.marks.push_back({x, truth, truth_words(truth, question.unit), true});
    return true;
  }

  const LessonEngine& engine_;
  const LessonLook& look_;
  const LessonStep& step_;
};

}  // namespace

std::vector<LessonPicture> lesson_pictures(const LessonEngine& engine, const LessonLook& look) {
  return Pictures(engine, look).all();
}

std::string guess_words(double value, const LessonUnit& unit) {
  return "you " + panel_number(value, std::string(unit.name));
}
std::string truth_words(double value, const LessonUnit& unit) {
  return "it is " + panel_number(value, std::string(unit.name));
}

}  // namespace trainyard
